"""Columns with a spike at zero, split into whether a cell is zero and what it is if not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Product
from bhclust.families import aliases, product_of
from bhclust.options import check_count, shown
from bhclust.table import as_table, column_names

__all__ = ["has_spike", "hurdle", "joined_column", "split_column"]

_LEAST_SHARE = 0.05
_LEAST_ZEROS = 3
_TIMES_THE_NEXT = 3


def hurdle(
    X: Any, *, columns: Sequence[int | str] | None = None, family: Any = "gaussian-diag"
) -> tuple[NDArray[np.float64], Product]:
    """Split columns with a spike at zero, and build the Product for the split table.

    A Gaussian family breaks on columns of many exact zeros (rain, pixels, expression on a log
    scale): clusters of zeros alone have no variance, and that buys any evidence. The hurdle models
    whether a cell is zero by `BernoulliBeta`, and the cells that are not by the family.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_columns)
        Dense. NaN marks missing cells.
    columns : sequence of int or str, optional
        The columns to split, by number, or of a DataFrame by name; None: those that `has_spike`
        finds.
    family : str, class or Family
        The model of the columns that are not split, and of the cells that are not zero. It must
        take missing cells where columns are split.

    Returns
    -------
    array of shape (n_rows, n_columns + n_split)
        The columns, with NaN for zero in the split ones, then for each split column whether it is
        not zero.
    Product

    Raises
    ------
    ValueError, TypeError
        Naming what does not fit.

    Examples
    --------
    >>> import numpy as np, bhclust
    >>> rain = np.array([[0.0], [0.0], [0.0], [0.0], [2.5], [3.1], [7.4]])
    >>> table, family = bhclust.hurdle(rain)
    >>> bhclust.bhc(table, family).n_leaves
    7
    """
    table = as_table(X)
    if table.is_sparse:
        raise TypeError("X is sparse; a hurdle needs a dense table (X.toarray())")
    cells = np.asarray(table.arrays)
    if columns is None:
        chosen = [j for j in range(cells.shape[1]) if has_spike(cells[:, j])]
    else:
        chosen = _numbers_of(columns, column_names(X), cells.shape[1])
    if chosen and not _takes_missing(family):
        raise ValueError(
            f"family is {shown(family)}, which takes no missing cells, and a hurdle makes zeros "
            f"missing (column {chosen[0]}); give one that does, such as 'gaussian-diag'"
        )
    split = cells.copy()
    bits = []
    for j in chosen:
        bit, split[:, j] = split_column(cells[:, j])
        bits.append(bit)
    whole = np.column_stack([split, *bits])
    choice = dict.fromkeys(range(cells.shape[1]), family)
    choice.update(dict.fromkeys(range(cells.shape[1], whole.shape[1]), "bernoulli"))
    return whole, product_of(choice, whole)


def _numbers_of(columns: Any, names: list[str] | None, n_columns: int) -> list[int]:
    if isinstance(columns, (str, bytes)) or not hasattr(columns, "__iter__"):
        raise TypeError(
            f"columns must be a sequence of columns, not {shown(columns)}; write [{columns!r}]"
        )
    chosen = []
    for column in columns:
        if isinstance(column, str) and names is not None:
            if column not in names:
                raise ValueError(f"columns names column {column!r}, and X has {names!r}")
            column = names.index(column)
        number = check_count("columns", column, 0)
        if number >= n_columns:
            raise ValueError(
                f"columns names column {number}, and X has columns 0 to {n_columns - 1}"
            )
        chosen.append(number)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"columns names a column twice: {chosen!r}")
    return chosen


def _takes_missing(family: Any) -> bool:
    """Whether a family is known to take missing cells; what is no family is refused elsewhere."""
    known = aliases().get(family) if isinstance(family, str) else family
    return bool(getattr(known, "_takes_missing", True))


def split_column(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whether cells are not zero, 0.0 or 1.0; and the cells, NaN where they are. NaN stays NaN."""
    bit = np.where(np.isnan(column), np.nan, (column != 0.0).astype(np.float64))
    return bit, np.where(column == 0.0, np.nan, column)


def joined_column(bit: NDArray[np.float64], split: NDArray[np.float64]) -> NDArray[np.float64]:
    """What `split_column` split; of a probability of not being zero the expected value."""
    return np.where(bit == 0.0, 0.0, bit * split)


def has_spike(column: NDArray[np.float64]) -> bool:
    """Whether zero stands out from a column of reals.

    It does where at least 3 cells and a twentieth of those present are exactly zero, three times as
    many as are equal to any other value, and the others are not all equal.
    """
    present = column[~np.isnan(column)]
    zeros = int(np.count_nonzero(present == 0.0))
    if zeros < max(_LEAST_ZEROS, _LEAST_SHARE * present.size):
        return False
    values, counts = np.unique(present[present != 0.0], return_counts=True)
    return values.size > 1 and zeros >= _TIMES_THE_NEXT * int(counts.max())
