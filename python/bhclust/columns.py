"""Tables with named or mixed columns: a family a column, and text levels as codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._choice import ColumnChoice, take_columns, told_choices
from bhclust._column import Column
from bhclust._core import CategoricalDirichlet, Family, Product, Table
from bhclust._frames import frame_column, frame_names, is_frame
from bhclust._raw_column import cell_text, is_absent
from bhclust._records import is_missing
from bhclust._written import decoded
from bhclust.families import HURDLE, product_of
from bhclust.hurdles import joined_column, split_column
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

    With ``"auto"`` the families are found from the columns (`bhclust._choice`), and text of numbers
    is read as these. ``"hurdle"`` makes two cells of a column: what it is where it is not zero, and
    whether it is.

    Parameters
    ----------
    choice : "auto", or mapping of column name or number to Family, class or alias

    Attributes
    ----------
    keys : list
        The columns that are modelled, in order.
    columns : list
        The key of each column of the cells.
    levels : dict
        Levels of the categorical columns, by key, and of text that says yes or no.
    choices : dict of key to ColumnChoice
        What ``"auto"`` took the columns for.
    """

    def __init__(self, choice: Mapping[Any, Any] | str) -> None:
        if not choice:
            raise ValueError("family names no column; give at least one")
        self.asked: str | dict[Any, Any] = choice if isinstance(choice, str) else dict(choice)
        self.choice: dict[Any, Any] = {}
        self.levels: dict[Any, list[Any]] = {}
        self.choices: dict[Any, ColumnChoice] = {}
        self._as_text: set[Any] = set()

    @property
    def keys(self) -> list[Any]:
        """The columns that are modelled."""
        return list(self.choice)

    @property
    def columns(self) -> list[Any]:
        """The key of each column of the cells."""
        return [key for key, family in self.choice.items() for _ in range(1 + _is_hurdle(family))]

    @property
    def families(self) -> list[Any]:
        """The family of each column of the cells."""
        return [
            part
            for family in self.choice.values()
            for part in (("gaussian-diag", "bernoulli") if _is_hurdle(family) else (family,))
        ]

    def fit(self, X: Any) -> tuple[Table, Family]:
        """Learn the levels; the cells and the Product for them."""
        X = _with_columns(X, "X")
        self._choose(X)
        for key, family in self.choice.items():
            if _is_categorical(family) and key not in self.levels:
                self.levels[key] = _levels_of(_column(X, key, "X"), key)
        table = self.transform(X)
        names = self.columns
        with naming(names):
            found = product_of(dict(enumerate(self.families)), table, names=names)
        return table, self._with_single_levels(found)

    def _with_single_levels(self, found: Product) -> Product:
        """A column of one level has no other, though from_data allows for one."""
        blocks = []
        for family, columns in found.blocks:
            keys = [self.columns[j] for j in columns]
            is_single = [key in self.levels and len(self.levels[key]) == 1 for key in keys]
            if isinstance(family, CategoricalDirichlet) and any(is_single):
                levels = np.where(is_single, 1.0, family.levels)
                family = CategoricalDirichlet(concentration=family.concentration, levels=levels)
            blocks.append((family, columns))
        return Product(blocks)

    def _choose(self, X: Any) -> None:
        """Find the families that were left to us."""
        asked = self.asked
        if isinstance(asked, str):
            asked = dict.fromkeys(_keys_of(X), "auto")
        self.choice = dict(asked)
        free = [key for key, family in asked.items() if _is(family, "auto")]
        if not free:
            return
        used, aside = take_columns({key: _column(X, key, "X") for key in free})
        self.choices = told_choices(used, aside, free)
        for key in free:
            if key in aside:
                del self.choice[key]
                continue
            self.choice[key] = used[key].family
            self._learn_levels(key, used[key], _column(X, key, "X"))
        if not self.choice:
            told = "; ".join(f"{key!r}: {why}" for key, why in list(aside.items())[:5])
            raise ValueError(
                f'X has no column that family="auto" can cluster on ({told}); give families by '
                "column: family={name: ...}"
            )

    def _learn_levels(self, key: Any, column: Column, values: NDArray[Any]) -> None:
        if _has_text(values):
            self._as_text.add(key)
            if column.levels and column.levels != ("0", "1"):
                self.levels[key] = list(column.levels)
        elif column.family == "categorical":
            self.levels[key] = _levels_of(values, key)

    def transform(self, X: Any, *, argument: str = "X", unknown_is_missing: bool = False) -> Table:
        """Give the cells of a table, float64; levels that are not known are refused."""
        X = _with_columns(X, argument)
        cells = [self._cells(X, key, argument, unknown_is_missing) for key in self.choice]
        lengths = {len(column) for column in cells}
        if len(lengths) > 1:
            raise ValueError(
                f"{argument} has columns of lengths {sorted(lengths)!r}; make them equal"
            )
        parts: list[NDArray[np.float64]] = []
        for column, family in zip(cells, self.choice.values(), strict=True):
            if _is_hurdle(family):
                bit, rest = split_column(column)
                parts += [rest, bit]
            else:
                parts.append(column)
        return as_table(np.column_stack(parts))

    def decode(self, cells: NDArray[np.float64]) -> dict[Any, NDArray[Any]]:
        """Give the columns of cells: text where there are levels of text."""
        whole: dict[Any, NDArray[Any]] = {}
        for j, key in self._places():
            if _is_hurdle(self.choice[key]):
                # Expected values too: the probability that it is not zero times what it is then.
                whole[key] = joined_column(cells[:, j + 1], cells[:, j])
            elif key in self.levels:
                whole[key] = decoded(np.rint(cells[:, j]), self.levels[key])
            else:
                whole[key] = cells[:, j]
        return whole

    def missing(self, cells: NDArray[np.float64]) -> dict[Any, NDArray[np.bool_]]:
        """Where the columns of cells are missing."""
        hurdles = [_is_hurdle(family) for family in self.choice.values()]
        return {
            key: np.isnan(cells[:, j + is_hurdle])
            for (j, key), is_hurdle in zip(self._places(), hurdles, strict=True)
        }

    def _places(self) -> Iterator[tuple[int, Any]]:
        """For each key the first of its columns of cells."""
        place = 0
        for key, family in self.choice.items():
            yield place, key
            place += 1 + _is_hurdle(family)

    def _cells(
        self, X: Any, key: Any, argument: str, unknown_is_missing: bool
    ) -> NDArray[np.float64]:
        column = _column(X, key, argument)
        if key in self._as_text:
            column = _without_blanks(column)
        if key in self._as_text and key not in self.levels:
            return _parsed(column, key, argument)
        if key in self.levels:
            if key in self._as_text and self.choice[key] == "bernoulli":
                column = np.array([v and v.lower() for v in column.tolist()], dtype=object)
            return self._codes(column, key, argument, unknown_is_missing)
        try:
            return np.asarray(as_table(column.reshape(-1, 1), argument=argument).arrays)[:, 0]
        except TypeError as error:
            told = str(error).replace("column 0", f"column {key!r}", 1)
            place = f"{argument}: column {key!r} has dtype"
            raise TypeError(told.replace(f"{argument} has dtype", place, 1)) from None

    def _codes(
        self, column: NDArray[Any], key: Any, argument: str, unknown_is_missing: bool
    ) -> NDArray[np.float64]:
        code = {level: float(number) for number, level in enumerate(self.levels[key])}
        cells = np.full(len(column), np.nan)
        for i, value in enumerate(column.tolist()):
            if is_absent(value):
                continue
            if not _is_hashable(value) or value not in code:
                if unknown_is_missing:
                    continue
                raise ValueError(
                    f"{argument}: row {i}, column {key!r} is {value!r}, a level that the fitted "
                    f"table does not have; it has {self.levels[key][:10]!r}; make it missing or "
                    "refit"
                )
            cells[i] = code[value]
        return cells


def _parsed(column: NDArray[Any], key: Any, argument: str) -> NDArray[np.float64]:
    numbers = [np.nan if text is None else _number(text) for text in column.tolist()]
    if None in numbers:
        i = numbers.index(None)
        raise ValueError(
            f"{argument}: row {i}, column {key!r} is {column[i]!r}; it must be a number, as in the "
            "fitted table"
        )
    return np.array(numbers, dtype=np.float64)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _keys_of(X: Any) -> list[Any]:
    if isinstance(X, Mapping):
        return list(X)
    return list(range(X.shape[1])) if isinstance(X, np.ndarray) else frame_names(X)


def _is(family: Any, alias: str) -> bool:
    return isinstance(family, str) and family == alias


def _is_hurdle(family: Any) -> bool:
    return _is(family, HURDLE)


def _has_text(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "UST":
        return True
    return values.dtype.kind == "O" and any(isinstance(v, str) and v.strip() for v in values)


def _without_blanks(column: NDArray[Any]) -> NDArray[Any]:
    """Text as the sniffer reads it, numbers among it as numbers; None where it is missing."""
    texts = [cell_text(value) for value in column.tolist()]
    return np.array([*(None if is_missing(text) else text for text in texts), None], object)[:-1]


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


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _levels_of(column: NDArray[Any], key: Any) -> list[Any]:
    present = set()
    for i, value in enumerate(column.tolist()):
        if is_absent(value):
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
