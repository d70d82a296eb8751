"""One tree, cut at any λ."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS, colours_of, three_groups

X = three_groups(each=60)
family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=20.0)
tree = bhclust.rbhc(X, family)
lam = bhclust.lambda_heuristic(X, family)
costs = np.sort(tree.cost)[::-1]

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
left.loglog(costs, np.arange(2, len(costs) + 2), drawstyle="steps-post", color=COLOURS[0])
left.axvline(lam, color=COLOURS[1], label=f"λ of the heuristic: {lam:.1f}")
left.set(xlabel="λ", ylabel="clusters", title="number of clusters at every λ")
left.legend(frameon=False, fontsize=8)
for ax, value in [(middle, lam), (right, 100.0)]:
    labels = tree.cut(lam=value)
    ax.scatter(*X.T, c=colours_of(labels), s=10)
    ax.set(title=f"λ = {value:.0f}: {labels.max() + 1} clusters", xticks=[], yticks=[])
