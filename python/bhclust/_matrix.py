"""What a file that is one matrix holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bhclust._column import Column
from bhclust._name_files import NameFile
from bhclust._records import shown
from bhclust.families import aliases

__all__ = ["Matrix", "SparseColumns", "fitting_names", "matrix_of"]

_MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Matrix:
    """A table whose columns are all of one kind.

    Attributes
    ----------
    path : str
        The file.
    data : array or SciPy CSR array, shape (n_rows, n_columns)
        What `BHC.fit` takes; codes of the levels for categories, NaN where missing.
    family : str
        What `BHC` takes as `family`.
    why : str
        Why this family.
    names : list of str or None
        Names of the rows, where the file has them.
    columns : list of str or None
        Names of the columns.
    levels : list of tuple of str or None
        What the codes of each column stand for.
    notes : tuple of str
        What else was found, and what was left out.
    classes : list of str or None
        Known classes of the rows, where they were asked for; empty where missing.
    name_files : tuple of NameFile
        The other files that were read, for names: ``argument``, ``path``, ``size``, ``sha256``.
    """

    path: str
    data: Any
    family: str
    why: str
    names: list[str] | None = None
    columns: list[str] | None = None
    levels: list[tuple[str, ...]] | None = None
    notes: tuple[str, ...] = ()
    classes: list[str] | None = None
    name_files: tuple[NameFile, ...] = ()

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; ``column 1``, ``column 2``, … where the file has none."""
        return self.columns or [f"column {j + 1}" for j in range(self.data.shape[1])]

    def as_columns(self) -> Mapping[str, Column]:
        """The columns one by one, as `bhclust.io.Table` has them.

        Of a sparse matrix they are made as they are asked for, where its family takes one.
        """
        is_sparse = hasattr(self.data, "tocsr")
        if is_sparse and getattr(aliases().get(self.family), "_takes_sparse", False):
            return SparseColumns(self.data, self.column_names, self.family, self.why)
        if self.data.shape[0] * self.data.shape[1] > _MOST_CELLS:
            raise ValueError(
                f"{self.path}: {self.data.shape[0]:,} rows of {self.data.shape[1]:,} columns are "
                "too many for a table of columns; in Python fit bhclust.io.read_matrix(path).data"
            )
        cells = np.asarray(self.data.toarray() if is_sparse else self.data, dtype=np.float64)
        plain = ("0", "1") if self.family == "bernoulli" else ()
        levels = self.levels or [plain] * cells.shape[1]
        return {
            name: Column(name, self.family, np.ascontiguousarray(cells[:, j]), levels[j], self.why)
            for j, name in enumerate(self.column_names)
        }

    def without(self, ignore: Sequence[str]) -> Matrix:
        """Leave out columns, by their names."""
        names = self.column_names
        unknown = [name for name in ignore if name not in names]
        if unknown:
            raise ValueError(
                f"ignore: {self.path} has no column '{shown(unknown[0])}'; its columns are "
                + ", ".join(map(shown, names[:8]))
                + (", …" if len(names) > 8 else "")
            )
        left_out = set(ignore)
        kept = [place for place, name in enumerate(names) if name not in left_out]
        if not kept:
            raise ValueError(f"ignore: all columns of {self.path} are left out; keep some")
        return replace(
            self,
            data=self.data[:, kept],
            columns=[names[place] for place in kept],
            levels=self.levels and [self.levels[place] for place in kept],
        )

    def turned(self, family: str | None) -> Matrix:
        """Make rows of the columns, and the reverse."""
        if self.levels is not None or self.classes is not None:
            raise ValueError(
                f"transpose: {self.path} has columns of categories, or classes of its rows; "
                "leave it out"
            )
        data = self.data.T.tocsr() if hasattr(self.data, "tocsr") else self.data.T
        found = matrix_of(self.path, data, family)
        return replace(
            found, **fitting_names(self.columns, self.names, data.shape), notes=self.notes
        )


class SparseColumns(Mapping[str, Column]):
    """The columns of a sparse matrix, each made when it is asked for.

    Attributes
    ----------
    matrix : SciPy CSR array, shape (n_rows, n_columns)
    family : str
        Alias of the family of all columns.
    why : str
        Why this family.
    """

    def __init__(self, matrix: Any, names: Sequence[str], family: str, why: str) -> None:
        self.matrix: Any = matrix
        self.family: str = family
        self.why: str = why
        self._by_column = matrix.tocsc()
        self._place = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> Column:
        place = self._place[name]
        values = np.zeros(self.matrix.shape[0])
        cells = slice(*self._by_column.indptr[place : place + 2])
        np.add.at(values, self._by_column.indices[cells], self._by_column.data[cells])
        return Column(name, self.family, values, (), self.why)

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def chosen(self, names: Sequence[str]) -> SparseColumns:
        """Give these columns, in this order."""
        places = [self._place[name] for name in names]
        return SparseColumns(self.matrix[:, places], names, self.family, self.why)


def matrix_of(path: str, data: Any, family: str | None) -> Matrix:
    """The matrix with the family asked for, or else that which fits its cells."""
    if getattr(data, "ndim", 0) != 2 or data.dtype.kind not in "biuf" or 0 in data.shape:
        raise ValueError(
            f"{path}: a matrix of numbers is needed, rows and columns; found "
            f"{getattr(data, 'dtype', type(data).__name__)} of shape {getattr(data, 'shape', ())}"
        )
    return Matrix(path, data, *(_likely(data) if family is None else (family, "as asked")))


def _likely(data: Any) -> tuple[str, str]:
    is_sparse = hasattr(data, "tocsr")
    cells = np.asarray(data.data if is_sparse else data).ravel()
    present = cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells
    if np.isin(present, (0, 1)).all():
        return "bernoulli", "only 0 and 1"
    if (present >= 0).all() and (present == np.rint(present)).all():
        if len(present) == len(cells):
            return "multinomial", "counts; their shares in each row are looked at"
        return "poisson", "counts, some missing"
    squares = np.asarray(data.multiply(data).sum(axis=1) if is_sparse else (data**2).sum(axis=1))
    if np.allclose(squares, 1.0, rtol=0, atol=1e-6):
        return "von-mises-fisher", "rows of length one"
    if is_sparse:
        raise ValueError(
            "a sparse matrix of measurements has no family of its own: give counts, or, if its "
            "zeros are measurements, say family 'gaussian-diag', 'hurdle' or the like"
        )
    return "gaussian-diag", "measurements"


def fitting_names(
    names: list[str] | None, columns: list[str] | None, shape: tuple[int, ...]
) -> dict[str, Any]:
    """Names where there is one for each row or column, and none twice among the columns."""
    has_columns = columns is not None and len(set(columns)) == shape[1] == len(columns)
    return {
        "names": names if names is not None and len(names) == shape[0] else None,
        "columns": columns if has_columns else None,
    }
