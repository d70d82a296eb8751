"""Slow twins of the ways to trees of many rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from reference.bhc import OnRows

Clusters = list[list[int]]


def _gain(log_marginal: OnRows, alpha: float, cluster: list[int], row: int) -> float:
    """What a row adds to the log marginal likelihood of the partition, in a cluster or alone."""
    if not cluster:
        return math.log(alpha) + log_marginal([row])
    return math.log(len(cluster)) + log_marginal([*cluster, row]) - log_marginal(cluster)


def assign(n: int, log_marginal: OnRows, alpha: float, seeds: Sequence[int]) -> Clusters:
    """Xu et al.'s Bayes K-means: one row after another, in order, to the best cluster.

    A cluster is taken for what it was when it had last grown by a quarter.
    """
    clusters = [[row] for row in sorted(seeds)]
    scored = [list(cluster) for cluster in clusters]
    for row in range(n):
        if row in seeds:
            continue
        gains = [_gain(log_marginal, alpha, cluster, row) for cluster in [*scored, []]]
        best = gains.index(max(gains))
        if best == len(clusters):
            clusters.append([row])
            scored.append([row])
            continue
        clusters[best].append(row)
        if 4 * (len(clusters[best]) - len(scored[best])) >= len(scored[best]):
            scored[best] = list(clusters[best])
    return clusters


def merge(log_marginal: OnRows, alpha: float, clusters: Clusters) -> Clusters:
    """The pair whose union raises the log marginal likelihood most, while one does."""

    def weight(cluster: list[int]) -> float:
        return math.log(alpha) + math.lgamma(len(cluster)) + log_marginal(cluster)

    clusters = [list(cluster) for cluster in clusters]
    while len(clusters) > 1:
        rise, a, b = max(
            (weight(x + y) - weight(x) - weight(y), i, j)
            for (i, x), (j, y) in combinations(enumerate(clusters), 2)
        )
        if rise <= 0:
            break
        clusters[a] += clusters.pop(b)
    return clusters
