"""The condensed tree: flat clusters, and the forks above them. Nothing here recurses."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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

    def box_of_row(self) -> Ints:
        """Give the number of each row's box."""
        rows = np.concatenate([box.rows for box in self.boxes])
        sizes = [len(box.rows) for box in self.boxes]
        found = np.zeros(len(rows), dtype=np.int64)
        found[rows] = np.repeat(np.arange(len(sizes)), sizes)
        return found

    def siblings(self) -> list[list[int]]:
        """List for each box the boxes on the other side of the fork above it."""
        below = [[place] for place in range(len(self.boxes))]
        siblings: list[list[int]] = [[] for _ in self.boxes]
        for fork in self.forks:
            for side, other in (fork.sides, fork.sides[::-1]):
                if side < len(self.boxes):
                    siblings[side] = below[other]
            below.append([place for side in fork.sides for place in below[side]])
        return siblings


def condense(tree: TreeLike, labels: Ints, max_boxes: int) -> Shape:
    """Condense a tree to at most `max_boxes` boxes and the forks above them.

    O(n log n) in the worst case, apart from moving numbers in sorted lists.
    """
    tops = cluster_nodes(tree, labels)
    nodes, kept, rest = _frontier(tree, tops, max_boxes)
    by_label = _least(tree, labels).__getitem__
    kept, rest = sorted(kept, key=by_label), sorted(rest, key=by_label)
    order, start = leaf_order(tree, labels, [*kept, *rest])
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


def leaf_order(
    tree: TreeLike, labels: Ints, roots: Sequence[int] | None = None
) -> tuple[Ints, Ints]:
    """List the leaves from top to bottom, and where each node's begin.

    At every fork between clusters the side comes first with which fewer pairs of clusters stand
    against their numbers, so that the numbers run down as far as the tree allows; where both are
    equal, the side with the least number. Within a cluster the larger side comes first.
    """
    n = tree.n_leaves
    children = tree.children.tolist()
    size = tree.size.tolist()
    is_turned = _turned(tree, labels)
    start = np.zeros(tree.n_nodes, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    place = 0
    for root in roots_by_label(tree, labels) if roots is None else roots:
        stack = [(root, place)]
        while stack:
            node, at = stack.pop()
            start[node] = at
            if node < n:
                order[at] = node
                continue
            a, b = children[node - n]
            if is_turned[node - n]:
                a, b = b, a
            stack.append((a, at))
            stack.append((b, at + size[a]))
        place += size[root]
    return order, start


def _turned(tree: TreeLike, labels: Ints) -> list[bool]:
    """Tell for each merge whether its second side is drawn first."""
    below = label_below(tree, labels)
    size = tree.size.tolist()
    numbers: dict[int, list[int]] = {}
    turned = []
    for node, (a, b) in enumerate(tree.children.tolist(), tree.n_leaves):
        if below[node] >= 0:
            turned.append(size[b] > size[a])
            continue
        first = numbers.pop(a, None) or [below[a]]
        second = numbers.pop(b, None) or [below[b]]
        # Pairs in which the second side has the lower number; these cross if the first is above.
        crossed = _pairs_below(second, first)
        others = len(first) * len(second) - crossed
        is_turned = crossed > others if crossed != others else second[0] < first[0]
        turned.append(is_turned)
        numbers[node] = _joined(first, second)
    return turned


def _pairs_below(lower: list[int], upper: list[int]) -> int:
    """Count the pairs in which the number of the first sorted list is below that of the second."""
    if len(upper) <= len(lower):
        return sum(bisect_left(lower, number) for number in upper)
    return len(lower) * len(upper) - sum(bisect_left(upper, number) for number in lower)


def _joined(first: list[int], second: list[int]) -> list[int]:
    """Join two sorted lists, in place where one is short."""
    few, many = sorted((first, second), key=len)
    if 32 * len(few) > len(many):
        return sorted(many + few)
    for number in few:
        insort(many, number)
    return many


def roots_by_label(tree: TreeLike, labels: Ints) -> list[int]:
    """List the roots, the tree with the least label first."""
    return sorted(tree.roots.tolist(), key=_least(tree, labels).__getitem__)


def _least(tree: TreeLike, labels: Ints) -> list[tuple[int, int]]:
    """Find for each node its least label, and beside it the node."""
    least: list[int] = labels.tolist()
    for a, b in tree.children.tolist():
        least.append(min(least[a], least[b]))
    return [(label, node) for node, label in enumerate(least)]


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


def _frontier(
    tree: TreeLike, tops: dict[int, int], max_boxes: int
) -> tuple[list[int], list[int], list[int]]:
    """Choose the nodes drawn as boxes, largest opened first.

    With them the roots kept and the roots left for a last box.
    """
    n = tree.n_leaves
    size = tree.size.tolist()
    roots = sorted(tree.roots.tolist(), key=lambda root: (-size[root], root))
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
    return list(boxes), roots[:keep], rest


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
