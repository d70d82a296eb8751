"""Estimators in scikit-learn's manner; scikit-learn itself is not needed."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Product, Table, Tree
from bhclust._frames import frame_names, is_frame, rows_of
from bhclust._lambda import lambda_heuristic
from bhclust._memory import check_table_memory
from bhclust._written import Form, filled
from bhclust.algorithms import forget, rbhc
from bhclust.columns import ColumnCoder, naming
from bhclust.families import aliases, resolve_family
from bhclust.growth import GROWTHS, growths
from bhclust.inference import Posterior, posterior
from bhclust.learning import learn
from bhclust.options import (
    Progress,
    check_alpha,
    check_bool,
    check_choice,
    check_cut,
    check_number,
    check_threads,
    check_weights,
)
from bhclust.statistics import Statistics, checked_statistics
from bhclust.table import as_table, column_names, in_form_of, new_rows, stacked
from bhclust.table import rows_of as rows_of_table

__all__ = ["BHC", "RBHC"]

Self = TypeVar("Self", bound="_TreeClusterer")


class _TreeClusterer:
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
        layout = _Layout()
        layout.n_columns = statistics.n_columns
        layout.form = Form(np.empty((0, statistics.n_columns)))
        self._restore(layout, found, leaves, leaves)

    def _keep(
        self, layout: _Layout, found: Posterior, leaves: NDArray[np.int64], rows: _Rows
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
        layout: _Layout,
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

    def fit(self: Self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        raise NotImplementedError

    def fit_statistics(self: Self, statistics: Statistics) -> Self:
        raise NotImplementedError

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


class _Rows:
    """The rows to fit: those of X, each as often as its weight says.

    Attributes
    ----------
    X : array-like, DataFrame, CSR matrix or mapping
        The repeated rows.
    leaves : array of int or None
        For each of these its row in the X given; None: the rows as they are.
    unseen : like X, or None
        The rows of weight 0, if any, and `numbers_unseen`, which they are.
    """

    def __init__(self, X: Any, sample_weight: Any) -> None:
        self.X = X
        self.leaves: NDArray[np.int64] | None = None
        self.unseen: Any = None
        if sample_weight is None:
            return
        counts = check_weights(sample_weight)
        n_rows = _row_count(X)
        if len(counts) != n_rows:
            raise ValueError(
                f"sample_weight has {len(counts)} entries for {n_rows} rows; give one a row"
            )
        self.leaves = np.repeat(np.arange(n_rows), counts)
        self.X = rows_of(X, self.leaves)
        self.numbers_unseen = np.flatnonzero(counts == 0)
        if self.numbers_unseen.size:
            self.unseen = rows_of(X, self.numbers_unseen)
        self._n_rows = n_rows

    def labels(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row given the cluster of most of its copies, the first of several; else 0."""
        assert self.leaves is not None
        pairs, counts = np.unique(
            np.column_stack([self.leaves, leaves]), axis=0, return_counts=True
        )
        order = np.lexsort((pairs[:, 1], -counts, pairs[:, 0]))
        rows, first = np.unique(pairs[order, 0], return_index=True)
        labels = np.zeros(self._n_rows, dtype=np.int64)
        labels[rows] = pairs[order[first], 1]
        return labels


def _row_count(X: Any) -> int:
    if isinstance(X, Mapping):
        return max((_row_count(column) for column in X.values()), default=0)
    return int(X.shape[0]) if hasattr(X, "shape") else len(np.asarray(X, dtype=object))


class _Layout:
    """The columns of the fitted table, and how new tables are brought into them."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        self.coder: ColumnCoder | None = None
        self.n_columns = 0
        self.form: Form | None = None

    def fit(self, X: Any, family: Any) -> tuple[Table, Family]:
        """Learn the columns; the cells, and the family with its hyperparameters."""
        self.names = column_names(X)
        if isinstance(family, Mapping) or (isinstance(family, str) and family == "auto"):
            self.coder = ColumnCoder(family)
            table, model = self.coder.fit(X)
        else:
            table = as_table(X)
            with naming(self.names):
                model = resolve_family(family, X)
        self.n_columns = table.n_columns if self.coder is None else len(self.coder.keys)
        self.form = Form(X)
        return table, model

    @property
    def keys(self) -> Sequence[Any] | None:
        """What messages call the columns; None: their numbers."""
        return self.names if self.coder is None else self.coder.columns

    def read(self, X: Any, *, unknown_is_missing: bool = False) -> Table:
        """The cells of a new table."""
        if self.coder is not None:
            return self.coder.transform(X, argument="X_new", unknown_is_missing=unknown_is_missing)
        names = column_names(X)
        if names is not None and self.names is not None and names != self.names:
            raise ValueError(
                f"X_new has the columns {names!r}; the fitted X has {self.names!r}, in that order"
            )
        return as_table(X, argument="X_new")

    def place(self, column: Any) -> tuple[int, list[Any] | None]:
        """Find the number of a column by its key, and its levels where they are not 0, 1, ...."""
        keys = range(self.n_columns) if self.keys is None else list(self.keys)
        if column not in keys:
            raise ValueError(
                f"column is {column!r}; the columns are {list(dict.fromkeys(keys))[:20]!r}"
            )
        levels = None if self.coder is None else self.coder.levels.get(column)
        return keys.index(column), levels

    def write(self, cells: NDArray[np.float64]) -> Any:
        """Make a table of the form of the fitted one."""
        assert self.form is not None
        if self.coder is None:
            return self.form.write_cells(cells)
        return self.form.write(self.coder.decode(cells))

    def fill(self, X: Any, table: Table, cells: NDArray[np.float64]) -> Any:
        """Give a copy of X with its missing cells taken from ``cells``."""
        if self.coder is not None:
            gaps = self.coder.missing(np.asarray(table.arrays))
            values_of = self.coder.decode(cells)
            return filled(X, {key: (gaps[key], values) for key, values in values_of.items()})
        missing = np.isnan(np.asarray(table.arrays))
        if is_frame(X):
            columns = dict(zip(frame_names(X), cells.T, strict=True))
        else:
            return cells
        return filled(
            X, {key: (missing[:, j], values) for j, (key, values) in enumerate(columns.items())}
        )


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


class BHC(_TreeClusterer):
    """Bayesian hierarchical clustering: finds the number of clusters and says how sure it is.

    Parameters
    ----------
    family : str, Family, class or mapping
        The model of a cluster. A name or class takes its hyperparameters from the data
        (`from_data`); a Family is used as it is; a mapping gives each column, by name or number,
        a family of its own, and the other columns are not looked at. ``"hurdle"`` in a mapping is
        for measurements of which many are exactly zero. ``"auto"``, alone or in a mapping, looks at
        each column and finds a family that fits; ``column_choices_`` says which and why.
    alpha : float, optional
        Concentration of the Dirichlet process, above 0; larger values favour more clusters. None:
        learned with the hyperparameters, and 1 where these are not.
    tree : {"auto", "greedy", "rbhc", "ward", "bayes-kmeans", "randomized"}
        How the tree is grown: exact greedy BHC, RBHC, Ward's method on the raw or the standardised
        columns, or, ``"auto"``, the one of these with the highest evidence; for many rows by
        `bayes_kmeans_bhc` or `randomized_bhc`. Learned trees of ``"auto"`` and ``"greedy"`` are
        refined as well. RBHC is left out of ``"auto"`` where it is slow: beyond 2,000 rows, or with
        many columns; so are Ward's method and the refinement, as `bhclust.learn` says.
    collapse : bool
        Greedy BHC merges equal rows first, one by one, and then grows the tree from each set of
        them as one cluster, as `bhc` with ``collapse=True``: a tree of its own, which may have more
        or less evidence; quicker where most rows are repeated, as in surveys and genotypes.
    hyperparameters : {"auto", "learn", "data"}
        ``"learn"``: learned from the evidence together with the tree (`bhclust.learn`, which needs
        SciPy). ``"data"``: as `from_data` gives them, or as they are. ``"auto"``: a Family, alone
        or in a mapping, keeps its own; all others are learned. Learning takes many times what one
        tree does: 1 to 3 s of processor time for 2,000 rows, 8 to 25 s for 10,000, of 4 columns.
    rule : {"map", "r", "binder"}, optional
        How it is cut, as in `Posterior.cut`; None: the most probable partition.
    threshold : float, optional
        For ``rule="r"``; None is 0.5.
    n_clusters : int, optional
        Cut into this many clusters.
    n_threads : int, optional
        None: all cores. Results do not depend on it.
    max_memory : int or str, optional
        Bytes beyond X that fitting may take, or text such as ``"2 GB"``: what would take more is
        refused before it starts. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total) while the tree is built.

    Attributes
    ----------
    labels_ : array of int, shape (n_rows,)
        Clusters ``0`` … ``n_clusters_ - 1``, the largest first, as in `Posterior.cut`.
    n_clusters_ : int
    tree_ : Tree
    posterior_ : Posterior
    family_ : Family
        With the hyperparameters used.
    log_evidence_ : float
        Lower bound of the log evidence, in nats.
    n_features_in_ : int
    feature_names_in_ : array of str
        Of a DataFrame.
    column_choices_ : dict of name or number to ColumnChoice
        With ``"auto"``: the ``family`` of each column, or None where it was set aside, and ``why``.
    """

    def __init__(
        self,
        family: Any = "gaussian",
        *,
        alpha: float | None = None,
        tree: str = "auto",
        collapse: bool = False,
        hyperparameters: str = "auto",
        rule: str | None = None,
        threshold: float | None = None,
        n_clusters: int | None = None,
        n_threads: int | None = None,
        max_memory: float | str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.family = family
        self.alpha = alpha
        self.tree = tree
        self.collapse = collapse
        self.hyperparameters = hyperparameters
        self.rule = rule
        self.threshold = threshold
        self.n_clusters = n_clusters
        self.n_threads = n_threads
        self.max_memory = max_memory
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BHC:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        y : ignored
        sample_weight : array of shape (n_rows,), optional
            How often each row was seen: whole numbers from 0 up, for which the fit is that of the
            table with every row repeated so often, at that table's cost. The tree and the
            posterior have the repeated rows; ``labels_`` has one a row of X: the cluster of most
            of its copies, or with weight 0 what `predict` says. A fraction of a row has no
            likelihood, so other weights are refused.
        """
        check_choice("tree", self.tree, GROWTHS)
        check_bool("collapse", self.collapse)
        check_choice("hyperparameters", self.hyperparameters, ("auto", "learn", "data"))
        alpha = None if self.alpha is None else check_alpha(self.alpha)
        layout, rows = _Layout(), _Rows(X, sample_weight)
        table, family = layout.fit(rows.X, self.family)
        check_cut(self.rule, self.threshold, self.n_clusters, table.n_rows)
        with naming(layout.keys):
            found = self._posterior(table, family, alpha, layout)
        self._keep(layout, found, self._cut(found), rows)
        return self

    def fit_statistics(self, statistics: Statistics) -> BHC:
        """Cluster groups of rows by their sufficient statistics (`Family.statistics`).

        Each group is one leaf: the posterior is over the partitions of the rows that keep every
        group whole. The family and its hyperparameters are those of the statistics, whatever
        ``family`` says; they are not learned, so ``hyperparameters="learn"`` is refused, and so is
        ``tree="ward"``, which looks at cells; ``"auto"`` is the better of greedy BHC and RBHC.

        Parameters
        ----------
        statistics : Statistics

        Returns
        -------
        BHC
            ``labels_`` has one a group; `predict`, `score_samples` and the like take rows.
        """
        checked_statistics(statistics)
        check_choice("tree", self.tree, GROWTHS)
        check_bool("collapse", self.collapse)
        check_choice("hyperparameters", self.hyperparameters, ("auto", "learn", "data"))
        if self.hyperparameters == "learn":
            raise ValueError(
                'hyperparameters is "learn", which needs the rows; with statistics use "data", and '
                "learn on some of the rows before"
            )
        check_cut(self.rule, self.threshold, self.n_clusters, len(statistics))
        alpha = 1.0 if self.alpha is None else check_alpha(self.alpha)
        found = self._of_fixed(statistics._table, statistics.family, alpha)
        labels = found.cut(rule=self.rule, threshold=self.threshold, n_clusters=self.n_clusters)
        self._keep_groups(statistics, found, labels)
        return self

    def _cut(self, found: Posterior) -> NDArray[np.int64]:
        return found.cut(rule=self.rule, threshold=self.threshold, n_clusters=self.n_clusters)

    def partial_fit(self, X: Any, y: Any = None) -> BHC:
        """Put more rows into the tree; the first call is `fit`, or was `fit_statistics`.

        Each row goes where the evidence rises most (`bhclust.insert`). Columns, hyperparameters and
        ``alpha`` stay as the first call found them, so that should be one of many rows, and a level
        of a column that they have not is refused; `fit` all rows again, now and then, to learn
        anew. Attributes are then those of all rows, in the order they came; clusters may get other
        numbers.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_new, n_columns)
        y : ignored
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X)
        self._refuse_weights("partial_fit")
        table = self._new_table(X)
        with naming(self._layout.keys):
            with new_rows():
                self.family_._check(table)
            before = self.posterior_._table
            check_table_memory(self.max_memory, "insert", self.family_, before, n_new=table.n_rows)
            rows = stacked(before, in_form_of(before, table, self.family_))
            alpha, threads = self.posterior_.alpha, check_threads(self.n_threads)
            grown = _core.insert(
                self.tree_, rows, self.family_, alpha, False, True, threads, self.progress
            )
        self._replace(grown, rows)
        return self

    def forget(self, rows: Any) -> BHC:
        """Take rows out, as if they had never come (`bhclust.forget`).

        Hyperparameters stay as they were found with them.

        Parameters
        ----------
        rows : array-like of int
            Their numbers, which are places in ``labels_``. Those kept are numbered anew.
        """
        self._check_fitted()
        self._refuse_weights("forget")
        smaller = forget(self.tree_, rows)
        check_cut(self.rule, self.threshold, self.n_clusters, smaller.n_leaves)
        kept = np.delete(np.arange(self.tree_.n_leaves), np.asarray(rows))
        self._replace(smaller, rows_of_table(self.posterior_._table, kept))
        return self

    def _replace(self, tree: Tree, table: Table) -> None:
        """Keep another tree, of another table of the same columns."""
        found = self._scored(tree, table, self.family_, self.posterior_.alpha)
        labels = self._cut(found)
        self._restore(self._layout, found, labels, labels)

    def _refuse_weights(self, call: str) -> None:
        if self._weighted:
            raise ValueError(
                f"{call} needs a fit without sample_weight: rows of the tree are then rows of X"
            )

    def _posterior(
        self, table: Table, family: Family, alpha: float | None, layout: _Layout
    ) -> Posterior:
        fixed = self._fixed_columns(table.n_columns, layout)
        if len(fixed) < table.n_columns:
            return learn(
                table,
                family,
                alpha=alpha,
                tree=self.tree,
                fixed=fixed,
                collapse=self.collapse,
                n_threads=self.n_threads,
                max_memory=self.max_memory,
                progress=self.progress,
            ).posterior
        return self._of_fixed(table, family, 1.0 if alpha is None else alpha)

    def _of_fixed(self, table: Table, family: Family, alpha: float) -> Posterior:
        """With the hyperparameters as they are: of several trees the one of highest evidence."""
        check_table_memory(self.max_memory, "bhc", family, table)
        ways = growths(
            self.tree,
            table,
            family,
            collapse=self.collapse,
            n_threads=self.n_threads,
            progress=self.progress,
        )
        grown = (self._scored(way.grow(family, alpha), table, family, alpha) for way in ways)
        return max(grown, key=lambda found: found.log_evidence)

    def _fixed_columns(self, n_columns: int, layout: _Layout) -> Sequence[int]:
        """The columns whose families keep their hyperparameters."""
        if self.hyperparameters == "learn":
            return ()
        if self.hyperparameters == "data" or isinstance(self.family, Family):
            return range(n_columns)
        if layout.coder is not None:
            parts = layout.coder.families
            return [j for j, part in enumerate(parts) if isinstance(part, Family)]
        return ()


class RBHC(_TreeClusterer):
    """Relaxed BHC (Lee & Choi 2015): fast, O(n) memory; clusters are the trees of a λ-forest.

    Parameters
    ----------
    family : str, Family, class or mapping
        As for `BHC`. ``"gaussian-spherical"`` is Ward's cost.
    lam : float or "auto"
        Merges that cost this or more are not made. ``"auto"``: Lee & Choi's heuristic, which needs
        scikit-learn for its k-means (`lambda_heuristic`).
    n_clusters : int, optional
        Cut the one tree into this many clusters, in place of ``lam``.
    method : {"auto", "rounds", "nn-chain", "greedy"}
    alpha : float
        Concentration for `predict_proba` and the posterior; the forest does not depend on it.
    random_state : int
        Seed of the k-means of ``lam="auto"``.
    n_threads : int, optional
        None: all cores. Results do not depend on it.
    max_memory : int or str, optional
        Bytes beyond X that fitting may take, or text such as ``"2 GB"``: what would take more is
        refused before it starts. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total) while the forest is built.

    Attributes
    ----------
    labels_, n_clusters_, tree_, posterior_, family_, log_evidence_, n_features_in_
        As for `BHC`; ``tree_`` is the forest.
    lam_ : float
        The threshold used; inf with ``n_clusters``.
    """

    lam_: float

    def __init__(
        self,
        family: Any = "gaussian-spherical",
        *,
        lam: float | str = "auto",
        n_clusters: int | None = None,
        method: str = "auto",
        alpha: float = 1.0,
        random_state: int = 0,
        n_threads: int | None = None,
        max_memory: float | str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.family = family
        self.lam = lam
        self.n_clusters = n_clusters
        self.method = method
        self.alpha = alpha
        self.random_state = random_state
        self.n_threads = n_threads
        self.max_memory = max_memory
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RBHC:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        y : ignored
        sample_weight : array of shape (n_rows,), optional
            How often each row was seen: whole numbers from 0 up, for which the fit is that of the
            table with every row repeated so often, at that table's cost. The tree and the
            posterior have the repeated rows; ``labels_`` has one a row of X: the cluster of most
            of its copies, or with weight 0 what `predict` says. A fraction of a row has no
            likelihood, so other weights are refused.
        """
        alpha = check_alpha(self.alpha)
        layout, rows = _Layout(), _Rows(X, sample_weight)
        table, family = layout.fit(rows.X, self.family)
        with naming(layout.keys):
            lam = self._lambda(table, family)
            grown = rbhc(
                table,
                family,
                lam=lam,
                n_clusters=self.n_clusters,
                method=self.method,
                n_threads=self.n_threads,
                max_memory=self.max_memory,
                progress=self.progress,
            )
            found = self._scored(grown, table, family, alpha)
        self._keep(layout, found, found._labels_of(grown.roots), rows)
        self.lam_ = lam
        return self

    def fit_statistics(self, statistics: Statistics) -> RBHC:
        """Cluster groups of rows by their sufficient statistics (`Family.statistics`).

        Each group is one leaf: the posterior is over the partitions of the rows that keep every
        group whole. The family is that of the statistics, whatever ``family`` says. ``lam="auto"``
        looks at rows and is refused: give a number (`lambda_heuristic` of some rows) or
        ``n_clusters``.

        Parameters
        ----------
        statistics : Statistics

        Returns
        -------
        RBHC
            ``labels_`` has one a group; `predict`, `score_samples` and the like take rows.
        """
        checked_statistics(statistics)
        alpha = check_alpha(self.alpha)
        if self.n_clusters is None and self.lam == "auto":
            raise ValueError(
                'lam is "auto", which looks at rows; with statistics give a number, such as '
                "lambda_heuristic of some of the rows, or n_clusters"
            )
        lam = self._lambda(statistics._table, statistics.family)
        grown = rbhc(
            statistics,
            lam=lam,
            n_clusters=self.n_clusters,
            method=self.method,
            n_threads=self.n_threads,
            max_memory=self.max_memory,
            progress=self.progress,
        )
        found = self._scored(grown, statistics._table, statistics.family, alpha)
        self._keep_groups(statistics, found, found._labels_of(grown.roots))
        self.lam_ = lam
        return self

    def _lambda(self, table: Table, family: Family) -> float:
        if self.n_clusters is not None:
            if not isinstance(self.lam, str) or self.lam != "auto":
                raise ValueError("lam and n_clusters exclude each other; give one of them")
            return math.inf
        if isinstance(self.lam, str):
            if self.lam != "auto":
                raise ValueError(f'lam is {self.lam!r}; it must be a number above 0 or "auto"')
            return lambda_heuristic(table, family, random_state=self.random_state)
        return check_number("lam", self.lam, 'a number or "auto"')
