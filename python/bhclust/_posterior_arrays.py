"""The posterior over the partitions of a tree, node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust.table import kept

__all__ = ["PosteriorArrays"]


class PosteriorArrays:
    """What was found, and its arrays."""

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
        leaves = f"{self.tree.n_leaves} "
        if self._table.is_grouped:
            leaves += f"groups of {self._table.total_weight} "
        return f"<bhclust.Posterior of {leaves}rows, {self.family.name}>"

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
