"""Columns read as what was asked for, or as those of the fitted table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ._column import Column, Floats, coded_numbers, coded_texts, yes_no
from ._column_limits import check_domain, refuse_many_levels
from ._raw_column import Cells
from ._records import shown
from ._sniff import free_text, of_no_use, sniff


def read_column(cells: Cells, family: str | None, asked: str | None) -> Column | str:
    """Read a column as asked, else as the family of all, else as what it most likely is."""
    if asked is not None:
        return read_as(cells, asked)
    if family is None:
        return sniff(cells)
    reason = of_no_use(cells, family)
    if reason is None and not cells.are_numbers and family != "categorical":
        reason = free_text(cells)
        reason = reason and f"{reason}; so not read as {family}"
    return reason or read_as(cells, family)


def read_as(cells: Cells, family: str) -> Column | str:
    """Read a column as a family that the user asked for."""
    if not cells.present:
        return "no values"
    why = "as asked"
    values = cells.numbers()
    if family == "categorical":
        column = coded_texts(cells, why) if values is None else coded_numbers(cells, values, why)
        refuse_many_levels(cells, column)
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
    check_domain(cells, values, family)
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


def _as_bits(cells: Cells, values: Floats | None, why: str) -> Column:
    if values is not None and np.isin(values[cells.present], (0.0, 1.0)).all():
        return Column(cells.name, "bernoulli", values, ("0", "1"), why)
    known = yes_no(cells)
    if known is not None:
        return Column(cells.name, "bernoulli", known.values, known.levels, why)
    coded = coded_texts(cells, why) if values is None else coded_numbers(cells, values, why)
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
