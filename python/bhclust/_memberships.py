"""How well each row fits its cluster and the others, judged without the row itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._condense import Floats, Ints
from ._core import Table

_FOLDS = 10
_MOST_WORK = 2e9


@dataclass(frozen=True)
class Memberships:
    """For each row the chance of its own cluster, and the likeliest of the others.

    NaN and -2 for rows that were not looked at; `other` is -1 for a new cluster.
    """

    own: Floats
    other: Ints
    chance: Floats


def memberships(post: Any, labels: Ints, first: Ints) -> Memberships:
    """Set rows aside, a tenth of each cluster at a time, and ask to which cluster they belong.

    Parameters
    ----------
    post : Posterior
        The posterior of the tree.
    labels : array of int, shape (n,)
        The clusters, 0 … k - 1.
    first : array of int, shape (n,)
        The rows, those first that are to be looked at if it takes too long for all.

    Returns
    -------
    Memberships
        O(rows looked at · clusters · columns).
    """
    n, clusters = len(labels), int(labels.max()) + 1
    table = post._table
    found = Memberships(np.full(n, np.nan), np.full(n, -2), np.full(n, np.nan))
    if n < 2:
        return found
    most = max(1, int(_MOST_WORK / (clusters * max(table.n_columns, 1))))
    wanted = np.zeros(n, dtype=bool)
    wanted[first[:most]] = True
    turn = _turn_in_cluster(labels) % _FOLDS
    for fold in range(_FOLDS):
        aside = np.flatnonzero(wanted & (turn == fold))
        rest = np.flatnonzero(turn != fold)
        if not aside.size or not rest.size:
            continue
        left, dense = np.unique(labels[rest], return_inverse=True)
        logs = post_memberships(post, _rows_of(table, rest), dense, _rows_of(table, aside))
        _fill(found, aside, labels[aside], left, np.exp(logs))
    return found


def post_memberships(post: Any, rest: Table, labels: Ints, aside: Table) -> Floats:
    """Log probabilities of clusters of some rows for others, and of a new one."""
    from . import _core

    flat = np.ascontiguousarray(labels, dtype=np.int64)
    return _core.log_responsibilities(flat, post.alpha, rest, post.family, aside, 1, None)


def _fill(found: Memberships, rows: Ints, own: Ints, left: Ints, chances: Floats) -> None:
    """Enter the chances of some rows; a cluster of which no row was left is a new one."""
    place = np.searchsorted(left, own)
    known = (place < len(left)) & (left[np.minimum(place, len(left) - 1)] == own)
    at = np.where(known, place, len(left))
    every = np.arange(len(rows))
    found.own[rows] = chances[every, at]
    others = chances.copy()
    others[every, at] = -1.0
    best = np.argmax(others, axis=1)
    found.other[rows] = np.append(left, -1)[best]
    found.chance[rows] = others[every, best]


def _turn_in_cluster(labels: Ints) -> Ints:
    """Number the rows of each cluster from 0 on."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = np.empty(len(labels), dtype=np.int64)
    turn[order] = np.arange(len(labels)) - starts
    return turn


def _rows_of(table: Table, rows: Ints) -> Table:
    if not table.is_sparse:
        return Table.dense(np.ascontiguousarray(np.asarray(table.arrays)[rows]))
    data, indices, indptr = (np.asarray(part) for part in table.arrays[:3])
    counts = np.diff(indptr)[rows]
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places: NDArray[np.int64] = np.arange(ends[-1]) + np.repeat(indptr[rows] - ends[:-1], counts)
    return Table.csr(data[places], indices[places], ends, table.n_columns)
