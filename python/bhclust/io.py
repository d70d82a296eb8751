"""Reading tables from files, and writing output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import difflib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from ._records import Records, is_missing, read_records
from ._sniff import (
    FAMILIES,
    Cells,
    Column,
    read_as,
    sniff,
    uses_decimal_comma,
)

__all__ = ["Column", "OutputFiles", "Table", "read_table"]

_NAME_HEADERS = frozenset(
    {"row name", "id", "ids", "name", "names", "rowname", "rownames", "row_name", "index"}
    | {"identifier", "uid", "uuid", "unnamed: 0"}
)


@dataclass(frozen=True)
class Table:
    """A table read from a file.

    Attributes
    ----------
    path : str
        The file.
    n_rows : int
        Number of rows.
    columns : dict of str to Column
        The columns to cluster on, in the order of the file.
    set_aside : dict of str to str
        The other columns, and why.
    names : list of str or None
        Names of the rows, where a column has them.
    target : list of str or None
        Known classes of the rows, where a target column was asked for; empty where missing.
    notes : tuple of str
        What else a reader should know about how the file was read.
    """

    path: str
    n_rows: int
    columns: dict[str, Column]
    set_aside: dict[str, str]
    names: list[str] | None
    target: list[str] | None
    notes: tuple[str, ...]

    @property
    def row_names(self) -> list[str]:
        """Names of the rows; ``row 1``, ``row 2``, … where the file has none."""
        return self.names or [f"row {place}" for place in range(1, self.n_rows + 1)]

    @property
    def family(self) -> str | dict[str, str]:
        """What `BHC` takes as `family`: one alias for all columns, or one for each."""
        by_column = {name: column.family for name, column in self.columns.items()}
        kinds = set(by_column.values())
        return kinds.pop() if len(kinds) == 1 else by_column

    @property
    def data(self) -> NDArray[np.float64] | dict[str, NDArray[np.float64]]:
        """What `BHC.fit` takes: a matrix where all columns share a family, or else columns."""
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
) -> Table:
    """Read a table from a CSV or TSV file and find out what its columns hold.

    The file may be packed by gzip, begin with a byte-order mark, be encoded in UTF-8, UTF-16 or
    Windows-1252, and separate its cells by commas, semicolons, tabs or bars; numbers may have
    decimal commas. Empty cells, ``NA``, ``NaN``, ``N/A``, ``NULL`` and ``?`` are missing values.

    A column is taken for

    - yes/no (``bernoulli``) where it holds 0 and 1, or yes and no, or true and false;
    - categories (``categorical``) where it holds at most 30 different texts, each about twice or
      more, or at most 10 different whole numbers, each about three times or more, which leave a
      number out or do not begin at 0;
    - counts (``poisson``) where it holds other whole numbers that begin at 0 or 1 and end by 1000;
    - measurements (``gaussian-diag``) where it holds other numbers;
    - names of the rows where its name is ``id``, ``name`` or the like and its values differ, or
      where it is the first column of texts that all differ.

    Columns without values, with one value, with free text, with dates, or that number the rows
    are set aside.

    Parameters
    ----------
    path : path
        The file.
    family : str, optional
        Read all columns that are not set aside as this family.
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

    Returns
    -------
    Table
        The columns, the names of the rows, and how the file was read.

    Raises
    ------
    ValueError
        If the file is missing, empty, binary or ragged, if two columns share a name, if a cell
        does not fit its column, or if an option names an unknown column or family.
    """
    records = read_records(path, header=header)
    asked = dict(columns or {})
    _check_options(records, family, asked, ignore, target, names)
    cells, notes = _cells(records)
    kept = [name for name in records.header if name not in ignore and name != target]
    names = names or _names_column([cells[name] for name in kept if name not in asked])
    used: dict[str, Column] = {}
    aside = dict.fromkeys(ignore, "left out as asked")
    for name in kept:
        if name == names:
            aside[name] = "names of the rows"
            continue
        column = _take(cells[name], family, asked.get(name))
        if isinstance(column, str):
            aside[name] = column
        else:
            used[name] = column
    if target is not None:
        aside[target] = "known classes, not clustered on"
    return Table(
        path=records.path,
        n_rows=len(records.rows),
        columns=used,
        set_aside=aside,
        names=_row_names(cells[names]) if names else None,
        target=_classes(cells[target]) if target else None,
        notes=(*records.notes, *notes),
    )


def _take(cells: Cells, family: str | None, asked: str | None) -> Column | str:
    if asked is not None:
        return read_as(cells, asked)
    found = sniff(cells)
    return found if family is None or isinstance(found, str) else read_as(cells, family)


def _check_options(
    records: Records,
    family: str | None,
    columns: Mapping[str, str],
    ignore: Sequence[str],
    target: str | None,
    names: str | None,
) -> None:
    named = [("columns", name) for name in columns] + [("ignore", name) for name in ignore]
    named += [("target", target)] if target is not None else []
    named += [("names", names)] if names is not None else []
    for option, name in named:
        if name not in records.header:
            raise ValueError(
                f"{option}: {records.path} has no column '{name}'; "
                + _did_you_mean(name, records.header)
            )
    if target is not None and target == names:
        raise ValueError(f"names: '{target}' is the target column too; choose another")
    for alias in [*columns.values(), *([family] if family is not None else [])]:
        if alias not in FAMILIES:
            raise ValueError(f"family: '{alias}' is not known; choose from {', '.join(FAMILIES)}")


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    shown = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
    return f"its columns are {shown}"


def _cells(records: Records) -> tuple[dict[str, Cells], list[str]]:
    texts = dict(zip(records.header, zip(*records.rows, strict=True), strict=True))
    commas = [name for name, cells in texts.items() if uses_decimal_comma(cells, records.separator)]
    decimal = "," if commas else "."
    cells = {
        name: Cells(records.path, name, column, records.lines, decimal)
        for name, column in texts.items()
    }
    if not commas:
        return cells, []
    _refuse_two_decimal_signs(cells, commas[0])
    return cells, ["numbers are read with decimal commas"]


def _refuse_two_decimal_signs(cells: Mapping[str, Cells], comma_column: str) -> None:
    for column in cells.values():
        if not column.are_numbers:
            continue
        for text in column.distinct:
            if "." in text:
                raise column.fail(
                    column.first(text),
                    f"has a decimal point, but column '{comma_column}' has decimal commas; "
                    "write all numbers the same way, without marks between thousands",
                )


def _names_column(columns: Sequence[Cells]) -> str | None:
    for cells in columns:
        lowered = cells.name.lower()
        count = len(cells.distinct)
        if lowered in _NAME_HEADERS or lowered.endswith(("_id", " id", ".id")):
            if count > 1 and count == len(cells.present):
                return cells.name
            if not cells.are_numbers and 2 * count > len(cells.texts):
                return cells.name
    for cells in columns:
        all_differ = len(cells.distinct) == len(cells.texts) > 2
        if all_differ and not cells.are_numbers and isinstance(sniff(cells), str):
            return cells.name
    return None


def _row_names(cells: Cells) -> list[str]:
    return [
        f"row {place}" if is_missing(text) else text for place, text in enumerate(cells.texts, 1)
    ]


def _classes(cells: Cells) -> list[str]:
    return ["" if is_missing(text) else text for text in cells.texts]


class OutputFiles:
    """Several files of one folder that all appear, or none of them.

    Inside a ``with`` block `add` puts files under names of their own beside their places. When
    the block ends they are renamed into place; when it fails they are removed, and so is the
    folder if it was made.

    Parameters
    ----------
    folder : path
        Where the files go; made if it does not exist.
    replace : bool, default False
        Whether files that exist may be replaced.
    """

    def __init__(self, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
        self.folder = Path(folder)
        self.replace = replace
        self._made: list[Path] = []
        self._staged: dict[Path, Path] = {}

    def check(self, names: Sequence[str]) -> None:
        """Refuse, before any work is done, names that exist already or a folder that is a file."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder}: is a file; name a folder for the output")
        folders = [name for name in names if (self.folder / name).is_dir()]
        if folders:
            raise ValueError(f"{self.folder / folders[0]}: is a folder where a file is to go")
        there = [name for name in names if os.path.lexists(self.folder / name)]
        if there and not self.replace:
            raise ValueError(
                f"{self.folder / there[0]}: exists already; "
                "name another folder, or say --force (in Python replace=True)"
            )

    def __enter__(self) -> OutputFiles:
        missing = [self.folder, *self.folder.parents]
        self._made = [folder for folder in missing if not folder.exists()]
        self.folder.mkdir(parents=True, exist_ok=True)
        return self

    def add(self, name: str, content: str | bytes) -> None:
        """Write a file of the folder; text is encoded in UTF-8."""
        self.check([name])
        data = content.encode() if isinstance(content, str) else content
        staged = self.folder / f".{name}.{secrets.token_hex(4)}.tmp"
        self._staged[staged] = self.folder / name
        with open(staged, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                for staged, final in self._staged.items():
                    os.replace(staged, final)
        finally:
            self._clean_up()

    def _clean_up(self) -> None:
        """Remove what was not renamed, and the folders that were made if they are empty."""
        for staged in self._staged:
            staged.unlink(missing_ok=True)
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()

    def __iter__(self) -> Iterator[Path]:
        """Give the places of the files."""
        return iter(self._staged.values())
