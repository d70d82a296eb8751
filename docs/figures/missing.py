"""Cells left missing, or filled in by the mean before clustering."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from bhclust.metrics import adjusted_rand_index
from common import COLOURS, FAINT

rng = np.random.default_rng(5)
truth = rng.integers(4, size=160)
X = rng.normal(rng.normal(0, 2.2, (4, 8))[truth], 1.0)
shares = np.array([0.0, 0.15, 0.3, 0.45])


def tries(share, seed):
    """Agreement with the truth, and the error of what is filled in: left missing, and by means."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    holed = np.where(holes, np.nan, X)
    means = np.where(holes, np.nanmean(holed, axis=0), X)
    scores, errors = [], []
    for table in (holed, means):
        est = bhclust.BHC("gaussian-diag", tree="greedy").fit(table)
        scores.append(adjusted_rand_index(est.labels_, truth))
        filled = est.impute() if table is holed else means
        errors.append(np.sqrt(np.mean((filled - X)[holes] ** 2)) if share else np.nan)
    return scores, errors


found = np.array([[tries(share, seed) for seed in range(2)] for share in shares]).mean(axis=1)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for way, (name, colour) in enumerate(
    [("left missing (NaN)", COLOURS[0]), ("filled in by the mean", FAINT)]
):
    left.plot(100 * shares, found[:, 0, way], "o-", color=colour, label=name)
    right.plot(100 * shares, found[:, 1, way], "o-", color=colour, label=name)
left.set(
    xlabel="% of cells missing",
    ylabel="adjusted Rand index",
    title="agreement with the true groups",
    ylim=(0, 1.05),
)
right.set(
    xlabel="% of cells missing",
    title="error of the filled-in cells (RMS; noise is 1)",
    ylim=(0, None),
)
left.legend(frameon=False)
