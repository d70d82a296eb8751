"""Time series: gene expression clustered by GaussianProcess with learned hyperparameters.

``python bench/reproduce/time_series.py DATA`` prints one row a table and kernel. DATA is the folder
that holds yeast_cell_cycle800.npz and yeast_galactose.csv.gz.

yeast_cell_cycle800 is Spellman et al. (1998): 800 genes by the phase of the cell cycle in which
they peak; one experiment (alpha) is 18 times, 7 minutes apart, with missing cells. yeast_galactose
is 205 genes in 20 conditions, four arrays each (Yeung et al. 2003), by functional group; a
condition is a time with four columns, and as conditions are in no order, the length scale that is
learned is short. "Standardised": each row less its mean, divided by its standard deviation, which
is what users of R's BHC do. The evidence of rows that were standardised is not that of the others.

The last lines are for the size of table that R's BHC is used for: 200 series of 10 points, one
greedy tree.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import bhclust
from bhclust import GaussianProcess
from bhclust.metrics import adjusted_rand_index

KERNELS = ("squared-exponential", "matern32", "matern52", "cubic-spline")
HEADER = (
    "| table | kernel | k of defaults | ARI | s | k learned | ARI | ARI told k | log evidence "
    "| length scale | amplitude | noise | alpha | s |"
)
Series = tuple[Any, Any, list[float]]


def cell_cycle(folder: Path, experiment: str) -> Series:
    """Cells, phases and times of one experiment; genes without a single value are left out."""
    held = np.load(folder / "yeast_cell_cycle800.npz")
    names = [str(name) for name in held["feature_names"]]
    chosen = [j for j, name in enumerate(names) if name.startswith(experiment + ":")]
    times = [float(names[j].split(experiment)[-1].lstrip("_")) for j in chosen]
    X = held["X"][:, chosen].astype(np.float64).round(6)
    some = ~np.isnan(X).all(axis=1)
    return X[some], held["y"][some], times


def galactose(folder: Path) -> Series:
    """Cells, functional groups, and the number of each column's condition."""
    held = np.loadtxt(folder / "yeast_galactose.csv.gz", delimiter=",", skiprows=1)
    return held[:, :-1], held[:, -1], [float(j // 4) for j in range(held.shape[1] - 1)]


def standardised(X: Any) -> Any:
    """Rows with mean 0 and standard deviation 1; a row with one value becomes 0."""
    centred = X - np.nanmean(X, axis=1, keepdims=True)
    spread = np.nanstd(X, axis=1, keepdims=True)
    return centred / np.where(spread > 0, spread, 1.0)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = work()
    return result, perf_counter() - start


def report(name: str, data: Series, kernel: str) -> None:
    X, y, times = data
    start = GaussianProcess.from_data(X, times=times, kernel=kernel)
    fitted, alone = timed(lambda: bhclust.posterior(bhclust.bhc(X, start), X, start))
    learned, seconds = timed(lambda: bhclust.learn(X, start))
    labels, before = learned.posterior.cut(), fitted.cut()
    told = learned.posterior.cut(n_clusters=len(np.unique(y)))
    found = learned.family
    print(
        f"| {name} | {kernel} | {before.max() + 1} | {adjusted_rand_index(before, y):.3f} "
        f"| {alone:.2f} | {labels.max() + 1} | {adjusted_rand_index(labels, y):.3f} "
        f"| {adjusted_rand_index(told, y):.3f} | {learned.log_evidence:.0f} "
        f"| {float(found.length_scale):.3g} | {float(found.amplitude):.3g} "
        f"| {float(found.noise):.3g} | {learned.alpha:.2g} | {seconds:.1f} |",
        flush=True,
    )


def small_series(repeats: int = 7) -> None:
    """200 series of 10 points about 8 curves: greedy BHC, defaults from the data included."""
    rng = np.random.default_rng(0)
    t = np.arange(10.0)
    curves = np.cos(np.outer(rng.uniform(0.3, 1.0, 8), t) + rng.uniform(0, 6, (8, 1)))
    X = curves[rng.integers(8, size=200)] + 0.3 * rng.normal(size=(200, 10))
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    for name, cells in (("complete", X), ("5 % missing", holes)):
        for threads in (1, 2):
            seconds = [
                timed(lambda: bhclust.bhc(cells, "time-series", n_threads=threads))[1]  # noqa: B023
                for _ in range(repeats)
            ]
            print(
                f"200 series of 10 points, {name}, {threads} thread(s): median "
                f"{statistics.median(seconds):.4f} s, worst {max(seconds):.4f} s of {repeats} runs"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--kernels", nargs="+", default=KERNELS, choices=KERNELS)
    parser.add_argument("--experiment", default="alpha", choices=("alpha", "cdc15", "cdc28", "elu"))
    arguments = parser.parse_args()
    print(HEADER + "\n|" + " --- |" * (HEADER.count("|") - 1))
    tables = {
        f"yeast_cell_cycle800 {arguments.experiment}": cell_cycle(
            arguments.data, arguments.experiment
        ),
        "yeast_galactose": galactose(arguments.data),
    }
    for name, data in tables.items():
        X = data[0]
        shape = f"{name}, {X.shape[0]} x {X.shape[1]}, {int(np.isnan(X).sum())} missing"
        for kernel in arguments.kernels:
            report(shape, data, kernel)
            report(shape + ", standardised", (standardised(X), *data[1:]), kernel)
    small_series()


if __name__ == "__main__":
    main()
