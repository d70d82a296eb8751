"""Bounds against the exact evidence, and which splits have strong alternatives."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS, draw_tree, three_groups

KINDS = ("tree", "relocations-two", "relocations", "joint", "all_pairs")
family = bhclust.NormalInverseGamma(kappa=0.2, a=2.0, b=2.0)


def gaps(seed):
    """How far each bound lies below the exact evidence, of eight rows that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(rng.choice([0.0, 2.5], (8, 1)), 1.0, (8, 2))
    post = bhclust.posterior(bhclust.bhc(X, family), X, family)
    exact = bhclust.exact_log_evidence(X, family)
    return [exact - post.log_evidence_bound(kind) for kind in KINDS]


found = np.array([gaps(seed) for seed in range(100)])
fig, (left, right) = plt.subplots(
    1, 2, figsize=(9.5, 3.6), width_ratios=[1, 1.4], layout="constrained"
)
left.boxplot(
    found,
    orientation="horizontal",
    widths=0.55,
    showfliers=False,
    medianprops={"color": COLOURS[1]},
)
left.set_yticks(range(1, 6), KINDS)
left.invert_yaxis()
left.set(xlabel="exact less bound, nats", title="100 tables of 8 rows", xlim=(0, None))

X = three_groups(each=10)
post = bhclust.posterior(bhclust.bhc(X, family), X, family)
gain = post.relocation_gains()
scale = plt.Normalize(-6, 0)
colours = plt.cm.plasma_r(scale(np.where(np.isfinite(gain), gain, -6)))
draw_tree(right, post.tree, post.height, colours, linewidth=2.2)
right.set(xticks=[], ylabel="height", title="the same rows' tree, by log gain of relocations")
right.set_title("a tree of 30 rows, coloured by relocation gain")
fig.colorbar(plt.cm.ScalarMappable(scale, "plasma_r"), ax=right, label="gain, nats", extend="min")
