"""What one machine does with its rows, and with what others hand on: no scheduler in here."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust._memory import check_memory
from bhclust.algorithms import rbhc
from bhclust.statistics import Statistics
from bhclust.table import as_leaves, as_table, rows_of

__all__ = [
    "Draw",
    "Drawing",
    "Part",
    "Rules",
    "TaskReport",
    "draw_from",
    "merge_draws",
    "merge_parts",
    "pruned",
    "shard_part",
]


@dataclass(frozen=True)
class Drawing:
    """How rows are drawn: those with the smallest random keys of all shards."""

    rows: int
    n_shards: int
    seed: int

    def quota(self) -> int:
        """Rows that a shard hands on: four times its share, so that few of the smallest miss."""
        return min(self.rows, math.ceil(4 * self.rows / self.n_shards) + 16)


@dataclass(frozen=True)
class Rules:
    """What all tasks are told."""

    family: Family
    alpha: float
    method: str
    lam: float | None
    groups: int
    drawing: Drawing
    max_memory: float | None

    def seed(self, level: int, number: int) -> int:
        """Of a task, whoever does it."""
        state = np.random.SeedSequence([self.drawing.seed, level, number])
        return int(state.generate_state(1, np.uint64)[0])


@dataclass(frozen=True)
class TaskReport:
    """What a shard, or a node of the reduction, did.

    Attributes
    ----------
    level : int
        0: a shard; above, a node of the reduction.
    rows : int
        Rows of the table below it.
    groups_in, groups : int
        Groups (of a shard: rows) that it was given, and that it handed on.
    bytes_sent : int
        Size of what it handed on.
    largest_cost : float
        d* of its costliest merge; 0 without any, NaN where the method has no d*.
    merges_over_lam : int
        Merges of d* >= ``lam``, which the limit of groups forced.
    """

    level: int
    rows: int
    groups_in: int
    groups: int
    bytes_sent: int
    largest_cost: float
    merges_over_lam: int


@dataclass(frozen=True, eq=False)
class Draw:
    """Rows of the table by key, and the groups that they are in."""

    keys: NDArray[np.uint64]
    groups: NDArray[np.int64]
    cells: Any
    n_columns: int

    @property
    def table(self) -> Table:
        """The rows."""
        return _table_of(self.cells, self.n_columns)

    @property
    def nbytes(self) -> int:
        """Size of the arrays."""
        cells = self.cells if isinstance(self.cells, tuple) else (self.cells,)
        return sum(int(array.nbytes) for array in (self.keys, self.groups, *cells))

    def at(self, chosen: NDArray[np.int64]) -> Draw:
        """Some of them."""
        rows = rows_of(self.table, chosen)
        return Draw(self.keys[chosen], self.groups[chosen], _cells_of(rows), self.n_columns)


@dataclass(frozen=True, eq=False)
class Part:
    """What a task hands on: groups of the rows below it, not the rows.

    ``places[i]`` tells of each group of the i-th shard below which group of the part holds it.
    """

    statistics: Statistics | None
    places: tuple[NDArray[np.int32], ...]
    draw: Draw | None
    reports: tuple[TaskReport, ...]

    @property
    def nbytes(self) -> int:
        """Size of what is sent, but for the reports."""
        size = sum(int(place.nbytes) for place in self.places)
        size += 0 if self.draw is None else self.draw.nbytes
        if self.statistics is not None:
            size += self.statistics.nbytes
        return size

    @property
    def rows(self) -> int:
        """Rows below it."""
        return sum(report.rows for report in self.reports if report.level == 0)


def shard_part(block: Any, number: int, rules: Rules) -> tuple[NDArray[Any], Part]:
    """Group the rows of a shard: the group of each row, which stays, and what is handed on."""
    try:
        return _shard_part(block, number, rules)
    except (TypeError, ValueError) as error:
        raise _in_shard(error, number) from None


def _in_shard(error: Exception, number: int) -> Exception:
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"shard {number}: {error}")


def _shard_part(block: Any, number: int, rules: Rules) -> tuple[NDArray[Any], Part]:
    if block.shape[0] == 0:
        report = TaskReport(0, 0, 0, 0, 0, 0.0, 0)
        return np.empty(0, np.uint8), Part(None, (np.empty(0, np.int32),), None, (report,))
    table = as_table(block)
    rules.family._check(table)
    labels, costs = _grouped(table, table.n_rows, table.n_columns, rules, rules.seed(0, number))
    statistics = rules.family.statistics(table, groups=labels)
    draw = _drawn(table, number, rules.drawing, labels)
    part = _reported(
        Part(statistics, (np.arange(statistics.n_groups, dtype=np.int32),), draw, ()),
        (0, table.n_rows, table.n_rows, costs, rules),
    )
    return labels.astype(np.min_scalar_type(max(statistics.n_groups - 1, 0))), part


def merge_parts(parts: Sequence[Part], level: int, number: int, rules: Rules) -> Part:
    """Make one part of several: a node of the reduction."""
    places = [place for part in parts for place in part.places]
    reports = tuple(report for part in parts for report in part.reports)
    filled = [part.statistics for part in parts if part.statistics is not None]
    if not filled:
        return Part(None, tuple(places), None, reports)
    together = Statistics.concatenate(filled)
    labels, costs = _grouped(
        together, together.n_groups, together.n_columns, rules, rules.seed(level, number)
    )
    merged = together.merge(labels)
    sizes = [0 if part.statistics is None else part.statistics.n_groups for part in parts]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    new = [labels[start:end] for start, end in pairwise(starts)]
    places = [
        of_groups[place].astype(np.int32)
        for part, of_groups in zip(parts, new, strict=True)
        for place in part.places
    ]
    draws = [
        Draw(part.draw.keys, of_groups[part.draw.groups], part.draw.cells, part.draw.n_columns)
        for part, of_groups in zip(parts, new, strict=True)
        if part.draw is not None
    ]
    made = Part(merged, tuple(places), merge_draws(draws, rules.drawing), reports)
    return _reported(made, (level, sum(p.rows for p in parts), together.n_groups, costs, rules))


def _reported(part: Part, facts: tuple[int, int, int, NDArray[np.float64] | None, Rules]) -> Part:
    level, rows, groups_in, costs, rules = facts
    assert part.statistics is not None
    over = 0 if rules.lam is None or costs is None else int((costs >= rules.lam).sum())
    largest = math.nan if costs is None else float(costs.max(initial=0.0))
    report = TaskReport(
        level, rows, groups_in, part.statistics.n_groups, part.nbytes, largest, over
    )
    return Part(part.statistics, part.places, part.draw, (*part.reports, report))


def _grouped(
    X: Any, n: int, n_columns: int, rules: Rules, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Groups of rows or of groups, at most ``rules.groups``; d* of the merges that made them."""
    if rules.lam is None and n <= rules.groups:
        return np.arange(n), np.empty(0)
    limit = (
        rules.max_memory if rules.max_memory is not None else _share_of_worker(8 * n * n_columns)
    )
    if rules.method == "rbhc":
        tree = rbhc(X, rules.family, n_threads=1, max_memory=limit)
        forest = _forest(tree, rules)
        return _by_first_leaf(forest.cut(lam=math.inf)), np.asarray(forest.cost)
    leaves = as_leaves(X)
    check_memory(limit, "bhc", rules.family, leaves)
    labels = _core.bayes_kmeans_groups(
        leaves, rules.family, rules.alpha, min(n, rules.groups), rules.groups, seed, 1, None
    )
    return _by_first_leaf(labels), None


def _by_first_leaf(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number groups as they first occur, so that groups above are those of the table's order."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(first.size)
    numbered: NDArray[np.int64] = place[number]
    return numbered


def _forest(tree: Tree, rules: Rules) -> Tree:
    if rules.lam is not None:
        forest = tree.forest(lam=rules.lam)
        if len(forest.roots) <= rules.groups:
            return forest
    return tree.forest(n_clusters=rules.groups)


def _share_of_worker(taken: int) -> float | None:
    """Bytes that a task may take on a worker of dask.distributed; None elsewhere."""
    if sys.modules.get("distributed") is None:
        return None
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return None
    limit = worker.memory_manager.memory_limit
    return max(1.0, limit / worker.state.nthreads - taken) if limit else None


def draw_from(block: Any, number: int, drawing: Drawing) -> Draw | None:
    """Draw rows of a shard before anything is known of their groups."""
    try:
        if block.shape[0] == 0:
            return None
        table = as_table(block)
        return _drawn(table, number, drawing, np.zeros(table.n_rows, dtype=np.int64))
    except (TypeError, ValueError) as error:
        raise _in_shard(error, number) from None


def _drawn(table: Table, number: int, drawing: Drawing, groups: NDArray[np.int64]) -> Draw | None:
    if drawing.rows == 0:
        return None
    random = np.random.default_rng([drawing.seed, number])
    keys = random.integers(2**63, size=table.n_rows, dtype=np.uint64)
    chosen = np.sort(np.argsort(keys, kind="stable")[: drawing.quota()])
    cells = _cells_of(rows_of(table, chosen))
    return Draw(keys[chosen], groups[chosen], cells, table.n_columns)


def merge_draws(draws: Sequence[Draw | None], drawing: Drawing) -> Draw | None:
    """Of several draws the rows with the smallest keys, in the order of the table."""
    some = [draw for draw in draws if draw is not None]
    if not some:
        return None
    keys = np.concatenate([draw.keys for draw in some])
    groups = np.concatenate([draw.groups for draw in some])
    every = Draw(keys, groups, _stacked([draw.cells for draw in some]), some[0].n_columns)
    return every.at(np.sort(np.argsort(keys, kind="stable")[: drawing.rows]))


def _cells_of(table: Table) -> Any:
    arrays = table.arrays
    return tuple(np.array(a) for a in arrays) if table.is_sparse else np.array(arrays)


def _table_of(cells: Any, n_columns: int) -> Table:
    if not isinstance(cells, tuple):
        return Table.dense(cells)
    data, indices, indptr = cells
    return Table.csr(data, indices, indptr, n_columns)


def _stacked(cells: Sequence[Any]) -> Any:
    if not isinstance(cells[0], tuple):
        return np.concatenate(cells)
    starts = np.cumsum([0, *(indptr[-1] for _, _, indptr in cells)])
    parts = [indptr[1:] + start for (_, _, indptr), start in zip(cells, starts[:-1], strict=True)]
    return (
        np.concatenate([data for data, _, _ in cells]),
        np.concatenate([indices for _, indices, _ in cells]),
        np.concatenate([[0], *parts]).astype(np.int64),
    )


def pruned(tree: Tree, leaves: NDArray[np.int64]) -> Tree:
    """The tree of some leaves, which become 0, 1, ... in their order."""
    place = [-1] * tree.n_nodes
    for new, leaf in enumerate(leaves.tolist()):
        place[leaf] = new
    merges: list[tuple[int, int]] = []
    for node, (a, b) in enumerate(tree.children.tolist(), start=tree.n_leaves):
        left, right = place[a], place[b]
        if left >= 0 and right >= 0:
            place[node] = len(leaves) + len(merges)
            merges.append((left, right))
        else:
            place[node] = max(left, right)
    return Tree.from_children(len(leaves), np.array(merges, dtype=np.int64).reshape(-1, 2))
