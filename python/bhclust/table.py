"""Tables in whatever form a user has them, as the core reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Table

__all__ = ["as_table", "column_names"]


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
    if isinstance(X, Table):
        return X
    if hasattr(X, "tocsr"):
        return _csr_table(X, argument)
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        return Table.dense(_frame_cells(X, argument))
    return Table.dense(_cells(X, argument))


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a DataFrame whose names are all strings; else None."""
    columns = getattr(X, "columns", None)
    if columns is None or not hasattr(X, "to_numpy"):
        return None
    names = list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _cells(X: Any, argument: str) -> NDArray[np.float64]:
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(
            f"{argument} is ragged: its rows have different lengths; make them equal, NaN for missing"
        ) from None
    if array.ndim != 2:
        shape = "one dimension" if array.ndim == 1 else f"{array.ndim} dimensions"
        raise ValueError(
            f"{argument} has {shape} (shape {array.shape}); it must have two, rows and columns: "
            "reshape(-1, 1) makes one column, reshape(1, -1) one row"
        )
    return np.ascontiguousarray(_numbers(array, argument), dtype=np.float64)


def _numbers(array: NDArray[Any], argument: str) -> NDArray[Any]:
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "O":
        return _object_numbers(array, argument)
    raise TypeError(
        f"{argument} has dtype {array.dtype}; it must hold numbers"
        + (": encode text as level codes (0, 1, 2, ...)" if array.dtype.kind in "US" else "")
    )


def _object_numbers(array: NDArray[Any], argument: str) -> NDArray[np.float64]:
    cells = np.empty(array.shape, dtype=np.float64)
    for place, value in np.ndenumerate(array):
        if value is None or type(value).__name__ == "NAType":
            cells[place] = np.nan
        elif isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            cells[place] = float(value)
        else:
            row, column = place
            raise TypeError(
                f"{argument}: row {row}, column {column} is {value!r}, which is not a number; "
                "encode text as level codes (0, 1, 2, ...), None or NaN for missing"
            )
    return cells


def _frame_cells(X: Any, argument: str) -> NDArray[np.float64]:
    columns = []
    for name in list(X.columns):
        column = X[name]
        if str(column.dtype).lower().startswith(("categor", "enum", "datetime", "timedelta")):
            raise TypeError(
                f"{argument}: column {name!r} has dtype {column.dtype}; give it a family in an "
                'estimator (family={...: "categorical"}) or encode it as numbers'
            )
        values = _series_values(column)
        try:
            columns.append(np.asarray(_numbers(values.reshape(-1, 1), argument), dtype=np.float64))
        except TypeError as error:
            raise TypeError(f"column {name!r}: {error}") from None
    if not columns:
        raise ValueError(f"{argument} has no columns; at least one is needed")
    return np.ascontiguousarray(np.hstack(columns))


def _series_values(column: Any) -> NDArray[Any]:
    if hasattr(column.dtype, "na_value") and not isinstance(column.dtype, np.dtype):
        return np.asarray(column.astype(object))
    return np.asarray(column.to_numpy())


def _csr_table(X: Any, argument: str) -> Table:
    matrix = X.tocsr()
    if matrix.ndim != 2:
        raise ValueError(f"{argument} is sparse with {matrix.ndim} dimension(s); it must have two")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"{argument} has dtype {matrix.dtype}; it must hold numbers")
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
