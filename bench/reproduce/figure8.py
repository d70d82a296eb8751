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
#: Calls are short, and the first ones of a process slower.
RUNS = 15
FAMILIES = ("gaussian", "gaussian-diag")
#: Rows of a shard.
SHARD = 100_000
#: What can take a million rows. RBHC of bits has no rounds.
LARGE = {
    "gaussian": (
        "bayes-kmeans",
        "randomized",
        "rbhc",
        "distributed rbhc",
        "distributed bayes-kmeans",
    ),
    "bernoulli": ("bayes-kmeans", "randomized", "distributed bayes-kmeans"),
}
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


def cpu_seconds(grow: Callable[..., bhclust.Tree], X: Any, family: Any) -> float:
    start = time.process_time()
    grow(X, family, n_threads=1)
    return time.process_time() - start


def measured(X: Any, family: Any) -> list[float]:
    """Bounds of BHC and of Bayes K-means, then the least CPU seconds of each on one thread.

    They take turns, as the machine's speed changes with time.
    """
    both = bhclust.bhc, bhclust.bayes_kmeans_bhc
    turns = [[cpu_seconds(grow, X, family) for grow in both] for _ in range(RUNS)]
    trees = [grow(X, family, n_threads=1) for grow in both]
    bounds = [bhclust.posterior(tree, X, family).log_evidence_bound() for tree in trees]
    return [*bounds, *np.min(turns, axis=0)]


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
                    found.append(measured(X, family))
                bound, fast_bound, s, fast_s = np.mean(found, axis=0)
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


def sharded(X: Any, family: Any, method: str) -> Any:
    """Labels by `bhclust.distributed`, the shards one after another in this process."""
    import dask
    import dask.array as da

    with dask.config.set(scheduler="synchronous"):
        cells = da.from_array(X, chunks=(min(len(X), SHARD), -1))
        return bhclust.distributed.bhc(cells, family, method=method).labels.compute()


def clustered(method: str, X: Any, family: Any, n_threads: int | None) -> Any:
    """Labels, or the tree that they are to be cut from."""
    if method.startswith("distributed"):
        return sharded(X, family, method.partition(" ")[2])
    return METHODS[method](X, family, n_threads=n_threads)


def one(kind: str, method: str, n: int, n_threads: int | None) -> None:
    """In a process of its own: time, rise of the peak memory, agreement with the truth."""
    X, y, family = made(kind, n)
    if "rbhc" in method and kind == "gaussian":
        family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=9.0)
    clustered(method, X[:500], family, n_threads)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    found = clustered(method, X, family, n_threads)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = sum(after[:2]) - sum(before[:2])
    grown = (after.ru_maxrss - before.ru_maxrss) / 1024
    is_tree = isinstance(found, bhclust.Tree)
    labels = bhclust.posterior(found, X, family).cut() if is_tree else found
    ari = adjusted_rand_index(labels, y)
    shown = [f"{cpu:.1f}", f"{wall:.1f}", f"{grown:,.0f}", str(labels.max() + 1), f"{ari:.3f}"]
    print(json.dumps(shown))


def many_rows(n: int, kinds: list[str], chosen: list[str], n_threads: int | None) -> None:
    head = ["rows", "family", "method", "s CPU", "s wall", "MB above the earlier peak"]
    rows = [[*head, "clusters", "ARI"]]
    for kind in kinds:
        for method in (m for m in LARGE[kind] if not chosen or m in chosen):
            command = [sys.executable, __file__, "--one", kind, method, "--rows", str(n)]
            if n_threads is not None:
                command += ["--threads", str(n_threads)]
            found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            rows.append([f"{n:,}", kind, method, *json.loads(found.stdout.splitlines()[-1])])
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print(markdown(rows))


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--rows", type=int, default=0, help="the table of many rows, of so many")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "METHOD"), help="one line of it")
    parser.add_argument("--kinds", nargs="+", choices=tuple(LARGE), default=list(LARGE))
    parser.add_argument("--methods", nargs="+", default=[], help="these lines of it only")
    parser.add_argument("--threads", type=int, default=None, help="for the table of many rows")
    options = parser.parse_args()
    if options.one:
        one(*options.one, options.rows, options.threads)
    elif options.rows:
        many_rows(options.rows, options.kinds, options.methods, options.threads)
    else:
        figure_8(options.data)


if __name__ == "__main__":
    main()
