"""Reading tables from files; output files that appear whole or not at all."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._choice import likelier
from ._column import Column
from ._column_roles import has_known_classes, name_column
from ._dialect import cells_of, check_dialect, dialect_of
from ._matrix import Matrix, SparseColumns
from ._name_files import NameFile
from ._output_files import OutputFiles
from ._parquet import is_parquet, read_parquet
from ._raw_column import ArrayCells, Cells
from ._read_column import read_column, read_like
from ._reading_options import check_options, did_you_mean, few, refuse_options
from ._records import Records, is_missing, read_records, shown
from .families import HURDLE
from .matrices import is_matrix_file, read_matrix
from .options import check_path_type
from .table import names_as_numbers

__all__ = ["Column", "Matrix", "OutputFiles", "Table", "read_matrix", "read_table"]

_NAMES = "names of the rows"
# Why an option is refused.
_OF_ONE_KIND = "holds one matrix, whose columns are all of one kind"
_OF_COLUMNS = "is a table whose file names its rows and columns itself, and not one matrix"


@dataclass(frozen=True)
class Table:
    """A table read from a file.

    Attributes
    ----------
    path : str
        The file.
    n_rows : int
        Number of rows.
    columns : mapping of str to Column
        The columns to cluster on, in the order of the file; those of a sparse matrix are made as
        they are asked for.
    set_aside : dict of str to str
        The other columns, and why.
    names : list of str or None
        Names of the rows, where a column has them.
    target : list of str or None
        Known classes of the rows, where a target column was asked for or found; empty where
        missing.
    notes : tuple of str
        What else a reader should know about how the file was read.
    numbers : list of int
        For each row its number in the file: 1 is the first row below the header, rows of empty
        cells count too though they are no rows of the table, and lines without any cell do not.
        pandas and R number rows so.
    lines : list of int
        For each row the line of the file that it begins in; the first line of the file is 1.
    times : list of float
        Of a table of time series the times of its columns; else empty. Their family is
        ``GaussianProcess.from_data(table.data, times=table.times)``.
    dialect : str
        How a file of text was taken apart: its separator and decimal sign, in words.
    name_files : tuple of NameFile
        Of a file of one matrix the others that were read, for names of rows and columns:
        ``argument``, ``path``, ``size``, ``sha256``.
    """

    path: str
    n_rows: int
    columns: Mapping[str, Column]
    set_aside: dict[str, str]
    names: list[str] | None
    target: list[str] | None
    notes: tuple[str, ...]
    numbers: Sequence[int] = ()
    lines: Sequence[int] = ()
    times: Sequence[float] = ()
    dialect: str = ""
    name_files: tuple[NameFile, ...] = ()

    @property
    def row_names(self) -> list[str]:
        """Names of the rows; ``row 1``, ``row 2``, … (their `numbers`) where the file has none."""
        numbers = self.numbers or range(1, self.n_rows + 1)
        return self.names or [f"row {number}" for number in numbers]

    @property
    def family(self) -> str | dict[str, str]:
        """What `BHC` takes as `family`: one alias for all columns, or one for each."""
        if isinstance(self.columns, SparseColumns):
            return self.columns.family
        by_column = {name: column.family for name, column in self.columns.items()}
        kinds = set(by_column.values())
        return kinds.pop() if len(kinds) == 1 and kinds != {HURDLE} else by_column

    @property
    def data(self) -> Any:
        """What `BHC.fit` takes: a matrix where all columns share a family, or else columns."""
        if isinstance(self.columns, SparseColumns):
            return self.columns.matrix
        if isinstance(self.family, str):
            return np.column_stack([column.values for column in self.columns.values()])
        return {name: column.values for name, column in self.columns.items()}


def read_table(
    path: str | os.PathLike[str],
    *,
    family: str | None = None,
    columns: Mapping[str, str] | None = None,
    ignore: Sequence[str] = (),
    target: str | None = None,
    names: str | None = None,
    header: bool | None = None,
    times: Sequence[float] | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    row_names: str | os.PathLike[str] | None = None,
    column_names: str | os.PathLike[str] | None = None,
    transpose: bool = False,
) -> Table:
    """Read a table from a file and find out what its columns hold.

    CSV and TSV, Parquet, and the files of one matrix that `read_matrix` knows: these are told by
    their content, whatever they are called. The rest speaks of CSV and TSV.

    The file may be packed by gzip, begin with a byte-order mark, be encoded in UTF-8, UTF-16 or
    Windows-1252, and separate its cells by commas, semicolons, tabs or bars; numbers may have
    decimal commas. Empty cells, ``NA``, ``NaN``, ``N/A``, ``NULL`` and ``?`` are missing values.

    A column is taken for

    - yes/no (``bernoulli``) where it holds 0 and 1, or yes and no, or true and false;
    - categories (``categorical``) where it holds at most 30 different texts, each about twice or
      more, or at most 10 different whole numbers, each about three times or more, which leave a
      number out or do not begin at 0;
    - counts (``poisson``, or ``geometric`` or ``categorical`` where the evidence of a quick tree is
      for these) where it holds other whole numbers that begin at 0 or 1 and end by 1000;
    - measurements (``gaussian-diag``, or by that evidence ``exponential``, or ``gaussian`` where
      columns are correlated) where it holds other numbers, and those with a spike at zero
      (``hurdle``) where zeros stand out: whether a cell is zero, and what it is if not;
    - names of the rows where its name is ``id``, ``name`` or the like and its values differ, or
      where it is the first column of texts that all differ.

    Columns without values, with one value, with free text, with dates, or that number the rows
    are set aside. So is a column called class, target, label, species, cluster or the like that
    holds few categories: it most likely is what the clustering is to find, and clusters found
    from it would say nothing. The first such column becomes the `target`, unless that is given.
    To cluster on it name it in `columns`.

    Parameters
    ----------
    path : path
        The file.
    family : str, optional
        Read all columns that are not set aside as this family; ``"categorical"`` includes free
        text and dates, ``"hurdle"`` is for numbers with a spike at zero (`bhclust.hurdle`), and
        ``"time-series"`` makes a series of each row.
    columns : dict of str to str, optional
        Read these columns as these families, whatever they look like.
    ignore : sequence of str
        Columns to leave out.
    target : str, optional
        The column with known classes: kept apart, not clustered on.
    names : str, optional
        The column with the names of the rows.
    header : bool, optional
        Whether the first line names the columns; found out by default.
    times : sequence of float, optional
        With ``family="time-series"`` the time of each column that is not set aside; by default the
        names of these where all are numbers, and else 0, 1, 2, …. A first line whose numbers rise
        is then taken for names, unless most lines rise.
    separator : str, optional
        The one character between cells; found out by default, and told in `Table.dialect`.
    decimal : {".", ","}, optional
        The decimal sign; found out by default.
    row_names, column_names : path, optional
        Of a file of one matrix: other files with the names of its rows and columns, one a line.
    transpose : bool
        Of a file of one matrix: cluster its columns. (`read_matrix` tells more of these three.)

    Returns
    -------
    Table
        The columns, the names of the rows, and how the file was read.

    Raises
    ------
    ValueError
        If the file is missing, empty, binary or ragged, if two columns share a name, if a cell
        does not fit its column, if an option names an unknown column or family, or if two options
        name the same column.
    """
    check_path_type("path", path)
    if is_matrix_file(path):
        refuse_options(path, _OF_ONE_KIND, columns=columns, names=names)
        matrix = read_matrix(
            path,
            family=family,
            row_names=row_names,
            column_names=column_names,
            transpose=transpose,
            target=target,
        )
        return _table_of(matrix, ignore)
    _refuse_options_of_matrices(path, row_names, column_names, transpose)
    source = read_parquet(path) if is_parquet(path) else None
    check_dialect(separator, decimal)
    if source is None:
        records = read_records(
            path, header=header, separator=separator, are_series=family == "time-series"
        )
    else:
        records = source[0]
    asked = dict(columns or {})
    check_options(records, family, asked, ignore, target, names)
    cells, notes = cells_of(records, decimal) if source is None else (source[1], [])
    kept = [name for name in records.header if name not in ignore and name != target]
    names = names or name_column([cells[name] for name in kept if name not in asked])
    used: dict[str, Column] = {}
    aside = dict.fromkeys(ignore, "left out as asked")
    known: list[str] = []
    for name in kept:
        if name == names:
            aside[name] = _NAMES
            continue
        if name not in asked and has_known_classes(cells[name]):
            known.append(name)
            aside[name] = _why_not(cells[name])
            continue
        column = read_column(cells[name], family, asked.get(name))
        if isinstance(column, str):
            aside[name] = column
        else:
            used[name] = column
    used = likelier(used, [name for name in used if name not in asked and family is None])
    if target is not None:
        aside[target] = "known classes, not clustered on"
    elif known:
        target = known[0]
        notes.append(f"'{shown(target)}' looks like known classes: only compared with")
    series: list[float] = []
    if family == "time-series" and {column.family for column in used.values()} == {family}:
        series, note = _times(list(used), times)
        notes.append(note)
    elif times is not None:
        raise ValueError(
            "times: given for a table that is not all time series; give family 'time-series', and "
            "no column another one"
        )
    return Table(
        path=records.path,
        n_rows=len(records.rows),
        columns=used,
        set_aside=aside,
        names=_row_names(cells[names], records.numbers) if names else None,
        target=_classes(cells[target]) if target else None,
        notes=(*records.notes, *notes),
        numbers=records.numbers,
        lines=records.lines,
        times=series,
        dialect=dialect_of(records, notes),
    )


def read_new(
    path: str | os.PathLike[str],
    fitted: Table,
    *,
    header: bool | None = None,
    row_names: str | os.PathLike[str] | None = None,
    column_names: str | os.PathLike[str] | None = None,
    transpose: bool = False,
) -> Table:
    """Read new rows for a model: the columns of its table alone, read as that was.

    Parameters
    ----------
    path : path
    fitted : Table
    header : bool, optional
        As for `read_table`, and so are the next.
    row_names, column_names : path, optional
    transpose : bool

    Returns
    -------
    Table
        With the columns of ``fitted``, in its order and with its codes.
    """
    if is_matrix_file(path):
        known = fitted.columns if isinstance(fitted.columns, SparseColumns) else None
        matrix = read_matrix(
            path,
            family=known.family if known else None,
            row_names=row_names,
            column_names=column_names,
            transpose=transpose,
        )
        if matrix.columns is None and matrix.data.shape[1] == len(fitted.columns):
            matrix = replace(matrix, columns=list(fitted.columns))
        found = _table_of(matrix)
        if known and isinstance(found.columns, SparseColumns):
            _check_columns(found.path, list(found.columns), fitted)
            return replace(found, columns=found.columns.chosen(list(fitted.columns)))
        texts = {name: _again(column) for name, column in found.columns.items()}
        rows = Records(found.path, list(texts), [], list(found.lines), list(found.numbers), "", [])
        cells: dict[str, Cells] = {
            name: ArrayCells(values, name, path=found.path) for name, values in texts.items()
        }
        names = found.names
    else:
        _refuse_options_of_matrices(path, row_names, column_names, transpose)
        source = read_parquet(path) if is_parquet(path) else None
        rows = source[0] if source else read_records(path, header=header)
        cells = source[1] if source else cells_of(rows, None)[0]
        others = [column for name, column in cells.items() if name not in fitted.columns]
        before = [name for name, why in fitted.set_aside.items() if why == _NAMES]
        key = before[0] if before and before[0] in cells else name_column(others)
        names = _row_names(cells[key], rows.numbers) if key else None
    _check_columns(rows.path, rows.header, fitted)
    columns = {name: read_like(cells[name], column) for name, column in fitted.columns.items()}
    return Table(
        path=rows.path,
        n_rows=len(rows.lines),
        columns=columns,
        set_aside={name: "not in the model" for name in cells if name not in columns},
        names=names,
        target=None,
        notes=tuple(rows.notes),
        numbers=rows.numbers,
        lines=rows.lines,
    )


def _refuse_options_of_matrices(
    path: str | os.PathLike[str],
    row_names: str | os.PathLike[str] | None,
    column_names: str | os.PathLike[str] | None,
    transpose: bool,
) -> None:
    refuse_options(
        path,
        _OF_COLUMNS,
        row_names=row_names,
        column_names=column_names,
        transpose=transpose,
    )


def _check_columns(path: str, names: Sequence[str], fitted: Table) -> None:
    known = set(names)
    for name in fitted.columns:
        if name not in known:
            raise ValueError(
                f"{path}: has no column '{shown(name)}', which the model needs; "
                + did_you_mean(name, names)
            )


def _again(column: Column) -> NDArray[Any]:
    """The cells of a column as they were before they were codes."""
    if not column.levels:
        return column.values
    texts = [None if np.isnan(code) else column.levels[int(code)] for code in column.values]
    return np.array([*texts, None], dtype=object)[:-1]


def _times(names: Sequence[str], given: Sequence[float] | None) -> tuple[list[float], str]:
    """Give the times of columns, and say where they are from."""
    if given is not None:
        times = [float(time) for time in given]
        if len(times) != len(names):
            raise ValueError(
                f"times: {len(times)} given for {len(names)} columns ({few(names)}); give one for "
                "each"
            )
        return times, f"times, as given: {few([f'{time:g}' for time in times])}"
    found = names_as_numbers(names)
    if found is not None:
        return found, f"times, from the names of the columns: {few(names)}"
    times = [float(place) for place in range(len(names))]
    return times, (
        f"times are 0, 1, 2, …, one a column: not all names are numbers ({few(names)}); --times "
        "gives others"
    )


def _table_of(matrix: Matrix, ignore: Sequence[str] = ()) -> Table:
    if isinstance(ignore, str):
        raise TypeError(f"ignore must be a list of columns, not '{ignore}'; write ['{ignore}']")
    matrix = matrix.without(ignore) if ignore else matrix
    return Table(
        path=matrix.path,
        n_rows=matrix.data.shape[0],
        columns=matrix.as_columns(),
        set_aside=dict.fromkeys(ignore, "left out as asked"),
        names=matrix.names,
        target=matrix.classes,
        notes=matrix.notes,
        numbers=range(1, matrix.data.shape[0] + 1),
        lines=range(1, matrix.data.shape[0] + 1),
        name_files=matrix.name_files,
    )


def _why_not(cells: Cells) -> str:
    use = shlex.quote(f"{cells.name}=categorical")
    return (
        f"{len(cells.distinct)} categories, by the name known classes: clusters found from them "
        f"would say nothing; to cluster on it, --column {use}"
    )


def _row_names(cells: Cells, numbers: Sequence[int]) -> list[str]:
    return [
        f"row {number}" if is_missing(text) else text
        for number, text in zip(numbers, cells.texts, strict=True)
    ]


def _classes(cells: Cells) -> list[str]:
    return ["" if is_missing(text) else text for text in cells.texts]
