"""How a file of text writes its cells: its separator and its decimal sign."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ._raw_column import Cells
from ._records import Records, is_missing

_COMMAS = "numbers are read with decimal commas"
_COMMA_NUMBER = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?")


def check_dialect(separator: Any, decimal: Any) -> None:
    """Refuse a separator or a decimal sign that is none."""
    if separator is not None and (
        not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n'
    ):
        raise ValueError(
            f"separator is {separator!r}; it must be one character, such as ',' or '\\t'"
        )
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal is {decimal!r}; it must be '.' or ','")


def dialect_of(records: Records, notes: Sequence[str]) -> str:
    """Tell it in words."""
    if not records.separator:
        return ""
    names = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
    sign = names.get(records.separator, repr(records.separator))
    return f"cells between {sign}, decimal {'commas' if _COMMAS in notes else 'points'}"


def cells_of(records: Records, decimal_sign: str | None) -> tuple[dict[str, Cells], list[str]]:
    """The cells of each column, and notes on how they were read."""
    texts = dict(zip(records.header, zip(*records.rows, strict=True), strict=True))
    commas = [
        name
        for name, cells in texts.items()
        if decimal_sign != "." and uses_decimal_comma(cells, records.separator)
    ]
    if decimal_sign == "," and not commas:
        commas = list(records.header)
    decimal = "," if commas else "."
    cells = {
        name: Cells(records.path, name, column, records.lines, decimal)
        for name, column in texts.items()
    }
    if not commas:
        return cells, []
    _refuse_two_decimal_signs(cells, commas[0])
    return cells, [_COMMAS]


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


def _refuse_two_decimal_signs(cells: Mapping[str, Cells], comma_column: str) -> None:
    for column in cells.values():
        if not column.are_numbers:
            continue
        for text in column.distinct:
            if "." in text:
                raise column.fail(
                    column.first(text),
                    f"has a decimal point, but column '{comma_column}' has decimal commas; "
                    "write all numbers the same way, without marks between thousands",
                )
