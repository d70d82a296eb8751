"""Which rows belong together, how many clusters, and which rows are in doubt."""

import matplotlib.pyplot as plt
import numpy as np

from common import COLOURS, FAINT, colours_of, fitted, places, three_groups

X = three_groups()
post = fitted(X)
labels, certainty = post.cut(), post.certainty()
order = places(post.tree)[1]

fig, (pairs, number, rows) = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
picture = pairs.imshow(post.coclustering()[np.ix_(order, order)], cmap="Blues", vmin=0, vmax=1)
pairs.set(
    title="P(two rows in one cluster)", xticks=[], yticks=[], xlabel="rows in the tree's order"
)
fig.colorbar(picture, ax=pairs, shrink=0.8)

chance = post.n_clusters_distribution(8)
bars = number.bar(np.arange(1, 9), chance, color=FAINT)
bars[labels.max()].set_color(COLOURS[0])
number.set(title="posterior of the number of clusters", xlabel="clusters", ylim=(0, 1))
number.set_xticks(range(1, 9))

rows.scatter(*X.T, c=colours_of(labels), s=25 + 175 * (1 - certainty), alpha=0.8, edgecolor="white")
rows.set(title="larger: less certain of its cluster", xticks=[], yticks=[])
