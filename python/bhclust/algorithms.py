"""The algorithms that build trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Tree
from bhclust._memory import check_memory
from bhclust.families import resolve_family
from bhclust.options import (
    Progress,
    check_alpha,
    check_bool,
    check_choice,
    check_count,
    check_number,
    check_seed,
    check_threads,
    shown,
)
from bhclust.statistics import Statistics, family_for
from bhclust.table import as_leaves, column_names, in_form_of, new_rows, stacked
from bhclust.trees import as_tree

__all__ = [
    "bayes_kmeans_bhc",
    "bhc",
    "forget",
    "insert",
    "randomized_bhc",
    "rbhc",
    "refine",
]


def bhc(
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    collapse: bool = False,
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
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
    family : Family or str, optional
        The model, or an alias such as ``"gaussian"`` whose defaults are then taken from X. None:
        that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0; larger values favour more clusters.
    collapse : bool
        Merge equal rows first, one by one, then grow the tree from each set of them as one cluster.
        This changes the tree: greedy BHC may merge rarer rows before, which gain more. It is faster
        where most rows are repeated. False: greedy BHC's own tree, for which equal rows are scored
        once as well.
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
    About n² scores. Memory beyond the input, measured: 200 to 290 bytes a row, and a cell 7 (bits)
    to 24 (counts), of the first 640 rows up to 46 more, or 68 in `ExponentialGamma` with missing
    cells, and a column 0.3 to 4.2 kB; counts, bits and categories take up to some 8 MB more for
    each function of them that is computed beforehand, for columns with hyperparameters of their
    own. 4 to 6 MB for 4,000 rows of 32 columns. Sparse tables take 100 to 230 bytes a stored cell
    in `MultinomialDirichlet`; in other families clusters keep all columns.
    """
    collapse = check_bool("collapse", collapse)
    table = as_leaves(X)
    if collapse and table.is_grouped:
        raise ValueError("collapse is for rows, and X is Statistics: S.merge(labels) joins groups")
    model = resolve_family(family, X)
    check_memory(max_memory, "bhc", model, table)
    return _core.greedy_bhc(
        table,
        model,
        check_alpha(alpha),
        collapse,
        check_threads(n_threads),
        progress,
    )


def rbhc(
    X: Any,
    family: Family | str | None = None,
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
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
    family : Family or str, optional
        None: that of Statistics.
    lam : float
        Above 0; inf gives one tree, which `Tree.cut` then cuts at any value. `lambda_heuristic`
        gives a start.
    n_clusters : int, optional
        Cut the one tree to this many roots, in place of ``lam``.
    method : {"auto", "rounds", "nn-chain", "greedy"}
        All reciprocal nearest neighbours at once, round by round (without missing cells:
        `NormalKnownVariance` and `GaussianProcess`, where d* is Ward's cost; counts, bits and
        codes), the nearest-neighbour chain, or the smallest d* at every step. They agree where d*
        is reducible: always for Ward's cost but for ties, nearly always for the others.
        ``"auto"``: rounds for Ward's cost, and for 8,192 rows of counts, bits or codes and more
        where boxes around neighbours exclude most of them; else the chain.
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
    numbered in order of their cost. Memory beyond the input, measured: 220 bytes a row and 20 a
    cell of known variance; with other families 200 bytes a row and 24 to 33 a number of a row's
    statistics, which are 2 to 4 a column, or half the pairs of columns in `NormalInverseWishart`,
    and of sparse tables as many as of dense ones.
    """
    check_choice("method", method, ("auto", "rounds", "nn-chain", "greedy"))
    threshold = check_number("lam", lam)
    table = as_leaves(X)
    model = resolve_family(family, X)
    check_memory(max_memory, "rbhc", model, table)
    return _core.relaxed_bhc(
        table,
        model,
        threshold,
        0 if n_clusters is None else check_count("n_clusters", n_clusters),
        method,
        check_threads(n_threads),
        progress,
    )


def bayes_kmeans_bhc(
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    n_seeds: int | None = None,
    seeds: Any = None,
    merge: bool = True,
    exact_rows: int = 64,
    random_state: int = 0,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Bayes K-means BHC: clusters first, trees afterwards (Xu, Heller & Ghahramani 2009).

    Some rows become clusters. Every other row, in the order of the table, joins the cluster or
    opens the one that gives the largest marginal likelihood of the Dirichlet process mixture; a
    cluster is taken for what it was when it had last grown by a quarter. Greedy BHC makes a tree
    below each cluster; clusters are merged while the marginal likelihood rises, and greedy BHC
    makes a tree of what is left.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
    family : Family or str, optional
        The model, or an alias such as ``"gaussian"`` whose defaults are then taken from X. None:
        that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0; larger values favour more clusters.
    n_seeds : int, optional
        Rows drawn to start clusters; None: the root of n_rows, rounded. At most 256 rows have the
        tree of `bhc` unless this or ``seeds`` is given: it costs no more.
    seeds : array-like of int, optional
        The numbers of these rows, in place of ``n_seeds``.
    merge : bool
        Whether clusters are merged before the tree of clusters is grown.
    exact_rows : int
        Below a cluster of more rows the tree is grown by parts: greedy BHC of a random sample of
        as many rows as its root, and average linkage, by the evidence of pairs, of the rows that
        each of these attracts; at least 2.
    random_state : int
        Seed of the rows drawn, from 0 to 2^64 - 1.
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
        One root, complete down to the rows; `Tree.log_d` holds log d of each merge. With all rows
        as seeds and ``merge=False`` it is that of `bhc`.

    Raises
    ------
    ValueError, TypeError
        Naming the argument, or the row, column and value that the family does not take.

    Notes
    -----
    About n k + k² scores for k clusters, and those of the trees below them. Memory beyond the
    input, measured: 260 bytes a row, a cell 14 to 24 (reals, bits) or 20 to 66 (counts, categories;
    zeros of sparse tables included), 6 kB a column and 0.7 kB a seed, and up to 13 bytes a cell and
    5 MB of what rows are scored by; of the full covariance 9 bytes a pair of columns and row where
    most rows are clusters of their own. Where the concentration makes every row a cluster (10⁸) a
    call takes up to 1.9 times what `estimate` tells. Where rows come in an order that means
    something, shuffle them: early rows shape the clusters.
    """
    if n_seeds is not None and seeds is not None:
        raise ValueError("n_seeds and seeds are both given; give one of them")
    check_bool("merge", merge)
    table = as_leaves(X)
    model = resolve_family(family, X)
    count = 0 if n_seeds is None else check_count("n_seeds", n_seeds)
    rows = np.empty(0, dtype=np.int64) if seeds is None else _rows_named("seeds", seeds)
    asked = {} if n_seeds is None and seeds is None else {"n_seeds": count or len(rows)}
    check_memory(max_memory, "bayes_kmeans_bhc", model, table, **asked)
    return _core.bayes_kmeans_bhc(
        table,
        model,
        check_alpha(alpha),
        count,
        rows,
        bool(merge),
        check_count("exact_rows", exact_rows, 2),
        check_seed("random_state", random_state),
        check_threads(n_threads),
        progress,
    )


def _rows_named(name: str, rows: Any) -> NDArray[np.int64]:
    """Numbers of rows, which the core checks against the table."""
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.size == 0:
        raise ValueError(f"{name} is {shown(rows)}; it must be a list of row numbers")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def randomized_bhc(
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    subset: int = 100,
    random_state: int = 0,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Randomised BHC: subsets say how all rows are split (Heller & Ghahramani 2005).

    Greedy BHC makes a tree of a random subset of the rows. Each other row goes to the side of the
    root that has the cluster it most probably belongs to; so on with both sides, until no more than
    ``subset`` rows are left. A side with more than three quarters of the subset is split further by
    the same tree. Where more than 15/16 of the rows go to one side, as duplicates do, those are
    dealt out at random to two halves.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
    family : Family or str, optional
        The model, or an alias such as ``"gaussian"`` whose defaults are then taken from X. None:
        that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0; larger values favour more clusters.
    subset : int
        Rows that greedy BHC takes at once; at least 2.
    random_state : int
        Seed of the subsets, from 0 to 2^64 - 1.
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
        One root; `Tree.log_d` holds log d of each merge. With ``subset`` of at least n_rows it is
        that of `bhc`.

    Raises
    ------
    ValueError, TypeError
        Naming the argument, or the row, column and value that the family does not take.

    Notes
    -----
    O(n log n) time for a fixed subset. Memory beyond the input, measured: some 460 bytes a row, and
    the statistics of 4,096 rows a thread.
    """
    table = as_leaves(X)
    model = resolve_family(family, X)
    threads = check_threads(n_threads)
    check_memory(max_memory, "randomized_bhc", model, table, n_threads=threads)
    return _core.randomized_bhc(
        table,
        model,
        check_alpha(alpha),
        check_count("subset", subset, 2),
        check_seed("random_state", random_state),
        threads,
        progress,
    )


def refine(
    tree: Tree | str | Any,
    X: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    max_regrafts: int | None = None,
    everywhere: bool = False,
    max_seconds: float = math.inf,
    n_threads: int | None = None,
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
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
        The rows at the leaves.
    family : Family or str, optional
        None: that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0.
    max_regrafts : int, optional
        Subtrees tried at other places; None: no limit, 0: interchanges only.
    everywhere : bool
        Try them at all other places, for one marginal likelihood a node each, not only at those
        above the most probable clusters and in the few clusters that suit them best.
    max_seconds : float
        No further subtree is tried after so long; the tree then depends on the machine.
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
        Without costs.
    """
    budget = 2**63 - 1 if max_regrafts is None else check_count("max_regrafts", max_regrafts, 0)
    seconds = check_number("max_seconds", max_seconds)
    grown = as_tree(tree)
    table = as_leaves(X)
    model = resolve_family(family, X)
    check_memory(max_memory, "refine", model, table)
    return _core.refine(
        grown,
        table,
        model,
        check_alpha(alpha),
        budget,
        check_bool("everywhere", everywhere),
        seconds,
        check_threads(n_threads),
        progress,
    )


def insert(
    tree: Tree | str | Any,
    X: Any,
    X_new: Any,
    family: Family | str | None = None,
    *,
    alpha: float = 1.0,
    everywhere: bool = False,
    rotate: bool = True,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    progress: Progress | None = None,
) -> Tree:
    """Put new rows into a tree, one after another, where the evidence rises most.

    Each becomes the sibling of a node. All places at or above the clusters of the most probable
    partition are compared exactly, by the evidence of the whole tree with the row there. Inside the
    (at most four) clusters that the row fits best, only those along the likeliest way down are.
    Then neighbouring subtrees about the new leaf are interchanged while that raises the evidence.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
        Of the rows of X.
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns), or Statistics
    X_new : like X, of shape (n_new, n_columns)
        In an order that means nothing: early rows shape the tree for later ones. Rows beside
        Statistics become groups of one row each. Without rows the tree stays as it is.
    family : Family or str
        The model, or an alias whose defaults are then taken from X. None: that of Statistics.
    alpha : float
        Concentration of the Dirichlet process, above 0.
    everywhere : bool
        Look at every place for every row: one marginal likelihood a node of the tree.
    rotate : bool
        Whether interchanges are made.
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
        Over the rows of X and then those of X_new, with as many roots as the tree had; `Tree.log_d`
        holds log d of each merge. The tree itself where X_new has no rows.

    Raises
    ------
    ValueError, TypeError
        Naming the argument, or the row, column and value that the family does not take.

    Notes
    -----
    A call takes one pass over the tree, O(n · width), then for each row 2 marginal likelihoods a
    cluster, some hundreds more whatever the shape of the tree, and one for each node above the
    row's place.
    """
    grown = as_tree(tree)
    before, after = column_names(X), column_names(X_new)
    if before is not None and after is not None and before != after:
        raise ValueError(f"X_new has the columns {after!r}; X has {before!r}, in that order")
    table, new = as_leaves(X), as_leaves(X_new, argument="X_new")
    model = resolve_family(family, X)
    if isinstance(X_new, Statistics):
        family_for(X_new, model, argument="X_new")
    if grown.n_leaves != table.n_rows:
        raise ValueError(
            f"the tree has {grown.n_leaves} leaves and X has {table.n_rows} rows; they must be the "
            "same rows"
        )
    everywhere = check_bool("everywhere", everywhere)
    rotate = check_bool("rotate", rotate)
    concentration = check_alpha(alpha)
    threads = check_threads(n_threads)
    if new.n_rows == 0:
        if new.n_columns != table.n_columns:
            raise ValueError(
                f"X_new has {new.n_columns} columns; the rows before have {table.n_columns}"
            )
        return grown
    check_memory(max_memory, "insert", model, table, n_new=new.n_rows)
    with new_rows():
        model._check(new)
    rows = stacked(table, in_form_of(table, new, model))
    return _core.insert(
        grown,
        rows,
        model,
        concentration,
        everywhere,
        rotate,
        threads,
        progress,
    )


def forget(tree: Tree | str | Any, rows: Any) -> Tree:
    """Take rows out of a tree; what of the others was joined stays joined.

    Parameters
    ----------
    tree : Tree, linkage matrix of shape (n - 1, 4), or Newick text
    rows : array-like of int
        The numbers of the rows to take out, each once, and not all.

    Returns
    -------
    Tree
        Over the rows kept, numbered anew in their order, without costs. `posterior` scores it anew
        from their cells, so nothing is lost by subtraction.

    Notes
    -----
    O(n). A root whose rows are all taken out is gone.
    """
    return _core.forget(as_tree(tree), _rows_named("rows", rows))
