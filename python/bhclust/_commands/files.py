"""Files that commands read: pipes too, and what is said about them in run.json."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .session import session

if TYPE_CHECKING:
    from bhclust.io import Table

_PIPE = "stdin"


@dataclass(frozen=True)
class Source:
    """A file as it was read: what it is called, its length in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


def read_source(path: str, reader: Any) -> tuple[Table, Source]:
    """Read a table from a file, or from standard input where it is called ``-``.

    Parameters
    ----------
    path : str
    reader : callable
        Gives a Table for a path.
    """
    if not _is_pipe(path):
        table = reader(path)
        return table, _source(path, Path(path).name)
    name = _PIPE if path == "-" else path
    with session().interrupts.raising(), tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / _PIPE
        copy.write_bytes(_all_of(path))
        with _called(str(copy), name):
            table = replace(reader(str(copy)), path=name)
        return table, _source(copy, name)


def _is_pipe(path: str) -> bool:
    if path == "-":
        return True
    try:
        return not os.path.isfile(path) and os.path.exists(path) and not os.path.isdir(path)
    except ValueError:
        return False


def _all_of(path: str) -> bytes:
    if path != "-":
        return Path(path).read_bytes()
    if sys.stdin is None:
        raise ValueError("-: there is no standard input; name a file")
    if sys.stdin.isatty():
        session().say("reading the table from the keyboard; end it with Ctrl-D")
    return sys.stdin.buffer.read()


@contextlib.contextmanager
def _called(path: str, name: str) -> Iterator[None]:
    """Let refusals call a copy what the user called it."""
    try:
        yield
    except (ValueError, ImportError) as error:
        raise type(error)(str(error).replace(path, name)) from None


def _source(path: str | Path, name: str) -> Source:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
        size = file.tell()
    return Source(name.encode(errors="replace").decode(), size, found.hexdigest())


@contextlib.contextmanager
def in_the_file(table: Table) -> Iterator[None]:
    """Refusals of the core name the line of the file and the column, as the reader's do."""
    try:
        yield
    except ValueError as error:
        place = re.match(r"X(?:_new)?: row (\d+)(?:, column (\d+) )?", str(error))
        if place is None:
            raise
        told = f"{table.path}: line {table.lines[int(place[1])]}"
        if place[2] is not None:
            told += f", column '{list(table.columns)[int(place[2])]}' "
        raise ValueError(told + str(error)[place.end() :]) from None


def shipped_source(name: str) -> Source:
    """Tell of a table that ships with the package."""
    from bhclust.datasets import place_of

    with place_of(name) as path:
        return _source(path, path.name)
