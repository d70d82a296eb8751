"""Dendrogram purity of two trees over the same rows."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS, FAINT, draw_tree

TREES = {
    "every class is a subtree": "(((0,1),(2,3)),((4,5),(6,7)));",
    "one row is misplaced": "((((0,1),2),4),((5,3),(6,7)));",
    "classes are mixed at every level": "(((0,4),(1,5)),((2,6),(3,7)));",
}
y = np.repeat([0, 1], 4)
fig, axes = plt.subplots(1, 3, figsize=(10, 2.4), layout="constrained")
for ax, (title, text) in zip(axes, TREES.items(), strict=True):
    tree = bhclust.Tree.from_newick(text)
    height = np.zeros(tree.n_nodes)
    for merge, pair in enumerate(tree.children):
        height[tree.n_leaves + merge] = 1 + height[pair].max()
    _, order = draw_tree(ax, tree, height, [FAINT] * tree.n_merges, linewidth=2)
    ax.scatter(range(8), np.zeros(8), c=COLOURS[y[order]], s=90, zorder=3)
    ax.set_title(f"{title}\npurity {bhclust.metrics.dendrogram_purity(tree, y):.2f}")
    ax.set_axis_off()
