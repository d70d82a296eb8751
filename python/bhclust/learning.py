"""Learning hyperparameters and trees from the evidence, in turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bhclust import _core
from bhclust._core import Family, NormalKnownVariance, Table, Tree
from bhclust.algorithms import bhc, rbhc, refine
from bhclust.families import resolve_family
from bhclust.hyperparameters import HyperparameterVector, Vector
from bhclust.inference import Posterior, posterior
from bhclust.options import Progress, check_alpha, check_count, check_progress, check_threads
from bhclust.table import as_table
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
    family: Family | str,
    *,
    alpha: float | None = None,
    tree: Tree | str | Any = None,
    max_rounds: int = 6,
    max_regrafts: int = 200,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Learned:
    """Learn hyperparameters, the concentration and the tree from the evidence.

    Hyperparameters are fitted to a tree by L-BFGS-B on the gradient of its evidence bound; a new
    tree is built with them, and so on until the evidence stops rising. One start is not enough, as
    a tree built under a vague prior is a local optimum: the starts are greedy BHC, RBHC and, for
    Gaussian families, Ward's trees of the raw and of the standardised columns. What is returned is
    the best pair of tree and hyperparameters seen; at the end its tree is refined.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
    family : Family or str
        The start; an alias takes its own from X.
    alpha : float, optional
        A fixed concentration; None: it is learned from 1.
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text, optional
        Learn the hyperparameters on this tree alone.
    max_rounds : int
        At most this many rebuilt trees.
    max_regrafts : int
        Budget of `refine` at the end; 0 for interchanges only.
    n_threads : int, optional
        None: all cores. The result does not depend on it.
    progress : callable, optional
        Called with (done, total) of each tree built; an exception raised in it ends the work.

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
    O(n · width).
    """
    rounds = check_count("max_rounds", max_rounds)
    regrafts = check_count("max_regrafts", max_regrafts, 0)
    given = None if tree is None else as_tree(tree)
    table = as_table(X)
    start = resolve_family(family, table)
    run = _Run(table, start, alpha, n_threads, check_progress(progress))
    if given is not None:
        run.fit(given, "given tree")
        return run.best()
    run.fit_starts()
    for number in range(1, rounds + 1):
        if not run.fit(run.greedy(), f"greedy tree, round {number}"):
            break
    run.refine(regrafts)
    return run.best()


class _Run:
    """The best so far, and how more is tried."""

    def __init__(
        self,
        table: Table,
        family: Family,
        alpha: float | None,
        n_threads: int | None,
        progress: Progress | None,
    ) -> None:
        check_threads(n_threads)
        self.table = table
        self.first = family
        self.n_threads = n_threads
        self.progress = progress
        self.vector = HyperparameterVector(
            family,
            1.0 if alpha is None else check_alpha(alpha),
            table,
            learn_alpha=alpha is None,
        )
        self.x = self.vector.start
        self.objective = -math.inf
        self.tree: Tree | None = None
        self.steps: list[Step] = []

    def fit(self, tree: Tree, what: str) -> bool:
        """Fit the hyperparameters to a tree; whether that is the best so far by more than a bit."""
        x, value = _maximise(self._objective_on(tree), self.x, self.vector)
        family, alpha = self.vector.values(x)
        bound = value - self.vector.log_prior(x)[0]
        self.steps.append(Step(what, bound, alpha, family))
        before = self.objective
        if value > before:
            self.objective, self.x, self.tree = value, x, tree
        return value > before + 1e-4

    def fit_starts(self) -> None:
        best: tuple[float, Vector, Tree | None] = (-math.inf, self.x, None)
        for what, build in self._starts():
            self.x, self.objective = self.vector.start, -math.inf
            self.fit(build(), what)
            if self.objective > best[0]:
                best = self.objective, self.x, self.tree
        self.objective, self.x, self.tree = best

    def greedy(self) -> Tree:
        family, alpha = self.vector.values(self.x)
        return bhc(
            self.table, family, alpha=alpha, n_threads=self.n_threads, progress=self.progress
        )

    def refine(self, max_regrafts: int) -> None:
        assert self.tree is not None
        family, alpha = self.vector.values(self.x)
        better = refine(
            self.tree,
            self.table,
            family,
            alpha=alpha,
            max_regrafts=max_regrafts,
            progress=self.progress,
        )
        self.fit(better, "refined tree")

    def best(self) -> Learned:
        assert self.tree is not None
        family, alpha = self.vector.values(self.x)
        found = posterior(self.tree, self.table, family, alpha=alpha)
        return Learned(self.tree, family, alpha, found, found.log_evidence, tuple(self.steps))

    def _starts(self) -> Sequence[tuple[str, Callable[[], Tree]]]:
        starts: list[tuple[str, Callable[[], Tree]]] = [("greedy tree", self.greedy)]
        if self.first._relaxable:
            starts.append(("RBHC tree", lambda: self._rbhc(self.table, self.first)))
        cells = _complete_reals(self.table, self.first)
        if cells is not None:
            spherical = NormalKnownVariance()
            scaled = Table.dense(_standardised(cells))
            starts.append(("Ward tree", lambda: self._rbhc(self.table, spherical)))
            starts.append(("Ward tree, standardised", lambda: self._rbhc(scaled, spherical)))
        return starts

    def _rbhc(self, table: Table, family: Family) -> Tree:
        return rbhc(table, family, n_threads=self.n_threads, progress=self.progress)

    def _objective_on(self, tree: Tree) -> Callable[[Vector], tuple[float, Vector]]:
        def objective(x: Vector) -> tuple[float, Vector]:
            family, alpha = self.vector.values(x)
            found = _core.posterior(tree, self.table, family, alpha, None)
            by_alpha, by_family = _core.gradient_of_evidence(tree, found, self.table, family, None)
            prior, by_prior = self.vector.log_prior(x)
            gradient = self.vector.gradient(x, by_alpha, by_family) + by_prior
            return found.log_evidence_bound + prior, gradient

        return objective


def _maximise(
    objective: Callable[[Vector], tuple[float, Vector]], start: Vector, vector: HyperparameterVector
) -> tuple[Vector, float]:
    """The best point an L-BFGS-B search from the start has seen, and its value."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise ImportError(
            'learning needs SciPy: pip install "bhclust[learn]"; or use hyperparameters="data"'
        ) from None
    best = start, objective(start)[0]

    def descend(x: Vector) -> tuple[float, Vector]:
        nonlocal best
        value, gradient = objective(x)
        if value > best[1]:
            best = x.copy(), value
        return -value, -gradient

    if vector.size:
        minimize(
            descend,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(vector.lower, vector.upper, strict=True)),
            options={"maxiter": 60, "ftol": 1e-9},
        )
    return best


def _complete_reals(table: Table, family: Family) -> Any:
    """The cells, when the family is Gaussian and none is missing; else None."""
    gaussian = ("NormalInverseWishart", "NormalInverseGamma", "NormalKnownVariance")
    if family.name not in gaussian or table.is_sparse:
        return None
    cells = np.asarray(table.arrays)
    return None if np.isnan(cells).any() else cells


def _standardised(cells: Any) -> Any:
    spread = cells.std(axis=0)
    return np.ascontiguousarray((cells - cells.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
