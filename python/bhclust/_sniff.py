"""What a column of text cells holds: a model family for it, or a reason to set it aside."""

from __future__ import annotations

import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._records import counted, is_missing, shown
from .hurdles import has_spike

Floats = NDArray[np.float64]

#: Families that can be asked for by name, and what their columns must hold.
FAMILIES = {
    "gaussian": "numbers",
    "gaussian-diag": "numbers",
    "gaussian-spherical": "numbers",
    "time-series": "numbers",
    "hurdle": "numbers",
    "von-mises-fisher": "numbers",
    "exponential": "numbers above zero",
    "poisson": "counts",
    "multinomial": "counts",
    "geometric": "counts",
    "negative-binomial": "counts",
    "bernoulli": "yes or no",
    "categorical": "categories",
}
_FEW = 10
_MOST_LEVELS = 30
_MOST_COUNT = 1000
# What the families take: squares of measurements must stay within the doubles, counts be exact.
_TOO_LARGE = 1e150
_TOO_LARGE_POSITIVE = 1e300
_TOO_SMALL = 1e-150
_LARGEST_EXACT = 2.0**53
_MOST_CODES = 4096
_CLASS_NAMES = frozenset(
    {"class", "classes", "cluster", "clusters", "label", "labels", "species", "target", "targets"}
    | {"class label", "class labels", "ground truth", "known class", "true class", "true label"}
)
_NAME_HEADERS = frozenset(
    {"row name", "id", "ids", "name", "names", "rowname", "rownames", "row_name", "index"}
    | {"identifier", "uid", "uuid", "unnamed: 0"}
)
_YES_NO = ({"no", "yes"}, {"n", "y"}, {"false", "true"}, {"f", "t"})
_NUMBER_LIKE = re.compile(r"[+-]?[$€£]?\s?\d[\d.,'_ ]*\s?[%$€£]?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")
_COMMA_NUMBER = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Column:
    """A column that is clustered on.

    Attributes
    ----------
    name : str
        Its name.
    family : str
        Alias of the family it is modelled by.
    values : array of float64, shape (n,)
        Its values, codes of the levels for categories and yes/no; NaN where missing.
    levels : tuple of str
        What the codes 0, 1, … stand for; empty for numbers.
    why : str
        Why it was taken for this.
    """

    name: str
    family: str
    values: Floats
    levels: tuple[str, ...]
    why: str

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(np.isnan(self.values).sum())


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
            cells[place] = float(value)
        elif not is_absent(value):
            return None
    return cells


def name_column(columns: Sequence[Cells]) -> str | None:
    """Find the column with the names of the rows, if there is one."""
    for cells in columns:
        lowered = cells.name.lower()
        count = len(cells.distinct)
        if lowered in _NAME_HEADERS or lowered.endswith(("_id", " id", ".id")):
            if count > 1 and count == len(cells.present):
                return cells.name
            if not cells.are_numbers and 2 * count > len(cells.texts):
                return cells.name
    for cells in columns:
        all_differ = len(cells.distinct) == len(cells.texts) > 2
        if all_differ and not cells.are_numbers and isinstance(sniff(cells), str):
            return cells.name
    return None


def uses_decimal_comma(texts: Sequence[str], separator: str) -> bool:
    """Whether a column holds numbers with decimal commas.

    Between commas as separators "1,234" may be a thousand or so, and is not taken for one.
    """
    if "," not in "".join(texts):
        return False
    present = [text for text in texts if not is_missing(text)]
    if not all(map(_COMMA_NUMBER.fullmatch, present)):
        return False
    after = [text.partition(",")[2] for text in present if "," in text]
    if separator == ",":
        return any(len(digits) != 3 for digits in after)
    return bool(after)


def is_class_name(name: str) -> bool:
    """Whether columns of this name mostly hold known classes, such as a clustering looks for."""
    return " ".join(re.findall(r"[^\W_]+", name.lower())) in _CLASS_NAMES


def has_known_classes(cells: Cells) -> bool:
    """Whether a column has the name of known classes and holds few categories, each repeated."""
    few = 2 <= len(cells.distinct) <= _MOST_LEVELS and 2 * len(cells.distinct) <= len(cells.present)
    if not few or not is_class_name(cells.name):
        return False
    values = cells.numbers()
    if values is None:
        return True
    present = values[cells.present]
    return bool((present == np.rint(present)).all())


def of_no_use(cells: Cells, family: str | None = None) -> str | None:
    """Say why a column has nothing to cluster on, of a family if one was asked for."""
    if not cells.present:
        return "no values"
    if family == "time-series" and cells.are_numbers:
        # A time at which all curves meet says something about them.
        return None
    values = cells.numbers()
    same = len(cells.distinct) == 1
    if values is not None:
        same = bool((values[cells.present] == values[cells.present[0]]).all())
    if same:
        return f"the same value in every row: {shown(cells.distinct[0])}"
    if values is not None and _numbers_the_rows(values):
        return "numbers the rows"
    return None


def sniff(cells: Cells) -> Column | str:
    """Take a column for what it most likely is, or say why it is set aside."""
    reason = of_no_use(cells)
    if reason is not None:
        return reason
    values = cells.numbers()
    if values is None:
        return _sniff_text(cells)
    present = values[cells.present]
    if np.isin(present, (0.0, 1.0)).all():
        return Column(cells.name, "bernoulli", values, ("0", "1"), "only 0 and 1")
    _refuse_large(cells, values, _TOO_LARGE)
    _refuse_small(cells, values)
    if (present != np.rint(present)).any():
        return _measured(cells, values, "numbers with decimals")
    return _sniff_whole(cells, values, present)


def _measured(cells: Cells, values: Floats, why: str) -> Column:
    """A column of measurements, Normal but where zeros stand out."""
    column = Column(cells.name, "gaussian-diag", values, (), why)
    if not has_spike(values):
        return column
    share = np.count_nonzero(values == 0.0) / len(cells.present)
    told = f"{why}, {share:.0%} of them exactly 0, which is modelled apart"
    return replace(column, family="hurdle", why=told)


def _numbers_the_rows(values: Floats) -> bool:
    if len(values) <= 2 or values[0] not in (0.0, 1.0):
        return False
    return bool((values == values[0] + np.arange(len(values))).all())


def _refuse_large(cells: Cells, values: Floats, limit: float) -> None:
    large = np.flatnonzero(np.abs(values) >= limit)
    if len(large):
        power = f"{limit:.0e}".replace("e+", "e")
        raise cells.fail(
            int(large[0]),
            f"is too large to compute with; write the column in larger units, so that all numbers "
            f"are below {power} in magnitude, leave the cell empty where a value is missing, or "
            f"use --ignore '{cells.name}'",
        )


def _refuse_small(cells: Cells, values: Floats) -> None:
    sizes = np.abs(np.nan_to_num(values))
    largest = int(np.argmax(sizes))
    if 0.0 < sizes[largest] < _TOO_SMALL:
        raise cells.fail(
            largest,
            f"is the largest number of the column in magnitude, and too small to compute with; "
            f"write the column in smaller units, so that it is above 1e-150, or use --ignore "
            f"'{cells.name}'",
        )


def _sniff_whole(cells: Cells, values: Floats, present: Floats) -> Column:
    distinct = np.unique(present)
    low, high = distinct[0], distinct[-1]
    gaps = high - low >= len(distinct)
    if len(distinct) <= _FEW and 3 * len(distinct) <= len(present) and (gaps or low != 0):
        how = "some left out" if gaps else "not from 0 up"
        listed = ", ".join(map(_whole, distinct))
        return _coded(cells, values, f"few different whole numbers, {how}: {listed}")
    span = f"whole numbers from {_whole(low, ',')} to {_whole(high, ',')}"
    if low in (0.0, 1.0) and high <= _MOST_COUNT:
        return Column(cells.name, "poisson", values, (), span)
    why = "some below zero" if low < 0 else "too large for counts" if low < 2 else "none near zero"
    return _measured(cells, values, f"{span}, {why}")


def _whole(value: float, mark: str = "") -> str:
    return f"{value:{mark}.0f}" if abs(value) <= _LARGEST_EXACT else f"{value:.6g}"


def _coded(cells: Cells, values: Floats, why: str) -> Column:
    distinct = np.unique(values[cells.present])
    codes = np.full(len(values), np.nan)
    codes[cells.present] = np.searchsorted(distinct, values[cells.present])
    levels = tuple(repr(value).removesuffix(".0") for value in distinct.tolist())
    return Column(cells.name, "categorical", codes, levels, why)


def _sniff_text(cells: Cells) -> Column | str:
    yes_no = _yes_no(cells)
    if yes_no is not None:
        return yes_no
    if not _has_dates(cells):
        _refuse_odd_numbers(cells)
    return free_text(cells) or _texts(cells, f"{len(cells.distinct)} different texts")


def _has_dates(cells: Cells) -> bool:
    return any(map(_DATE.fullmatch, cells.distinct))


def free_text(cells: Cells) -> str | None:
    """Say why a column of texts is no column of categories, if it is none."""
    levels, present = len(cells.distinct), len(cells.present)
    if _has_dates(cells) and (levels > _FEW or levels > present / 2):
        return f"dates such as {shown(cells.distinct[0])}; give a number of days to use them"
    if levels <= _MOST_LEVELS and 2 * levels <= present:
        return None
    return f"{levels:,} different texts in {counted(present, 'row')}"


def _yes_no(cells: Cells) -> Column | None:
    lowered = {text.lower() for text in cells.distinct}
    if lowered not in _YES_NO:
        return None
    levels = tuple(sorted(lowered))
    codes = np.full(len(cells.texts), np.nan)
    codes[cells.present] = [cells.texts[place].lower() == levels[1] for place in cells.present]
    return Column(cells.name, "bernoulli", codes, levels, f"only {levels[0]} and {levels[1]}")


def _texts(cells: Cells, why: str) -> Column:
    levels = tuple(sorted(cells.distinct))
    code = {text: place for place, text in enumerate(levels)}
    codes = np.full(len(cells.texts), np.nan)
    codes[cells.present] = [code[cells.texts[place]] for place in cells.present]
    return Column(cells.name, "categorical", codes, levels, why)


def _refuse_odd_numbers(cells: Cells) -> None:
    """Refuse a column of numbers in which some are not written as numbers."""
    odd = [text for text in cells.distinct if not cells.is_number(text)]
    like = [text for text in odd if _NUMBER_LIKE.fullmatch(text)]
    remedy = (
        "write numbers as 1234.5, leave the cell empty where a value is missing, or use "
        f"--ignore or --column on '{cells.name}'"
    )
    if len(like) == len(odd):
        raise cells.fail(cells.first(like[0]), f"looks like a number but cannot be read; {remedy}")
    numbers = len(cells.distinct) - len(odd)
    if len(cells.distinct) > _FEW and 2 * numbers > len(cells.distinct):
        raise cells.fail(cells.first(odd[0]), f"is text in a column of numbers; {remedy}")


def read_as(cells: Cells, family: str) -> Column | str:
    """Read a column as a family that the user asked for."""
    if not cells.present:
        return "no values"
    why = "as asked"
    values = cells.numbers()
    if family == "categorical":
        column = _texts(cells, why) if values is None else _coded(cells, values, why)
        _refuse_many_levels(cells, column)
        return column
    if family == "bernoulli":
        return _as_bits(cells, values, why)
    if values is None:
        text = next(text for text in cells.distinct if not cells.is_number(text))
        raise cells.fail(
            cells.first(text),
            f"is not a number, and family '{family}' needs numbers; "
            f"use --column '{cells.name}=categorical' or --ignore '{cells.name}'",
        )
    _check_domain(cells, values, family)
    return Column(cells.name, family, values, (), why)


def read_like(cells: Cells, known: Column) -> Column:
    """Read a column of a new table as that of the fitted one: the same family, the same codes."""
    if not cells.present:
        return replace(known, values=np.full(len(cells.texts), np.nan))
    if not known.levels:
        column = read_as(cells, known.family)
        assert isinstance(column, Column)
        return replace(known, values=column.values)
    values = cells.numbers()
    if values is not None:
        texts = [repr(value).removesuffix(".0") for value in values.tolist()]
    else:
        is_bit = known.family == "bernoulli"
        texts = [text.lower() if is_bit else text for text in cells.texts]
    code = {level: place for place, level in enumerate(known.levels)}
    codes = np.full(len(texts), np.nan)
    for place in cells.present:
        if texts[place] not in code:
            listed = ", ".join(map(shown, known.levels[:8])) + (", …" if len(code) > 8 else "")
            raise cells.fail(
                place,
                f"is none of the categories of the fitted table, {listed}; leave the cell empty, "
                "or fit anew",
            )
        codes[place] = code[texts[place]]
    return replace(known, values=codes)


def _refuse_many_levels(cells: Cells, column: Column) -> None:
    if len(column.levels) > _MOST_CODES:
        beyond = int(np.flatnonzero(column.values >= _MOST_CODES)[0])
        raise cells.fail(
            beyond,
            f"is one of {len(column.levels):,} categories, and a column may have {_MOST_CODES:,}; "
            f"join rare ones, or use --ignore '{cells.name}' or --names '{cells.name}'",
        )


def _as_bits(cells: Cells, values: Floats | None, why: str) -> Column:
    if values is not None and np.isin(values[cells.present], (0.0, 1.0)).all():
        return Column(cells.name, "bernoulli", values, ("0", "1"), why)
    known = _yes_no(cells)
    if known is not None:
        return Column(cells.name, "bernoulli", known.values, known.levels, why)
    coded = _texts(cells, why) if values is None else _coded(cells, values, why)
    if len(coded.levels) > 2:
        third = int(np.flatnonzero(coded.values == 2.0)[0])
        raise cells.fail(
            third,
            f"is a third value besides '{coded.levels[0]}' and '{coded.levels[1]}', and family "
            f"'bernoulli' knows two; use --column '{cells.name}=categorical'",
        )
    if len(coded.levels) < 2:
        raise cells.fail(
            cells.present[0],
            "is the only value, and which of yes and no it means is unknown; write 0 and 1",
        )
    return Column(cells.name, "bernoulli", coded.values, coded.levels, why)


def _check_domain(cells: Cells, values: Floats, family: str) -> None:
    need = FAMILIES[family]
    if need == "counts":
        bad = (values < 0) | (values != np.rint(values)) & ~np.isnan(values)
    else:
        bad = (values <= 0) if need == "numbers above zero" else np.zeros(len(values), dtype=bool)
    if bad.any():
        wanted = "whole numbers from 0 up" if need == "counts" else need
        raise cells.fail(
            int(np.flatnonzero(bad)[0]),
            f"does not fit family '{family}', which needs {wanted}; choose another family",
        )
    if need == "counts":
        _refuse_inexact(cells, values, family)
    elif need == "numbers above zero":
        _refuse_large(cells, values, _TOO_LARGE_POSITIVE)
    else:
        _refuse_large(cells, values, _TOO_LARGE)
        _refuse_small(cells, values)


def _refuse_inexact(cells: Cells, values: Floats, family: str) -> None:
    large = np.flatnonzero(values > _LARGEST_EXACT)
    if len(large):
        raise cells.fail(
            int(large[0]),
            f"is beyond 2^53 (9,007,199,254,740,992), from where on whole numbers are not exact, "
            f"and family '{family}' needs exact counts; count in larger units, or use "
            f"--column '{cells.name}=gaussian-diag'",
        )
