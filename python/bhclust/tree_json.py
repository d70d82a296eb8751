"""Flat JSON of trees: no nesting, so that a chain of a million leaves is read and written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bhclust._core import Tree

FORMAT = "bhclust-tree"
VERSION = 1


def dumps(tree: Tree, names: Sequence[str] | None = None) -> str:
    """Write a tree as JSON text.

    Parameters
    ----------
    tree : Tree
    names : sequence of str, optional
        One a leaf, kept beside the tree.

    Returns
    -------
    str
        An object with the keys ``format``, ``version``, ``n_leaves``, ``left`` and ``right`` (child
        ids, one a merge), ``kind`` and ``costs`` (empty when there are none), and ``names``.
    """
    if names is not None and len(names) != tree.n_leaves:
        raise ValueError(f"names has {len(names)} entries for {tree.n_leaves} leaves")
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "n_leaves": tree.n_leaves,
        "left": tree.children[:, 0].tolist(),
        "right": tree.children[:, 1].tolist(),
        "kind": tree.kind,
        "costs": (tree.cost if tree.kind == "divergence" else tree.log_d).tolist(),
    }
    if names is not None:
        document["names"] = [str(name) for name in names]
    return json.dumps(document, allow_nan=False)


def loads(text: str) -> Tree:
    """Read what `dumps` wrote.

    Raises
    ------
    ValueError
        When the text is not such a document, or its arrays are no tree.
    """
    try:
        document = json.loads(text)
    except ValueError as error:  # with numbers of thousands of digits it is no JSONDecodeError
        raise ValueError(f"text is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("text is nested too deeply to be a tree of bhclust") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f'text is not a tree of bhclust (no "format": "{FORMAT}")')
    if document.get("version") != VERSION:
        raise ValueError(
            f"the tree has format version {document.get('version')!r}; this bhclust reads {VERSION}"
        )
    left, right = _ids(document, "left"), _ids(document, "right")
    if left.size != right.size:
        raise ValueError(f'"left" has {left.size} entries and "right" has {right.size}')
    n_leaves, kind = document.get("n_leaves"), document.get("kind", "none")
    if not isinstance(n_leaves, int) or isinstance(n_leaves, bool) or n_leaves >= 2**48:
        raise ValueError(f'"n_leaves" is {n_leaves!r}; it must be a whole number below 2^48')
    if left.size >= max(n_leaves, 1):
        raise ValueError(f"{left.size} merges are too many for {n_leaves} leaves")
    if not isinstance(kind, str):
        raise ValueError(f'"kind" is {kind!r}; it must be a string')
    costs = None if kind == "none" else _numbers(document, "costs")
    return Tree.from_children(n_leaves, np.stack([left, right], axis=1), costs=costs, kind=kind)


def _ids(document: dict[str, Any], key: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    values = document.get(key)
    if not isinstance(values, list) or not all(type(v) is int for v in values):
        raise ValueError(f'"{key}" must be an array of whole numbers')
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        raise ValueError(f'"{key}" holds a number beyond 64 bits') from None


def _numbers(document: dict[str, Any], key: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    values = document.get(key)
    if not isinstance(values, list) or not all(type(v) in (int, float) for v in values):
        raise ValueError(f'"{key}" must be an array of numbers')
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f'"{key}" holds a number beyond the doubles') from None
