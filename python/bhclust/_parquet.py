"""Tables in Parquet files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._raw_column import ArrayCells, Cells
from ._records import Records


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as Parquet does."""
    try:
        # A pipe can be read but once.
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1"
    except (OSError, ValueError):
        return False


def read_parquet(path: str | os.PathLike[str]) -> tuple[Records, dict[str, Cells]]:
    """The columns of a Parquet file; its rows have numbers, and no lines."""
    name = os.fsdecode(path)
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise ImportError(
            f'{name}: Parquet files need pyarrow: pip install "bhclust[parquet]"'
        ) from None
    try:
        found = parquet.read_table(name)
    except (ArrowException, OSError) as error:
        told = " ".join(str(error).split())
        raise ValueError(f"{name}: the Parquet file is damaged: {told}") from None
    if not found.num_rows or not found.num_columns:
        raise ValueError(f"{name}: the file has no rows or no columns")
    header = list(found.column_names)
    if len(set(header)) < len(header):
        raise ValueError(f"{name}: two columns share a name; rename one: {', '.join(header[:20])}")
    cells: dict[str, Cells] = {
        key: ArrayCells(_arrow_values(found.column(j)), key, path=name)
        for j, key in enumerate(header)
    }
    numbers = list(range(1, found.num_rows + 1))
    empty: list[list[str]] = [[] for _ in numbers]
    return Records(name, header, empty, numbers, numbers, "", []), cells


def _arrow_values(column: Any) -> NDArray[Any]:
    if not column.null_count:
        values = np.asarray(column.to_numpy())
        if values.dtype.kind in "biuf":
            return values
    return np.array([*column.to_pylist(), None], dtype=object)[:-1]
