"""Xu et al. (2009), figure 8: bound and time of Bayes K-means BHC against BHC; and many rows."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tables import arguments, labelled, markdown

import bhclust
from bhclust.metrics import adjusted_rand_index

DRAWS = 3
FAMILIES = ("gaussian", "gaussian-diag")
METHODS: dict[str, Callable[..., bhclust.Tree]] = {
    "bhc": bhclust.bhc,
    "bayes-kmeans": bhclust.bayes_kmeans_bhc,
    "randomized": bhclust.randomized_bhc,
    "rbhc": bhclust.rbhc,
}


def papers_tables(folder: Path) -> Iterator[tuple[str, Any, tuple[int, ...]]]:
    """Name, rows and sizes; the last of abalone is beyond the paper's 600."""
    yield "iris", labelled(folder, "iris")[0], (50, 100, 150)
    yield "wine", labelled(folder, "wine")[0], (60, 120, 178)
    yield "abalone", abalone(folder), (150, 300, 600, 4000)


def abalone(folder: Path) -> Any:
    """Five continuous columns: length, diameter, height, whole and shucked weight."""
    import csv
    import gzip

    with gzip.open(folder / "abalone.csv.gz", "rt", encoding="utf-8") as file:
        return np.array([row[1:6] for row in list(csv.reader(file))[1:]], dtype=float)


def measured(grow: Callable[..., bhclust.Tree], X: Any, family: Any) -> tuple[float, float]:
    """Bound, and the least user CPU seconds of three runs on one thread."""
    seconds = []
    for _ in range(3):
        start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        tree = grow(X, family, n_threads=1)
        seconds.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - start)
    return bhclust.posterior(tree, X, family).log_evidence_bound(), min(seconds)


def figure_8(folder: Path) -> None:
    head = ["table", "family", "n", "bound BHC", "bound Bayes K-means", "s BHC", "s Bayes K-means"]
    rows = [[*head, "times faster"]]
    for name, table, sizes in papers_tables(folder):
        for alias in FAMILIES:
            for n in sizes:
                found = []
                for seed in range(DRAWS):
                    chosen = np.random.default_rng(seed).permutation(len(table))[:n]
                    X = np.ascontiguousarray(table[chosen])
                    family = bhclust.families.resolve_family(alias, X)
                    exact = measured(bhclust.bhc, X, family)
                    found.append([*exact, *measured(bhclust.bayes_kmeans_bhc, X, family)])
                bound, s, fast_bound, fast_s = np.mean(found, axis=0)
                shown = [f"{bound:,.0f}", f"{fast_bound:,.0f}", f"{s:.4f}", f"{fast_s:.4f}"]
                rows.append([name, alias, str(n), *shown, f"{s / fast_s:.1f}"])
    print(markdown(rows))


def made(kind: str, n: int) -> tuple[Any, Any, Any]:
    """Rows, classes and family: 30 clusters of 10 reals or 64 bits."""
    rng = np.random.default_rng(8)
    y = rng.integers(30, size=n)
    if kind == "gaussian":
        X = rng.normal(rng.normal(0, 3, (30, 10))[y], 1.0)
        return X, y, bhclust.NormalInverseGamma.from_data(X)
    chances = rng.beta(0.5, 0.5, (30, 64))
    return (rng.random((n, 64)) < chances[y]).astype(float), y, bhclust.BernoulliBeta()


def one(kind: str, method: str, n: int) -> None:
    """In a process of its own: time, rise of the peak memory, agreement with the truth."""
    X, y, family = made(kind, n)
    if method == "rbhc" and kind == "gaussian":
        family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=9.0)
    METHODS[method](X[:500], family)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    tree = METHODS[method](X, family)
    seconds = time.perf_counter() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    labels = bhclust.posterior(tree, X, family).cut()
    ari = adjusted_rand_index(labels, y)
    print(
        json.dumps([f"{seconds:.1f}", f"{grown / 1024:,.0f}", str(labels.max() + 1), f"{ari:.3f}"])
    )


def many_rows(n: int) -> None:
    rows = [["rows", "family", "method", "s", "MB above the earlier peak", "clusters", "ARI"]]
    for kind, methods in (
        ("gaussian", ("bayes-kmeans", "randomized", "rbhc")),
        ("bernoulli", ("bayes-kmeans", "randomized")),
    ):
        for method in methods:
            command = [sys.executable, __file__, "--one", kind, method, "--rows", str(n)]
            found = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append([f"{n:,}", kind, method, *json.loads(found.stdout.splitlines()[-1])])
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(markdown(rows))


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, default=0, help="the table of many rows, of so many")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "METHOD"), help="one line of it")
    options = parser.parse_args()
    if options.one:
        one(*options.one, options.rows)
    elif options.rows:
        many_rows(options.rows)
    else:
        figure_8(options.data)


if __name__ == "__main__":
    main()
