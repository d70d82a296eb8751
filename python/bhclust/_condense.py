"""The condensed tree: flat clusters, and the forks above them. Nothing here recurses."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class TreeLike(Protocol):
    """What is read of a tree."""

    @property
    def n_leaves(self) -> int: ...
    @property
    def n_nodes(self) -> int: ...
    @property
    def children(self) -> Ints: ...
    @property
    def parent(self) -> Ints: ...
    @property
    def size(self) -> Ints: ...
    @property
    def roots(self) -> Ints: ...


class PosteriorLike(Protocol):
    """What is read of a posterior."""

    @property
    def tree(self) -> Any: ...
    @property
    def log_odds(self) -> Floats: ...
    @property
    def height(self) -> Floats: ...
    def cut(self) -> Ints: ...


@dataclass(frozen=True)
class Box:
    """A flat cluster, a branch with several clusters, or the smaller trees of a forest.

    `rows` are in the order of the tree's leaves, `labels` the clusters they belong to, `trees` the
    number of smaller trees (0 for a branch), `node` the branch (-1 for smaller trees).
    """

    rows: Ints
    labels: list[int]
    node: int
    trees: int = 0

    @property
    def is_bundle(self) -> bool:
        """Whether it stands for more than one cluster."""
        return self.trees > 0 or len(self.labels) > 1


@dataclass(frozen=True)
class Fork:
    """A split: the node, its two sides (numbers of parts), and its level above the boxes."""

    node: int
    sides: tuple[int, int]
    level: int


@dataclass(frozen=True)
class Shape:
    """Parts 0, 1, … are the boxes from top to bottom; the forks follow, sides before forks."""

    boxes: list[Box]
    forks: list[Fork]


def condense(tree: TreeLike, labels: Ints, max_boxes: int) -> Shape:
    """Condense a tree to at most `max_boxes` boxes and the forks above them, in O(n)."""
    tops = cluster_nodes(tree, labels)
    nodes, rest = _frontier(tree, tops, max_boxes)
    order, start = leaf_order(tree)
    nodes.sort(key=lambda node: int(start[node]))
    boxes = []
    for node in nodes:
        rows = order[start[node] : start[node] + tree.size[node]]
        boxes.append(Box(rows, _distinct(labels[rows]), node))
    if rest:
        rows = order[start[rest[0]] :]
        boxes.append(Box(rows, _distinct(labels[rows]), -1, trees=len(rest)))
    return Shape(boxes, _forks(tree, nodes, len(boxes)))


def _distinct(values: Ints) -> list[int]:
    return list(dict.fromkeys(values.tolist()))


def roots_by_size(tree: TreeLike) -> list[int]:
    """List the roots, the largest tree first."""
    return sorted(tree.roots.tolist(), key=lambda root: (-int(tree.size[root]), root))


def leaf_order(tree: TreeLike) -> tuple[Ints, Ints]:
    """List the leaves from top to bottom (larger side first), and where each node's begin."""
    n = tree.n_leaves
    children = tree.children.tolist()
    size = tree.size.tolist()
    start = np.zeros(tree.n_nodes, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    place = 0
    for root in roots_by_size(tree):
        stack = [(root, place)]
        while stack:
            node, at = stack.pop()
            start[node] = at
            if node < n:
                order[at] = node
                continue
            a, b = children[node - n]
            if size[b] > size[a]:
                a, b = b, a
            stack.append((a, at))
            stack.append((b, at + size[a]))
        place += size[root]
    return order, start


def label_below(tree: TreeLike, labels: Ints) -> list[int]:
    """Find for each node the label that all rows below it share, or -1."""
    below: list[int] = labels.tolist()
    for a, b in tree.children.tolist():
        below.append(below[a] if below[a] == below[b] else -1)
    return below


def cluster_nodes(tree: TreeLike, labels: Ints) -> dict[int, int]:
    """Find the node under which the rows of each label lie: node -> label."""
    below = label_below(tree, labels)
    parent = tree.parent.tolist()
    tops = {
        node: label
        for node, label in enumerate(below)
        if label >= 0 and (parent[node] < 0 or below[parent[node]] < 0)
    }
    for label, count in Counter(tops.values()).items():
        if count > 1:
            raise ValueError(
                f"labels: the rows of cluster {label} lie in {count} separate branches of the "
                "tree, so these labels are not a cut of it; take them from post.cut(...)"
            )
    return tops


def _frontier(tree: TreeLike, tops: dict[int, int], max_boxes: int) -> tuple[list[int], list[int]]:
    """Choose the nodes drawn as boxes, largest opened first, and the roots left for a last box."""
    n = tree.n_leaves
    size = tree.size.tolist()
    roots = roots_by_size(tree)
    keep = len(roots) if len(roots) <= max_boxes else max_boxes - 1
    boxes, rest = set(roots[:keep]), roots[keep:]
    queue = [(-size[root], root) for root in boxes if root not in tops]
    heapq.heapify(queue)
    while queue and len(boxes) + bool(rest) < max_boxes:
        node = heapq.heappop(queue)[1]
        boxes.remove(node)
        for child in tree.children[node - n].tolist():
            boxes.add(child)
            if child not in tops:
                heapq.heappush(queue, (-size[child], child))
    return list(boxes), rest


def _forks(tree: TreeLike, nodes: Sequence[int], first_fork: int) -> list[Fork]:
    part = {node: number for number, node in enumerate(nodes)}
    top = dict(part)
    level = dict.fromkeys(nodes, 0)
    forks: list[Fork] = []
    for node in _above(tree, nodes):
        a, b = tree.children[node - tree.n_leaves].tolist()
        if top[b] < top[a]:
            a, b = b, a
        top[node] = top[a]
        level[node] = 1 + max(level[a], level[b])
        part[node] = first_fork + len(forks)
        forks.append(Fork(node, (part[a], part[b]), level[node]))
    return forks


def _above(tree: TreeLike, nodes: Iterable[int]) -> list[int]:
    """List the ancestors of the nodes, children before parents."""
    parent = tree.parent.tolist()
    above: set[int] = set()
    for node in nodes:
        up = parent[node]
        while up >= 0 and up not in above:
            above.add(up)
            up = parent[up]
    return sorted(above)


def checked_labels(post: PosteriorLike, labels: ArrayLike | None) -> Ints:
    """Give labels as int64, by default those of the posterior's cut; refuse what cannot be some."""
    n = post.tree.n_leaves
    values = np.asarray(post.cut() if labels is None else labels)
    if values.shape != (n,):
        raise ValueError(f"labels: shape {values.shape} found, ({n},) needed: one for each row")
    if values.dtype.kind not in "iu" or (n and values.min() < 0):
        raise ValueError(
            f"labels: whole numbers from 0 up are needed, as post.cut() gives them; "
            f"{values.dtype} with smallest {values.min()} found"
        )
    return values.astype(np.int64)


def checked_texts(values: Iterable[Any] | None, n: int, argument: str) -> list[str] | None:
    """Give one line of text for each row, or None where there are no values."""
    if values is None:
        return None
    texts = [" ".join(str(value).split()) for value in values]
    if len(texts) != n:
        raise ValueError(f"{argument}: {len(texts)} given for {n} rows; give one for each row")
    return texts
