"""10,000 rows in one picture."""

import numpy as np

import bhclust

rng = np.random.default_rng(3)
centres = rng.normal(0, 6, (12, 4))
X = rng.normal(centres[rng.integers(12, size=10_000)], 1.0)
family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=36.0)
post = bhclust.posterior(bhclust.rbhc(X, family), X, family)
bhclust.plot.condensed_tree(post, X=X, max_boxes=14)
