"""What a call will need, before it starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Product, Table, Tree
from bhclust._memory import ALGORITHMS, Shape, bytes_needed, shape_of
from bhclust.algorithms import bayes_kmeans_bhc, bhc, insert, randomized_bhc, rbhc, refine
from bhclust.families import aliases, resolve_family
from bhclust.inference import posterior
from bhclust.learning import learn
from bhclust.options import check_choice, check_count, check_threads, shown
from bhclust.statistics import Statistics
from bhclust.table import as_leaves, rows_of

__all__ = ["Estimate", "estimate"]

#: A trial of so many seconds says enough; one that took a quarter is not doubled again.
ENOUGH = 0.2
#: Powers of the number of rows in the time of each algorithm.
POWERS = {
    "bhc": 2.0,
    "randomized_bhc": 1.1,
    "coclustering": 2.0,
    "learn": 1.3,
    "refine": 2.0,
}
#: `learn` looks at so many rows again and again, and at more only for the last trees.
LEARNING_ROWS = 2000
#: Made up where only a shape is given, of so many cells in all.
MOST_ROWS = 4096
MOST_CELLS = 1 << 23
#: The range is the extrapolated time divided and multiplied by this.
DOUBT = 2.0


@dataclass(frozen=True)
class Estimate:
    """What a call will need.

    Attributes
    ----------
    algorithm : str
    bytes : int
        At the peak, beyond the input and with the result.
    seconds : tuple of float
        A range: from trials on few rows.
    """

    algorithm: str
    bytes: int
    seconds: tuple[float, float]

    def __str__(self) -> str:
        low, high = self.seconds
        return f"{self.algorithm}: {_core.byte_size(self.bytes)}, {low:.2g} to {high:.2g} s"


def estimate(
    X: Any,
    family: Family | str | None = None,
    *,
    algorithm: str = "bhc",
    n_new: int | None = None,
    n_samples: int = 1,
    n_clusters: int = 20,
    n_seeds: int | None = None,
    n_threads: int | None = None,
) -> Estimate:
    """Tell the memory and the time that a call will take, from trials on few rows.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), Statistics, or that shape
        Of a shape alone, which is that of a dense table without missing cells, the trials are made
        on random rows.
    family : Family or str
        None: that of the statistics.
    algorithm : {"bhc", "rbhc", "bayes_kmeans_bhc", "randomized_bhc", "posterior", "bounds", \
"coclustering", "learn", "refine", "insert", "sample_partitions", "predict"}
        "bounds" is `Posterior.log_evidence_bound` by relocations, "coclustering" that of all pairs,
        "learn" and "refine" are with their defaults, "predict" is `Posterior.predict_log_proba`.
    n_new : int, optional
        New rows to predict or to insert; None: as many as X has.
    n_samples : int
        Partitions to sample.
    n_clusters : int
        Flat clusters among which new rows are divided.
    n_seeds : int, optional
        Of Bayes K-means, which others have not; None: the root of the number of rows.
    n_threads : int, optional
        None: all cores.

    Returns
    -------
    Estimate
        Time on other rows may differ by more where it depends on them: in RBHC and in learning.

    Raises
    ------
    ValueError, TypeError
        Naming what does not fit.

    Examples
    --------
    >>> print(bhclust.estimate((20_000, 8), "gaussian"))  # doctest: +SKIP
    bhc: 7.9 MB, 1.1 to 4.5 s
    """
    check_choice("algorithm", algorithm, tuple(ALGORITHMS))
    check_threads(n_threads)
    shape, rows = _sizes(X, family)
    model = resolve_family(family, X if isinstance(X, Statistics) else rows)
    grouped = isinstance(X, Statistics)
    if grouped and algorithm == "predict":
        raise ValueError(f"algorithm is {algorithm!r}, which takes rows, and X is {shown(X)}")
    n = shape.n
    count = n if n_new is None else check_count("n_new", n_new)
    samples = check_count("n_samples", n_samples)
    clusters = check_count("n_clusters", n_clusters)
    seeds = 0 if n_seeds is None else check_count("n_seeds", n_seeds)
    if algorithm == "bayes_kmeans_bhc" and seeds > n:
        raise ValueError(f"n_seeds is {seeds}; X has {n} row(s), so it must be between 1 and that")
    needed = bytes_needed(
        algorithm,
        model,
        shape,
        n_new=count,
        n_samples=samples,
        n_clusters=clusters,
        n_seeds=seeds,
        n_threads=check_threads(n_threads),
    )
    trial = _Trial(algorithm, model, rows, n_threads, seeds=seeds, share=seeds / n)
    rows_of_trial = {"predict": count, "insert": (n + count) // 2}
    seconds = trial.seconds(rows_of_trial.get(algorithm, n))
    if algorithm == "sample_partitions":
        seconds *= samples
    return Estimate(algorithm, needed, (seconds / DOUBT, seconds * DOUBT))


def _sizes(X: Any, family: Any) -> tuple[Shape, Any]:
    """Give the rows and columns, and the rows to try."""
    if isinstance(X, tuple) and len(X) == 2 and not any(np.ndim(size) for size in X):
        n, d = (check_count(f"X[{i}]", size) for i, size in enumerate(X))
        if d > MOST_CELLS:
            raise ValueError(
                f"X[1] is {d}; trials on made-up rows take at most {MOST_CELLS} columns"
            )
        return Shape(n, d), _made_up(family, min(n, MOST_ROWS, max(1, MOST_CELLS // d)), d)
    table = as_leaves(X)
    return shape_of(table), table


def _made_up(family: Any, n: int, d: int) -> NDArray[np.float64]:
    """Make random rows that a family takes: a few clusters."""
    random = np.random.default_rng(0)
    if isinstance(family, Product):
        table = np.zeros((n, d))
        for part, columns in family.blocks:
            table[:, list(columns)] = _made_up(part, n, len(columns))
        return table
    known = aliases().get(family) if isinstance(family, str) else type(family)
    place = random.normal(0.0, 3.0, (10, d))[random.integers(10, size=n)]
    cells: NDArray[np.float64] = place + random.normal(size=(n, d))
    match getattr(known, "__name__", ""):
        case "BernoulliBeta":
            return (cells > 0).astype(np.float64)
        case "CategoricalDirichlet":
            return np.clip(np.floor(np.abs(cells)), 0, 1)
        case "ExponentialGamma":
            return np.exp(0.3 * cells)
        case "VonMisesFisher":
            cells /= np.linalg.norm(cells, axis=1, keepdims=True)
            return cells
        case name if name.startswith("Normal") or name == "GaussianProcess":
            return cells
    return np.asarray(np.floor(np.exp(0.4 * cells)) + 1.0)


class _Trial:
    """One algorithm on few of the rows."""

    def __init__(
        self,
        algorithm: str,
        family: Family,
        X: Any,
        n_threads: int | None,
        *,
        seeds: int = 0,
        share: float = 0.0,
    ) -> None:
        """``seeds`` of Bayes K-means are that share of all rows; 0: the default."""
        self.algorithm = algorithm
        self.family = family
        self.X = X
        self.n_threads = n_threads
        self.seeds = seeds
        self.share = share

    def seconds(self, n: int) -> float:
        """Extrapolate to n rows."""
        size, seconds, power = self._run(n)
        if self.algorithm != "learn" or n <= LEARNING_ROWS:
            return float(seconds * (n / size) ** power)
        trees = _Trial("bhc", self.family, self.X, self.n_threads).seconds(n)
        return float(seconds * (LEARNING_ROWS / size) ** power + 4 * trees)

    def _run(self, n: int) -> tuple[int, float, float]:
        """Double the rows until the time tells: rows, seconds, and the power of the rows."""
        table = as_leaves(self.X)
        most = min(n, table.n_rows)
        size = min(most, 64)
        before = (0, 0.0)
        while True:
            seconds = self._time(_some_rows(table, size))
            if size == most or seconds > ENOUGH / 4:
                break
            before = (size, seconds)
            size = min(most, 2 * size)
        if self.algorithm == "rbhc":
            return size, seconds, _slope(before, (size, seconds))
        if self.algorithm == "bayes_kmeans_bhc" and n > size:
            more_seeds = self._seeds_of(n) / self._seeds_of(size)
            return size, seconds, 1.0 + math.log(more_seeds) / math.log(n / size)
        return size, seconds, POWERS.get(self.algorithm, 1.0)

    def _seeds_of(self, n: int) -> int:
        """As many of few rows as of all, up to their root; of more, their share."""
        root = math.isqrt(n)
        if self.seeds == 0:
            return root
        return max(min(self.seeds, root), round(self.share * n))

    def _time(self, rows: Table) -> float:
        work = self._work(rows)
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def _work(self, rows: Table) -> Callable[[], object]:
        family, threads = self.family, self.n_threads
        if self.algorithm == "bhc":
            return lambda: bhc(rows, family, n_threads=threads)
        if self.algorithm == "bayes_kmeans_bhc":
            seeds = self._seeds_of(rows.n_rows)
            return lambda: bayes_kmeans_bhc(rows, family, n_seeds=seeds, n_threads=threads)
        if self.algorithm == "randomized_bhc":
            return lambda: randomized_bhc(rows, family, n_threads=threads)
        if self.algorithm == "rbhc":
            return lambda: rbhc(rows, family, n_threads=threads)
        if self.algorithm == "learn":
            return lambda: learn(rows, family, n_threads=threads)
        if self.algorithm == "insert":
            early = bhc(rows, family, n_threads=threads)
            return lambda: insert(early, rows, rows, family, n_threads=threads)
        tree = _balanced(rows.n_rows)
        if self.algorithm == "posterior":
            return lambda: posterior(tree, rows, family, n_threads=threads)
        if self.algorithm == "refine":
            return lambda: refine(tree, rows, family)
        found = posterior(tree, rows, family)
        if self.algorithm == "bounds":
            return lambda: found.log_evidence_bound("relocations", n_threads=threads)
        if self.algorithm == "coclustering":
            return found.coclustering
        if self.algorithm == "sample_partitions":
            return found.sample_partitions
        labels = np.arange(rows.n_rows) % 20
        return lambda: found.predict_log_proba(rows, labels, n_threads=threads)


def _slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    """Power of the rows between two trials, from 1 to 2."""
    if a[0] == 0 or a[0] == b[0]:
        return 2.0
    return float(np.clip(np.log(b[1] / a[1]) / np.log(b[0] / a[0]), 1.0, 2.0))


def _some_rows(table: Table, n: int) -> Table:
    """Rows at even distances."""
    return rows_of(table, np.linspace(0, table.n_rows - 1, n).astype(np.int64))


def _balanced(n: int) -> Tree:
    """Join neighbours, then these, and so on."""
    nodes, children, made = list(range(n)), [], n
    while len(nodes) > 1:
        pairs = list(zip(nodes[::2], nodes[1::2], strict=False))
        children += pairs
        rest = nodes[2 * len(pairs) :]
        nodes = [*range(made, made + len(pairs)), *rest]
        made += len(pairs)
    return Tree.from_children(n, np.array(children, dtype=np.int64).reshape(-1, 2))
