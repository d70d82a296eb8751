"""The table that an estimator was fitted to: its columns, and its rows as often as they count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Family, Table
from bhclust._frames import frame_names, is_frame, rows_of
from bhclust._written import Form, filled
from bhclust.columns import ColumnCoder, naming
from bhclust.families import resolve_family
from bhclust.options import check_weights
from bhclust.table import as_table, column_names

__all__ = ["FittedRows", "Layout"]


class Layout:
    """The columns of the fitted table, and how new tables are brought into them."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        self.coder: ColumnCoder | None = None
        self.n_columns = 0
        self.form: Form | None = None

    def fit(self, X: Any, family: Any) -> tuple[Table, Family]:
        """Learn the columns; the cells, and the family with its hyperparameters."""
        self.names = column_names(X)
        if isinstance(family, Mapping) or (isinstance(family, str) and family == "auto"):
            self.coder = ColumnCoder(family)
            table, model = self.coder.fit(X)
        else:
            table = as_table(X)
            with naming(self.names):
                model = resolve_family(family, X)
        self.n_columns = table.n_columns if self.coder is None else len(self.coder.keys)
        self.form = Form(X)
        return table, model

    @property
    def keys(self) -> Sequence[Any] | None:
        """What messages call the columns; None: their numbers."""
        return self.names if self.coder is None else self.coder.columns

    def read(self, X: Any, *, unknown_is_missing: bool = False) -> Table:
        """The cells of a new table."""
        if self.coder is not None:
            return self.coder.transform(X, argument="X_new", unknown_is_missing=unknown_is_missing)
        names = column_names(X)
        if names is not None and self.names is not None and names != self.names:
            raise ValueError(
                f"X_new has the columns {names!r}; the fitted X has {self.names!r}, in that order"
            )
        return as_table(X, argument="X_new")

    def place(self, column: Any) -> tuple[int, list[Any] | None]:
        """Find the number of a column by its key, and its levels where they are not 0, 1, ...."""
        keys = range(self.n_columns) if self.keys is None else list(self.keys)
        if column not in keys:
            raise ValueError(
                f"column is {column!r}; the columns are {list(dict.fromkeys(keys))[:20]!r}"
            )
        levels = None if self.coder is None else self.coder.levels.get(column)
        return keys.index(column), levels

    def write(self, cells: NDArray[np.float64]) -> Any:
        """Make a table of the form of the fitted one."""
        assert self.form is not None
        if self.coder is None:
            return self.form.write_cells(cells)
        return self.form.write(self.coder.decode(cells))

    def fill(self, X: Any, table: Table, cells: NDArray[np.float64]) -> Any:
        """Give a copy of X with its missing cells taken from ``cells``."""
        if self.coder is not None:
            gaps = self.coder.missing(np.asarray(table.arrays))
            values_of = self.coder.decode(cells)
            return filled(X, {key: (gaps[key], values) for key, values in values_of.items()})
        missing = np.isnan(np.asarray(table.arrays))
        if is_frame(X):
            columns = dict(zip(frame_names(X), cells.T, strict=True))
        else:
            return cells
        return filled(
            X, {key: (missing[:, j], values) for j, (key, values) in enumerate(columns.items())}
        )


class FittedRows:
    """The rows to fit: those of X, each as often as its weight says.

    Attributes
    ----------
    X : array-like, DataFrame, CSR matrix or mapping
        The repeated rows.
    leaves : array of int or None
        For each of these its row in the X given; None: the rows as they are.
    unseen : like X, or None
        The rows of weight 0, if any, and `numbers_unseen`, which they are.
    """

    def __init__(self, X: Any, sample_weight: Any) -> None:
        self.X = X
        self.leaves: NDArray[np.int64] | None = None
        self.unseen: Any = None
        if sample_weight is None:
            return
        counts = check_weights(sample_weight)
        n_rows = _row_count(X)
        if len(counts) != n_rows:
            raise ValueError(
                f"sample_weight has {len(counts)} entries for {n_rows} rows; give one a row"
            )
        self.leaves = np.repeat(np.arange(n_rows), counts)
        self.X = rows_of(X, self.leaves)
        self.numbers_unseen = np.flatnonzero(counts == 0)
        if self.numbers_unseen.size:
            self.unseen = rows_of(X, self.numbers_unseen)
        self._n_rows = n_rows

    def labels(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row given the cluster of most of its copies, the first of several; else 0."""
        assert self.leaves is not None
        pairs, counts = np.unique(
            np.column_stack([self.leaves, leaves]), axis=0, return_counts=True
        )
        order = np.lexsort((pairs[:, 1], -counts, pairs[:, 0]))
        rows, first = np.unique(pairs[order, 0], return_index=True)
        labels = np.zeros(self._n_rows, dtype=np.int64)
        labels[rows] = pairs[order[first], 1]
        return labels


def _row_count(X: Any) -> int:
    if isinstance(X, Mapping):
        return max((_row_count(column) for column in X.values()), default=0)
    return int(X.shape[0]) if hasattr(X, "shape") else len(np.asarray(X, dtype=object))
