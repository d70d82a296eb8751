"""The predictive density, the place of "a new cluster", and a missing cell filled in."""

import matplotlib.pyplot as plt
import numpy as np

from common import COLOURS, FAINT, colours_of, fitted, three_groups

X = three_groups()
post = fitted(X)
labels = post.cut()
x, y = np.meshgrid(np.linspace(-5, 9, 90), np.linspace(-4.5, 11.5, 90))
grid = np.column_stack([x.ravel(), y.ravel()])
density = post.score_samples(grid).reshape(x.shape)
new = np.exp(post.predict_log_proba(grid)[:, -1]).reshape(x.shape)

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(10.5, 3.5), layout="constrained")
levels = density.max() - np.array([8, 6, 4.5, 3, 2, 1, 0])
left.contourf(x, y, density, levels, cmap="Blues", extend="min")
left.scatter(*X.T, c="black", s=5)
left.set(title="log predictive density", xticks=[], yticks=[])

picture = middle.contourf(x, y, new, np.linspace(0, 1, 11), cmap="Oranges")
middle.scatter(*X.T, c=colours_of(labels), s=9)
middle.set(title='P("a new cluster")', xticks=[], yticks=[])
fig.colorbar(picture, ax=middle, shrink=0.8)

seen = np.linspace(-3, 9, 121)
holes = np.column_stack([np.full_like(seen, np.nan), seen])
right.scatter(*X.T, c=FAINT, alpha=0.5, s=12)
right.plot(post.impute(holes)[:, 0], seen, color=COLOURS[1], linewidth=2)
right.set(title="expected x where y alone is seen", xlabel="x", ylabel="y")
