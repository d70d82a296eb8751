"""Estimators in scikit-learn's manner; scikit-learn itself is not needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust._lambda import lambda_heuristic
from bhclust._layout import FittedRows, Layout
from bhclust._memory import check_memory
from bhclust._tree_clusterer import TreeClusterer
from bhclust.algorithms import forget, rbhc
from bhclust.columns import naming
from bhclust.growth import GROWTHS, growths
from bhclust.inference import Posterior
from bhclust.learning import learn
from bhclust.options import (
    Progress,
    check_alpha,
    check_bool,
    check_choice,
    check_cut,
    check_number,
    check_threads,
)
from bhclust.statistics import Statistics, checked_statistics
from bhclust.table import in_form_of, new_rows, stacked
from bhclust.table import rows_of as rows_of_table

__all__ = ["BHC", "RBHC"]


class BHC(TreeClusterer):
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
        layout, rows = Layout(), FittedRows(X, sample_weight)
        table, family = layout.fit(rows.X, self.family)
        check_cut(self.rule, self.threshold, self.n_clusters, table.n_rows)
        with naming(layout.keys):
            found = self._posterior(table, family, alpha, layout)
        self._keep(layout, found, self._cut(found), rows)
        return self

    def fit_statistics(self, statistics: Statistics) -> BHC:
        """Cluster groups of rows by their sufficient statistics (`Family.statistics`).

        Each group is one leaf: the posterior is over the partitions of the rows that keep every
        group whole. The family is that of the statistics, whatever ``family`` says, and so are its
        hyperparameters unless they are to be learned (``hyperparameters="learn"``: see
        `bhclust.learn`). ``tree="ward"``, which looks at cells, is refused; ``"auto"`` is the
        better of greedy BHC and RBHC.

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
        check_cut(self.rule, self.threshold, self.n_clusters, len(statistics))
        alpha = None if self.alpha is None else check_alpha(self.alpha)
        if self.hyperparameters == "learn":
            found = self._learned(statistics, statistics.family, alpha, ())
        else:
            fixed = 1.0 if alpha is None else alpha
            found = self._of_fixed(statistics._table, statistics.family, fixed)
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
        numbers. A batch without rows changes nothing, unless it is the first, which is refused.

        Parameters
        ----------
        X : array-like, DataFrame or CSR matrix of shape (n_new, n_columns)
        y : ignored
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X)
        self._refuse_weights("partial_fit")
        table = self._new_table(X)
        if table.n_rows == 0:
            return self
        with naming(self._layout.keys):
            with new_rows():
                self.family_._check(table)
            before = self.posterior_._table
            check_memory(self.max_memory, "insert", self.family_, before, n_new=table.n_rows)
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
        self, table: Table, family: Family, alpha: float | None, layout: Layout
    ) -> Posterior:
        fixed = self._fixed_columns(table.n_columns, layout)
        if len(fixed) < table.n_columns:
            return self._learned(table, family, alpha, fixed)
        return self._of_fixed(table, family, 1.0 if alpha is None else alpha)

    def _learned(
        self, X: Table | Statistics, family: Family, alpha: float | None, fixed: Sequence[int]
    ) -> Posterior:
        return learn(
            X,
            family,
            alpha=alpha,
            tree=self.tree,
            fixed=fixed,
            collapse=self.collapse,
            n_threads=self.n_threads,
            max_memory=self.max_memory,
            progress=self.progress,
        ).posterior

    def _of_fixed(self, table: Table, family: Family, alpha: float) -> Posterior:
        """With the hyperparameters as they are: of several trees the one of highest evidence."""
        check_memory(self.max_memory, "bhc", family, table)
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

    def _fixed_columns(self, n_columns: int, layout: Layout) -> Sequence[int]:
        """The columns whose families keep their hyperparameters."""
        if self.hyperparameters == "learn":
            return ()
        if self.hyperparameters == "data" or isinstance(self.family, Family):
            return range(n_columns)
        if layout.coder is not None:
            parts = layout.coder.families
            return [j for j, part in enumerate(parts) if isinstance(part, Family)]
        return ()


class RBHC(TreeClusterer):
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
        layout, rows = Layout(), FittedRows(X, sample_weight)
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
