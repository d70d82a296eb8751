"""Which traits keep two clusters of animals apart."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS, FAINT

zoo = bhclust.datasets.load_zoo()
est = bhclust.BHC(family=zoo.family).fit(zoo.data)
post, names = est.posterior_, np.array(list(zoo.columns))
labels = est.labels_
animals = np.array(zoo.names)
a, b = labels[animals == "dolphin"][0], labels[animals == "carp"][0]
apart = post.separating_columns(a, b)
root = post.explain(post.tree.n_nodes - 1)

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, parts, title in [
    (left, apart, "dolphin's cluster against carp's:\nabove 0 keeps them apart"),
    (right, -root.columns, "the first split of the tree:\nabove 0 calls for it"),
]:
    order = np.argsort(parts)
    ax.barh(names[order], parts[order], color=np.where(parts[order] > 0, COLOURS[0], FAINT))
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set(xlabel="log Bayes factor, nats")
    ax.set_title(title)
    ax.tick_params(axis="y", labelsize=8)
