"""The tables that the scripts of this folder use, read from a folder of data."""

from __future__ import annotations

import argparse
import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np

DEFAULT = Path(__file__).resolve().parents[3] / "shared" / "data"


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the folder of the data."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=DEFAULT, help="folder with the tables")
    return parser


def labelled(folder: Path, name: str) -> tuple[Any, Any]:
    """Columns of numbers, and the classes of the last column."""
    with gzip.open(folder / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        cells = np.array(list(csv.reader(file))[1:])
    return cells[:, :-1].astype(float), np.unique(cells[:, -1], return_inverse=True)[1]


def archive(folder: Path, name: str) -> Any:
    """An npz file."""
    return np.load(folder / f"{name}.npz", allow_pickle=False)


def counts(folder: Path, name: str) -> tuple[Any, Any]:
    """A sparse table of counts, and its archive."""
    from scipy.sparse import csr_matrix

    f = archive(folder, name)
    parts = f["data"].astype(float), f["indices"].astype(int), f["indptr"].astype(int)
    return csr_matrix(parts, shape=tuple(f["shape"])), f


def draw_by_class(y: Any, each: int, seed: int) -> Any:
    """Rows drawn at random, so many of each class."""
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [np.sort(rng.permutation(np.flatnonzero(y == c))[:each]) for c in np.unique(y)]
    )


def markdown(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "| " + " | ".join("---" for _ in rows[0]) + " |", *lines[1:]])
