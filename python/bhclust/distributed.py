"""Trees of tables that lie on many machines, by Dask: groups of rows travel, rows stay.

Every chunk or partition of the table is a shard. Each shard's rows are grouped where they are, by
a λ-forest or by Bayes K-means; the groups' sufficient statistics go up a tree reduction, whose
nodes merge groups as shards merge rows; the top grows one tree of the groups that are left.
"""

from __future__ import annotations

import importlib
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bhclust import algorithms
from bhclust._core import Family, Table, Tree
from bhclust._lambda import lambda_heuristic
from bhclust._memory import memory_limit
from bhclust._shards import (
    Draw,
    Drawing,
    Part,
    Rules,
    TaskReport,
    draw_from,
    merge_draws,
    merge_parts,
    pruned,
    shard_part,
)
from bhclust.families import aliases, resolve_family
from bhclust.inference import Posterior, posterior
from bhclust.metrics import adjusted_rand_index
from bhclust.options import check_alpha, check_choice, check_count, check_number, check_seed, shown
from bhclust.table import as_table, column_names

if TYPE_CHECKING:
    from bhclust.statistics import Statistics

__all__ = ["ShardedClustering", "ShardingLoss", "TaskReport", "bhc"]


@dataclass(frozen=True)
class ShardingLoss:
    """A sharded clustering beside exact greedy BHC, on rows drawn from all shards.

    Attributes
    ----------
    n_rows : int
        Rows drawn.
    log_evidence_bound : float
        Of these rows, by the clustering's tree of groups without the groups that none is in, nats.
    exact_log_evidence_bound : float
        Of these rows, by the tree that `bhclust.bhc` grows of them.
    loss_per_row : float
        What a row loses, nats; below 0 where greedy BHC, which is greedy, has less evidence.
    adjusted_rand_index : float
        Of the clusters that the clustering puts these rows in, and those of greedy BHC.
    """

    n_rows: int
    log_evidence_bound: float
    exact_log_evidence_bound: float
    loss_per_row: float
    adjusted_rand_index: float

    def __str__(self) -> str:
        return (
            f"on {self.n_rows} rows: {self.loss_per_row:.3g} nats a row below greedy BHC, "
            f"adjusted Rand index {self.adjusted_rand_index:.3f}"
        )


def bhc(
    X: Any,
    family: Family | str,
    *,
    alpha: float = 1.0,
    method: str = "rbhc",
    lam: float | str | None = None,
    groups: int = 1000,
    fan_in: int = 8,
    draw_rows: int = 2000,
    random_state: int = 0,
    max_memory: float | str | None = None,
) -> ShardedClustering:
    """Bayesian hierarchical clustering of a Dask array or data frame, which stays where it is.

    Runs at once, on the Dask client that is there, else on Dask's local threads. The result
    depends on the shards, not on how many workers do them, nor on tasks that were done again.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_columns)
        Chunks of whole rows, which are the shards; they may be of unknown size, empty, or sparse.
    family : Family or str
        The model; an alias such as ``"gaussian"`` takes its defaults from ``draw_rows`` rows.
    alpha : float
        Concentration of the Dirichlet process, above 0.
    method : {"rbhc", "bayes-kmeans"}
        How shards, and nodes of the reduction, make groups: by `bhclust.rbhc`, n² scores but with
        `NormalKnownVariance`, or by the clusters of Bayes K-means (`bhclust.bayes_kmeans_bhc`),
        ``groups`` scores for each of n rows.
    lam : float or "auto", optional
        With "rbhc": merge what costs less, in shards and at every node, so that all that travels
        are roots of λ-forests; ``"auto"``: `bhclust.lambda_heuristic` of the rows drawn. None:
        merge no more than ``groups`` asks for.
    groups : int
        At most so many groups a task hands on, and leaves of the final tree.
    fan_in : int
        So many parts a node of the reduction takes; at least 2.
    draw_rows : int
        So many rows, drawn from all shards, travel as they are: for `ShardedClustering.loss`, for
        the defaults of an alias and for ``lam="auto"``. 0: none.
    random_state : int
        Seed of what is drawn, from 0 to 2^64 - 1.
    max_memory : int or str, optional
        Bytes beyond its rows, or text such as ``"2 GB"``, that a task may take: more is refused
        before it starts. None: its share of the worker's limit, or what the machine has.

    Returns
    -------
    ShardedClustering

    Raises
    ------
    ImportError
        Without Dask.
    ValueError, TypeError
        Naming the argument, or the shard and, counted within it, the row.

    Notes
    -----
    Of the groups everything is exact: their statistics are those of their rows, the posterior is
    over the partitions of the groups, and `Posterior.log_evidence_bound` is a lower bound of the
    evidence of all rows. What is lost is what grouping rules out: see `docs/scale.md` for when a
    shard's merges are those of the whole table.

    A task of a shard takes its rows as float64 and what ``method`` takes for them
    (`bhclust.estimate`); a node of the reduction that of ``fan_in * groups`` rows as wide as the
    statistics; the caller ``groups`` of these. Workers keep 1 to 4 bytes a row for the labels.
    """
    _dask("dask.array")
    check_choice("method", method, ("rbhc", "bayes-kmeans"))
    fan = check_count("fan_in", fan_in, 2)
    blocks = _blocks(X)
    drawing = Drawing(
        check_count("draw_rows", draw_rows, 0),
        len(blocks),
        check_seed("random_state", random_state),
    )
    threshold = _threshold(lam, method)
    concentration, most = check_alpha(alpha), check_count("groups", groups)
    limit = memory_limit(max_memory)
    model, threshold = _model(family, threshold, blocks, drawing, fan)
    rules = Rules(model, concentration, method, threshold, most, drawing, limit)
    part, kept = _run(blocks, rules, fan)
    if part.statistics is None:
        raise ValueError("X has no rows: every chunk is empty; at least one row is needed")
    return ShardedClustering(part, rules, kept, _names(X))


class ShardedClustering:
    """What `bhclust.distributed.bhc` found: a posterior over the partitions of groups of rows.

    Attributes
    ----------
    posterior : Posterior
        Its leaves are groups; ``posterior.log_evidence_bound()`` is a lower bound of the evidence
        of all rows.
    statistics : Statistics
        Sufficient statistics and sizes of the groups, numbered by their first rows.
    tasks : tuple of TaskReport
        What shards and nodes of the reduction did: rows, groups, bytes sent.
    method : str
    lam : float or None
        As used.
    """

    def __init__(
        self, part: Part, rules: Rules, kept: Sequence[Any], names: list[str] | None
    ) -> None:
        assert part.statistics is not None
        self.statistics: Statistics = part.statistics
        self.posterior: Posterior = _best(part.statistics, rules)
        self.tasks: tuple[TaskReport, ...] = part.reports
        self.method: str = rules.method
        self.lam: float | None = rules.lam
        self._part = part
        self._kept = tuple(kept)
        self._names = names

    def __repr__(self) -> str:
        shards = self.shards
        return (
            f"<bhclust.distributed.ShardedClustering of {self.n_rows} rows in {len(shards)} "
            f"shards, {self.tree.n_leaves} groups, {self.posterior.family.name}>"
        )

    @property
    def tree(self) -> Tree:
        """The tree of the groups: `bhclust.bhc`'s, or `rbhc`'s where it was tried and is better.

        It is tried where shards were grouped by "rbhc"; better is more evidence.
        """
        return self.posterior.tree

    @property
    def shards(self) -> tuple[TaskReport, ...]:
        """Reports of the shards, in the order of the table."""
        return tuple(task for task in self.tasks if task.level == 0)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return sum(shard.rows for shard in self.shards)

    @property
    def bytes_sent(self) -> int:
        """Size of all that tasks handed on."""
        return sum(task.bytes_sent for task in self.tasks)

    @property
    def labels(self) -> Any:
        """Each row's cluster in the most probable partition: `cut()`."""
        return self.cut()

    def cut(
        self,
        *,
        rule: str | None = None,
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> Any:
        """Flat clusters of the rows, as `Posterior.cut` makes them of the groups.

        Returns
        -------
        dask.array.Array of int, shape (n_rows,)
            Lazy, in the chunks of X; numbered from the cluster of most rows.
        """
        flat = self.posterior.cut(rule=rule, threshold=threshold, n_clusters=n_clusters)
        return self.to_rows(flat)

    def to_rows(self, values: Any) -> Any:
        """Give each row the value of its group.

        Parameters
        ----------
        values : array of shape (n_groups,) or (n_groups, n)
            Such as ``posterior.certainty()``.

        Returns
        -------
        dask.array.Array of shape (n_rows,) or (n_rows, n)
            Lazy, in the chunks of X: made where the labels of the rows are.
        """
        dask = _dask()
        of_groups = np.asarray(values)
        count = self.tree.n_leaves
        if of_groups.ndim == 0 or of_groups.shape[0] != count:
            raise ValueError(
                f"values has shape {of_groups.shape}; it must have one entry for each of the "
                f"{count} groups"
            )
        take = dask.delayed(_taken, pure=False)
        parts = [
            take(labels, of_groups[place])
            for labels, place in zip(self._kept, self._part.places, strict=True)
        ]
        sizes = [shard.rows for shard in self.shards]
        return _array(parts, sizes, of_groups.shape[1:], of_groups.dtype)

    def predict_log_proba(self, X_new: Any) -> Any:
        """Log probabilities of the flat clusters for new rows, and of a new cluster.

        Parameters
        ----------
        X_new : Dask array or data frame, or array-like, of shape (n_new, n_columns)

        Returns
        -------
        array of shape (n_new, n_clusters + 1)
            The last column is "a new cluster". Of Dask input a lazy Dask array.
        """
        width = int(self.posterior.cut().max()) + 2
        return self._of_new(X_new, _log_proba, (width,), np.float64)

    def predict(self, X_new: Any) -> Any:
        """The most probable of the flat clusters for new rows.

        Parameters
        ----------
        X_new : Dask array or data frame, or array-like, of shape (n_new, n_columns)

        Returns
        -------
        array of int, shape (n_new,)
            Of Dask input a lazy Dask array.
        """
        return self._of_new(X_new, _predicted, (), np.int64)

    def _of_new(
        self, X_new: Any, function: Callable[..., Any], rest: tuple[int, ...], dtype: Any
    ) -> Any:
        names = _names(X_new)
        if names is not None and self._names is not None and names != self._names:
            raise ValueError(
                f"X_new has the columns {names!r}; X had {self._names!r}, in that order"
            )
        if not _is_dask(X_new):
            return function(as_table(X_new, argument="X_new"), self.posterior)
        dask = _dask()
        call = dask.delayed(function, pure=False)
        found = dask.delayed(self.posterior, traverse=False)
        parts = [call(block, found) for block in _blocks(X_new, "X_new")]
        is_array = isinstance(X_new, _dask("dask.array").Array)
        sizes = X_new.chunks[0] if is_array else [math.nan] * len(parts)
        return _array(parts, sizes, rest, dtype)

    def loss(self, *, n_threads: int | None = None) -> ShardingLoss:
        """What is lost against exact greedy BHC, on the rows that were drawn.

        Parameters
        ----------
        n_threads : int, optional
            None: all cores.

        Returns
        -------
        ShardingLoss

        Raises
        ------
        ValueError
            When no rows were drawn.

        Notes
        -----
        As many scores as ``draw_rows`` squared, made here. The rows drawn are few of those of any
        group, so that this tells of clusters with many rows, not of those that the draw has hardly
        a row of.
        """
        draw = self._part.draw
        if draw is None:
            raise ValueError("draw_rows is 0: no rows were drawn to measure the loss on")
        family, alpha = self.posterior.family, self.posterior.alpha
        leaves, groups = np.unique(draw.groups, return_inverse=True)
        table = draw.table
        some = family.statistics(table, groups=groups)
        mine = posterior(pruned(self.tree, leaves), some, family, alpha=alpha)
        exact = algorithms.bhc(table, family, alpha=alpha, n_threads=n_threads)
        theirs = posterior(exact, table, family, alpha=alpha)
        bound, best = mine.log_evidence_bound(), theirs.log_evidence_bound()
        return ShardingLoss(
            n_rows=table.n_rows,
            log_evidence_bound=bound,
            exact_log_evidence_bound=best,
            loss_per_row=(best - bound) / table.n_rows,
            adjusted_rand_index=adjusted_rand_index(
                self.posterior.cut()[draw.groups], theirs.cut()
            ),
        )


def _dask(module: str = "dask") -> ModuleType:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError('bhclust.distributed needs Dask: pip install "bhclust[dask]"') from None


def _is_dask(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "dask"


def _names(X: Any) -> list[str] | None:
    """Names of the columns of a data frame, Dask's or not, where all are strings."""
    return column_names(X._meta if _is_dask(X) else X)


def _blocks(X: Any, argument: str = "X") -> list[Any]:
    """Chunks or partitions as delayed objects, in the order of the rows."""
    if isinstance(X, _dask("dask.array").Array):
        return _chunks(X, argument)
    if type(X).__module__.startswith("dask.dataframe") and type(X).__name__ == "DataFrame":
        return list(X.to_delayed())
    raise TypeError(
        f"{argument} is of type {type(X).__name__}; it must be a Dask array or data frame: "
        "dask.array.from_array(table, chunks=(100_000, -1)) makes one, or call bhclust.bhc"
    )


def _chunks(X: Any, argument: str) -> list[Any]:
    if X.ndim != 2:
        raise ValueError(
            f"{argument} has {X.ndim} dimension(s); it must have two, rows and columns"
        )
    if X.numblocks[1] != 1:
        raise ValueError(
            f"{argument} has {X.numblocks[1]} chunks side by side; a shard needs whole rows: "
            f"{argument}.rechunk({{1: -1}}) moves cells together"
        )
    return list(X.to_delayed().ravel())


def _array(parts: Sequence[Any], sizes: Sequence[Any], rest: tuple[int, ...], dtype: Any) -> Any:
    """An array of delayed chunks, of which da.concatenate would leave out the empty ones."""
    da, graphs = _dask("dask.array"), _dask("dask.highlevelgraph")
    chunks = [
        da.from_delayed(part, (size, *rest), dtype=dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    name = "bhclust-" + uuid.uuid4().hex
    ends = (0,) * len(rest)
    layer = {(name, i, *ends): (chunk.name, 0, *ends) for i, chunk in enumerate(chunks)}
    graph = graphs.HighLevelGraph.from_collections(name, layer, dependencies=chunks)
    return da.Array(graph, name, (tuple(sizes), *((n,) for n in rest)), dtype=dtype)


def _threshold(lam: Any, method: str) -> float | str | None:
    if lam is None:
        return None
    if method != "rbhc":
        raise ValueError(f'lam is {shown(lam)}, which only method="rbhc" takes; leave it out')
    if isinstance(lam, str):
        return check_choice("lam", lam, ("auto",))
    value = check_number("lam", lam)
    if not value > 0:
        raise ValueError(f"lam is {shown(lam)}; it must be above 0")
    return value


def _model(
    family: Any, lam: float | str | None, blocks: Sequence[Any], drawing: Drawing, fan_in: int
) -> tuple[Family, float | None]:
    """The family and λ as numbers, from rows drawn where they are not given."""
    if isinstance(family, Family) and not isinstance(lam, str):
        return family, lam
    if isinstance(family, str):
        check_choice("family", family, tuple(sorted(aliases())))
    if drawing.rows == 0:
        wanted = 'lam="auto"' if isinstance(family, Family) else f"family={shown(family)}"
        raise ValueError(f"draw_rows is 0, and {wanted} needs rows to be drawn")
    draw = _first_draw(blocks, drawing, fan_in)
    model = resolve_family(family, draw.table)
    if isinstance(lam, str):
        return model, lambda_heuristic(draw.table, model, random_state=drawing.seed % 2**32)
    return model, lam


def _first_draw(blocks: Sequence[Any], drawing: Drawing, fan_in: int) -> Draw:
    dask = _dask()
    draw, merge = dask.delayed(draw_from, pure=False), dask.delayed(merge_draws, pure=False)
    drawn = [draw(block, number, drawing) for number, block in enumerate(blocks)]
    top = _reduced(drawn, fan_in, lambda some, _level, _number: merge(some, drawing))
    found = dask.compute(top)[0]
    if found is None:
        raise ValueError("X has no rows: every chunk is empty; at least one row is needed")
    return found  # type: ignore[no-any-return]


def _run(blocks: Sequence[Any], rules: Rules, fan_in: int) -> tuple[Part, list[Any]]:
    """The part at the top, and each shard's groups of rows, which stay where they were made."""
    dask = _dask()
    shared = dask.delayed(rules, traverse=False)
    shard = dask.delayed(shard_part, nout=2, pure=False)
    merge = dask.delayed(merge_parts, pure=False)
    made = [shard(block, number, shared) for number, block in enumerate(blocks)]
    top = _reduced(
        [part for _, part in made],
        fan_in,
        lambda parts, level, number: merge(parts, level, number, shared),
    )
    top, *kept = dask.persist(top, *(labels for labels, _ in made))
    return top.compute(), kept


def _reduced(leaves: list[Any], fan_in: int, merge: Callable[[list[Any], int, int], Any]) -> Any:
    """The top of a tree over the leaves; its shape depends on nothing but their number."""
    level = 0
    while len(leaves) > 1:
        level += 1
        several = [leaves[i : i + fan_in] for i in range(0, len(leaves), fan_in)]
        leaves = [
            merge(some, level, number) if len(some) > 1 else some[0]
            for number, some in enumerate(several)
        ]
    return leaves[0]


def _best(statistics: Any, rules: Rules) -> Posterior:
    """Of the trees that are tried the one of more evidence."""
    model, alpha = rules.family, rules.alpha
    trees = [algorithms.bhc(statistics, model, alpha=alpha)]
    if rules.method == "rbhc":
        trees.append(algorithms.rbhc(statistics, model))
    found = [posterior(tree, statistics, model, alpha=alpha) for tree in trees]
    return max(found, key=lambda one: one.log_evidence)


def _taken(labels: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    taken: NDArray[Any] = values[labels]
    return taken


def _log_proba(block: Any, found: Posterior) -> NDArray[np.float64]:
    n_rows = block.n_rows if isinstance(block, Table) else block.shape[0]
    if n_rows == 0:
        return np.empty((0, int(found.cut().max()) + 2))
    return found.predict_log_proba(block, n_threads=1)


def _predicted(block: Any, found: Posterior) -> NDArray[np.int64]:
    best: NDArray[np.int64] = np.argmax(_log_proba(block, found)[:, :-1], axis=1)
    return best
