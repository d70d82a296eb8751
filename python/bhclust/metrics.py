"""How well trees and flat clusters agree with known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Tree
from bhclust.options import check_choice, check_count

__all__ = [
    "adjusted_rand_index",
    "dendrogram_purity",
    "f_measure",
    "level_labels",
    "normalized_mutual_information",
    "purity",
]


def dendrogram_purity(tree: Tree, y: Any, *, weights: str = "rows") -> float:
    """The expected share of the class of two rows in the smallest subtree that holds both.

    Parameters
    ----------
    tree : Tree
        With one root.
    y : array of shape (n_rows,)
        Classes: numbers or text.
    weights : {"rows", "pairs"}
        ``"rows"``: a row, then another of its class (Heller & Ghahramani 2005, footnote 2).
        ``"pairs"``: a pair of rows of one class, all pairs alike.

    Returns
    -------
    float
        In (0, 1]; 1 when every class is a subtree. Exact, O(n_rows · n_classes).
    """
    check_choice("weights", weights, ("rows", "pairs"))
    return _core.dendrogram_purity(tree, _codes("y", y), weights == "pairs")


def purity(labels: Any, y: Any) -> float:
    """Share of rows that belong to the most frequent class of their cluster, in (0, 1]."""
    table = _contingency(labels, y)
    return float(table.max(axis=1).sum() / table.sum())


def f_measure(labels: Any, y: Any) -> float:
    """Mean over the classes of the best F1 score any cluster has for it, weighed by class size."""
    table = _contingency(labels, y)
    scores = 2 * table / (table.sum(axis=1)[:, None] + table.sum(axis=0)[None, :])
    return float((scores.max(axis=0) * table.sum(axis=0)).sum() / table.sum())


def adjusted_rand_index(labels: Any, y: Any) -> float:
    """Adjusted Rand index (scikit-learn's)."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(_codes("y", y), _codes("labels", labels)))


def normalized_mutual_information(labels: Any, y: Any) -> float:
    """Mutual information over the mean of the entropies (scikit-learn's)."""
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(_codes("y", y), _codes("labels", labels)))


def level_labels(tree: Tree, level: int) -> NDArray[np.int64]:
    """Flat clusters of one level of a tree, to be compared with one level of nested classes.

    Parameters
    ----------
    tree : Tree
    level : int
        At least 1: nodes this many splits below their root, or leaves above it.

    Returns
    -------
    array of int, shape (n_rows,)
        Labels in order of each cluster's first row.
    """
    depth = check_count("level", level)
    nodes = np.asarray(tree.roots)
    for _ in range(depth):
        inner = nodes[nodes >= tree.n_leaves]
        leaves = nodes[nodes < tree.n_leaves]
        nodes = np.concatenate([leaves, tree.children[inner - tree.n_leaves].ravel()])
    return _core.labels_of(tree, np.sort(nodes))


def _codes(name: str, values: Any) -> NDArray[np.int64]:
    flat = np.asarray(values)
    if flat.ndim != 1 or flat.size == 0:
        raise ValueError(f"{name} must have one entry a row, not shape {flat.shape}")
    return np.unique(flat, return_inverse=True)[1].astype(np.int64)


def _contingency(labels: Any, y: Any) -> NDArray[np.float64]:
    """Rows a cluster, columns a class."""
    first, second = _codes("labels", labels), _codes("y", y)
    if first.size != second.size:
        raise ValueError(f"labels has {first.size} entries and y has {second.size}")
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1.0)
    return table
