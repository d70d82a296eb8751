"""Digits: 300 handwritten digits 0 to 4 as 8 x 8 bits."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import bhclust
import showing


def tell(stage: showing.Stage) -> None:
    """Cluster the pictures as bits."""
    digits = load_digits()
    rows = np.flatnonzero(digits.target < 5)[:300]
    X, y = (digits.data[rows] >= 8).astype(float), digits.target[rows]

    est = bhclust.BHC("bernoulli").fit(X)
    post = est.posterior_
    showing.say_how_many(post, est.labels_)
    five = post.cut(n_clusters=5)
    cuts = {"as found": est.labels_, "told 5": five}
    showing.say_agreement("agreement with the digits", est.tree_, cuts, y)
    showing.say_ward(X, y, 5)

    table = showing.shares(est.labels_, y)
    sizes = table.sum(axis=1)
    order = np.argsort(-sizes, kind="stable")[:12]
    fig, axes = plt.subplots(2, 6, figsize=(8.5, 3.4), layout="constrained")
    for ax, cluster in zip(axes.flat, order, strict=False):
        ax.imshow(
            X[est.labels_ == cluster].mean(axis=0).reshape(8, 8), cmap="Blues", vmin=0, vmax=1
        )
        digit = table[cluster].argmax()
        ax.set_title(f"{sizes[cluster]} rows, {table[cluster, digit]} a {digit}", fontsize=8)
    for ax in axes.flat:
        ax.set_axis_off()
    stage.save(fig, "clusters")

    kinds = [est.labels_[y == digit] for digit in range(5)]
    ones, fours = (np.bincount(kinds[digit]).argmax() for digit in (1, 4))
    apart = post.separating_columns(ones, fours).reshape(8, 8)
    together = post.coclustering()
    best = np.sort(together - np.eye(len(y)), axis=1)[:, -1]
    doubtful = np.argsort(best, kind="stable")[:4]
    fig, axes = plt.subplots(
        1, 5, figsize=(8.5, 2.0), layout="constrained", width_ratios=[1.35, 1, 1, 1, 1]
    )
    most = np.abs(apart).max()
    picture = axes[0].imshow(apart, cmap="RdBu_r", vmin=-most, vmax=most)
    axes[0].set_title("nats apart, 1 and 4", fontsize=8)
    fig.colorbar(picture, ax=axes[0], shrink=0.8)
    for ax, row in zip(axes[1:], doubtful, strict=True):
        ax.imshow(X[row].reshape(8, 8), cmap="Greys", vmin=0, vmax=1.4)
        ax.set_title(f"a {y[row]}; best partner {best[row]:.2f}", fontsize=8)
    for ax in axes:
        ax.set_axis_off()
    stage.save(fig, "doubt")
    print("rows that hardly go with any other:", *doubtful)


if __name__ == "__main__":
    showing.main(tell)
