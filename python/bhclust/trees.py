"""Trees in whatever form a user has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bhclust._core import Tree
from bhclust.options import shown

__all__ = ["as_tree", "leaf_names"]


def as_tree(tree: Any, *, names: Sequence[str] | None = None, resolve: bool = False) -> Tree:
    """Make a tree of a Tree, a SciPy linkage matrix or Newick text.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
    names : sequence of str, optional
        The rows' names in the Newick text; without them its leaves are row numbers. Other trees
        take none.
    resolve : bool
        Join the children of a node of the Newick text with more than two from left to right. Other
        trees have no such nodes.

    Raises
    ------
    TypeError
        When it is none of these.
    ValueError
        Naming what does not fit in the matrix or the text.
    """
    if isinstance(tree, str):
        return Tree.from_newick(tree, names=names, resolve=resolve)
    grown = _without_text(tree)
    for option, is_given in (("names", names is not None), ("resolve", resolve is not False)):
        if is_given:
            raise ValueError(
                f"{option} is given, which is for Newick text alone; tree is a "
                f"{type(tree).__name__}, whose leaves are the rows by number: leave {option} out"
            )
    return grown


def _without_text(tree: Any) -> Tree:
    if isinstance(tree, Tree):
        return tree
    if not hasattr(tree, "__array__") and not isinstance(tree, (list, tuple)):
        raise _no_tree(tree)
    try:
        cells = np.asarray(tree)
    except ValueError:
        raise _no_tree(tree) from None
    if cells.dtype.kind not in "fiu" or cells.ndim != 2 or cells.shape[1] != 4:
        raise _no_tree(tree)
    return Tree.from_linkage(cells)


def leaf_names(names: Sequence[str] | None) -> Sequence[str] | None:
    """Give the names if Newick text can have them at its leaves; else None, for row numbers."""
    if names is None or "" in names or len(set(names)) < len(names):
        return None
    return names


def _no_tree(value: Any) -> TypeError:
    return TypeError(
        "tree must be a Tree, a linkage matrix of numbers of shape (n - 1, 4) or Newick text, not "
        + shown(value)
    )
