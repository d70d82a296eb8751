"""Greedy BHC in plain NumPy and SciPy, for compare.py to time against: a loop over pairs, a heap.

Right, and written the way one writes it first: a cluster is its rows' sufficient statistics, a pair
is scored by the log marginal likelihood of both clusters' rows together.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln, multigammaln

Statistics = tuple[Any, ...]


def bernoulli(family: Any) -> tuple[Callable[[Any], Statistics], Callable[[Statistics], float]]:
    """Statistics of a row, and the log marginal likelihood of sums of them."""
    a, b = np.asarray(family.a), np.asarray(family.b)

    def log_marginal(s: Statistics) -> float:
        n, ones = s
        return float(np.sum(betaln(a + ones, b + n - ones) - betaln(a, b)))

    return lambda row: (1.0, row), log_marginal


def gaussian(family: Any) -> tuple[Callable[[Any], Statistics], Callable[[Statistics], float]]:
    """The same for a full covariance, about the prior mean."""
    d = len(family.mean)
    kappa, nu = float(family.kappa), float(family.nu)
    psi = np.diag(family.psi) if np.ndim(family.psi) == 1 else np.asarray(family.psi)
    half_prior = 0.5 * nu * np.linalg.slogdet(psi)[1] - multigammaln(0.5 * nu, d)

    def observe(row: Any) -> Statistics:
        away = row - family.mean
        return 1.0, away, np.outer(away, away)

    def log_marginal(s: Statistics) -> float:
        n, total, square = s
        scale = psi + square - np.outer(total, total) / (kappa + n)
        nu_n = nu + n
        return float(
            half_prior
            + multigammaln(0.5 * nu_n, d)
            - 0.5 * nu_n * np.linalg.slogdet(scale)[1]
            - 0.5 * n * d * np.log(np.pi)
            + 0.5 * d * np.log(kappa / (kappa + n))
        )

    return observe, log_marginal


MODELS = {"BernoulliBeta": bernoulli, "NormalInverseWishart": gaussian}


def plain_bhc(X: Any, family: Any) -> tuple[list[tuple[int, int]], float]:
    """The merges of one tree with alpha = 1, and log p~_T of its root (nats)."""
    observe, log_marginal = MODELS[type(family).__name__](family)

    def together(s: Statistics) -> float:
        return float(gammaln(s[0])) + log_marginal(s)

    clusters = dict(enumerate(map(observe, X)))
    log_tree = [together(s) for s in clusters.values()]

    def pair(i: int, j: int) -> tuple[float, int, int]:
        joined = tuple(x + y for x, y in zip(clusters[i], clusters[j], strict=True))
        return log_tree[i] + log_tree[j] - together(joined), i, j

    heap = [pair(i, j) for j in clusters for i in range(j)]
    heapq.heapify(heap)
    merges = []
    while len(clusters) > 1:
        _, i, j = heapq.heappop(heap)
        if i not in clusters or j not in clusters:
            continue
        new = len(log_tree)
        joined = tuple(x + y for x, y in zip(clusters.pop(i), clusters.pop(j), strict=True))
        log_tree.append(float(np.logaddexp(together(joined), log_tree[i] + log_tree[j])))
        clusters[new] = joined
        merges.append((i, j))
        for other in list(clusters)[:-1]:
            heapq.heappush(heap, pair(other, new))
    return merges, log_tree[-1]
