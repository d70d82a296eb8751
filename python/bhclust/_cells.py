"""Columns of whatever table a user has, as pictures and reports tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._column import Column
from ._condense import Floats, Ints, PosteriorLike
from ._frames import frame_column, frame_names, is_frame
from ._matrix import SparseColumns
from ._raw_column import is_absent
from .families import aliases
from .io import Table
from .options import nearest_double, shown
from .table import as_table

_MOST_LEVELS = 30
_MOST_COUNT = 1000
_MOST_SPARSE = 300


@dataclass(frozen=True)
class NamedColumns:
    """A table without names of its own, with names for its columns."""

    table: Any
    names: list[str]


def with_names(X: Any, feature_names: Any) -> Any:
    """Give the table with names for its columns, where there are some."""
    if feature_names is None:
        return X
    if X is None:
        raise ValueError("feature_names is given without X; give the table whose columns they name")
    if isinstance(X, (Table, Mapping)) or hasattr(X, "columns"):
        raise ValueError(
            "feature_names is given, but X has names of its own; rename its columns, or give the "
            "cells alone"
        )
    if isinstance(feature_names, (str, bytes)) or not hasattr(feature_names, "__iter__"):
        raise TypeError(
            f"feature_names must be a sequence with one name a column, not {shown(feature_names)}"
        )
    names = [" ".join(str(name).split()) for name in feature_names]
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if len(shape) == 2 and len(names) != shape[1]:
        raise ValueError(
            f"feature_names has {len(names)} entries for {shape[1]} columns; give one a column"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names has {twice!r} twice; give each column a name of its own")
    return NamedColumns(X, names)


def columns_of(X: Any, post: PosteriorLike, groups: Ints) -> dict[str, Column]:
    """Give the columns of a table, each with the family that the posterior has for it.

    A column whose cells the posterior was made from has its family there; others are taken for
    what they hold. Texts that mostly differ, dates and the like are left out. Of a sparse table
    the columns are given that tell most between the groups of rows.
    """
    n = post.tree.n_leaves
    names = None
    if isinstance(X, NamedColumns):
        X, names = X.table, X.names
    if isinstance(X, Table):
        _check_rows(X.n_rows, n)
        if not isinstance(X.columns, SparseColumns):
            return dict(X.columns)
        return _sparse_columns(X.data, post, groups, list(X.columns), X.columns.why)
    if hasattr(X, "tocsr"):
        return _sparse_columns(X, post, groups, names)
    families = _Families(post)
    found: dict[str, Column] = {}
    for key, values in _named_columns(X):
        _check_rows(len(values), n)
        name = key if isinstance(key, str) else _name_of(key, names)
        column = _column(name, values, families)
        if column is not None:
            found[name] = column
    return found


def _name_of(number: Any, names: Sequence[str] | None) -> str:
    return f"column {number}" if names is None else str(names[number])


def _check_rows(found: int, n: int) -> None:
    if found != n:
        raise ValueError(
            f"X has {found:,} rows, but the posterior's tree has {n:,}; give the rows of the table "
            "that the tree was made from"
        )


def _named_columns(X: Any) -> list[tuple[Any, NDArray[Any]]]:
    """List the columns, by name or number, as arrays of numbers or objects."""
    if isinstance(X, Mapping):
        return [(key, _flat(key, np.asarray(_plain(values)))) for key, values in X.items()]
    if is_frame(X):
        return [(name, frame_column(X, j)[0]) for j, name in enumerate(frame_names(X))]
    try:
        cells = X if isinstance(X, np.ndarray) else np.array(X)
        if cells.dtype.kind in "US":
            cells = np.array(X, dtype=object)
    except ValueError:
        raise ValueError("X is ragged: rows have different lengths; make them equal") from None
    if cells.ndim != 2:
        raise ValueError(
            f"X has {cells.ndim} dimension(s); it must have two: rows, and in them the columns"
        )
    return [(j, cells[:, j]) for j in range(cells.shape[1])]


def _plain(values: Any) -> Any:
    """Give a column as NumPy reads it; one with missing values of its own as objects."""
    if hasattr(values, "to_numpy") and not isinstance(getattr(values, "dtype", None), np.dtype):
        return values.to_numpy().astype(object)
    return values


def _flat(key: Any, values: NDArray[Any]) -> NDArray[Any]:
    if values.ndim != 1:
        raise ValueError(f"X: column {key!r} has {values.ndim} dimension(s), not one")
    return values


class _Families:
    """Which family the posterior has for the columns it was made from, found by their cells."""

    def __init__(self, post: PosteriorLike) -> None:
        self._known: dict[bytes, str] = {}
        family, table = getattr(post, "family", None), getattr(post, "_table", None)
        if family is None or table is None or table.is_sparse or table.is_grouped:
            return
        cells = np.asarray(table.arrays)
        for part, columns in getattr(family, "blocks", [(family, range(cells.shape[1]))]):
            for column in columns:
                self._known.setdefault(_key(cells[:, column]), alias_of(part))

    def of(self, values: Floats) -> str | None:
        """Alias of the family for a column, if its cells are among those of the posterior."""
        return self._known.get(_key(values))


def _key(values: Floats) -> bytes:
    return (np.asarray(values, dtype=np.float64) + 0.0).tobytes()


def alias_of(family: Any) -> str:
    """Short name of a family; of one that has none its class's name."""
    names = {cls: alias for alias, cls in aliases().items()}
    return names.get(type(family), type(family).__name__)


def _column(name: str, values: NDArray[Any], families: _Families) -> Column | None:
    if values.dtype.kind == "O":
        return _objects(name, values, families)
    if values.dtype.kind in "US":
        return _objects(name, values.astype(object), families)
    if values.dtype.kind not in "biuf":
        return None
    return _numbers(name, values.astype(np.float64), families)


def _objects(name: str, values: NDArray[Any], families: _Families) -> Column | None:
    missing = np.array([is_absent(value) for value in values.tolist()], dtype=bool)
    present = values[~missing].tolist()
    if all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in present):
        cells = np.full(len(values), np.nan)
        cells[~missing] = [nearest_double(value) for value in present]
        return _numbers(name, cells, families)
    if not all(
        isinstance(value, (str, bool, int, float, np.number, np.bool_)) for value in present
    ):
        return None
    levels = sorted(set(present), key=lambda value: (type(value).__name__, value))
    code = {level: place for place, level in enumerate(levels)}
    cells = np.full(len(values), np.nan)
    cells[~missing] = [code[value] for value in present]
    are_many = len(levels) > _MOST_LEVELS or 2 * len(levels) > len(present) + 4
    if are_many and families.of(cells) is None:
        return None
    return Column(name, "categorical", cells, tuple(map(str, levels)), "texts")


def _numbers(name: str, values: Floats, families: _Families) -> Column:
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise ValueError(
            f"X: row {infinite[0]}, {name!r} is {values[infinite[0]]}; a finite number is needed, "
            "or NaN where one is missing"
        )
    family = families.of(values)
    why = "as the posterior has it" if family else "found in its values"
    present = values[~np.isnan(values)]
    whole = bool((present == np.rint(present)).all())
    is_coded = whole and len(present) > 0 and present.min() >= 0
    if family is None:
        family = _likely(present) if is_coded else "gaussian-diag"
    if family == "bernoulli":
        return Column(name, family, values, ("0", "1"), why)
    if family == "categorical" and is_coded:
        levels = tuple(map(str, range(int(present.max()) + 1)))
        return Column(name, family, values, levels, why)
    return Column(name, family, values, (), why)


def _likely(present: Floats) -> str:
    """Choose a family for whole numbers from 0 up."""
    if present.max() <= 1:
        return "bernoulli"
    return "poisson" if present.max() <= _MOST_COUNT else "gaussian-diag"


def _sparse_columns(
    X: Any, post: PosteriorLike, groups: Ints, names: Sequence[str] | None, why: str = "sparse"
) -> dict[str, Column]:
    table = as_table(X)
    _check_rows(table.n_rows, post.tree.n_leaves)
    data, indices, indptr = table.arrays
    rows = np.repeat(np.arange(table.n_rows), np.diff(indptr))
    model = getattr(post, "family", None)
    family = "poisson" if model is None else alias_of(model)
    kept = _most_telling(np.asarray(data), np.asarray(indices), groups[rows], table.n_columns)
    place = np.full(table.n_columns, -1)
    place[kept] = np.arange(len(kept))
    taken = place[indices] >= 0
    cells = np.zeros((table.n_rows, len(kept)))
    cells[rows[taken], place[indices[taken]]] = data[taken]
    totals = np.bincount(rows, weights=data, minlength=table.n_rows)
    kept_names = [_name_of(number, names) for number in kept.tolist()]
    found = _dense_columns(cells, kept_names, family, why)
    if family == "multinomial":
        name = "other columns" if "other columns" not in found else "(other columns)"
        found[name] = Column(name, family, totals - cells.sum(axis=1), (), "columns not listed")
    return found


def _dense_columns(cells: Floats, names: Sequence[str], family: str, why: str) -> dict[str, Column]:
    levels = ("0", "1") if family == "bernoulli" else ()
    return {name: Column(name, family, cells[:, j], levels, why) for j, name in enumerate(names)}


def _most_telling(data: Floats, indices: Ints, groups: Ints, n_columns: int) -> Ints:
    """Choose the columns whose sums differ most between the groups, by their divergence."""
    if n_columns <= _MOST_SPARSE:
        return np.arange(n_columns)
    weights = np.abs(data)
    shares = np.bincount(groups, weights=weights) / max(float(weights.sum()), 1e-300)
    totals = np.bincount(indices, weights=weights, minlength=n_columns)
    pair, place = np.unique(groups * n_columns + indices, return_inverse=True)
    sums = np.bincount(place, weights=weights)
    group, column = np.divmod(pair, n_columns)
    expected = totals[column] * shares[group]
    gain = sums * np.log(np.maximum(sums, 1e-300) / np.maximum(expected, 1e-300))
    telling = np.bincount(column, weights=gain, minlength=n_columns)
    return np.sort(np.argsort(-telling, kind="stable")[:_MOST_SPARSE])
