"""Counts under four families: the evidence says which fits."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from bhclust.metrics import adjusted_rand_index
from common import COLOURS, LIGHT

FAMILIES = ("poisson", "negative-binomial", "geometric")
rng = np.random.default_rng(6)
truth = rng.integers(3, size=150)
rates = rng.gamma(2.0, 4.0, (3, 10))[truth]
TABLES = {
    "Poisson counts": rng.poisson(rates),
    "counts that scatter more": rng.negative_binomial(2, 2 / (2 + rates)),
}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 2.8), layout="constrained", sharey=True)
for ax, (name, X) in zip(axes, TABLES.items(), strict=True):
    fits = [bhclust.BHC(family, tree="greedy").fit(X) for family in FAMILIES]
    evidence = np.array([fit.log_evidence_ for fit in fits])
    below = evidence - evidence.max()
    ax.hlines(range(3), below, 0, color=LIGHT, linewidth=2)
    ax.scatter(below, range(3), color=COLOURS[0], s=50, zorder=3)
    for place, fit in enumerate(fits):
        ari = adjusted_rand_index(fit.labels_, truth)
        words = f"{fit.n_clusters_} clusters, ARI {ari:.2f}"
        ax.text(0.03, place - 0.2, words, transform=ax.get_yaxis_transform(), fontsize=8)
    ax.set_yticks(range(3), FAMILIES)
    ax.set(title=name, xlabel="log evidence below the best, nats")
axes[0].set_ylim(2.4, -0.6)
