"""Cells back into tables of the form that a user gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Table
from bhclust._frames import frame_column, frame_maker, frame_names, frame_of, is_frame, like_frame

__all__ = ["Form", "decoded", "filled"]


def decoded(codes: NDArray[np.float64], levels: Sequence[Any]) -> NDArray[Any]:
    """Give the levels of codes: an array of objects unless all are numbers of one kind."""
    values = np.array([levels[int(code)] for code in codes] + [None], dtype=object)[:-1]
    kinds = {type(level) for level in levels}
    return values.astype(kinds.pop()) if len(kinds) == 1 and kinds <= {bool, int, float} else values


class Form:
    """What a table was: a data frame, a mapping of columns, or an array.

    Parameters
    ----------
    X : array-like, DataFrame or mapping
    """

    def __init__(self, X: Any) -> None:
        self.frame: Any = frame_maker(X) if is_frame(X) else None
        self.is_mapping = self.frame is None and isinstance(X, Mapping)
        self.names: list[Any] = frame_names(X) if self.frame is not None else []
        self.width = 0 if self.frame is not None or self.is_mapping else _width(X)

    @classmethod
    def of(cls, library: Any, *, is_mapping: bool, names: list[Any], width: int) -> Form:
        """The form of a table of a library's; without the library, columns by name."""
        form = cls(np.zeros((1, width)))
        form.frame = None if library is None else frame_of(library)
        form.is_mapping = is_mapping or (library is not None and form.frame is None)
        form.names = names
        return form

    def write(self, columns: Mapping[Any, NDArray[Any]]) -> Any:
        """Make a table of columns, by name or number."""
        if self.frame is not None:
            return like_frame(self.frame, columns)
        if self.is_mapping:
            return dict(columns)
        return _array(columns, self.width)

    def write_cells(self, cells: NDArray[np.float64]) -> Any:
        """Make a table of numbers, all columns in their order."""
        if self.frame is None:
            return cells if not self.names else dict(zip(self.names, cells.T, strict=True))
        if len(set(self.names)) < len(self.names):
            return self.frame(cells, columns=self.names)
        return like_frame(self.frame, dict(zip(self.names, cells.T, strict=True)))


def filled(X: Any, columns: Mapping[Any, tuple[NDArray[np.bool_], NDArray[Any]]]) -> Any:
    """Give a copy of a table with some cells of some columns filled in.

    Parameters
    ----------
    X : array-like, DataFrame or mapping
    columns : mapping of name or number to (missing, values)
        One value a row; only those where ``missing`` are taken, but of columns of numbers all may
        be, as equal numbers of another type.
    """
    if hasattr(X, "iloc"):
        return _filled_pandas(X, columns)
    if is_frame(X) or isinstance(X, Mapping):
        whole = _columns(X)
        for name, (missing, values) in columns.items():
            whole[name] = _filled_column(whole[name], missing, values)
        return like_frame(frame_maker(X), whole) if is_frame(X) else whole
    parts = [values for _, values in columns.values()]
    cells = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    cells = cells.astype(np.result_type(cells, *parts) if cells.dtype.kind in "biuf" else object)
    for number, (missing, values) in columns.items():
        cells[missing, number] = values[missing]
    return cells


def _columns(X: Any) -> dict[Any, Any]:
    if isinstance(X, Mapping):
        return dict(X)
    return {name: frame_column(X, j)[0] for j, name in enumerate(frame_names(X))}


def _width(X: Any) -> int:
    if isinstance(X, Table):
        return X.n_columns
    return int(X.shape[1] if hasattr(X, "shape") else len(X[0]))


def _array(columns: Mapping[Any, NDArray[Any]], width: int) -> NDArray[Any]:
    """An array of the columns by number; NaN or None in the others."""
    kind = np.result_type(*columns.values(), np.float64)
    n_rows = len(next(iter(columns.values())))
    cells = np.full((n_rows, width), None if kind.kind == "O" else np.nan, dtype=kind)
    for number, values in columns.items():
        cells[:, number] = values
    return cells


def _filled_column(column: Any, missing: NDArray[np.bool_], values: NDArray[Any]) -> Any:
    if not missing.any():
        return column
    if values.dtype.kind != "O":
        return values.tolist() if isinstance(column, list) else values
    mixed = [new if gap else old for old, new, gap in zip(column, values, missing, strict=True)]
    return mixed if isinstance(column, list) else np.array([*mixed, None], dtype=object)[:-1]


def _filled_pandas(X: Any, columns: Mapping[Any, tuple[NDArray[np.bool_], NDArray[Any]]]) -> Any:
    frame = X.copy()
    for place, name in enumerate(X.columns):
        if name not in columns or not columns[name][0].any():
            continue
        missing, values = columns[name]
        series = X.iloc[:, place]
        if values.dtype.kind == "O":
            new = series.astype(object)
            new[missing] = values[missing]
        else:
            new = series.__class__(values, index=series.index, name=series.name)
        frame.isetitem(place, _as_before(new, series.dtype))
    return frame


def _as_before(series: Any, dtype: Any) -> Any:
    """The column in its earlier type, where that holds the new values."""
    try:
        plain = isinstance(dtype, np.dtype) and dtype.kind == "O"
        return series if plain else series.astype(dtype)
    except (TypeError, ValueError):
        return series
