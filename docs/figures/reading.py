"""A tree of twelve rows: what each node says."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS, INK, LIGHT, colours_of, draw_tree, three_groups

X = three_groups(each=4, seed=3)
family = bhclust.NormalInverseGamma(mean=X.mean(axis=0), kappa=0.1, a=2.0, b=2.0)
post = bhclust.posterior(bhclust.bhc(X, family), X, family)
tree, labels = post.tree, post.cut()

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=[1, 1.7])
left.scatter(*X.T, c=colours_of(labels), s=150)
for row, (x, y) in enumerate(X):
    left.text(x, y, str(row), color="white", ha="center", va="center", fontsize=8)
left.set(title="the rows, coloured by the most probable partition", xticks=[], yticks=[])
left.title.set_fontsize(9.5)

colour = [LIGHT if post.r[node] < 0.5 else INK for node in range(tree.n_leaves, tree.n_nodes)]
x, order = draw_tree(right, tree, post.height, colour, linewidth=2)
for node in range(tree.n_leaves, tree.n_nodes):
    if post.height[node] < 0.12 and node not in post.cut_nodes():
        continue
    right.annotate(
        f"r = {post.r[node]:.2g}\nω = {post.omega[node]:.2g}",
        (x[node], post.height[node]),
        (0, -5 if post.height[node] > 0.2 else 6),
        textcoords="offset points",
        ha="center",
        va="top" if post.height[node] > 0.2 else "bottom",
        fontsize=8.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )
right.set_xticks(range(tree.n_leaves), order)
for tick, row in zip(right.get_xticklabels(), order, strict=True):
    tick.set_color(COLOURS[labels[row]])
right.set(ylim=(0, 1.03), ylabel="height: P(not all in one cluster)")
right.set_yticks(np.linspace(0, 1, 6))
fig.tight_layout()
