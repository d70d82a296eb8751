"""What a column of cells holds: a model family for it, or a reason to set it aside."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ._column import Column, Floats, coded_numbers, coded_texts, yes_no
from ._column_limits import TOO_LARGE, refuse_large, refuse_small
from ._raw_column import Cells
from ._records import counted, shown
from .hurdles import has_spike

_FEW = 10
MOST_LEVELS = 30
_MOST_COUNT = 1000
_NUMBER_LIKE = re.compile(r"[+-]?[$€£]?\s?\d[\d.,'_ ]*\s?[%$€£]?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")
_LARGEST_EXACT = 2.0**53


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
    refuse_large(cells, values, TOO_LARGE)
    refuse_small(cells, values)
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


def _sniff_whole(cells: Cells, values: Floats, present: Floats) -> Column:
    distinct = np.unique(present)
    low, high = distinct[0], distinct[-1]
    gaps = high - low >= len(distinct)
    if len(distinct) <= _FEW and 3 * len(distinct) <= len(present) and (gaps or low != 0):
        how = "some left out" if gaps else "not from 0 up"
        listed = ", ".join(map(_whole, distinct))
        return coded_numbers(cells, values, f"few different whole numbers, {how}: {listed}")
    span = f"whole numbers from {_whole(low, ',')} to {_whole(high, ',')}"
    if low in (0.0, 1.0) and high <= _MOST_COUNT:
        return Column(cells.name, "poisson", values, (), span)
    why = "some below zero" if low < 0 else "too large for counts" if low < 2 else "none near zero"
    return _measured(cells, values, f"{span}, {why}")


def _whole(value: float, mark: str = "") -> str:
    return f"{value:{mark}.0f}" if abs(value) <= _LARGEST_EXACT else f"{value:.6g}"


def _sniff_text(cells: Cells) -> Column | str:
    known = yes_no(cells)
    if known is not None:
        return known
    if not _has_dates(cells):
        _refuse_odd_numbers(cells)
    return free_text(cells) or coded_texts(cells, f"{len(cells.distinct)} different texts")


def _has_dates(cells: Cells) -> bool:
    return any(map(_DATE.fullmatch, cells.distinct))


def free_text(cells: Cells) -> str | None:
    """Say why a column of texts is no column of categories, if it is none."""
    levels, present = len(cells.distinct), len(cells.present)
    if _has_dates(cells) and (levels > _FEW or levels > present / 2):
        return f"dates such as {shown(cells.distinct[0])}; give a number of days to use them"
    if levels <= MOST_LEVELS and 2 * levels <= present:
        return None
    return f"{levels:,} different texts in {counted(present, 'row')}"


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
