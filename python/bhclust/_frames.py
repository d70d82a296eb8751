"""Data frames of any library: pandas as it is, others through narwhals."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "frame_column",
    "frame_maker",
    "frame_names",
    "frame_of",
    "is_frame",
    "like_frame",
    "rows_of",
]

_OF_NARWHALS = ("polars", "pyarrow", "modin", "cudf", "duckdb", "ibis", "dask", "pyspark")


def is_frame(X: Any) -> bool:
    """Whether X is a data frame."""
    has_cells = hasattr(X, "to_numpy") or _is_foreign(X)
    return hasattr(X, "columns") and has_cells and not isinstance(X, type)


def frame_names(X: Any) -> list[Any]:
    """Names of the columns of a data frame."""
    return list(_read(X).columns) if _is_foreign(X) else list(X.columns)


def frame_column(X: Any, place: int) -> tuple[NDArray[Any], str]:
    """A column of a data frame by its place, and the name of its dtype.

    Returns
    -------
    array
        Numbers with NaN where missing, booleans, text, or objects with None.
    str
        In lower case.
    """
    if _is_foreign(X):
        return _foreign_column(_read(X), place)
    column = X.iloc[:, place] if hasattr(X, "iloc") else X[list(X.columns)[place]]
    return _series_values(column), str(column.dtype).lower()


def frame_maker(X: Any) -> Any:
    """What `like_frame` makes frames from, without the rows of X."""
    return _read(X).head(0).to_native() if _is_foreign(X) else type(X)


def frame_of(library: str) -> Any:
    """What `like_frame` makes frames of a library from; None where it is not there."""
    if library not in ("pandas", "polars", "pyarrow"):
        return None
    try:
        module = importlib.import_module(library)
    except ImportError:
        return None
    return module.DataFrame if library == "pandas" else frame_maker(_empty_frame(module))


def _empty_frame(module: Any) -> Any:
    return module.table({}) if hasattr(module, "table") else module.DataFrame()


def like_frame(maker: Any, columns: Mapping[Any, Any]) -> Any:
    """Make a data frame.

    Parameters
    ----------
    maker : class or data frame
        What `frame_maker` gave.
    columns : mapping of name to array
    """
    if isinstance(maker, type):
        return maker(dict(columns))
    told = {name: _listed(values) for name, values in columns.items()}
    return _narwhals(maker).from_dict(told, backend=_read(maker).implementation).to_native()


def rows_of(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table, in the form of the table.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix or mapping of columns
    rows : array of int
    """
    if isinstance(X, Mapping):
        return {key: rows_of(column, rows) for key, column in X.items()}
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    if is_frame(X):
        columns = {name: frame_column(X, j)[0][rows] for j, name in enumerate(frame_names(X))}
        return like_frame(frame_maker(X), columns)
    if isinstance(X, (list, tuple)):
        return [X[row] for row in rows.tolist()]
    return np.asarray(X)[rows]


def _is_foreign(X: Any) -> bool:
    """Whether X is of a library that narwhals reads."""
    return type(X).__module__.partition(".")[0] in _OF_NARWHALS and hasattr(X, "columns")


def _narwhals(X: Any) -> Any:
    try:
        import narwhals
    except ImportError:
        raise ImportError(
            f"data frames of {type(X).__module__.partition('.')[0]} need narwhals: "
            'pip install "bhclust[frames]"'
        ) from None
    return narwhals


def _read(X: Any) -> Any:
    narwhals = _narwhals(X)
    frame = narwhals.from_native(X)
    if isinstance(frame, narwhals.LazyFrame):
        raise TypeError(
            f"a {type(X).__name__} holds no rows yet; call its collect(), and give what that gives"
        )
    return frame


def _foreign_column(frame: Any, place: int) -> tuple[NDArray[Any], str]:
    series = frame[:, place]
    dtype, kind = series.dtype, str(series.dtype).lower()
    if dtype.is_numeric() and not dtype.is_decimal():
        values = np.asarray(series.to_numpy())
        if series.null_count() == 0 or values.dtype.kind == "f":
            return values, kind
    return _objects(series.to_list()), kind


def _objects(values: list[Any]) -> NDArray[Any]:
    """An array of these objects, sequences among them as they are."""
    return np.array([*values, None], dtype=object)[:-1]


def _listed(values: Any) -> Any:
    """Objects as a list, in which the library finds the type itself."""
    array = np.asarray(values)
    if array.dtype.kind != "O":
        return array
    return [None if _is_nan(value) else value for value in array.tolist()]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _series_values(column: Any) -> NDArray[Any]:
    if hasattr(column.dtype, "na_value") and not isinstance(column.dtype, np.dtype):
        if getattr(column.dtype, "kind", "O") in "biuf":
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=math.nan))
        return np.asarray(column.astype(object))
    return np.asarray(column.to_numpy())
