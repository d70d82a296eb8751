"""Learned evidence against that of the true hyperparameters, on tables drawn from the model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from tables import markdown

import bhclust

Drawn = tuple[Any, bhclust.Family]


def partition(rng: np.random.Generator, n: int, alpha: float) -> Any:
    """A draw from the Chinese restaurant process."""
    labels, sizes = [], np.zeros(0)
    for i in range(n):
        weights = np.append(sizes, alpha) / (i + alpha)
        k = int(rng.choice(weights.size, p=weights))
        sizes = np.append(sizes, 0.0) if k == sizes.size else sizes
        sizes[k] += 1
        labels.append(k)
    return np.array(labels)


def reals(rng: np.random.Generator, labels: Any) -> Drawn:
    family = bhclust.NormalInverseGamma(mean=0.0, kappa=0.05, a=2.0, b=2.0)
    shape = (labels.max() + 1, 4)
    variance = 2.0 / rng.gamma(2.0, size=shape)
    mean = rng.normal(size=shape) * np.sqrt(variance / 0.05)
    return rng.normal(mean[labels], np.sqrt(variance[labels])), family


def bits(rng: np.random.Generator, labels: Any) -> Drawn:
    p = rng.beta(0.4, 0.6, size=(labels.max() + 1, 16))
    return (rng.random((labels.size, 16)) < p[labels]) * 1.0, bhclust.BernoulliBeta(a=0.4, b=0.6)


def numbers(rng: np.random.Generator, labels: Any) -> Drawn:
    rate = rng.gamma(0.7, 1 / 0.1, size=(labels.max() + 1, 6))
    return rng.poisson(rate[labels]) * 1.0, bhclust.PoissonGamma(shape=0.7, rate=0.1)


KINDS: dict[str, tuple[str, Callable[[np.random.Generator, Any], Drawn]]] = {
    "gaussian-diag, 4 columns": ("gaussian-diag", reals),
    "bernoulli, 16 columns": ("bernoulli", bits),
    "poisson, 6 columns": ("poisson", numbers),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=20)
    chosen = parser.parse_args()
    head = ["model", "learned >= truth, greedy tree", "learned >= truth, refined tree"]
    rows = [[*head, "learned - truth (greedy), nats: least, median, most"]]
    for kind, (alias, draw) in KINDS.items():
        gains = []
        for seed in range(chosen.seeds):
            rng = np.random.default_rng(seed)
            X, truth = draw(rng, partition(rng, chosen.rows, 2.0))
            greedy = bhclust.bhc(X, truth, alpha=2.0)
            refined = bhclust.refine(greedy, X, truth, alpha=2.0, max_regrafts=200)
            found = bhclust.learn(X, alias).log_evidence
            gains.append(
                [
                    found - bhclust.posterior(tree, X, truth, alpha=2.0).log_evidence
                    for tree in (greedy, refined)
                ]
            )
        gain = np.array(gains)
        least, middle, most = np.quantile(gain[:, 0], [0, 0.5, 1])
        won = [f"{int((gain[:, j] >= 0).sum())} of {chosen.seeds}" for j in (0, 1)]
        rows.append([kind, *won, f"{least:.1f}, {middle:.1f}, {most:.1f}"])
        print(" ".join(rows[-1]), flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
