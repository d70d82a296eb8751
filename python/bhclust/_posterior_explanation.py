"""Which columns make a node one cluster, or keep clusters apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._posterior_partitions import PosteriorPartitions
from bhclust.options import check_count

__all__ = ["Explanation", "PosteriorExplanation"]


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


class PosteriorExplanation(PosteriorPartitions):
    """Parts of the log odds by column."""

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
