"""What the numbers of a column must be for its family: in range, exact, few enough levels."""

from __future__ import annotations

import numpy as np

from ._column import FAMILIES, Column, Floats
from ._raw_column import Cells

# What the families take: squares of measurements must stay within the doubles, counts be exact.
TOO_LARGE = 1e150
_TOO_LARGE_POSITIVE = 1e300
_TOO_SMALL = 1e-150
_LARGEST_EXACT = 2.0**53
_MOST_CODES = 4096


def refuse_large(cells: Cells, values: Floats, limit: float) -> None:
    """Refuse the first number of a magnitude that squares, or sums, do not hold."""
    large = np.flatnonzero(np.abs(values) >= limit)
    if len(large):
        power = f"{limit:.0e}".replace("e+", "e")
        raise cells.fail(
            int(large[0]),
            f"is too large to compute with; write the column in larger units, so that all numbers "
            f"are below {power} in magnitude, leave the cell empty where a value is missing, or "
            f"use --ignore '{cells.name}'",
        )


def refuse_small(cells: Cells, values: Floats) -> None:
    """Refuse a column whose squares all vanish."""
    sizes = np.abs(np.nan_to_num(values))
    largest = int(np.argmax(sizes))
    if 0.0 < sizes[largest] < _TOO_SMALL:
        raise cells.fail(
            largest,
            f"is the largest number of the column in magnitude, and too small to compute with; "
            f"write the column in smaller units, so that it is above 1e-150, or use --ignore "
            f"'{cells.name}'",
        )


def refuse_many_levels(cells: Cells, column: Column) -> None:
    """Refuse more categories than the family takes."""
    if len(column.levels) > _MOST_CODES:
        beyond = int(np.flatnonzero(column.values >= _MOST_CODES)[0])
        raise cells.fail(
            beyond,
            f"is one of {len(column.levels):,} categories, and a column may have {_MOST_CODES:,}; "
            f"join rare ones, or use --ignore '{cells.name}' or --names '{cells.name}'",
        )


def check_domain(cells: Cells, values: Floats, family: str) -> None:
    """Refuse the first number that the family has no probability for."""
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
        refuse_large(cells, values, _TOO_LARGE_POSITIVE)
    else:
        refuse_large(cells, values, TOO_LARGE)
        refuse_small(cells, values)


def _refuse_inexact(cells: Cells, values: Floats, family: str) -> None:
    large = np.flatnonzero(values > _LARGEST_EXACT)
    if len(large):
        raise cells.fail(
            int(large[0]),
            f"is beyond 2^53 (9,007,199,254,740,992), from where on whole numbers are not exact, "
            f"and family '{family}' needs exact counts; count in larger units, or use "
            f"--column '{cells.name}=gaussian-diag'",
        )
