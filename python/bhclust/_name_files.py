"""Files that hold the names of a matrix's rows and columns, one a line."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ._records import GZIP, shown
from .options import check_path_type

_CELLS = ("barcodes.tsv",)
_GENES = ("features.tsv", "genes.tsv")
_MATRIX = ("matrix.mtx", "matrix.mtx.gz")


@dataclass(frozen=True)
class Beside:
    """Files of names beside a matrix of counts that has genes down and cells across."""

    cells: Path
    genes: Path


@dataclass(frozen=True)
class NameFile:
    """A file of names as it was read: for what, and its bytes and their SHA-256."""

    argument: str
    path: str
    size: int
    sha256: str


def read_names(path: str | os.PathLike[str], argument: str) -> tuple[list[str], NameFile]:
    """Read names, one a line, plain or packed by gzip.

    Where lines have several cells between tabs the name is in the second, and the first tells
    names apart that are there twice: identifiers and symbols of genes come so.
    """
    name = check_path_type(argument, path)
    try:
        packed = Path(name).read_bytes()
        text = gzip.decompress(packed) if packed.startswith(GZIP) else packed
        lines = text.decode("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise ValueError(f"{argument}: {name}: no such file; check the name") from None
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(f"{argument}: {name}: cannot be read as text: {error}") from None
    while lines and not lines[-1].strip():
        lines.pop()
    read = NameFile(argument, name, len(packed), hashlib.sha256(packed).hexdigest())
    return _told_apart([line.split("\t") for line in lines]), read


def _told_apart(lines: Sequence[Sequence[str]]) -> list[str]:
    names = [cells[min(1, len(cells) - 1)].strip() for cells in lines]
    often = Counter(names)
    return [
        f"{name} ({cells[0].strip()})" if often[name] > 1 and len(cells) > 1 else name
        for name, cells in zip(names, lines, strict=True)
    ]


def check_names(names: Sequence[str], argument: str, length: int, other: int) -> None:
    """Refuse names that are not one for each, or of columns one that is there twice."""
    what = argument.split("_")[0] + "s"
    if len(names) != length:
        turned = len(names) == other
        raise ValueError(
            f"{argument}: {len(names):,} names for {length:,} {what}; "
            + ("the matrix seems to lie on its side: transpose it" if turned else "give one each")
        )
    twice = next((name for name, often in Counter(names).items() if often > 1), None)
    if what == "columns" and twice is not None:
        raise ValueError(f"{argument}: '{shown(twice)}' is there twice; each column needs its own")


def beside(path: str) -> Beside | None:
    """Find the files of names that sequencing software puts beside its ``matrix.mtx``."""
    place = Path(path)
    ending = next((end for end in _MATRIX if place.name.endswith(end)), None)
    if ending is None:
        return None
    prefix = place.name.removesuffix(ending)
    cells, genes = (
        next(
            (
                found
                for name in names
                for end in ("", ".gz")
                if (found := place.with_name(f"{prefix}{name}{end}")).is_file()
            ),
            None,
        )
        for names in (_CELLS, _GENES)
    )
    return None if cells is None or genes is None else Beside(cells, genes)
