"""What a tree says: the posterior over its partitions, cuts and predictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust._memory import check_memory
from bhclust.families import bit_columns, resolve_family
from bhclust.options import (
    Progress,
    check_alpha,
    check_choice,
    check_count,
    check_cut_options,
    check_seed,
    check_threads,
    shown,
)
from bhclust.table import as_table, kept
from bhclust.trees import as_tree

__all__ = ["Explanation", "Posterior", "exact_log_evidence", "posterior"]


def posterior(
    tree: Tree | str | Any,
    X: Any,
    family: Family | str,
    *,
    alpha: float = 1.0,
    names: Sequence[str] | None = None,
    resolve: bool = False,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Posterior:
    """The posterior over the partitions that any binary tree allows.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
        The tree may come from anywhere: Ward, a phylogeny, a file.
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        The rows at the leaves.
    family : Family or str
    alpha : float
        Concentration of the Dirichlet process, above 0.
    names : sequence of str, optional
        The rows' names in the Newick text; without them its leaves are row numbers.
    resolve : bool
        Join the children of a node of the Newick text with more than two, as at the root of an
        unrooted phylogeny, from left to right; else it is refused.
    max_memory : int or str, optional
        Bytes beyond the input, or text such as ``"2 GB"``: what would take more is refused before
        it starts; None: what the machine has. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total); an exception raised in it ends the work.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        Naming what does not fit.

    Notes
    -----
    O(n · width) time for statistics of ``width`` numbers. Memory beyond the input, measured: 50
    bytes a row, and 8 a cell for a copy of X unless it is read-only.
    """
    grown = as_tree(tree, names=names, resolve=resolve)
    table = as_table(X)
    model = resolve_family(family, X)
    value = check_alpha(alpha)
    check_memory(max_memory, "posterior", model, table.n_rows, table.n_columns)
    found = _core.posterior(grown, table, model, value, progress)
    return Posterior(grown, found, table, model)


@contextmanager
def _new_rows(are_new: bool = True) -> Iterator[None]:
    """Let refusals of the core speak of X_new, which it calls X."""
    try:
        yield
    except ValueError as error:
        # Errors of other types or words may be a progress callback's.
        ours = are_new and type(error) is ValueError
        if not ours or not re.match(r"X(:| has | is )", str(error)):
            raise
        raise ValueError("X_new" + str(error)[1:]) from None


def exact_log_evidence(
    X: Any, family: Family | str, *, alpha: float = 1.0, progress: Progress | None = None
) -> float:
    """The log evidence of the Dirichlet process mixture, by summing over all partitions.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        At most 15 rows.
    family : Family or str
    alpha : float
        Concentration of the Dirichlet process, above 0.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    float
        In nats.

    Notes
    -----
    O(3^n_rows).
    """
    table = as_table(X)
    return _core.exact_log_evidence(table, resolve_family(family, X), check_alpha(alpha), progress)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a node is one cluster or two, in nats: parts that sum to its log odds."""

    node: int
    columns: NDArray[np.float64]
    """Of each column: above 0 for one cluster, below 0 for two, shape (n_columns,)."""
    prior: float
    """Of the sizes and the concentration, before any column is looked at."""
    children: float
    """What splits inside the children take off, at most 0: log r of both."""
    log_odds: float
    """The sum: `Posterior.log_odds` of the node."""


class Posterior:
    """The posterior over the partitions that a tree allows. Made by `posterior`.

    In a forest no cluster spans two roots. Arrays have one entry a node and are read-only.

    Attributes
    ----------
    tree : Tree
    family : Family
    alpha : float
    """

    def __init__(
        self, tree: Tree, found: _core.TreePosterior, table: Table, family: Family
    ) -> None:
        if not isinstance(found, _core.TreePosterior):
            raise TypeError("a Posterior is made by bhclust.posterior(tree, X, family)")
        self.tree = tree
        self.family = family
        self._found = found
        self._table = kept(table)

    def __repr__(self) -> str:
        return f"<bhclust.Posterior of {self.tree.n_leaves} rows, {self.family.name}>"

    @property
    def alpha(self) -> float:
        """Concentration of the Dirichlet process."""
        return self._found.alpha

    @property
    def log_marginal(self) -> NDArray[np.float64]:
        """Log p(X_k | H_k) of each node's rows as one cluster, in nats."""
        return self._found.log_marginal

    @property
    def log_tree(self) -> NDArray[np.float64]:
        """Log p̃_T(k): the sum over the partitions of each node's subtree, in nats."""
        return self._found.log_tree

    @property
    def log_odds(self) -> NDArray[np.float64]:
        """Log odds that a node is one cluster, given its rows: -log d; inf at leaves."""
        return self._found.log_odds

    @property
    def r(self) -> NDArray[np.float64]:
        """Probability that a node is one cluster, given its rows."""
        small = np.exp(-np.abs(self.log_odds))
        return np.where(self.log_odds >= 0, 1 / (1 + small), small / (1 + small))

    @property
    def omega(self) -> NDArray[np.float64]:
        """Probability that exactly a node's rows form a cluster; sums to the expected number."""
        return self._found.omega

    @property
    def height(self) -> NDArray[np.float64]:
        """Probability that a node's rows are not all in one cluster: monotone, 0 at the leaves."""
        return self._found.height

    @property
    def log_evidence(self) -> float:
        """The tree's lower bound of the log evidence of the Dirichlet process mixture, in nats."""
        return self._found.log_evidence_bound

    def log_evidence_bound(self, kind: str = "tree", *, progress: Progress | None = None) -> float:
        """A lower bound of the log evidence of the Dirichlet process mixture, in nats.

        Parameters
        ----------
        kind : {"tree", "relocations-two", "relocations", "joint", "all_pairs"}
            ``"tree"``: the partitions that the tree allows (Heller & Ghahramani 2005, corollary 1).
            ``"relocations-two"`` and ``"relocations"``: these and one relocation at a time, two or
            four a node (Xu et al. 2009, theorem 1). ``"joint"``: relocations in disjoint subtrees
            combine. ``"all_pairs"``: clusters across any two subtrees. Each is at least as tight as
            the one before; O(n) but the last, which is O(n²).
        progress : callable, optional
            Called with (done, total).
        """
        check_choice("kind", kind, ("tree", "relocations-two", "relocations", "joint", "all_pairs"))
        if kind == "tree":
            return self._found.log_evidence_bound
        if kind.startswith("relocations"):
            return self._relocate(kind == "relocations", progress).log_evidence_bound
        return _core.log_evidence_bound(
            self.tree, self._found, self._table, self.family, kind, progress
        )

    def _relocate(self, four: bool, progress: Progress | None) -> _core.Relocations:
        return _core.relocate(self.tree, self._found, self._table, self.family, four, progress)

    def relocation_gains(self, *, progress: Progress | None = None) -> NDArray[np.float64]:
        """How uncertain each split is: log of the weight its relocations add, shape (n_merges,).

        Relative to the weight of all partitions that the tree allows, in nats: above 0 the
        alternatives outweigh the tree. -inf at merges of two rows, which have no alternative. O(n).
        """
        return self._relocate(True, progress).log_gain_of_merge

    def alternative_trees(self, n_trees: int = 1) -> list[tuple[float, Tree]]:
        """The relocations with the largest gains, as trees.

        Parameters
        ----------
        n_trees : int
            At most this many; a tree of n rows has at most 4 (n - 2).

        Returns
        -------
        list of (float, Tree)
            The gain as in `relocation_gains`, and the tree with the relocation done; largest first.
        """
        count = check_count("n_trees", n_trees)
        gains = self._relocate(True, None).log_gain
        order = np.argsort(-gains, axis=None, kind="stable")[:count]
        trees = []
        for place in order[np.isfinite(gains.ravel()[order])]:
            merge, move = divmod(int(place), 4)
            node = self.tree.n_leaves + merge
            trees.append((float(gains[merge, move]), _core.relocated_tree(self.tree, node, move)))
        return trees

    def coclustering(
        self, i: Any = None, j: Any = None, *, max_memory: float | str | None = None
    ) -> Any:
        """Probability that rows are in one cluster.

        Parameters
        ----------
        i, j : int or array of int, optional
            Two numbers give one probability; two arrays of one length give one for each pair; an
            array ``i`` alone gives the block of all its pairs; none gives the full matrix, which is
            n_rows² numbers.
        max_memory : int or str, optional
            Bytes, or text such as ``"2 GB"``, that the full matrix may take.

        Returns
        -------
        float or array
        """
        if i is None:
            if j is not None:
                raise ValueError("j is given without i; coclustering(i, j) takes pairs of rows")
            self._check_memory(max_memory, "coclustering")
            rows = np.arange(self.tree.n_leaves)
            return _core.coclustering(self.tree, self._found, rows, rows)
        first = self._rows("i", i)
        if j is None:
            block = _core.coclustering(self.tree, self._found, first.ravel(), first.ravel())
            return float(block[0, 0]) if first.ndim == 0 else block
        second = self._rows("j", j)
        if first.ndim and second.ndim and first.shape != second.shape:
            raise ValueError(
                f"i has shape {first.shape} and j has {second.shape}; they must be pairs: give "
                "them one length, or i alone for the block of all its pairs"
            )
        first, second = np.broadcast_arrays(first, second)
        flat = _core.coclustering_pairs(
            self.tree, self._found, first.ravel(), second.ravel()
        ).reshape(first.shape)
        return float(flat) if flat.ndim == 0 else flat

    def _check_memory(self, max_memory: Any, work: str, **more: int) -> None:
        check_memory(
            max_memory, work, self.family, self.tree.n_leaves, self._table.n_columns, **more
        )

    def _rows(self, name: str, value: Any) -> NDArray[np.int64]:
        try:
            rows = np.asarray(value)
        except ValueError:
            raise ValueError(f"{name} is ragged: its rows have different lengths") from None
        if rows.size and rows.dtype.kind not in "iu":
            raise TypeError(f"{name} must be a row number or an array of them, not {shown(value)}")
        if rows.size and not (rows.min() >= 0 and rows.max() < self.tree.n_leaves):
            raise ValueError(f"{name} must be from 0 to {self.tree.n_leaves - 1}, the tree's rows")
        return rows.astype(np.int64)

    def expected_n_clusters(self) -> float:
        """Expected number of clusters, at least 1."""
        return float(self.omega.sum())

    def n_clusters_distribution(self, max_clusters: int = 100) -> NDArray[np.float64]:
        """Posterior of the number of clusters: entry m - 1 is P(m clusters).

        Exact, up to ``max_clusters``: what is missing to one lies above. O(n · max_clusters).
        """
        return np.exp(
            _core.log_cluster_count(
                self.tree, self._found, check_count("max_clusters", max_clusters)
            )
        )

    def cut_nodes(
        self,
        *,
        rule: str | None = None,
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> NDArray[np.int64]:
        """The nodes that `cut` makes clusters of, ascending."""
        check_cut_options(rule, threshold, n_clusters)
        if n_clusters is not None:
            return self._nodes_at_count(rule, n_clusters)
        if rule is None or rule == "map":
            return _core.map_nodes(self.tree, self._found)
        if rule == "binder":
            return _core.binder_nodes(self.tree, self._found, 1.0)
        return _core.nodes_by_probability(
            self.tree, self._found, 0.5 if threshold is None else threshold
        )

    def _nodes_at_count(self, rule: str | None, count: int) -> NDArray[np.int64]:
        if rule == "map":
            return _core.best_nodes_at_count(self.tree, self._found, count)
        return _core.nodes_at_count(self.tree, self._found, count)

    def cut(
        self,
        *,
        rule: str | None = None,
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> NDArray[np.int64]:
        """Flat clusters.

        Parameters
        ----------
        rule : {"map", "r", "binder"}, optional
            ``"map"``, without ``n_clusters`` the default: the most probable partition that the tree
            allows. ``"r"``: from the root down the first nodes with r >= threshold. ``"binder"``:
            the least expected number of pairs wrongly together or apart.
        threshold : float, optional
            A probability, for ``"r"`` without ``n_clusters``, where None is 0.5; given with others,
            an error.
        n_clusters : int, optional
            This many clusters: the node with the largest log d is split first; with ``rule="map"``
            the most probable partition into so many, O(n_rows · n_clusters).

        Returns
        -------
        array of int, shape (n_rows,)
            Labels 0 … k - 1 in order of each cluster's first row.
        """
        nodes = self.cut_nodes(rule=rule, threshold=threshold, n_clusters=n_clusters)
        return _core.labels_of(self.tree, nodes)

    def sample_partitions(
        self,
        n_samples: int = 1,
        *,
        random_state: int = 0,
        max_memory: float | str | None = None,
    ) -> NDArray[np.int64]:
        """Independent exact samples from the posterior over the tree's partitions.

        ``max_memory``: bytes, or text such as "2 GB", beyond which it is refused.

        Returns
        -------
        array of int, shape (n_samples, n_rows)
            Labels as of `cut`; the same for a seed on every platform.
        """
        count, seed = check_count("n_samples", n_samples), check_seed("random_state", random_state)
        self._check_memory(max_memory, "sample_partitions", n_samples=count)
        return _core.sample_partitions(self.tree, self._found, count, seed)

    def path_entropy(self) -> NDArray[np.float64]:
        """How unsure each row's cluster is: entropy over the nodes above it, in nats, (n_rows,)."""
        return _core.path_entropy(self.tree, self._found)

    def score_samples(
        self, X_new: Any, *, n_threads: int | None = None, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """Log predictive density of new rows, in nats, shape (n_new,).

        The mixture over all nodes, each weighed by the probability that it is a cluster, and a new
        cluster; it integrates to one. O(n_new · n_nodes · width).
        """
        fresh, threads = as_table(X_new, argument="X_new"), check_threads(n_threads)
        with _new_rows():
            return _core.log_predictive(
                self.tree, self._found, self._table, self.family, fresh, threads, progress
            )

    def predict_log_proba(
        self,
        X_new: Any,
        labels: NDArray[np.int64] | None = None,
        *,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Log probabilities of the flat clusters for new rows, and of a new cluster.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_columns)
        labels : array of int, shape (n_rows,), optional
            The flat clusters; `cut()` by default.

        Returns
        -------
        array of shape (n_new, n_clusters + 1)
            The last column is "a new cluster". The exponentials of a row sum to one.
        """
        flat = self.cut() if labels is None else self._labels(labels)
        fresh, threads = as_table(X_new, argument="X_new"), check_threads(n_threads)
        with _new_rows():
            return _core.log_responsibilities(
                flat, self.alpha, self._table, self.family, fresh, threads, progress
            )

    def _labels(self, value: Any) -> NDArray[np.int64]:
        try:
            labels = np.asarray(value)
        except ValueError:
            raise ValueError("labels is ragged: its rows have different lengths") from None
        n = self.tree.n_leaves
        if labels.dtype.kind not in "iu":
            raise TypeError(f"labels must be whole numbers, not {labels.dtype}")
        if labels.shape != (n,):
            raise ValueError(f"labels has shape {labels.shape}; it must be ({n},): one label a row")
        bad = np.flatnonzero((labels < 0) | (labels >= n))
        if bad.size:
            raise ValueError(
                f"labels[{bad[0]}] is {labels[bad[0]]}; number the clusters from 0, below {n}"
            )
        return np.ascontiguousarray(labels, dtype=np.int64)

    def explain(self, node: int, *, order: Any = None) -> Explanation:
        """Which columns make a node one cluster, and which split it.

        Parameters
        ----------
        node : int
            A merge: from n_rows to n_nodes - 1; the largest is the root.
        order : array of int, shape (n_columns,), optional
            All columns, each once, for families in which columns are correlated; as they are by
            default.

        Returns
        -------
        Explanation
            Its ``columns``, ``prior`` and ``children`` sum to its ``log_odds``, in nats.

        Notes
        -----
        A column's part is the log Bayes factor of one cluster against two, exact where columns are
        independent given the cluster, and between the blocks of a Product. NormalInverseWishart,
        GaussianProcess and MultinomialDirichlet take each column given those before it in ``order``
        (the chain rule): with the first two the last one's part is what it adds to all the others;
        of a multinomial the last is settled by the total, and its part is 0. In VonMisesFisher a
        column is no distribution of its own: coordinates bear the length's term in proportion to
        their squares. O(rows below the node · width).
        """
        columns, prior, children, log_odds = _core.explain(
            self.tree,
            self._found,
            self._table,
            self.family,
            check_count("node", node, 0),
            self._order(order),
        )
        return Explanation(int(node), columns, prior, children, log_odds)

    def separating_columns(
        self,
        a: int,
        b: int,
        labels: NDArray[np.int64] | None = None,
        *,
        order: Any = None,
    ) -> NDArray[np.float64]:
        """Which columns keep two flat clusters apart.

        Parameters
        ----------
        a, b : int
            Labels of the two clusters.
        labels : array of int, shape (n_rows,), optional
            The flat clusters, of which the others are not looked at; `cut()` by default.
        order : array of int, shape (n_columns,), optional
            As in `explain`.

        Returns
        -------
        array of shape (n_columns,)
            Log Bayes factor of two clusters against one, in nats: above 0 where a column keeps
            them apart. The sum is that of all columns together; parts as in `explain`.
        """
        flat = self.cut() if labels is None else self._labels(labels)
        members = []
        for name, label in (("a", a), ("b", b)):
            rows = np.flatnonzero(flat == check_count(name, label, 0))
            if not rows.size:
                raise ValueError(f"{name} is {label}; the labels are 0 to {int(flat.max())}")
            members.append(rows.astype(np.int64))
        if a == b:
            raise ValueError(f"a and b are both {a}; name two clusters")
        return _core.separation(
            self._table, self.family, members[0], members[1], self._order(order)
        )

    def _order(self, value: Any) -> NDArray[np.int64]:
        if value is None:
            return np.empty(0, dtype=np.int64)
        order = np.asarray(value)
        if order.dtype.kind not in "iu" or order.shape != (self._table.n_columns,):
            raise ValueError(
                f"order is {value!r}; it must name each of the columns 0 to "
                f"{self._table.n_columns - 1} once"
            )
        return np.ascontiguousarray(order, dtype=np.int64)

    def impute(
        self,
        X_new: Any = None,
        *,
        statistic: str = "mean",
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Fill in missing cells, from the mixture over the clusters that a row may belong to.

        Parameters
        ----------
        X_new : array-like of shape (n_new, n_columns), optional
            New rows; None: the rows of the fitted table.
        statistic : {"mean", "mode"}
            What a column of bits gets: ``"mean"`` the probability of a one, ``"mode"`` the more
            probable of 0 and 1. Other numbers get their expected value either way, level codes
            the most probable level (`impute_proba` has the probabilities).
        n_threads : int, optional
            None: all cores. Results do not depend on it.
        progress : callable, optional
            Called with (done, total).

        Returns
        -------
        array of shape (n_new, n_columns)
            Observed cells are as they were; so are columns that are in no block of a Product.

        Raises
        ------
        ValueError
            Also where the prior is so wide that the expected value is infinite.

        Notes
        -----
        A fitted row's cluster is one of the nodes above it, each with the probability that it is
        a cluster; O(n_nodes · width). A new row may join any node or open a new cluster, with the
        weights of `score_samples` given its observed cells; O(n_new · n_nodes · width), of which
        rows without missing cells cost nothing.
        """
        check_choice("statistic", statistic, ("mean", "mode"))
        fresh, threads = self._fresh(X_new), check_threads(n_threads)
        with _new_rows(fresh is not None):
            cells = _core.impute(
                self.tree, self._found, self._table, self.family, fresh, threads, progress
            )
        if statistic == "mode":
            bits = bit_columns(self.family, self._table.n_columns)
            cells[:, bits] = np.where(np.isnan(cells[:, bits]), np.nan, cells[:, bits] > 0.5)
        return cells

    def impute_proba(
        self,
        column: int,
        X_new: Any = None,
        *,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Probabilities of the levels of a column of bits or level codes, cell by cell.

        Parameters
        ----------
        column : int
        X_new, n_threads, progress
            As for `impute`.

        Returns
        -------
        array of shape (n_new, n_levels)
            Rows sum to one: of an observed cell all is on its level, of a missing one by the same
            mixture as in `impute`.
        """
        number = check_count("column", column, 0)
        if number in bit_columns(self.family, self._table.n_columns):
            ones = self.impute(X_new, n_threads=n_threads, progress=progress)[:, number]
            return np.column_stack([1 - ones, ones])
        fresh, threads = self._fresh(X_new), check_threads(n_threads)
        with _new_rows(fresh is not None):
            return _core.impute_levels(
                self.tree, self._found, self._table, self.family, fresh, number, threads, progress
            )

    def _fresh(self, X_new: Any) -> Table | None:
        fresh = None if X_new is None else as_table(X_new, argument="X_new")
        if (self._table if fresh is None else fresh).is_sparse:
            name = "the fitted X" if fresh is None else "X_new"
            raise ValueError(f"{name} is sparse: it has no missing cells to impute")
        return fresh

    def sample(
        self,
        n_samples: int = 1,
        *,
        random_state: int = 0,
        progress: Progress | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw new rows from the predictive density.

        Each joins node k with probability omega_k n_k / (n_rows + alpha), else a new cluster, and
        is drawn from what that cluster's rows say: the density of `score_samples`, exactly. A row
        of MultinomialDirichlet gets the total of a fitted row drawn at random.

        Parameters
        ----------
        n_samples : int
        random_state : int
            Rows are the same for a seed on every platform, up to rounding.
        progress : callable, optional
            Called with (done, total).

        Returns
        -------
        rows : array of shape (n_samples, n_columns)
            NaN in columns that are in no block of a Product.
        nodes : array of int, shape (n_samples,)
            The node that each joined; -1: a new cluster.
        """
        return _core.sample_rows(
            self.tree,
            self._found,
            self._table,
            self.family,
            check_count("n_samples", n_samples),
            check_seed("random_state", random_state),
            progress,
        )

    def certainty(self) -> NDArray[np.float64]:
        """For each row the probability of exactly its cluster in `cut()`, shape (n_rows,)."""
        cluster = _core.cluster_of_nodes(self.tree, self.cut_nodes())[: self.tree.n_leaves]
        return np.minimum(self.omega[cluster], 1.0)

    def to_linkage(self) -> NDArray[np.float64]:
        """SciPy's linkage matrix, shape (n - 1, 4).

        Heights are the running minimum from the root of -log r, so that
        ``fcluster(Z, math.log(2), "distance")`` is ``cut(rule="r")``. Needs one root.
        """
        return self.tree.to_linkage(heights=_core.linkage_heights(self.tree, self._found))

    def to_newick(self, *, names: Sequence[str] | None = None) -> str:
        """Newick text whose branch lengths are differences of `height`."""
        return self.tree.to_newick(names=names, heights=self.height)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "tree": self.tree,
            "family": self.family,
            "alpha": self.alpha,
            "arrays": self._table.arrays,
            "columns": self._table.n_columns,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = state["arrays"]
        if isinstance(arrays, tuple):
            data, indices, indptr = arrays
            table = Table.csr(data, indices, indptr, state["columns"])
        else:
            table = Table.dense(arrays)
        found = _core.posterior(state["tree"], table, state["family"], state["alpha"], None)
        self.__init__(state["tree"], found, table, state["family"])  # type: ignore[misc]
