"""The cells of a column as they were found, before it is known what they hold."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._records import is_missing, shown
from .options import nearest_double

Floats = NDArray[np.float64]


class Cells:
    """The cells of one column with where they stand, for messages."""

    def __init__(
        self, path: str, name: str, texts: Sequence[str], lines: Sequence[int], decimal: str
    ) -> None:
        self.path = path
        self.name = name
        self.texts: Sequence[str] = texts
        self.lines = lines
        self.decimal = decimal
        missing = {text for text in set(texts) if is_missing(text)}
        self.present = [place for place, text in enumerate(texts) if text not in missing]
        self._present_texts = [text for text in texts if text not in missing]
        self.distinct: Sequence[str] = list(dict.fromkeys(self._present_texts))
        self._parsed = self._parse()

    def _parse(self) -> Floats | None:
        """Give the values that are there, or None where some are not written as numbers."""
        texts = self._present_texts
        if "_" in "".join(texts):
            return None
        if self.decimal == ",":
            texts = [text.replace(",", ".") for text in texts]
        try:
            return np.fromiter(map(float, texts), np.float64, len(texts))
        except ValueError:
            return None

    @property
    def are_numbers(self) -> bool:
        """Whether there are values, all of them written as numbers."""
        return bool(self.present) and self._parsed is not None

    def fail(self, place: int, what: str) -> ValueError:
        """Make the error for one cell."""
        return ValueError(
            f"{self.path}: line {self.lines[place]}, column '{shown(self.name)}': "
            f"'{shown(self.texts[place])}' {what}"
        )

    def first(self, text: str) -> int:
        """Place of the first cell with a text."""
        return self.texts.index(text)

    def is_number(self, text: str) -> bool:
        """Whether a text is written as a number."""
        if self.decimal == ",":
            text = text.replace(",", ".")
        try:
            float(text)
        except ValueError:
            return False
        return "_" not in text

    def numbers(self) -> Floats | None:
        """Give all values, NaN where missing, or None where some are not numbers."""
        if self._parsed is None:
            return None
        odd = np.flatnonzero(~np.isfinite(self._parsed))
        if len(odd):
            raise self.fail(
                self.present[int(odd[0])],
                "is not a finite number; leave the cell empty where a value is missing",
            )
        values = np.full(len(self.texts), np.nan)
        values[self.present] = self._parsed
        return values


class ArrayCells(Cells):
    """The cells of one column of a table in memory.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Numbers, booleans, text, or objects; NaN, None, pandas' NA and texts that stand for it,
        such as "", are missing.
    key : str or int
        Its name or number.
    path : str
        What messages call the table.
    """

    def __init__(self, values: NDArray[Any], key: Any, *, path: str = "X") -> None:
        self.key = key
        self._numbers = _all_numbers(values)
        if self._numbers is None:
            texts = list(map(cell_text, values.tolist()))
            super().__init__(path, str(key), texts, range(len(texts)), ".")
            return
        self.path, self.name, self.decimal = path, str(key), "."
        self.texts, self.lines = _Texts(self._numbers), range(len(values))
        self.present = np.flatnonzero(~np.isnan(self._numbers)).tolist()
        self._parsed = self._numbers[self.present]
        self.distinct = _Texts(np.unique(self._parsed))

    def fail(self, place: int, what: str) -> ValueError:
        """Make the error for one cell."""
        return ValueError(
            f"{self.path}: row {place}, column {self.key!r}: '{shown(self.texts[place])}' {what}"
        )


class _Texts(Sequence[str]):
    """Numbers as text, written when they are asked for."""

    def __init__(self, values: Floats) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return _Texts(self._values[place])
        return repr(float(self._values[place])).removesuffix(".0")


def cell_text(value: Any) -> str:
    """Write a cell of whatever type as text; "" where it is missing."""
    if is_absent(value):
        return ""
    return value.strip() if isinstance(value, str) else str(value)


def is_absent(value: Any) -> bool:
    """Whether a cell of whatever type is missing: None, NaN, pandas' NA or text of nothing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def _all_numbers(values: NDArray[Any]) -> Floats | None:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind != "O":
        return None
    cells = np.full(len(values), np.nan)
    for place, value in enumerate(values.tolist()):
        if isinstance(value, (bool, np.bool_, numbers.Real, Decimal)):
            cells[place] = nearest_double(value)
        elif not is_absent(value):
            return None
    return cells
