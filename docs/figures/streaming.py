"""Evidence of trees with part of the rows inserted, against the tree grown of all rows."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import bhclust
from bhclust.families import resolve_family
from common import COLOURS, LIGHT

TABLES = {
    "wine": (load_wine().data, "gaussian-diag"),
    "iris": (load_iris().data, "gaussian-diag"),
    "digits, bits": ((load_digits().data[:600] >= 8).astype(float), "bernoulli"),
}
SHARES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


def above_refit(X, family, share):
    """Nats above the greedy tree of all rows, the last ones inserted into that of the first."""
    first = len(X) - round(share * len(X))
    early = bhclust.bhc(X[:first], family)
    trees = bhclust.insert(early, X[:first], X[first:], family), bhclust.bhc(X, family)
    inserted, refit = (bhclust.posterior(tree, X, family).log_evidence for tree in trees)
    return inserted - refit


fig, axes = plt.subplots(1, 3, figsize=(10, 2.6), layout="constrained")
for ax, (name, (X, alias)) in zip(axes, TABLES.items(), strict=True):
    family = resolve_family(alias, X)
    draws = [X[np.random.default_rng(seed).permutation(len(X))] for seed in range(5)]
    values = np.array([[above_refit(Y, family, share) for share in SHARES] for Y in draws])
    ax.axhline(0, color=LIGHT, linewidth=2)
    ax.plot(100 * SHARES, values.T, "o", color=COLOURS[0], alpha=0.4, markersize=4)
    ax.plot(100 * SHARES, values.mean(axis=0), color=COLOURS[0])
    ax.set(title=name, xlabel="% of the rows inserted")
axes[0].set_ylabel("nats above\nthe tree grown anew")
