"""Ways to grow a tree for a table and a family, as `learn` and `BHC` try them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Family, NormalKnownVariance, Product, Table, Tree
from bhclust.algorithms import bayes_kmeans_bhc, bhc, randomized_bhc, rbhc
from bhclust.options import Progress

__all__ = ["GROWTHS", "Growth", "growths", "is_vast"]

GROWTHS = ("auto", "greedy", "rbhc", "ward", "bayes-kmeans", "randomized")
"""What ``tree=`` may say."""

_QUICK_ROWS = 2000
"""RBHC outside known variance is tried unasked up to so many rows,"""
_QUICK_SCORES = 1_000_000_000
"""and so many columns of pairs of rows: it takes no heed of zeros that are not stored."""
_DENSE_CELLS = 50_000_000
"""Sparse tables up to so many cells are spread out for Ward's method unasked."""
_WIDE_COLUMNS = 4096
"""Tables are vast that have more columns than this,"""
_VAST_SCORES = 5_000_000_000
"""and more columns of pairs of rows than this."""

Cells = NDArray[np.float64]


@dataclass(frozen=True)
class Growth:
    """One way to grow a tree."""

    what: str
    """In words."""
    grow: Callable[[Family, float], Tree]
    """From the family with its hyperparameters, and the concentration."""
    follows: bool
    """Whether other hyperparameters give another tree."""


def growths(
    kind: str,
    table: Table,
    family: Family,
    *,
    collapse: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Sequence[Growth]:
    """Give the ways of a kind.

    Parameters
    ----------
    kind : {"auto", "greedy", "rbhc", "ward", "bayes-kmeans", "randomized"}
        ``"greedy"``: exact greedy BHC. ``"rbhc"``: RBHC. ``"ward"``:
        Ward's method on the columns as they are and standardised; counts by their square roots,
        compositions by those of their shares, positive measurements by their logs, categories by
        indicators; missing cells by their column's mean. ``"auto"``: all three, except RBHC on many
        rows or columns where it has no fast way, and Ward's method on sparse tables that would not
        fit or are vast.
        ``"bayes-kmeans"``, ``"randomized"``: the ways of many rows.
    table : Table
    family : Family
        Of which the transforms follow.
    collapse : bool
        Whether greedy BHC merges equal rows first, as in `bhc`.
    """
    greedy = Growth(
        "greedy tree",
        lambda family, alpha: bhc(
            table,
            family,
            alpha=alpha,
            collapse=collapse,
            n_threads=n_threads,
            progress=progress,
        ),
        follows=True,
    )
    relaxed = Growth(
        "RBHC tree",
        lambda family, _alpha: rbhc(table, family, n_threads=n_threads, progress=progress),
        follows=True,
    )

    fast: dict[str, tuple[str, Callable[..., Tree]]] = {
        "bayes-kmeans": ("Bayes K-means tree", bayes_kmeans_bhc),
        "randomized": ("randomised tree", randomized_bhc),
    }
    if kind in fast:
        what, grow = fast[kind]
        return [
            Growth(
                what,
                lambda family, alpha: grow(
                    table, family, alpha=alpha, n_threads=n_threads, progress=progress
                ),
                follows=True,
            )
        ]

    def ward(what: str, features: Callable[[], Cells]) -> Growth:
        return Growth(
            what,
            lambda _family, _alpha: rbhc(
                Table.dense(np.ascontiguousarray(features())),
                NormalKnownVariance(),
                n_threads=n_threads,
                progress=progress,
            ),
            follows=False,
        )

    wards = [
        ward("Ward tree", lambda: _filled(_features(table, family))),
        ward("Ward tree, standardised", lambda: _standardised(_filled(_features(table, family)))),
    ]
    if kind == "greedy":
        return [greedy]
    if kind == "rbhc":
        return [relaxed]
    if table.is_grouped and kind == "ward":
        raise ValueError('tree is "ward", which looks at cells; statistics of groups have none')
    if kind == "ward":
        return wards
    chosen = [greedy]
    scores = table.n_rows**2 * table.n_columns
    quick = table.n_rows <= _QUICK_ROWS and scores <= _QUICK_SCORES
    if family._relaxable and (quick or isinstance(family, NormalKnownVariance)):
        chosen.append(relaxed)
    fits = table.n_rows * table.n_columns <= _DENSE_CELLS and not is_vast(table)
    if not table.is_grouped and fits:
        chosen.extend(wards)
    return chosen


def is_vast(table: Table) -> bool:
    """Whether only what takes heed of zeros that are not stored is quick enough to be tried."""
    scores = table.n_rows**2 * table.n_columns
    return table.n_columns > _WIDE_COLUMNS and scores > _VAST_SCORES


def _features(table: Table, family: Family) -> Cells:
    """The cells as numbers whose distances mean something, NaN where missing."""
    cells = _dense(table)
    if isinstance(family, Product):
        parts = [_transformed(cells[:, list(columns)], block) for block, columns in family.blocks]
        return np.concatenate(parts, axis=1)
    return _transformed(cells, family)


def _dense(table: Table) -> Cells:
    if not table.is_sparse:
        return np.asarray(table.arrays)
    data, indices, indptr = table.arrays
    cells = np.zeros((table.n_rows, table.n_columns))
    cells[np.repeat(np.arange(table.n_rows), np.diff(indptr)), indices] = data
    return cells


def _transformed(cells: Cells, family: Family) -> Cells:
    name = family.name
    if name == "PoissonGamma":
        return np.sqrt(cells)
    if name == "MultinomialDirichlet":
        totals = cells.sum(axis=1, keepdims=True)
        return np.sqrt(cells / np.where(totals > 0, totals, 1.0))
    if name in ("GeometricBeta", "NegativeBinomialBeta"):
        return np.log1p(cells)
    if name == "ExponentialGamma":
        return np.log(cells)
    if name == "CategoricalDirichlet":
        return _indicators(cells)
    return cells


def _indicators(cells: Cells) -> Cells:
    columns = [
        np.where(np.isnan(column), np.nan, column == level)
        for column in cells.T
        for level in np.unique(column[np.isfinite(column)])
    ]
    return np.column_stack(columns) if columns else np.zeros_like(cells)


def _filled(cells: Cells) -> Cells:
    """Without missing cells, and of a size whose squares are numbers: Ward's tree has no scale."""
    largest = np.nanmax(np.abs(cells), initial=0.0)
    cells = cells / largest if largest > 0 else cells
    missing = np.isnan(cells)
    if not missing.any():
        return cells
    present = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0.0, cells).sum(axis=0) / present
    return np.where(missing, means, cells)


def _standardised(cells: Cells) -> Cells:
    spread = cells.std(axis=0)
    return np.asarray((cells - cells.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
