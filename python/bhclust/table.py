"""Tables in whatever form a user has them, as the core reads them."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Family, Table
from bhclust._frames import frame_column, frame_names, is_frame
from bhclust._sealed import is_sealed, seal
from bhclust.options import nearest_double, shown
from bhclust.statistics import Statistics

__all__ = [
    "as_leaves",
    "as_table",
    "check_csr",
    "column_names",
    "column_numbers",
    "kept",
    "names_as_numbers",
    "new_rows",
    "refuse_other_forms",
    "rows_of",
    "stacked",
]


def as_table(X: Any, *, argument: str = "X") -> Table:
    """Make a table of float64 cells of X, without a copy where it is one already.

    Parameters
    ----------
    X : array-like, DataFrame, SciPy sparse matrix or Table, of shape (n_rows, n_columns)
        Numbers, booleans, or objects that are numbers or None. NaN, None and pandas' NA mark
        missing cells.
    argument : str
        What messages call it.

    Returns
    -------
    Table

    Raises
    ------
    TypeError
        When a cell is no number; the message names the first.
    ValueError
        When X has not two dimensions.
    """
    if isinstance(X, Statistics) or (isinstance(X, Table) and X.is_grouped):
        raise TypeError(
            f"{argument} is {shown(X)}; rows are needed here, and their cells are not in the "
            "statistics of groups"
        )
    if isinstance(X, Table):
        return X
    if hasattr(X, "tocsr"):
        return _csr_table(X, argument)
    if is_frame(X):
        return Table.dense(_frame_cells(X, argument))
    return Table.dense(_cells(X, argument))


def as_leaves(X: Any, *, argument: str = "X") -> Table:
    """As `as_table`, for what takes groups of rows as well: Statistics."""
    if isinstance(X, Statistics):
        return X._table
    return X if isinstance(X, Table) else as_table(X, argument=argument)


@contextmanager
def new_rows(are_new: bool = True) -> Iterator[None]:
    """Let refusals of the core speak of X_new, which it calls X."""
    try:
        yield
    except ValueError as error:
        # Errors of other types or words may be a progress callback's.
        ours = are_new and type(error) is ValueError
        if not ours or not re.match(r"X(:| has | is )", str(error)):
            raise
        raise ValueError("X_new" + str(error)[1:]) from None


def kept(table: Table, n_threads: int = 0) -> Table:
    """Give the table cells that no one writes to: a copy unless nobody can (see `is_sealed`)."""
    if table.is_sparse or table.is_grouped or is_sealed(table.arrays):
        return table
    return table.copied(n_threads)


def rows_of(table: Table, rows: NDArray[np.int64]) -> Table:
    """Copy some rows, or groups, to a table of their own."""
    if table.is_grouped:
        values, weights = table.arrays
        return Table.groups(values[rows], weights[rows], table.n_columns)
    if not table.is_sparse:
        return Table.dense(np.ascontiguousarray(np.asarray(table.arrays)[rows]))
    data, indices, indptr = table.arrays
    kept = np.concatenate([np.arange(indptr[i], indptr[i + 1]) for i in rows])
    starts = np.concatenate([[0], np.cumsum(np.diff(indptr)[rows])])
    return Table.csr(data[kept], indices[kept], starts, table.n_columns)


def in_form_of(table: Table, below: Table, family: Family) -> Table:
    """Rows as groups of one each, should the table be of groups."""
    if not table.is_grouped or below.is_grouped:
        return below
    return family.statistics(below)._table


def stacked(table: Table, below: Table, *, argument: str = "X_new") -> Table:
    """Copy the rows of two tables to one; ``argument`` is what messages call the second."""
    if below.is_grouped and not table.is_grouped:
        raise TypeError(
            f"{argument} is Statistics and the rows before are rows; give both as Statistics"
        )
    if below.n_columns != table.n_columns:
        raise ValueError(
            f"{argument} has {below.n_columns} columns; the rows before have {table.n_columns}"
        )
    if below.is_sparse != table.is_sparse:
        forms = ("dense", "sparse")
        raise TypeError(
            f"{argument} is {forms[below.is_sparse]} and the rows before are "
            f"{forms[table.is_sparse]}; give both in one form"
        )
    if table.is_grouped:
        values, weights = (
            np.concatenate(pair) for pair in zip(table.arrays, below.arrays, strict=True)
        )
        return Table.groups(values, weights, table.n_columns)
    if not table.is_sparse:
        return Table.dense(seal(np.concatenate([table.arrays, below.arrays])))
    (data, indices, indptr), more = table.arrays, below.arrays
    return Table.csr(
        np.concatenate([data, more[0]]),
        np.concatenate([indices, more[1]]),
        np.concatenate([indptr, indptr[-1] + more[2][1:]]),
        table.n_columns,
    )


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a DataFrame whose names are all strings; else None."""
    if not is_frame(X):
        return None
    names = frame_names(X)
    return names if names and all(isinstance(name, str) for name in names) else None


def refuse_other_forms(X: Any, argument: str) -> None:
    """Refuse what people have in place of a table, with the way to make one."""
    if isinstance(X, Mapping):
        key = next(iter(X), "name")
        raise TypeError(
            f"{argument} is a {type(X).__name__} of columns, which only an estimator with a family "
            f"for each takes: BHC(family={{{key!r}: 'gaussian-diag', ...}}); without, make it one "
            f"table: np.column_stack(list({argument}.values()))"
        )
    if isinstance(X, (str, bytes, os.PathLike)):
        raise TypeError(
            f"{argument} is {X!r}, not a table; read a file by bhclust.io.read_table(path), "
            f"and give its .data, with family=its .family"
        )
    if type(X).__module__ == "bhclust.io":
        raise TypeError(
            f"{argument} is a table that was read from a file; give its .data, with family=its "
            ".family"
        )
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        raise TypeError(
            f"{argument} is a list of {type(X[0]).__name__}s; "
            f"pandas.DataFrame({argument}) makes a table of it"
        )


def column_numbers(X: Any) -> list[float] | None:
    """Names of the columns of a DataFrame whose names are all numbers, if as text; else None."""
    if not is_frame(X):
        return None
    return names_as_numbers(frame_names(X))


def names_as_numbers(names: Sequence[Any]) -> list[float] | None:
    """Give names as numbers if each is a finite one, if as text; else None."""
    try:
        numbers = [float(name) for name in names if not isinstance(name, (bool, np.bool_))]
    except (TypeError, ValueError):
        return None
    every = len(numbers) == len(names) > 0
    return numbers if every and all(map(math.isfinite, numbers)) else None


def _cells(X: Any, argument: str) -> NDArray[np.float64]:
    refuse_other_forms(X, argument)
    if isinstance(X, np.ma.MaskedArray):
        cells = X.data.astype(object)
        cells[np.ma.getmaskarray(X)] = None
        X = cells if np.ma.is_masked(X) else X.data
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{argument} is ragged: rows have different lengths; make them equal, NaN for missing"
        ) from None
    if array.ndim != 2:
        shape = "one dimension" if array.ndim == 1 else f"{array.ndim} dimensions"
        raise ValueError(
            f"{argument} has {shape} (shape {array.shape}); it must have two, rows and columns. "
            "Reshape your data: reshape(-1, 1) makes one column, reshape(1, -1) one row"
        )
    if array.shape[1] == 0:
        raise ValueError(
            f"{argument} has no columns: 0 feature(s) (shape={array.shape}) while a minimum of 1 "
            "is required."
        )
    cells = np.ascontiguousarray(_numbers(array, argument), dtype=np.float64)
    return cells if np.may_share_memory(cells, array) else seal(cells)


def _numbers(array: NDArray[Any], argument: str, column: Any = None) -> NDArray[Any]:
    """Turn objects into float64; ``column`` is the name of the only column, for messages."""
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        return _object_numbers(array, argument, column)
    place = argument if column is None else f"{argument}: column {column!r}"
    if array.dtype.kind == "c":
        raise _complex_cells(place, array.dtype)
    raise TypeError(
        f"{place} has dtype {array.dtype}; it must hold real numbers"
        + (": encode text as level codes (0, 1, 2, ...)" if array.dtype.kind in "UST" else "")
    )


def _complex_cells(place: str, dtype: Any) -> ValueError:
    return ValueError(
        f"{place} has dtype {dtype}. Complex data not supported: give real numbers, such as the "
        "real and imaginary parts side by side"
    )


def _object_numbers(array: NDArray[Any], argument: str, column: Any) -> NDArray[np.float64]:
    cells = np.empty(array.shape, dtype=np.float64)
    for (i, j), value in np.ndenumerate(array):
        if value is None or type(value).__name__ == "NAType":
            cells[i, j] = math.nan
        elif isinstance(value, (numbers.Real, Decimal, np.bool_)):
            cells[i, j] = nearest_double(value)
        else:
            raise TypeError(
                f"{argument}: row {i}, column {j if column is None else column!r} is {value!r}, "
                f"which is not a number; {_remedy(value)}"
            )
    return cells


def _remedy(value: Any) -> str:
    if isinstance(value, str):
        return "encode text as level codes (0, 1, 2, ...), None or NaN for missing"
    # scikit-learn's checks look for the words "argument must be ... string ... number".
    return (
        "a cell of this argument must be a string that is one of a column's categories, or a "
        "number, None or NaN for missing"
    )


def _frame_cells(X: Any, argument: str) -> NDArray[np.float64]:
    names = frame_names(X)
    if not names:
        raise ValueError(f"{argument} has no columns; at least one is needed")
    columns = []
    for j, name in enumerate(names):
        values, dtype = frame_column(X, j)
        if dtype.startswith(("categor", "enum", "date", "timedelta", "duration")):
            raise TypeError(
                f"{argument}: column {name!r} has dtype {dtype}; give it a family in an "
                'estimator (family={...: "categorical"}) or encode it as numbers'
            )
        numbers = _numbers(values.reshape(-1, 1), argument, name)
        columns.append(np.asarray(numbers, dtype=np.float64))
    return seal(np.ascontiguousarray(np.hstack(columns)))


def check_csr(matrix: Any, argument: str) -> None:
    """Refuse arrays that do not fit together, which SciPy's own functions would follow blindly."""
    indptr, indices = np.asarray(matrix.indptr), np.asarray(matrix.indices)
    n_rows, n_columns = matrix.shape
    stored = min(indices.size, np.asarray(matrix.data).size)
    if indptr.size != n_rows + 1 or indptr[0] != 0 or indptr[-1] > stored:
        raise ValueError(
            f"{argument}: the CSR arrays do not fit together: indptr must have {n_rows + 1} "
            f"entries from 0 to the {stored} stored cells"
        )
    falls = np.flatnonzero(np.diff(indptr) < 0)
    if falls.size:
        raise ValueError(
            f"{argument}: CSR indptr falls at row {falls[0]}, from {indptr[falls[0]]} to "
            f"{indptr[falls[0] + 1]}; it must not"
        )
    wrong = np.flatnonzero((indices < 0) | (indices >= n_columns))
    if wrong.size:
        row = int(np.searchsorted(indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"{argument}: row {row} has a cell in column {indices[wrong[0]]}; the columns are 0 to "
            f"{n_columns - 1}"
        )


def _csr_table(X: Any, argument: str) -> Table:
    if X.ndim != 2:
        raise ValueError(
            f"{argument} is sparse with {X.ndim} dimension(s); it must have two, rows and columns"
        )
    if X.dtype.kind == "c":
        raise _complex_cells(argument, X.dtype)
    if X.dtype.kind not in "biuf":
        raise TypeError(f"{argument} has dtype {X.dtype}; it must hold real numbers")
    matrix = X.tocsr()
    check_csr(matrix, argument)
    if matrix is X or not matrix.has_canonical_format or not matrix.has_sorted_indices:
        matrix = matrix.copy()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return Table.csr(
        np.ascontiguousarray(matrix.data, dtype=np.float64),
        np.ascontiguousarray(matrix.indices, dtype=np.int64),
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        int(matrix.shape[1]),
    )
