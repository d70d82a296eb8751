"""Tables with named or mixed columns: a family a column, and text levels as codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import CategoricalDirichlet, Family, Table
from bhclust.families import product_of
from bhclust.table import as_table, column_names

__all__ = ["ColumnCoder"]


class ColumnCoder:
    """Turns tables whose columns were given families by name or number into cells of numbers.

    Columns for the categorical family may hold text, booleans or pandas categories; their levels are
    learned from the fitted table, in sorted order, and new tables must keep to them.

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
        for key in self.columns:
            if _is_categorical(self.choice[key]):
                self.levels[key] = _levels_of(_column(X, key))
        table = self.transform(X)
        try:
            return table, product_of(dict(enumerate(self.choice.values())), table)
        except ValueError as error:
            raise ValueError(self.named(str(error))) from None

    def transform(self, X: Any, *, argument: str = "X") -> Table:
        """The cells of a table, float64."""
        return Table.dense(
            np.ascontiguousarray(
                np.column_stack([self._cells(X, key, argument) for key in self.columns])
            )
        )

    def named(self, message: str) -> str:
        """A message of the core with the keys in place of the numbers of the cells' columns."""
        for j, key in reversed(list(enumerate(self.columns))):
            message = message.replace(f"column {j} ", f"column {key!r} ", 1)
        return message

    def _cells(self, X: Any, key: Any, argument: str) -> NDArray[np.float64]:
        column = _column(X, key)
        if key in self.levels:
            return self._codes(column, key, argument)
        try:
            return np.asarray(as_table(column.reshape(-1, 1), argument=argument).arrays)[:, 0]
        except TypeError as error:
            raise TypeError(
                str(error).replace("column 0", f"column {key!r}", 1)
            ) from None

    def _codes(self, column: NDArray[Any], key: Any, argument: str) -> NDArray[np.float64]:
        code = {level: float(number) for number, level in enumerate(self.levels[key])}
        cells = np.full(len(column), np.nan)
        for i, value in enumerate(column):
            if _is_missing(value):
                continue
            if value not in code:
                raise ValueError(
                    f"{argument}: row {i}, column {key!r} is {value!r}, a level that the fitted table "
                    f"does not have; it has {self.levels[key][:10]!r}; make it missing or refit"
                )
            cells[i] = code[value]
        return cells


def _is_categorical(family: Any) -> bool:
    return family == "categorical" or family is CategoricalDirichlet


def _column(X: Any, key: Any) -> NDArray[Any]:
    """One column as an array; objects where its dtype has missing values of its own."""
    if hasattr(X, "columns"):
        if key not in list(X.columns):
            raise ValueError(
                f"family names column {key!r}, and X has {column_names(X) or list(X.columns)!r}"
            )
        series = X[key]
        if isinstance(series.dtype, np.dtype):
            return np.asarray(series.to_numpy())
        return np.asarray(series.to_numpy(), dtype=object)
    if isinstance(X, Mapping):
        if key not in X:
            raise ValueError(f"family names column {key!r}, and X has {list(X)!r}")
        return np.asarray(X[key])
    cells = np.asarray(X)
    if cells.ndim != 2:
        raise ValueError(f"X has {cells.ndim} dimension(s); it must have two, rows and columns")
    if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
        raise TypeError(
            f"family names column {key!r}; X is an array, so columns go by number"
        )
    if not 0 <= key < cells.shape[1]:
        raise ValueError(f"family names column {key}, and X has columns 0 to {cells.shape[1] - 1}")
    return cells[:, key]


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _levels_of(column: NDArray[Any]) -> list[Any]:
    present = {value for value in column.tolist() if not _is_missing(value)}
    if len(present) == 0:
        return [0, 1]
    try:
        return sorted(present)
    except TypeError:
        return sorted(present, key=lambda value: (type(value).__name__, str(value)))
