"""From a file to rows of cells: unpacking, decoding, the separator, the header."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import os
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from .table import names_as_numbers

if TYPE_CHECKING:
    from _csv import Reader

# What people rename to .csv, by the first bytes.
_FOREIGN = (
    (b"PK\x03\x04", "an Excel workbook or a zip archive", "save it as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save it as CSV"),
    (b"BZh", "packed by bzip2", "unpack it first"),
    (b"\xfd7zXZ\x00", "packed by xz", "unpack it first"),
    (b"%PDF", "a PDF document", "save the table as CSV"),
)
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
# In order of preference where several separators fit equally well: a comma may be a decimal comma.
_SEPARATORS = ("\t", ";", "|", ",")
_SAMPLE = 200
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")

MISSING = frozenset({"", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"})
_LONGEST_MISSING = max(map(len, MISSING))


def counted(number: int, noun: str) -> str:
    """Write a number of things: 1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shown(text: str) -> str:
    """Shorten a text for a message."""
    return text if len(text) <= 60 else f"{text[:40]}… ({len(text):,} characters)"


def shown_path(path: str | os.PathLike[str]) -> str:
    """Shorten the name of a file for a message, in the middle."""
    text = os.fspath(path)
    return text if len(text) <= 160 else f"{text[:70]}…{text[-70:]}"


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return len(cell) <= _LONGEST_MISSING and cell.lower() in MISSING


@dataclass(frozen=True)
class Records:
    """Rows of cells, all of one width.

    `lines` are the lines of the file in which they begin. `numbers` count the rows below the
    header as spreadsheets, pandas and R do: a row of empty cells counts, though it is not among
    the `rows`; a line without any cell does not.
    """

    path: str
    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    numbers: list[int]
    separator: str
    notes: list[str]


def read_records(
    path: str | os.PathLike[str],
    *,
    header: bool | None = None,
    separator: str | None = None,
    are_series: bool = False,
) -> Records:
    """Read a table as text.

    `header` says whether the first line names the columns, if known. Of time series the times may
    be the names.
    """
    name = os.fsdecode(path)
    notes: list[str] = []
    text = _decode(name, _unpack(name, _read(name)), notes)
    if not text.strip():
        raise ValueError(f"{name}: the file is empty; a table with a line for each row is needed")
    separator = separator or _separator(text)
    rows, lines = _split(name, text, separator)
    rows, lines, numbers = _without_blank(rows, lines, notes)
    if not rows:
        raise ValueError(f"{name}: no cell of the file has a value")
    if len(rows[0]) == 1:
        _refuse_spaces(name, rows)
    named = _has_header(rows) if header is None else header
    if header is None and not named and are_series and _has_times(rows):
        named = True
        notes.append("line 1, whose numbers rise, is taken for the times (--no-header: for a row)")
    if not named:
        notes.append("no header found: the columns are called column 1, column 2, …")
    names = rows.pop(0) if named else []
    first_line = lines.pop(0) if named else lines[0]
    above = numbers.pop(0) if named else numbers[0] - 1
    if not rows:
        raise ValueError(f"{name}: there is a header in line {first_line}, but no row below it")
    if named and all(len(row) == len(names) + 1 for row in rows):
        trailing = not any(row[-1] for row in rows)
        names = [*names, ""] if trailing else ["", *names]
    width = len(names) if named else len(rows[0])
    _check_widths(name, rows, lines, width, first_line, separator)
    numbers = [number - above for number in numbers]
    header_names = _column_names(name, names, width)
    return Records(name, header_names, rows, lines, numbers, separator, notes)


def _read(path: str) -> bytes:
    if not path or "\0" in path:
        raise ValueError(f"{path!r}: this cannot be the name of a file; check it")
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; check the name and the folder") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder; name a file in it") from None
    except OSError as error:
        told = f"{shown_path(path)}: cannot be read: {error.strerror or error}"
        raise ValueError(f"{told}; check the name and your rights to read it") from None


def unpacked_zstd(path: str, data: bytes) -> bytes:
    """Unpack what zstd has packed."""
    try:
        from zstandard import ZstdDecompressor, ZstdError
    except ImportError:
        raise ImportError(
            f'{path}: files packed by zstd need zstandard: pip install "bhclust[zstd]"'
        ) from None
    try:
        with ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as stream:
            return bytes(stream.read())
    except ZstdError as error:
        raise ValueError(
            f"{path}: the zstd file is damaged ({error}); fetch or pack it again"
        ) from None


def unpacked(path: str) -> IO[bytes]:
    """Open a file whose bytes may be packed by gzip or zstd."""
    with open(path, "rb") as file:
        begin = file.read(4)
        if begin == ZSTD:
            return io.BytesIO(unpacked_zstd(path, begin + file.read()))
    packed = begin.startswith(GZIP)
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]


def _unpack(path: str, data: bytes) -> bytes:
    if data.startswith(ZSTD):
        data = unpacked_zstd(path, data)
    if data.startswith(GZIP):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(
                f"{path}: the gzip file is damaged ({error}); fetch or pack it again"
            ) from None
    for magic, what, remedy in _FOREIGN:
        if data.startswith(magic):
            raise ValueError(f"{path}: this is {what}, not a table in text form; {remedy}")
    return data


def _decode(path: str, data: bytes, notes: list[str]) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    binary = f"{path}: this is a binary file, not a table in text form; save the table as CSV"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
        if "\ufffd" in text:
            raise ValueError(binary) from None
        notes.append("the file is not UTF-8: read as Windows-1252, accents may be wrong")
    if _CONTROL.search(text):
        raise ValueError(binary)
    return text


def _reader(text: str, separator: str) -> Reader:
    return csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )


def _separator(text: str) -> str:
    """Choose the separator that cuts most of the first lines into equally many cells."""
    best, best_score = ",", 0.0
    for separator in _SEPARATORS:
        widths = Counter(_sample_widths(text, separator))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]), default=(1, 0))
        score = count / max(1, widths.total())
        if width > 1 and score > best_score:
            best, best_score = separator, score
    return best


def _sample_widths(text: str, separator: str) -> list[int]:
    widths: list[int] = []
    try:
        for row in _reader(text, separator):
            if row:
                widths.append(len(row))
            if len(widths) == _SAMPLE:
                break
    except csv.Error:
        return widths
    return widths


def _split(path: str, text: str, separator: str) -> tuple[list[list[str]], list[int]]:
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = _reader(text, separator)
    line = 1
    try:
        for row in reader:
            rows.append([cell.strip() for cell in row])
            lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        told = f"{path}: line {line} cannot be read ({error}); "
        if "field limit" in str(error):
            raise ValueError(f"{told}look for a quote that is not closed") from None
        raise ValueError(
            f'{told}quotes must enclose a whole cell, and stand twice ("") inside it'
        ) from None
    return rows, lines


def _without_blank(
    rows: list[list[str]], lines: list[int], notes: list[str]
) -> tuple[list[list[str]], list[int], list[int]]:
    """Give the rows with a value, their lines, and their numbers among all rows with cells."""
    kept: list[int] = []
    numbers: list[int] = []
    blank: list[int] = []
    for place, row in enumerate(rows):
        if any(row):
            kept.append(place)
            numbers.append(len(kept) + len(blank))
        elif len(row) > 1:
            blank.append(lines[place])
    if blank:
        where = ", ".join(map(str, blank[:5])) + (", …" if len(blank) > 5 else "")
        line = "line" if len(blank) == 1 else "lines"
        notes.append(f"{counted(len(blank), 'row')} without any value skipped ({line} {where})")
    return [rows[place] for place in kept], [lines[place] for place in kept], numbers


def _refuse_spaces(path: str, rows: Sequence[Sequence[str]]) -> None:
    parts = [row[0].split() for row in rows[1:_SAMPLE]]
    if parts and len(parts[0]) > 1 and len({len(part) for part in parts}) == 1:
        numbers = sum(_NUMBER.fullmatch(word) is not None for part in parts for word in part)
        if 2 * numbers > len(parts) * len(parts[0]):
            raise ValueError(
                f"{path}: the cells seem to be separated by spaces; "
                "separate them by commas, semicolons or tabs"
            )


def _has_times(rows: Sequence[Sequence[str]]) -> bool:
    """Tell a line of times: its numbers rise, and those of few other lines do."""

    def rises(row: Sequence[str]) -> bool:
        numbers = names_as_numbers(row) or names_as_numbers(row[1:]) or []
        return len(numbers) > 1 and all(a < b for a, b in itertools.pairwise(numbers))

    others = rows[1:_SAMPLE]
    return rises(rows[0]) and 2 * sum(map(rises, others)) < len(others)


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Tell a header: it has no number, and no word that its own column has too.

    A missing value does not speak against it: sodium's column is called Na.
    """
    first, rest = rows[0], rows[1:_SAMPLE]
    if any(map(_NUMBER.fullmatch, first)) or all(map(is_missing, first)):
        return False
    if not rest:
        return True
    shift = 1 if all(len(row) == len(first) + 1 for row in rest) else 0
    below = [
        {row[place + shift] for row in rest if place + shift < len(row)}
        for place in range(len(first))
    ]
    if any(any(map(_NUMBER.fullmatch, cells)) for cells in below):
        return True
    return not any(cell in cells for cell, cells in zip(first, below, strict=True) if cell)


def _check_widths(
    path: str,
    rows: Sequence[Sequence[str]],
    lines: Sequence[int],
    width: int,
    first_line: int,
    separator: str,
) -> None:
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            sign = {"\t": "tab"}.get(separator, f"'{separator}'")
            raise ValueError(
                f"{path}: line {line} has {counted(len(row), 'cell')}, line {first_line} has "
                f"{width:,}; fill up with empty cells, or put quotes around a cell that holds a "
                f"{sign}"
            )


def _column_names(path: str, names: Sequence[str], width: int) -> list[str]:
    if not names:
        return [f"column {place}" for place in range(1, width + 1)]
    filled = [
        name or ("row name" if place == 0 else f"column {place + 1}")
        for place, name in enumerate(names)
    ]
    seen: dict[str, int] = {}
    for place, name in enumerate(filled, 1):
        if name in seen:
            raise ValueError(
                f"{path}: columns {seen[name]} and {place} are both called '{shown(name)}'; "
                "rename one"
            )
        seen[name] = place
    return filled
