"""What the estimators share."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Family, Product, Table, Tree
from bhclust._layout import FittedRows, Layout
from bhclust._written import Form
from bhclust.columns import naming
from bhclust.families import aliases
from bhclust.inference import Posterior, posterior
from bhclust.statistics import Statistics

__all__ = ["TreeClusterer"]

Self = TypeVar("Self", bound="TreeClusterer")


class TreeClusterer:
    """What the estimators share: parameters, tables in and out, prediction from the posterior."""

    _estimator_type = "clusterer"

    family: Any
    n_threads: int | None

    labels_: NDArray[np.int64]
    n_clusters_: int
    tree_: Tree
    posterior_: Posterior
    family_: Family
    log_evidence_: float
    n_features_in_: int

    #: Whether leaves of the tree are repeated rows of X; estimators pickled long ago do not say.
    _weighted = False

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Set constructor's parameters by name."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        missing, sparse = _takes(self.family)
        return Tags(
            estimator_type="clusterer",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=sparse, allow_nan=missing),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _check_fitted(self) -> None:
        if not hasattr(self, "posterior_"):
            raise _not_fitted(
                f"this {type(self).__name__} is not fitted; call fit(X) before anything that needs "
                "it"
            )

    def _scored(self, tree: Tree, table: Table, family: Family, alpha: float) -> Posterior:
        return posterior(tree, table, family, alpha=alpha, n_threads=self.n_threads)

    def _new_table(self, X: Any, *, unknown_is_missing: bool = False) -> Table:
        self._check_fitted()
        table = self._layout.read(X, unknown_is_missing=unknown_is_missing)
        if self._layout.coder is None and table.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {table.n_columns} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input: X_new must have the columns of the "
                "fitted X"
            )
        return table

    def _keep_groups(
        self, statistics: Statistics, found: Posterior, leaves: NDArray[np.int64]
    ) -> None:
        """Keep what was fitted to groups; new tables are rows of their columns."""
        layout = Layout()
        layout.n_columns = statistics.n_columns
        layout.form = Form(np.empty((0, statistics.n_columns)))
        self._restore(layout, found, leaves, leaves)

    def _keep(
        self, layout: Layout, found: Posterior, leaves: NDArray[np.int64], rows: FittedRows
    ) -> None:
        """Keep what was fitted; ``leaves`` are the labels of the tree's leaves."""
        labels = leaves if rows.leaves is None else rows.labels(leaves)
        self._restore(layout, found, leaves, labels, weighted=rows.leaves is not None)
        if rows.unseen is not None:
            # As if these rows were not there, so they may have levels that the others have not.
            table = self._new_table(rows.unseen, unknown_is_missing=True)
            labels[rows.numbers_unseen] = _most_probable(self._log_proba_of(table))

    def _restore(
        self,
        layout: Layout,
        found: Posterior,
        leaves: NDArray[np.int64],
        labels: NDArray[np.int64],
        *,
        weighted: bool = False,
    ) -> None:
        self._layout = layout
        self._weighted = weighted
        self.n_features_in_ = layout.n_columns
        self._set_or_remove(
            "feature_names_in_",
            None if layout.names is None else np.array(layout.names, dtype=object),
        )
        self._set_or_remove(
            "column_choices_", (layout.coder.choices or None) if layout.coder else None
        )
        self.tree_ = found.tree
        self.posterior_ = found
        self.family_ = found.family
        self.log_evidence_ = found.log_evidence
        self.n_clusters_ = int(leaves.max()) + 1
        self._leaf_labels = leaves
        self.labels_ = labels

    def _set_or_remove(self, name: str, value: Any) -> None:
        if value is not None:
            setattr(self, name, value)
        elif hasattr(self, name):
            delattr(self, name)

    if TYPE_CHECKING:  # each estimator has its own

        def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self: ...

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """`fit`, then the labels of the rows of X, shape (n_rows,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the clusters for new rows, and last of "a new cluster".

        Returns
        -------
        array of shape (n_new, n_clusters_ + 1)
            Rows sum to one.
        """
        return np.exp(self._log_proba(X))

    def _log_proba(self, X: Any) -> NDArray[np.float64]:
        return self._log_proba_of(self._new_table(X))

    def _log_proba_of(self, table: Table) -> NDArray[np.float64]:
        with naming(self._layout.keys):
            return self.posterior_.predict_log_proba(
                table, self._leaf_labels, n_threads=self.n_threads
            )

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The most probable of the fitted clusters for new rows, shape (n_new,).

        "A new cluster" is not among the answers: see the last column of `predict_proba`. Rows of
        the fitted table get their label where the partition is certain; one on the border of two
        clusters may get the other's.
        """
        return _most_probable(self._log_proba(X))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Log predictive density of new rows, in nats, shape (n_new,)."""
        table = self._new_table(X)
        with naming(self._layout.keys):
            return self.posterior_.score_samples(table, n_threads=self.n_threads)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log predictive density of new rows, in nats."""
        return float(np.mean(self.score_samples(X)))

    def impute(self, X: Any = None, *, statistic: str = "mean") -> Any:
        """Fill in the missing cells of new rows, or of the fitted ones.

        Parameters
        ----------
        X : array-like, DataFrame or mapping of shape (n_new, n_columns), optional
            New rows; None: the fitted rows, each with what the tree says of its own cluster.
        statistic : {"mean", "mode"}
            Of bits: the probability of a one, or the more probable value. Other numbers get their
            expected value, text and other levels the most probable one (`Posterior.impute`).

        Returns
        -------
        array, DataFrame or dict
            Of the form of X, with what was observed as it was; None: of the form of the fitted
            table, in its modelled columns alone.
        """
        if X is None:
            self._check_fitted()
            with naming(self._layout.keys):
                return self._layout.write(self.posterior_.impute(statistic=statistic))
        table = self._new_table(X)
        with naming(self._layout.keys):
            cells = self.posterior_.impute(table, statistic=statistic, n_threads=self.n_threads)
        return self._layout.fill(X, table, cells)

    def impute_proba(self, column: Any, X: Any = None) -> dict[Any, NDArray[np.float64]]:
        """Probabilities of the levels of a column of bits or categories, row by row.

        Parameters
        ----------
        column : str or int
            Its name, or its number in tables without names.
        X : array-like, DataFrame or mapping, optional
            New rows; None: the fitted rows.

        Returns
        -------
        dict of level to array of shape (n_new,)
            The arrays sum to one: an observed cell is all on its level (`Posterior.impute_proba`).
        """
        self._check_fitted()
        number, levels = self._layout.place(column)
        table = None if X is None else self._new_table(X)
        with naming(self._layout.keys):
            proba = self.posterior_.impute_proba(number, table, n_threads=self.n_threads)
        return dict(zip(levels or range(proba.shape[1]), proba.T, strict=True))

    def sample(self, n_samples: int = 1, *, random_state: int = 0) -> tuple[Any, NDArray[np.int64]]:
        """Draw new rows from the predictive density.

        Parameters
        ----------
        n_samples : int
        random_state : int

        Returns
        -------
        rows : array, DataFrame or dict
            Of the form of the fitted table, in its modelled columns; levels as text where they
            were text.
        nodes : array of int, shape (n_samples,)
            The node of ``tree_`` that each row joined; -1: a new cluster (`Posterior.sample`).
        """
        self._check_fitted()
        cells, nodes = self.posterior_.sample(n_samples, random_state=random_state)
        return self._layout.write(cells), nodes


def _takes(family: Any) -> tuple[bool, bool]:
    """Whether a choice of family takes missing cells, and whether sparse tables."""
    if isinstance(family, Product):
        family = dict(enumerate(part for part, _ in family.blocks))
    if isinstance(family, Mapping):
        return all(_takes(part)[0] for part in family.values()), False
    if isinstance(family, str) and family in ("auto", "hurdle"):
        return True, False
    known = aliases().get(family) if isinstance(family, str) else family
    return getattr(known, "_takes_missing", False), getattr(known, "_takes_sparse", False)


def _most_probable(log_proba: NDArray[np.float64]) -> NDArray[np.int64]:
    """Of each row the most probable cluster, a new one left out."""
    return np.asarray(np.argmax(log_proba[:, :-1], axis=1), dtype=np.int64)


def _not_fitted(message: str) -> Exception:
    """scikit-learn's NotFittedError where it is installed; it is a ValueError either way."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(message)
    return NotFittedError(message)  # type: ignore[no-any-return]
