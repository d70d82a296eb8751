"""Means of one more row of a cluster, from the rows in NumPy, and imputation by enumeration."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from . import bhc
from .families import GaussianProcess, Rows, is_missing

Mean = Any
"""A number, or of a column of codes the probabilities of its levels."""


def _normal_inverse_gamma(x: np.ndarray, *, mean: float, kappa: float, **_hyper: float) -> Mean:
    return (kappa * mean + x.sum()) / (kappa + len(x))


def _normal_known_variance(
    x: np.ndarray, *, variance: float, mean: float, prior_variance: float
) -> Mean:
    precision = 1 / prior_variance + len(x) / variance
    return (mean / prior_variance + x.sum() / variance) / precision


def _bernoulli(x: np.ndarray, *, a: float, b: float) -> Mean:
    return (a + x.sum()) / (a + b + len(x))


def _categorical(x: np.ndarray, *, concentration: float, levels: float) -> Mean:
    counts = np.bincount(x.astype(int), minlength=int(levels))
    return (concentration + counts) / (concentration * levels + len(x))


def _poisson(x: np.ndarray, *, shape: float, rate: float) -> Mean:
    return (shape + x.sum()) / (rate + len(x))


def _exponential(x: np.ndarray, *, shape: float, rate: float) -> Mean:
    excess = shape + len(x) - 1
    return (rate + x.sum()) / excess if excess > 0 else math.inf


def _negative_binomial(x: np.ndarray, *, r: float, a: float, b: float) -> Mean:
    excess = a + r * len(x) - 1
    return r * (b + x.sum()) / excess if excess > 0 else math.inf


def _geometric(x: np.ndarray, *, a: float, b: float) -> Mean:
    return _negative_binomial(x, r=1.0, a=a, b=b)


COLUMNS = {
    "NormalInverseGamma": _normal_inverse_gamma,
    "NormalKnownVariance": _normal_known_variance,
    "BernoulliBeta": _bernoulli,
    "CategoricalDirichlet": _categorical,
    "PoissonGamma": _poisson,
    "ExponentialGamma": _exponential,
    "GeometricBeta": _geometric,
    "NegativeBinomialBeta": _negative_binomial,
}


@functools.lru_cache(maxsize=64)
def _covariance(d: int, **hyper: Any) -> np.ndarray:
    return np.array(GaussianProcess.covariance(d, **hyper), dtype=float)


def _gaussian_process(rows: Rows, d: int, *, noise: float, mean: Any, **hyper: Any) -> list[Mean]:
    """The observed cells and the curve are jointly Normal: regression on the cells, one by one."""
    fixed = {key: tuple(value) if np.ndim(value) else value for key, value in hyper.items()}
    prior = _covariance(d, **fixed)
    level = np.broadcast_to(np.asarray(mean, dtype=float), d)
    cells = [(j, row[j]) for row in rows for j in range(d) if not is_missing(row[j])]
    if not cells:
        return list(level)
    at = [j for j, _ in cells]
    of_cells = prior[np.ix_(at, at)] + noise * np.eye(len(at))
    offset = np.array([float(x) for _, x in cells]) - level[at]
    return list(level + prior[:, at] @ np.linalg.solve(of_cells, offset))


def predictive_mean(name: str, rows: Rows, d: int, hyper: dict[str, Any]) -> list[Mean]:
    """The mean of each column of one more row, given the rows of a cluster.

    nan: not modelled, or of a family that takes no missing cells.
    """
    if name == "Product":
        means: list[Mean] = [math.nan] * d
        for block in hyper["blocks"]:
            part = [[row[j] for j in block["columns"]] for row in rows]
            own = predictive_mean(block["family"], part, len(block["columns"]), block["hyper"])
            for j, mean in zip(block["columns"], own, strict=True):
                means[j] = mean
        return means
    if name == "GaussianProcess":
        return _gaussian_process(rows, d, **hyper)
    if name not in COLUMNS:
        return [math.nan] * d
    means = []
    for j in range(d):
        x = np.array([row[j] for row in rows if not is_missing(row[j])], dtype=float)
        own = {key: value[j] if np.ndim(value) else value for key, value in hyper.items()}
        means.append(COLUMNS[name](x, **own))
    return means


def impute(
    family: tuple[str, dict[str, Any]],
    rows: Rows,
    brute: bhc.Enumeration,
    new: int,
    n: int,
) -> list[Mean]:
    """Mean cells of row ``new`` averaged over partitions of the first n rows.

    A row among these belongs to its own cluster; another joins any, or a new one, with the urn's
    probability given its observed cells.
    """
    name, hyper = family
    d = len(rows[0])
    clusters: list[tuple[float, list[int]]] = []  # log weight, rows
    for probability, partition in zip(brute.probabilities, brute.partitions, strict=True):
        if probability == 0:
            continue
        log_p = math.log(probability)
        if new < n:
            clusters.append((log_p, next(block for block in partition if new in block)))
            continue
        urn: list[tuple[float, list[int]]] = [(len(block), block) for block in partition]
        for size, block in [*urn, (brute.alpha, [])]:
            joins = bhc.log_predictive_of(block, brute.log_marginal, new)
            # its observed cells too say what the cluster is like, at other times of a curve
            clusters.append((log_p + math.log(size) + joins, [*block, new]))
    logs = np.array([log_weight for log_weight, _ in clusters])
    weights = np.exp(logs - np.logaddexp.reduce(logs))
    sums: list[Mean] = [0.0] * d
    for weight, (_, block) in zip(weights, clusters, strict=True):
        if weight > 0:
            mean = predictive_mean(name, [rows[i] for i in block], d, hyper)
            sums = [total + weight * m for total, m in zip(sums, mean, strict=True)]
    return sums
