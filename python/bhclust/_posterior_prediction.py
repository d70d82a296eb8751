"""What the clusters of a tree say of new rows and of missing cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Product, Table
from bhclust._posterior_partitions import PosteriorPartitions
from bhclust.families import bit_columns, single_columns
from bhclust.options import Progress, check_choice, check_count, check_seed, check_threads
from bhclust.table import as_table, new_rows

__all__ = ["PosteriorPrediction"]


class PosteriorPrediction(PosteriorPartitions):
    """Densities, memberships, imputation and draws."""

    def score_samples(
        self, X_new: Any, *, n_threads: int | None = None, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """Log predictive density of new rows, in nats, shape (n_new,).

        The mixture over all nodes, each weighed by the probability that it is a cluster, and a new
        cluster; it integrates to one. O(n_new · n_nodes · width).
        """
        fresh, threads = as_table(X_new, argument="X_new"), check_threads(n_threads)
        with new_rows():
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
        with new_rows():
            return _core.log_responsibilities(
                flat, self.alpha, self._table, self.family, fresh, threads, progress
            )

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
        with new_rows(fresh is not None):
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
        if number in single_columns(self.family, self._table.n_columns):
            rows = self.impute(X_new, n_threads=n_threads, progress=progress)
            return np.ones((len(rows), 1))
        fresh, threads = self._fresh(X_new), check_threads(n_threads)
        with new_rows(fresh is not None):
            return _core.impute_levels(
                self.tree, self._found, self._table, self.family, fresh, number, threads, progress
            )

    def _fresh(self, X_new: Any) -> Table | None:
        fresh = None if X_new is None else as_table(X_new, argument="X_new")
        if fresh is None and self._table.is_grouped:
            raise ValueError("the leaves are groups of rows, whose cells are not known; give X_new")
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
        if self._table.is_grouped and _takes_totals(self.family):
            raise ValueError(
                "MultinomialDirichlet draws a row with the total of a fitted one, and the leaves "
                "are groups of rows, whose totals are not known one by one"
            )
        return _core.sample_rows(
            self.tree,
            self._found,
            self._table,
            self.family,
            check_count("n_samples", n_samples),
            check_seed("random_state", random_state),
            progress,
        )


def _takes_totals(family: Family) -> bool:
    if isinstance(family, Product):
        return any(_takes_totals(part) for part, _ in family.blocks)
    return family.name == "MultinomialDirichlet"
