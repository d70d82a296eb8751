"""What a tree says: the posterior over its partitions, cuts and predictions."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust.families import resolve_family
from bhclust.options import Progress, check_alpha, check_choice, check_count, check_threads
from bhclust.table import as_table

__all__ = ["Posterior", "posterior"]


def posterior(
    tree: Tree | str | Any,
    X: Any,
    family: Family | str,
    *,
    alpha: float = 1.0,
    names: Sequence[str] | None = None,
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
    O(n · width) time for statistics of ``width`` numbers; O(n) memory.
    """
    grown = _as_tree(tree, names)
    table = as_table(X)
    model = resolve_family(family, table)
    value = check_alpha(alpha)
    found = _core.posterior(grown, table, model, value, progress)
    return Posterior(grown, found, table, model)


def _as_tree(tree: Any, names: Sequence[str] | None) -> Tree:
    if isinstance(tree, Tree):
        return tree
    if isinstance(tree, str):
        return Tree.from_newick(tree, names=None if names is None else list(names))
    return Tree.from_linkage(tree)


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
        self.tree = tree
        self.family = family
        self._found = found
        self._table = table

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
        """Log odds that a node is one cluster, given its rows: log r/(1 - r) = -log d; inf at leaves."""
        return self._found.log_odds

    @property
    def r(self) -> NDArray[np.float64]:
        """Probability that a node is one cluster, given its rows."""
        odds = self.log_odds
        with np.errstate(over="ignore"):
            return np.where(
                odds >= 0, 1 / (1 + np.exp(-np.abs(odds))), 1 - 1 / (1 + np.exp(-np.abs(odds)))
            )

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

    def log_evidence_bound(self, kind: str = "tree") -> float:
        """A lower bound of the log evidence of the Dirichlet process mixture, in nats.

        Parameters
        ----------
        kind : {"tree"}
            ``"tree"``: the partitions that the tree allows (Heller & Ghahramani 2005, corollary 1).
        """
        check_choice("kind", kind, ("tree",))
        return self._found.log_evidence_bound

    def cut_nodes(
        self, *, rule: str = "map", threshold: float = 0.5, n_clusters: int | None = None
    ) -> NDArray[np.int64]:
        """The nodes that `cut` makes clusters of, ascending."""
        check_choice("rule", rule, ("map", "r"))
        if n_clusters is not None:
            count = check_count("n_clusters", n_clusters)
            return _core.nodes_at_count(self.tree, self._found, count)
        if rule == "map":
            return _core.map_nodes(self.tree, self._found)
        if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real):
            raise TypeError(f"threshold must be a number, not {threshold!r}")
        return _core.nodes_by_probability(self.tree, self._found, float(threshold))

    def cut(
        self, *, rule: str = "map", threshold: float = 0.5, n_clusters: int | None = None
    ) -> NDArray[np.int64]:
        """Flat clusters.

        Parameters
        ----------
        rule : {"map", "r"}
            ``"map"``: the most probable partition that the tree allows. ``"r"``: from the root down
            the first nodes with r >= threshold.
        threshold : float
            A probability, for ``"r"``.
        n_clusters : int, optional
            This many clusters instead: the node with the largest log d is split first.

        Returns
        -------
        array of int, shape (n_rows,)
            Labels 0 … k - 1 in order of each cluster's first row.
        """
        nodes = self.cut_nodes(rule=rule, threshold=threshold, n_clusters=n_clusters)
        return _core.labels_of(self.tree, nodes)

    def score_samples(
        self, X_new: Any, *, n_threads: int | None = None, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """Log predictive density of new rows, in nats, shape (n_new,).

        The mixture over all nodes, each weighed by the probability that it is a cluster, and a new
        cluster; it integrates to one. O(n_new · n_nodes · width).
        """
        return _core.log_predictive(
            self.tree,
            self._found,
            self._table,
            self.family,
            as_table(X_new, argument="X_new"),
            check_threads(n_threads),
            progress,
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
        flat = self.cut() if labels is None else np.ascontiguousarray(labels, dtype=np.int64)
        return _core.log_responsibilities(
            flat,
            self.alpha,
            self._table,
            self.family,
            as_table(X_new, argument="X_new"),
            check_threads(n_threads),
            progress,
        )

    def certainty(self) -> NDArray[np.float64]:
        """For each row the probability of exactly its cluster in `cut()`, shape (n_rows,)."""
        cluster = _core.cluster_of_nodes(self.tree, self.cut_nodes())[: self.tree.n_leaves]
        return np.minimum(self.omega[cluster], 1.0)

    def to_linkage(self) -> NDArray[np.float64]:
        """SciPy's linkage matrix, shape (n - 1, 4).

        Heights are the running minimum from the root of -log r, so that
        ``fcluster(Z, math.log(2), "distance")`` is ``cut(rule="r", threshold=0.5)``. Needs one root.
        """
        return self.tree.to_linkage(heights=_core.linkage_heights(self.tree, self._found))

    def to_newick(self, *, names: Sequence[str] | None = None) -> str:
        """Newick text whose branch lengths are differences of `height`."""
        return self.tree.to_newick(
            names=None if names is None else [str(name) for name in names], heights=self.height
        )

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
        table = (
            Table.csr(*arrays, state["columns"])
            if isinstance(arrays, tuple)
            else Table.dense(arrays)
        )
        found = _core.posterior(state["tree"], table, state["family"], state["alpha"], None)
        self.__init__(state["tree"], found, table, state["family"])  # type: ignore[misc]
