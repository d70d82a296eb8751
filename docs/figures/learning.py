"""What `learn` tried, step by step, and what it is worth."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS, FAINT, INK, colours_of

rng = np.random.default_rng(1)
scales = np.array([1.0, 20.0])
centres = rng.normal(0, 6, (6, 2))
X = np.vstack([rng.normal(c, rng.uniform(0.3, 1.0), (30, 2)) for c in centres]) * scales
found = bhclust.learn(X, "gaussian-diag")
vague = bhclust.NormalInverseGamma(mean=X.mean(axis=0), kappa=0.01, a=1.0, b=X.var(axis=0))
guessed = bhclust.posterior(bhclust.bhc(X, vague), X, vague)

fig, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11, 3.6), width_ratios=[1.2, 1, 1], layout="constrained"
)
steps = found.steps
evidence = np.array([step.log_evidence for step in steps])
left.plot(evidence, np.arange(len(steps)), color=FAINT, linewidth=1, zorder=0)
left.scatter(evidence, np.arange(len(steps)), color=INK, s=20)
best = int(evidence.argmax())
left.scatter(evidence[best], best, color=COLOURS[1], s=60, zorder=3)
left.set_yticks(range(len(steps)), [step.what for step in steps], fontsize=7.5)
left.invert_yaxis()
left.set(xlabel="log evidence, nats", title="the steps of learn")
for ax, post, title in [
    (middle, guessed, "a vague prior, greedy"),
    (right, found.posterior, "learned"),
]:
    labels = post.cut()
    ax.scatter(*X.T, c=colours_of(labels), s=10)
    ax.set(
        title=f"{title}: {labels.max() + 1} clusters,\nevidence {post.log_evidence:.0f}",
        xticks=[],
        yticks=[],
    )
