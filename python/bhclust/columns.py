"""Tables with named or mixed columns: a family a column, and text levels as codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import CategoricalDirichlet, Family, Table
from bhclust._frames import frame_column, frame_names, is_frame
from bhclust._written import decoded
from bhclust.families import product_of
from bhclust.table import as_table, column_names, refuse_other_forms

__all__ = ["ColumnCoder", "naming"]


@contextmanager
def naming(keys: Sequence[Any] | None) -> Iterator[None]:
    """Refusals of the core name columns by ``keys`` in place of numbers; None leaves them alone."""
    try:
        yield
    except ValueError as error:
        told = str(error) if keys is None else _named(str(error), keys)
        # Errors of other types, or without a column in them, may be a progress callback's.
        if type(error) is not ValueError or told == str(error):
            raise
        raise ValueError(told) from None


def _named(message: str, keys: Sequence[Any]) -> str:
    def key_of(found: re.Match[str]) -> str:
        column = int(found[1])
        return f"column {keys[column]!r} " if column < len(keys) else found[0]

    return re.sub(r"\bcolumn (\d+) ", key_of, message, count=1)


class ColumnCoder:
    """Turns tables whose columns were given families by name or number into cells of numbers.

    Columns for the categorical family may hold text, booleans or pandas categories; their levels
    are learned from the fitted table, in sorted order, and new tables must keep to them.

    Parameters
    ----------
    choice : mapping of column name or number to Family, class or alias

    Attributes
    ----------
    columns : list
        The keys, in order: column j of the cells is ``columns[j]``.
    levels : dict
        Levels of the categorical columns, by key.
    """

    def __init__(self, choice: Mapping[Any, Any]) -> None:
        if not choice:
            raise ValueError("family names no column; give at least one")
        self.choice = dict(choice)
        self.columns = list(choice)
        self.levels: dict[Any, list[Any]] = {}

    def fit(self, X: Any) -> tuple[Table, Family]:
        """Learn the levels; the cells and the Product for them."""
        X = _with_columns(X, "X")
        for key in self.columns:
            if _is_categorical(self.choice[key]):
                self.levels[key] = _levels_of(_column(X, key, "X"), key)
        table = self.transform(X)
        with naming(self.columns):
            return table, product_of(dict(enumerate(self.choice.values())), table)

    def transform(self, X: Any, *, argument: str = "X") -> Table:
        """Give the cells of a table, float64."""
        X = _with_columns(X, argument)
        cells = [self._cells(X, key, argument) for key in self.columns]
        lengths = {len(column) for column in cells}
        if len(lengths) > 1:
            raise ValueError(
                f"{argument} has columns of lengths {sorted(lengths)!r}; make them equal"
            )
        return as_table(np.column_stack(cells))

    def decode(self, cells: NDArray[np.float64]) -> dict[Any, NDArray[Any]]:
        """Give the columns of cells: text where there are levels of text."""
        return {
            key: decoded(cells[:, j], self.levels[key]) if key in self.levels else cells[:, j]
            for j, key in enumerate(self.columns)
        }

    def _cells(self, X: Any, key: Any, argument: str) -> NDArray[np.float64]:
        column = _column(X, key, argument)
        if key in self.levels:
            return self._codes(column, key, argument)
        try:
            return np.asarray(as_table(column.reshape(-1, 1), argument=argument).arrays)[:, 0]
        except TypeError as error:
            told = str(error).replace("column 0", f"column {key!r}", 1)
            place = f"{argument}: column {key!r} has dtype"
            raise TypeError(told.replace(f"{argument} has dtype", place, 1)) from None

    def _codes(self, column: NDArray[Any], key: Any, argument: str) -> NDArray[np.float64]:
        code = {level: float(number) for number, level in enumerate(self.levels[key])}
        cells = np.full(len(column), np.nan)
        for i, value in enumerate(column.tolist()):
            if _is_missing(value):
                continue
            if not _is_hashable(value) or value not in code:
                raise ValueError(
                    f"{argument}: row {i}, column {key!r} is {value!r}, a level that the fitted "
                    f"table does not have; it has {self.levels[key][:10]!r}; make it missing or "
                    "refit"
                )
            cells[i] = code[value]
        return cells


def _is_categorical(family: Any) -> bool:
    return family is CategoricalDirichlet or (isinstance(family, str) and family == "categorical")


def _with_columns(X: Any, argument: str) -> Any:
    """X if it has columns by name, else as an array of objects or numbers with two dimensions."""
    if hasattr(X, "tocsr"):
        raise TypeError(f"{argument} is sparse; a family a column needs a dense table: X.toarray()")
    if isinstance(X, Mapping):
        return X
    refuse_other_forms(X, argument)
    if is_frame(X):
        return X
    cells = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if cells.ndim != 2:
        raise ValueError(
            f"{argument} has {cells.ndim} dimension(s); it must have two: rows of equal length"
        )
    return cells


def _column(X: Any, key: Any, argument: str) -> NDArray[Any]:
    """One column as an array; objects where its dtype has missing values of its own."""
    if isinstance(X, np.ndarray):
        return _numbered_column(X, key, argument)
    names = list(X) if isinstance(X, Mapping) else frame_names(X)
    if names.count(key) != 1:
        shown = names if isinstance(X, Mapping) else column_names(X) or names
        raise ValueError(
            f"family names column {key!r}, and {argument} has "
            + (f"it {names.count(key)} times" if key in names else f"{shown!r}")
        )
    is_mapping = isinstance(X, Mapping)
    values = np.asarray(X[key]) if is_mapping else frame_column(X, names.index(key))[0]
    if values.ndim != 1:
        raise ValueError(f"{argument}: column {key!r} has {values.ndim} dimension(s), not one")
    return values


def _numbered_column(cells: NDArray[Any], key: Any, argument: str) -> NDArray[Any]:
    if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
        raise TypeError(
            f"family names column {key!r}; {argument} is an array, so columns go by number"
        )
    if not 0 <= key < cells.shape[1]:
        raise ValueError(
            f"family names column {key}, and {argument} has columns 0 to {cells.shape[1] - 1}"
        )
    return cells[:, key]


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _levels_of(column: NDArray[Any], key: Any) -> list[Any]:
    present = set()
    for i, value in enumerate(column.tolist()):
        if _is_missing(value):
            continue
        if not _is_hashable(value):
            raise TypeError(
                f"X: row {i}, column {key!r} is {value!r}; a level must be text, a number or a bool"
            )
        present.add(value)
    if len(present) == 0:
        return [0, 1]
    try:
        return sorted(present)
    except TypeError:
        return sorted(present, key=lambda value: (type(value).__name__, str(value)))
