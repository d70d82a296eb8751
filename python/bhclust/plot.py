"""Pictures of a posterior over a tree: axes in, axes out.

matplotlib is imported when a function is called, never before, and nothing is kept between calls.
"""

from __future__ import annotations

from ._page import odds_in_words
from ._plot_alternatives import alternatives
from ._plot_condensed import condensed_tree, save_condensed_tree
from ._plot_curves import curve
from ._plot_dendrogram import dendrogram, save_dendrogram
from ._plot_heatmap import heatmap, save_heatmap
from ._plot_learning import learning
from ._plot_posterior import cluster_counts, coclustering

__all__ = [
    "alternatives",
    "cluster_counts",
    "coclustering",
    "condensed_tree",
    "curve",
    "dendrogram",
    "heatmap",
    "learning",
    "odds_in_words",
    "save_condensed_tree",
    "save_dendrogram",
    "save_heatmap",
]
