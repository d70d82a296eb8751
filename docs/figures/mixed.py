"""A spike at zero: what a Gaussian makes of it, and what the hurdle does."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from bhclust.metrics import adjusted_rand_index
from common import COLOURS, FAINT

rng = np.random.default_rng(2)
group = np.repeat([0, 1, 2], 60)
wet = (
    rng.random((180, 4))
    < np.array([[0.9, 0.9, 0.2, 0.2], [0.2, 0.8, 0.8, 0.3], [0.5, 0.1, 0.5, 0.9]])[group]
)
amount = rng.normal(np.array([[3, 5, 2, 4], [4, 2, 5, 3], [6, 4, 3, 6]])[group], 0.8)
X = np.where(wet, np.abs(amount), 0.0)

plain = bhclust.BHC("gaussian-diag").fit(X)
table, family = bhclust.hurdle(X)
split = bhclust.learn(table, family).posterior

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), width_ratios=[1, 1, 1], layout="constrained")
axes[0].hist(X[:, 0], bins=30, color=FAINT)
axes[0].set(title="a column with a spike at zero", xlabel="rain, day 1", ylabel="rows")
for ax, labels, title in [
    (axes[1], plain.labels_, "gaussian-diag"),
    (axes[2], split.cut(), "hurdle"),
]:
    shares = np.zeros((labels.max() + 1, 3))
    np.add.at(shares, (labels, group), 1)
    base = np.zeros(len(shares))
    for true in range(3):
        ax.bar(range(1, len(shares) + 1), shares[:, true], bottom=base, color=COLOURS[true])
        base += shares[:, true]
    ari = adjusted_rand_index(labels, group)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(
        title=f"{title}: {len(shares)} clusters, ARI {ari:.2f}",
        xlabel="cluster",
        ylabel="rows, by true group",
    )
