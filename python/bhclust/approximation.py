"""What a fast method loses against exact greedy BHC."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bhclust._core import Family, Table, Tree
from bhclust.algorithms import bayes_kmeans_bhc, bhc, randomized_bhc, rbhc
from bhclust.families import resolve_family
from bhclust.inference import posterior
from bhclust.options import check_alpha, check_choice, check_count, check_seed
from bhclust.table import as_table, rows_of

__all__ = ["ApproximationLoss", "approximation_loss"]


@dataclass(frozen=True)
class ApproximationLoss:
    """A fast method beside exact greedy BHC, on the same rows.

    Attributes
    ----------
    method : str
    n_rows : int
        Rows that both were given.
    log_evidence_bound, exact_log_evidence_bound : float
        Of the method's tree and of `bhc`'s, nats. Greedy BHC is greedy: the method may have more.
    loss_per_row : float
        What a row loses, nats; below 0 where the method has more evidence.
    adjusted_rand_index : float
        Of the most probable partitions of the two trees, 1 for equal ones.
    seconds, exact_seconds : float
        Wall time of growing each tree.
    """

    method: str
    n_rows: int
    log_evidence_bound: float
    exact_log_evidence_bound: float
    loss_per_row: float
    adjusted_rand_index: float
    seconds: float
    exact_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.method} on {self.n_rows} rows: {self.loss_per_row:.3g} nats a row below "
            f"greedy BHC, adjusted Rand index {self.adjusted_rand_index:.3f}, "
            f"{self.seconds:.2g} s for {self.exact_seconds:.2g} s"
        )


def approximation_loss(
    X: Any,
    family: Family | str,
    *,
    method: str = "bayes-kmeans",
    n_rows: int = 1000,
    alpha: float = 1.0,
    random_state: int = 0,
    n_threads: int | None = None,
) -> ApproximationLoss:
    """Compare a fast method with exact greedy BHC on a random draw of the rows.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
    family : Family or str
        An alias takes its defaults from all of X.
    method : {"bayes-kmeans", "randomized", "rbhc"}
    n_rows : int
        Rows drawn without replacement; all rows where X has no more.
    alpha : float
        Concentration of the Dirichlet process, above 0.
    random_state : int
        Seed of the draw and of the method, from 0 to 2^64 - 1.
    n_threads : int, optional
        None: all cores.

    Returns
    -------
    ApproximationLoss

    Raises
    ------
    ImportError
        Without scikit-learn, which has the adjusted Rand index.

    Notes
    -----
    About n_rows² scores. What is lost on a draw says little about clusters so small that the draw
    has hardly a row of them. Bayes K-means of at most 256 rows is `bhc` itself: draw more.
    """
    from bhclust.metrics import adjusted_rand_index

    check_choice("method", method, ("bayes-kmeans", "randomized", "rbhc"))
    count = check_count("n_rows", n_rows)
    seed = check_seed("random_state", random_state)
    concentration = check_alpha(alpha)
    table = as_table(X)
    model = resolve_family(family, X)
    if count < table.n_rows:
        rng = np.random.default_rng(seed)
        table = rows_of(table, np.sort(rng.choice(table.n_rows, count, replace=False)))

    def exact(some: Table) -> Tree:
        return bhc(some, model, alpha=concentration, n_threads=n_threads)

    def fast(some: Table) -> Tree:
        if method == "rbhc":
            return rbhc(some, model, n_threads=n_threads)
        grow = bayes_kmeans_bhc if method == "bayes-kmeans" else randomized_bhc
        return grow(some, model, alpha=concentration, random_state=seed, n_threads=n_threads)

    tree, seconds = _timed(fast, table)
    reference, exact_seconds = _timed(exact, table)
    mine = posterior(tree, table, model, alpha=concentration, n_threads=n_threads)
    theirs = posterior(reference, table, model, alpha=concentration, n_threads=n_threads)
    bound, exact_bound = mine.log_evidence_bound(), theirs.log_evidence_bound()
    return ApproximationLoss(
        method=method,
        n_rows=table.n_rows,
        log_evidence_bound=bound,
        exact_log_evidence_bound=exact_bound,
        loss_per_row=(exact_bound - bound) / table.n_rows,
        adjusted_rand_index=adjusted_rand_index(mine.cut(), theirs.cut()),
        seconds=seconds,
        exact_seconds=exact_seconds,
    )


def _timed(grow: Callable[[Table], Tree], table: Table) -> tuple[Tree, float]:
    start = time.perf_counter()
    tree = grow(table)
    return tree, time.perf_counter() - start
