"""Evidence of the ways to grow a tree, on four tables."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine

import bhclust
from common import COLOURS, LIGHT

rng = np.random.default_rng(0)
overlap = rng.normal(rng.normal(0, 2, (5, 4))[rng.integers(5, size=300)], 1.0)
TABLES = {
    "wine": (load_wine().data, "gaussian-diag"),
    "iris": (load_iris().data, "gaussian-diag"),
    "digits, bits": ((load_digits().data[:200] >= 8).astype(float), "bernoulli"),
    "5 groups\nthat overlap": (overlap, "gaussian-diag"),
}
WAYS = ("greedy", "rbhc", "ward", "greedy, refined")


def evidences(X, family):
    """The bound of each way's tree, with one prior."""
    found = {
        way: bhclust.BHC(family, hyperparameters="data", tree=way).fit(X).posterior_
        for way in WAYS[:3]
    }
    greedy = found["greedy"]
    better = bhclust.refine(greedy.tree, X, greedy.family)
    found[WAYS[3]] = bhclust.posterior(better, X, greedy.family)
    return [found[way].log_evidence for way in WAYS]


fig, axes = plt.subplots(1, 4, figsize=(10, 2.5), layout="constrained", sharey=True)
for ax, (name, (X, family)) in zip(axes, TABLES.items(), strict=True):
    values = np.array(evidences(X, family))
    below = values - values.max()
    ax.hlines(range(4), below, 0, color=LIGHT, linewidth=2)
    ax.scatter(below, range(4), color=[COLOURS[0]] * 3 + [COLOURS[1]], s=45, zorder=3)
    ax.set_yticks(range(4), WAYS)
    ax.set(title=name, xlabel="nats below the best")
    ax.margins(x=0.12)
axes[0].invert_yaxis()
