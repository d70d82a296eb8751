"""The algorithms that build trees."""

from __future__ import annotations

import math
from typing import Any

from bhclust import _core
from bhclust._core import Family, Tree
from bhclust._memory import check_memory
from bhclust.families import resolve_family
from bhclust.options import (
    Progress,
    check_alpha,
    check_choice,
    check_count,
    check_number,
    check_threads,
)
from bhclust.table import as_table
from bhclust.trees import as_tree

__all__ = ["bhc", "rbhc", "refine"]


def bhc(
    X: Any,
    family: Family | str,
    *,
    alpha: float = 1.0,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Greedy Bayesian hierarchical clustering, exact (Heller & Ghahramani 2005).

    At every step the pair of clusters with the smallest log d is merged: the pair whose union is
    the most probable to be one cluster. Ties go to the pair whose newer cluster has the smaller id,
    then whose older one has.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
    family : Family or str
        The model, or an alias such as ``"gaussian"`` whose defaults are then taken from X.
    alpha : float
        Concentration of the Dirichlet process, above 0; larger values favour more clusters.
    n_threads : int, optional
        None: all cores. The tree does not depend on it.
    max_memory : int or str, optional
        Bytes beyond X, or text such as ``"2 GB"``: what would take more is refused before it
        starts; None: what the machine has. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total); an exception raised in it ends the work.

    Returns
    -------
    Tree
        One root; `Tree.log_d` holds log d of each merge.

    Raises
    ------
    ValueError, TypeError
        Naming the argument, or the row, column and value that the family does not take.

    Notes
    -----
    About n² scores. Memory beyond the input, measured: some 160 bytes a row, and a cell 13 (bits)
    to 25 (counts, categories, reals), or 80 in `ExponentialGamma`; 5 MB for 10,000 rows of 16
    columns.
    """
    table = as_table(X)
    model = resolve_family(family, X)
    check_memory(max_memory, "bhc", model, table.n_rows, table.n_columns)
    return _core.greedy_bhc(
        table,
        model,
        check_alpha(alpha),
        check_threads(n_threads),
        progress,
    )


def rbhc(
    X: Any,
    family: Family | str,
    *,
    lam: float = math.inf,
    n_clusters: int | None = None,
    method: str = "auto",
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Relaxed BHC: the small-variance limit (Lee & Choi 2015), as a λ-forest.

    The cost of a merge is the Bregman divergence d* >= 0 of the family; merges that cost ``lam`` or
    more are not made. With `NormalKnownVariance` d* is Ward's cost.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
    family : Family or str
    lam : float
        Above 0; inf gives one tree, which `Tree.cut` then cuts at any value. `lambda_heuristic`
        gives a start.
    n_clusters : int, optional
        Cut the one tree to this many roots, in place of ``lam``.
    method : {"auto", "rounds", "nn-chain", "greedy"}
        All reciprocal nearest neighbours at once, round by round (`NormalKnownVariance` and
        `GaussianProcess` without missing cells, where d* is Ward's cost), the nearest-neighbour
        chain, or the smallest d* at every step. They agree where d* is reducible: always for
        Ward's cost but for ties, nearly always for the others. ``"auto"``: rounds where they can
        be had, else the chain.
    n_threads : int, optional
        None: all cores. The forest does not depend on it.
    max_memory : int or str, optional
        Bytes beyond X, or text such as ``"2 GB"``: what would take more is refused before it
        starts; None: what the machine has. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total); an exception raised in it ends the work.

    Returns
    -------
    Tree
        `Tree.cost` holds d* of each merge.

    Raises
    ------
    ValueError, TypeError
        Naming the argument, or the row, column and value that the family does not take.

    Notes
    -----
    At most 3 n² scores. By rounds, a million rows of few columns take seconds; nodes are then
    numbered in order of their cost. Memory beyond the input, measured: 4 MB for 20,000 rows of 8
    columns of known variance; with other families some 160 bytes a row and 30 to 60 a cell, or 12 a
    pair of columns in `NormalInverseWishart`.
    """
    check_choice("method", method, ("auto", "rounds", "nn-chain", "greedy"))
    threshold = check_number("lam", lam)
    table = as_table(X)
    model = resolve_family(family, X)
    check_memory(max_memory, "rbhc", model, table.n_rows, table.n_columns)
    return _core.relaxed_bhc(
        table,
        model,
        threshold,
        0 if n_clusters is None else check_count("n_clusters", n_clusters),
        method,
        check_threads(n_threads),
        progress,
    )


def refine(
    tree: Tree | str | Any,
    X: Any,
    family: Family | str,
    *,
    alpha: float = 1.0,
    max_regrafts: int | None = None,
    max_seconds: float = math.inf,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Raise a tree's evidence bound by local moves; it never falls.

    Nearest-neighbour interchanges are made until none helps. Then subtrees, from small to large,
    are pruned and put back at their best place, and so on in turn until neither helps or the budget
    is spent. At last what lies above the most probable clusters, of which the evidence hardly
    knows, is grown anew as greedy BHC grows it (where they are at most 2,000).

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        The rows at the leaves.
    family : Family or str
    alpha : float
        Concentration of the Dirichlet process, above 0.
    max_regrafts : int, optional
        Subtrees tried at all other places, each for one marginal likelihood a node; None: no limit,
        0: interchanges only.
    max_seconds : float
        No further subtree is tried after so long; the tree then depends on the machine.
    max_memory : int or str, optional
        Bytes beyond X, or text such as ``"2 GB"``: what would take more is refused before it
        starts; None: what the machine has. `bhclust.estimate` tells.
    progress : callable, optional
        Called with (done, total); an exception raised in it ends the work.

    Returns
    -------
    Tree
        Without costs.
    """
    budget = 2**63 - 1 if max_regrafts is None else check_count("max_regrafts", max_regrafts, 0)
    seconds = check_number("max_seconds", max_seconds)
    grown = as_tree(tree)
    table = as_table(X)
    model = resolve_family(family, X)
    check_memory(max_memory, "refine", model, table.n_rows, table.n_columns)
    return _core.refine(
        grown,
        table,
        model,
        check_alpha(alpha),
        budget,
        seconds,
        progress,
    )
