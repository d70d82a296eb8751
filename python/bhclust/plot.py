"""Pictures of a posterior over a tree: axes in, axes out.

matplotlib is imported when a function is called, never before, and nothing is kept between calls.
"""

from __future__ import annotations

from ._page import odds_in_words
from ._plot_condensed import condensed_tree, save_condensed_tree
from ._plot_dendrogram import dendrogram, save_dendrogram
from ._plot_heatmap import heatmap, save_heatmap

__all__ = [
    "condensed_tree",
    "dendrogram",
    "heatmap",
    "odds_in_words",
    "save_condensed_tree",
    "save_dendrogram",
    "save_heatmap",
]
