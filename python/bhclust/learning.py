"""Learning hyperparameters and trees from the evidence, in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust._memory import check_memory
from bhclust.algorithms import refine
from bhclust.families import resolve_family
from bhclust.growth import GROWTHS, Growth, growths, is_vast
from bhclust.hyperparameters import HyperparameterVector, Vector
from bhclust.inference import Posterior, posterior
from bhclust.options import (
    Progress,
    check_alpha,
    check_bool,
    check_choice,
    check_count,
    check_progress,
    check_seed,
    check_threads,
    shown,
)
from bhclust.table import as_leaves, rows_of
from bhclust.trees import as_tree

__all__ = ["Learned", "Step", "learn"]


@dataclass(frozen=True)
class Step:
    """One step of `learn`."""

    what: str
    """The tree, and what was done to it."""
    log_evidence: float
    """The tree's bound with the hyperparameters found for it, in nats."""
    alpha: float
    family: Family


@dataclass(frozen=True)
class Learned:
    """The best of the trees and hyperparameters that `learn` has seen."""

    tree: Tree
    family: Family
    alpha: float
    posterior: Posterior
    log_evidence: float
    steps: tuple[Step, ...]


def learn(
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float | None = None,
    tree: Tree | str = "auto",
    fixed: Collection[int] = (),
    collapse: bool = False,
    max_rows: int = 2000,
    max_rounds: int = 6,
    max_regrafts: int = 2000,
    random_state: int = 0,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Learn hyperparameters, the concentration and the tree from the evidence.

    Hyperparameters are fitted to a tree by L-BFGS-B on the gradient of its evidence bound; a new
    tree is grown with them, and so on until the evidence stops rising. One start is not enough, as
    a tree grown under a vague prior is a local optimum: by default the starts are greedy BHC, RBHC
    and Ward's trees of the raw and of the standardised columns, and the least concentration, from
    which one cluster can be found. What is returned is the best pair
    of tree and hyperparameters seen; greedy and chosen trees are refined at the end. Vast tables
    (more than 4,096 columns, of so many rows that rows² times columns is more than 5e9) are neither
    refined nor given Ward's trees, and the concentrations of a multinomial are learned up to one
    factor.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
        Of `Statistics` each group is a leaf, and evidence is that of partitions which keep it
        whole: what groups hide, such as how rows lie within them, is in their statistics, but
        clusters within a group are not found. Ward's trees are left out. Prior means of the blocks
        of a `Product` then stay as they are.
    family : Family or str, optional
        The start; an alias takes its own from X. None: that of Statistics.
    alpha : float, optional
        A fixed concentration; None: it is learned from 1.
    tree : {"auto", "greedy", "rbhc", "ward", "bayes-kmeans", "randomized"} or a tree
        How trees are grown (`bhclust.growth.growths` says how each way reads X); or one tree (Tree,
        linkage matrix or Newick text), on which alone hyperparameters are learned. Only trees of
        ``"auto"`` and ``"greedy"`` are refined.
    fixed : collection of int
        Columns whose blocks of a `Product` keep their hyperparameters.
    collapse : bool
        Greedy trees merge equal rows first, as in `bhc`.
    max_rows : int
        From a table with more rows, or groups, so many are drawn to learn hyperparameters from; the
        trees of all are then grown once each, and hyperparameters fitted to the best.
    max_rounds : int
        At most so many trees grown anew.
    max_regrafts : int
        Budget of `refine` at the end; 0 for interchanges only. Vast tables are not refined.
    random_state : int
        Seed of the draw of rows.
    n_threads : int, optional
        None: all cores. The result does not depend on it.
    max_memory : int or str, optional
        Bytes beyond the input, or text such as ``"2 GB"``: what would take more is refused before
        it starts; None: what the machine has. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total) of each tree grown; an exception raised in it ends the work.

    Returns
    -------
    Learned

    Raises
    ------
    ImportError
        Without SciPy.

    Notes
    -----
    Weak log-normal hyperpriors about the start and bounds keep hyperparameters from degenerate
    corners (`bhclust.hyperparameters`). A step of the optimiser costs two passes over the tree,
    O(n_rows · width); growing a tree costs more than all steps on it from some thousand rows on.
    """
    _minimiser()
    check_threads(n_threads)
    check_progress(progress)
    check_count("max_rows", max_rows)
    check_count("max_rounds", max_rounds, 0)
    check_count("max_regrafts", max_regrafts, 0)
    seed = check_seed("random_state", random_state)
    table = as_leaves(X)
    start = resolve_family(family, X)
    check_memory(max_memory, "learn", start, table)
    concentration = None if alpha is None else check_alpha(alpha)
    collapse = check_bool("collapse", collapse)
    kept = _columns(fixed, table.n_columns)
    settings = _Settings(start, concentration, kept, collapse, n_threads, progress)
    run = _Run(table, settings)
    if not isinstance(tree, str) or "(" in tree:
        run.fit(as_tree(tree), "given tree", 1e-4)
        return run.best()
    check_choice("tree", tree, GROWTHS)
    if table.n_rows > max_rows:
        few = _drawn(table, max_rows, seed)
        part = _Run(few, settings, of=table)
        part.climb(tree, max_rounds)
        run.take(part)
        run.fit_starts(tree)
    else:
        run.climb(tree, max_rounds)
    if tree in ("auto", "greedy") and not is_vast(table):
        run.refine(max_regrafts)
    return run.best()


@dataclass(frozen=True)
class _Settings:
    """What the runs on all rows and on some share."""

    family: Family
    alpha: float | None
    fixed: tuple[int, ...]
    collapse: bool
    n_threads: int | None
    progress: Progress | None


class _Run:
    """The best so far, and how more is tried."""

    def __init__(self, table: Table, settings: _Settings, *, of: Table | None = None) -> None:
        self.table = table
        self.settings = settings
        self.vector = HyperparameterVector(
            settings.family,
            1.0 if settings.alpha is None else settings.alpha,
            table if of is None else of,
            learn_alpha=settings.alpha is None,
            fixed=settings.fixed,
        )
        self.x = self.vector.start
        self.objective = -math.inf
        self.tree: Tree | None = None
        self.steps: list[Step] = []

    def take(self, part: _Run) -> None:
        """Start from the hyperparameters that a part of the rows gave."""
        self.x = part.x
        self.steps = [
            replace(step, what=f"{step.what} of {part.table.n_rows} rows") for step in part.steps
        ]

    def fit(
        self, tree: Tree, what: str, precision: float = 0.02, *, start: Vector | None = None
    ) -> bool:
        """Fit the hyperparameters to a tree; whether that is the best so far by more than a bit.

        The search begins at the best so far, and ends when a step gains less than ``precision``, in
        nats.
        """
        begin = self.x if start is None else start
        x, value = _maximise(self._objective_on(tree), begin, self.vector, precision)
        family, alpha = self.vector.values(x)
        bound = value - self.vector.log_prior(x)[0]
        self.steps.append(Step(what, bound, alpha, family))
        before = self.objective
        if value > before:
            self.objective, self.x, self.tree = value, x, tree
        return value > before + 2 * precision

    def climb(self, kind: str, max_rounds: int) -> None:
        """From the starts of a kind on, trees grown with what the last best one gave."""
        self.fit_starts(kind)
        ways = self._growths("greedy" if kind == "auto" else kind)
        for number in range(1, max_rounds + 1):
            rose = [
                self.fit(way.grow(*self.vector.values(self.x)), f"{way.what}, round {number}")
                for way in ways
                if way.follows
            ]
            if not any(rose):
                break
        if self.tree is not None and self.settings.alpha is None:
            # The optima of many clusters hide that of one, for which any tree will do.
            self.fit(self.tree, "few clusters", start=self.vector.few_clusters())

    def fit_starts(self, kind: str) -> None:
        """Each start by itself, from the hyperparameters at hand."""
        first = self.x
        best: tuple[float, Vector, Tree | None] = (-math.inf, first, None)
        for way in self._growths(kind):
            self.x, self.objective = first, -math.inf
            self.fit(way.grow(*self.vector.values(first)), way.what)
            if self.objective > best[0]:
                best = self.objective, self.x, self.tree
        self.objective, self.x, self.tree = best

    def refine(self, max_regrafts: int) -> None:
        assert self.tree is not None
        family, alpha = self.vector.values(self.x)
        better = refine(
            self.tree,
            self.table,
            family,
            alpha=alpha,
            max_regrafts=max_regrafts,
            n_threads=self.settings.n_threads,
            progress=self.settings.progress,
        )
        self.fit(better, "refined tree", 1e-4)

    def best(self) -> Learned:
        assert self.tree is not None
        family, alpha = self.vector.values(self.x)
        found = posterior(
            self.tree, self.table, family, alpha=alpha, n_threads=self.settings.n_threads
        )
        return Learned(self.tree, family, alpha, found, found.log_evidence, tuple(self.steps))

    def _growths(self, kind: str) -> Sequence[Growth]:
        return growths(
            kind,
            self.table,
            self.settings.family,
            collapse=self.settings.collapse,
            n_threads=self.settings.n_threads,
            progress=self.settings.progress,
        )

    def _objective_on(self, tree: Tree) -> Callable[[Vector], tuple[float, Vector]]:
        threads = check_threads(self.settings.n_threads)

        def objective(x: Vector) -> tuple[float, Vector]:
            family, alpha = self.vector.values(x)
            found = _core.posterior(tree, self.table, family, alpha, None, threads)
            by_alpha, by_family = _core.gradient_of_evidence(
                tree, found, self.table, family, None, threads
            )
            prior, by_prior = self.vector.log_prior(x)
            gradient = self.vector.gradient(x, by_alpha, by_family) + by_prior
            return found.log_evidence_bound + prior, gradient

        return objective


def _columns(fixed: Any, n_columns: int) -> tuple[int, ...]:
    """Numbers of columns."""
    try:
        columns = tuple(fixed)
    except TypeError:
        raise TypeError(f"fixed must be a list of column numbers, not {shown(fixed)}") from None
    for i, column in enumerate(columns):
        if check_count(f"fixed[{i}]", column, 0) >= n_columns:
            raise ValueError(f"fixed[{i}] is {column}; the columns are 0 to {n_columns - 1}")
    return columns


def _minimiser() -> Callable[..., Any]:
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise ImportError(
            'learning needs SciPy: pip install "bhclust[learn]"; or use hyperparameters="data"'
        ) from None
    return minimize


def _one_thread_for_linear_algebra() -> AbstractContextManager[Any]:
    """Several would spin for each other on matrices as small as the optimiser's."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, "blas")
    return limits


def _drawn(table: Table, count: int, seed: int) -> Table:
    """Draw rows at random, in the order of the table."""
    rows = np.sort(np.random.default_rng(seed).permutation(table.n_rows)[:count])
    return rows_of(table, rows)


def _maximise(
    objective: Callable[[Vector], tuple[float, Vector]],
    start: Vector,
    vector: HyperparameterVector,
    precision: float,
) -> tuple[Vector, float]:
    """The best point an L-BFGS-B search from the start has seen, and its value."""
    best = start, objective(start)[0]

    def descend(x: Vector) -> tuple[float, Vector]:
        nonlocal best
        value, gradient = objective(x)
        if value > best[1]:
            best = x.copy(), value
        return -value, -gradient

    if vector.size:
        with _one_thread_for_linear_algebra():
            _minimiser()(
                descend,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=list(zip(vector.lower, vector.upper, strict=True)),
                options={"maxiter": 60, "ftol": precision / max(1.0, abs(best[1]))},
            )
    return best
