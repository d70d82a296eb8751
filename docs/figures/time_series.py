"""Series of three shapes with gaps, and the curve of each cluster with its band."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
from common import COLOURS

rng = np.random.default_rng(0)
hours = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0])
shapes = np.array([np.sin(hours / 2), np.cos(hours / 3), 1.2 * np.exp(-hours / 4) - 0.6])
kind = np.sort(rng.integers(3, size=45))
series = shapes[kind] + rng.normal(0, 0.25, (45, len(hours)))
series[rng.random(series.shape) < 0.15] = np.nan

start = bhclust.GaussianProcess.from_data(series, times=hours, kernel="matern52")
found = bhclust.learn(series, start)
labels = found.posterior.cut()
dense = np.linspace(0, 14, 141)
curves = bhclust.curves.cluster_curves(series, labels, found.family, times=dense)

fig, axes = plt.subplots(1, len(curves), figsize=(10, 3), sharey=True, layout="constrained")
for (label, curve), ax, colour in zip(curves.items(), axes, COLOURS, strict=False):
    for row in series[labels == label]:
        there = ~np.isnan(row)
        ax.plot(hours[there], row[there], ".-", color="#b5bdc5", linewidth=0.6, markersize=3)
    ax.fill_between(dense, *curve.band(0.95, noise=True), color=colour, alpha=0.15, linewidth=0)
    ax.fill_between(dense, *curve.band(0.95), color=colour, alpha=0.35, linewidth=0)
    ax.plot(dense, curve.mean, color=colour, linewidth=2)
    ax.set(title=f"cluster {label}: {(labels == label).sum()} series", xlabel="hours")
