"""What a tree says: the posterior over its partitions, cuts and predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Table, Tree
from bhclust._memory import check_memory
from bhclust._posterior_evidence import PosteriorEvidence
from bhclust._posterior_explanation import Explanation, PosteriorExplanation
from bhclust._posterior_prediction import PosteriorPrediction
from bhclust.families import resolve_family
from bhclust.options import Progress, check_alpha, check_threads
from bhclust.table import as_leaves, kept
from bhclust.trees import as_tree

__all__ = ["Explanation", "Posterior", "exact_log_evidence", "posterior"]


def posterior(
    tree: Tree | str | Any,
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    names: Sequence[str] | None = None,
    resolve: bool = False,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Posterior:
    """The posterior over the partitions that any binary tree allows.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
        The tree may come from anywhere: Ward, a phylogeny, a file.
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
        The rows at the leaves.
    family : Family or str, optional
        None: that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0.
    names : sequence of str, optional
        The rows' names in the Newick text, and with no other tree; without them its leaves are row
        numbers.
    resolve : bool
        Join the children of a node of the Newick text with more than two, as at the root of an
        unrooted phylogeny, from left to right; else it is refused.
    n_threads : int, optional
        None: all cores. The result does not depend on it.
    max_memory : int or str, optional
        Bytes beyond the input, or text such as ``"2 GB"``: what would take more is refused before
        it starts; None: what the machine has. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total); an exception raised in it ends the work.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        Naming what does not fit.

    Notes
    -----
    O(n · width) time for statistics of ``width`` numbers. Memory beyond the input, measured: 82
    bytes a row, and 8 a cell for a copy of X unless it is sparse or nobody can write to it.
    """
    grown = as_tree(tree, names=names, resolve=resolve)
    table = as_leaves(X)
    model = resolve_family(family, X)
    value = check_alpha(alpha)
    check_memory(max_memory, "posterior", model, table)
    threads = check_threads(n_threads)
    # the copy comes first: its rows begin with lines of the cache, and the walk fetches them so
    table = kept(table, threads)
    found = _core.posterior(grown, table, model, value, progress, threads)
    return Posterior(grown, found, table, model)


def exact_log_evidence(
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    progress: Progress | None = None,
) -> float:
    """The log evidence of the Dirichlet process mixture, by summing over all partitions.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
        At most 15 rows.
    family : Family or str, optional
        None: that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0.
    progress : callable, optional
        Called with (done, total).

    Returns
    -------
    float
        In nats.

    Notes
    -----
    O(3^n_rows).
    """
    table = as_leaves(X)
    return _core.exact_log_evidence(table, resolve_family(family, X), check_alpha(alpha), progress)


class Posterior(PosteriorEvidence, PosteriorExplanation, PosteriorPrediction):
    """The posterior over the partitions that a tree allows. Made by `posterior`.

    In a forest no cluster spans two roots. Arrays have one entry a node and are read-only.

    Attributes
    ----------
    tree : Tree
    family : Family
    """

    def to_linkage(self) -> NDArray[np.float64]:
        """SciPy's linkage matrix, shape (n - 1, 4).

        Heights are the running minimum from the root of -log r, so that
        ``fcluster(Z, math.log(2), "distance")`` is ``cut(rule="r")``. Needs one root.
        """
        return self.tree.to_linkage(heights=_core.linkage_heights(self.tree, self._found))

    def to_newick(self, *, names: Sequence[str] | None = None) -> str:
        """Newick text whose branch lengths are differences of `height`."""
        return self.tree.to_newick(names=names, heights=self.height)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "tree": self.tree,
            "family": self.family,
            "alpha": self.alpha,
            "arrays": self._table.arrays,
            "columns": self._table.n_columns,
            "grouped": self._table.is_grouped,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = state["arrays"]
        if state.get("grouped", False):
            values, weights = arrays
            table = Table.groups(values, weights, state["columns"])
        elif isinstance(arrays, tuple):
            data, indices, indptr = arrays
            table = Table.csr(data, indices, indptr, state["columns"])
        else:
            table = Table.dense(arrays)
        found = _core.posterior(state["tree"], table, state["family"], state["alpha"], None)
        self.__init__(state["tree"], found, table, state["family"])  # type: ignore[misc]
