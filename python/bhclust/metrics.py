"""How well trees and flat clusters agree with known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Tree
from bhclust.options import check_choice, check_count, shown
from bhclust.trees import as_tree

__all__ = [
    "adjusted_rand_index",
    "dendrogram_purity",
    "f_measure",
    "level_labels",
    "normalized_mutual_information",
    "purity",
]


def dendrogram_purity(tree: Tree | str | Any, y: Any, *, weights: str = "rows") -> float:
    """The expected share of the class of two rows in the smallest subtree that holds both.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
        With one root.
    y : array of shape (n_rows,)
        Classes: numbers or text, none missing.
    weights : {"rows", "pairs"}
        ``"rows"``: a row, then another of its class (Heller & Ghahramani 2005, footnote 2).
        ``"pairs"``: a pair of rows of one class, all pairs alike.

    Returns
    -------
    float
        In (0, 1]; 1 when every class is a subtree. Exact, O(n_rows · n_classes).
    """
    check_choice("weights", weights, ("rows", "pairs"))
    return _core.dendrogram_purity(as_tree(tree), _codes("y", y), weights == "pairs")


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
    """Adjusted Rand index (Hubert & Arabie 1985): 1 for the same clusters, 0 by chance."""
    both, first, second = _counts(labels, y)
    pairs = [int((counts * (counts - 1) // 2).sum()) for counts in (both, first, second)]
    n = int(first.sum())
    every = n * (n - 1) // 2
    chance = pairs[1] * pairs[2] / every if every else 0.0
    best = (pairs[1] + pairs[2]) / 2
    return 1.0 if best == chance else (pairs[0] - chance) / (best - chance)


def normalized_mutual_information(labels: Any, y: Any) -> float:
    """Mutual information over the mean of the two entropies, in [0, 1]."""
    entropies = [_entropy(counts) for counts in _counts(labels, y)]
    mean = (entropies[1] + entropies[2]) / 2
    if mean == 0.0:
        return 1.0
    return min(1.0, max(0.0, entropies[1] + entropies[2] - entropies[0]) / mean)


def _counts(labels: Any, y: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Rows in both a cluster and a class, in a cluster, and in a class: those that are not 0."""
    first, second = _pairs(labels, y)
    both = np.unique(first * (second.max() + 1) + second, return_counts=True)[1]
    return both, np.bincount(first), np.bincount(second)


def _entropy(counts: NDArray[np.int64]) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def level_labels(tree: Tree | str | Any, level: int) -> NDArray[np.int64]:
    """Flat clusters of one level of a tree, to be compared with one level of nested classes.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
    level : int
        At least 1: nodes this many splits below their root, or leaves above it.

    Returns
    -------
    array of int, shape (n_rows,)
        Labels from the largest cluster to the smallest, of equal sizes by first row.
    """
    depth = check_count("level", level)
    grown = as_tree(tree)
    nodes = np.asarray(grown.roots)
    for _ in range(depth):
        inner = nodes[nodes >= grown.n_leaves]
        if not inner.size:
            break
        leaves = nodes[nodes < grown.n_leaves]
        nodes = np.concatenate([leaves, grown.children[inner - grown.n_leaves].ravel()])
    return _core.labels_of(grown, np.sort(nodes))


def _codes(name: str, values: Any) -> NDArray[np.int64]:
    """Number the classes."""
    try:
        flat = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} is ragged: its rows have different lengths") from None
    if flat.ndim != 1 or flat.size == 0:
        raise ValueError(f"{name} must have one entry a row, not shape {flat.shape}")
    if flat.dtype.kind not in "biufUSMmO":
        raise TypeError(f"{name} has dtype {flat.dtype}; classes are numbers or text")
    missing = np.flatnonzero(_missing(flat))
    if missing.size:
        raise ValueError(
            f"{name}[{missing[0]}] is {flat[missing[0]]}; every row needs a class: leave the row "
            "out, or give the missing ones a class of their own"
        )
    if flat.dtype.kind == "O":
        return _codes_of_objects(name, flat)
    return np.unique(flat, return_inverse=True)[1].astype(np.int64)


def _missing(flat: NDArray[Any]) -> NDArray[np.bool_]:
    if flat.dtype.kind == "f":
        return np.asarray(np.isnan(flat))
    if flat.dtype.kind in "Mm":
        return np.asarray(np.isnat(flat))
    if flat.dtype.kind == "O":
        none = [
            value is None
            or type(value).__name__ in ("NAType", "NaTType")
            or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
            for value in flat
        ]
        return np.array(none, dtype=bool)
    return np.zeros(flat.size, dtype=bool)


def _codes_of_objects(name: str, flat: NDArray[Any]) -> NDArray[np.int64]:
    """In order of appearance, as objects of different types have no other."""
    numbers: dict[Any, int] = {}
    try:
        codes = [numbers.setdefault(value, len(numbers)) for value in flat]
    except TypeError:
        bad = next(value for value in flat if getattr(value, "__hash__", None) is None)
        raise TypeError(f"{name} holds {shown(bad)}; classes are numbers or text") from None
    return np.array(codes, dtype=np.int64)


def _pairs(labels: Any, y: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = _codes("labels", labels), _codes("y", y)
    if first.size != second.size:
        raise ValueError(
            f"labels has {first.size} entries and y has {second.size}; they must be of the same "
            "rows"
        )
    return first, second


def _contingency(labels: Any, y: Any) -> NDArray[np.float64]:
    """Rows a cluster, columns a class."""
    first, second = _pairs(labels, y)
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1.0)
    return table
