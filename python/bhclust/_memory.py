"""What calls take of memory, and the refusal of those that take too much.

The figures are bytes beyond the input, the result included, as bench/memory.py measures them and
rounded up: what is measured is not more, and mostly half of what is told or more for tables of
some megabytes. Most clusters live at once where nothing is clustered, and that is what is told.
tests/python/test_estimate.py measures some again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Product, Table
from bhclust.options import check_number, shown

__all__ = ["ALGORITHMS", "Shape", "bytes_needed", "check_memory", "memory_limit", "shape_of"]

UNITS = ("B", "kB", "MB", "GB", "TB", "PB")

#: What every call may take, however small its table.
LEAST = 3 << 18
#: Rows up to which `learn` tries RBHC of every family (bhclust.growth).
QUICK_ROWS = 2000
#: Statistics on the way down and up a tree.
PATH = 330
#: Families that tabulate terms of all sizes of groups, up to so many.
OF_SIZES = ("NormalInverseGamma", "NormalInverseWishart", "NormalKnownVariance")
MOST_SIZES = 1 << 22
#: Of a sparse table, whatever is in it.
A_SPARSE_COLUMN = 450


@dataclass(frozen=True)
class Shape:
    """What of a table decides how much memory it takes."""

    n: int
    """Rows or groups."""
    d: int
    """Columns."""
    stored: int | None = None
    """Cells stored, of a sparse table."""
    grouped: bool = False
    missing: bool = False
    """Whether cells are missing."""
    weight: int = 0
    """Rows that groups stand for, all together."""
    total: float = math.inf
    """Sum of a sparse table's cells."""

    @property
    def copy(self) -> int:
        """Bytes of a copy of the cells; sparse ones are not copied."""
        return 8 * self.n * self.d if self.stored is None else 0


def shape_of(table: Table, family: Family | None = None) -> Shape:
    """Look at a table, in O(cells).

    Missing cells are not looked for where they make no difference to what a family takes.
    """
    n, d = table.n_rows, table.n_columns
    if table.is_grouped:
        return Shape(n, d, grouped=True, weight=table.total_weight)
    if table.is_sparse:
        values = table.arrays[0]
        with np.errstate(all="ignore"):
            total = float(np.sum(values))
        # cells that no family takes are told of by others
        is_sum = math.isfinite(total) and total >= 0
        return Shape(n, d, stored=len(values), total=total if is_sum else math.inf)
    if family is not None and HOLES.keys().isdisjoint(_names(family)):
        return Shape(n, d)
    with np.errstate(all="ignore"):
        missing = math.isnan(float(np.sum(table.arrays)))
    return Shape(n, d, missing=missing)


@dataclass(frozen=True)
class _Store:
    """Bytes that algorithms take of one family: a row, and a cell of a row."""

    greedy_row: int
    greedy: float
    kmeans: float
    """Bayes K-means, a cell."""
    few: float = 0.0
    """Greedy BHC, a cell of the first rows: what dead clusters and growing tables take of few."""
    column: int = 0
    """Greedy BHC, a column."""
    pair: float = 0.0
    """Greedy BHC, a pair of columns of a row."""


#: Rows whose cells count as those of few.
FEW_ROWS = 640
#: Rows up to which Bayes K-means is greedy BHC.
GREEDY_ROWS = 256
#: Bytes of a seed, and rows of the blocks that it is scored with where clusters are many.
A_SEED = 400
BLOCK = 32
#: Bytes of a column in Bayes K-means, whatever is in it.
A_COLUMN = 6000
#: Of dense tables.
STORES = {
    "BernoulliBeta": _Store(200, 7, 24, few=16, column=1200),
    "CategoricalDirichlet": _Store(200, 10, 20, few=30, column=2200),
    "MultinomialDirichlet": _Store(200, 24, 40, few=12, column=2800),
    "PoissonGamma": _Store(200, 21, 44, few=30, column=3000),
    "GeometricBeta": _Store(200, 13, 66, few=25, column=2800),
    "NegativeBinomialBeta": _Store(200, 8, 52, few=46, column=4200),
    "ExponentialGamma": _Store(200, 20, 14, few=4, column=300),
    "NormalInverseGamma": _Store(290, 23, 22, few=18, column=300),
    "NormalInverseWishart": _Store(290, 10, 16, few=18, column=300, pair=1.6),
    "NormalKnownVariance": _Store(290, 16, 20, few=10, column=300),
    "VonMisesFisher": _Store(200, 23, 24, few=2, column=1000),
    "GaussianProcess": _Store(200, 10, 14, few=10, column=300),
}
#: Families with functions of columns' values.
COUNTED = (
    "CategoricalDirichlet",
    "MultinomialDirichlet",
    "PoissonGamma",
    "GeometricBeta",
    "NegativeBinomialBeta",
)
#: Hyperparameters of functions that are computed beforehand.
TABULATED = {
    "BernoulliBeta": ("a", "b"),
    "GeometricBeta": ("a", "b"),
    "MultinomialDirichlet": ("concentration",),
    "CategoricalDirichlet": ("concentration", "levels"),
    "PoissonGamma": ("shape", "rate"),
}
#: RBHC outside known variance, a number of a row's statistics.
RELAXED = {"BernoulliBeta": 35, "GeometricBeta": 30, "CategoricalDirichlet": 42}
#: Where cells are missing and that takes more.
HOLES = {
    "ExponentialGamma": _Store(200, 68, 76, few=4, column=300),
    "GaussianProcess": _Store(200, 10, 24, few=10, column=300, pair=8.0),
}


def _names(family: Family) -> Iterator[str]:
    """The names of the families of the blocks of columns."""
    if isinstance(family, Product):
        for part, _ in family.blocks:
            yield from _names(part)
    else:
        yield family.name


def _parts(family: Family, shape: Shape) -> Iterator[tuple[Family, Shape]]:
    """The families of the blocks of columns."""
    if not isinstance(family, Product):
        yield family, shape
        return
    for part, columns in family.blocks:
        of = Shape(shape.n, len(columns), None, shape.grouped, shape.missing, shape.weight)
        yield from _parts(part, of)


def _store(family: Family, shape: Shape) -> _Store:
    return (shape.missing and HOLES.get(family.name)) or STORES[family.name]


def _by_column(value: Any, d: int) -> NDArray[np.float64]:
    """One number a column; those that the core refuses for their shape are told nothing of."""
    given = np.asarray(value, dtype=np.float64)
    return np.broadcast_to(given if given.shape in ((), (d,)) else np.float64(1.0), (d,))


def _different(*values: NDArray[np.float64]) -> int:
    """How many different numbers there are; columns that share one share a table."""
    return int(np.unique(np.concatenate(values)).size)


def _of_counts(by_column: NDArray[np.float64], of: Shape, longest: int, rows: int | None) -> int:
    """Entries of functions of columns' sums: greedy BHC's end at twice what a column adds up to."""
    most = _different(by_column) * longest
    return most if rows is not None else int(min(most, 2 * of.total + 32 * of.d))


def _tables(family: Family, shape: Shape, rows: int | None = None) -> int:
    """Bytes of functions of counts computed beforehand, as cpp's function_tables bounds them.

    Greedy BHC's; with ``rows``, those for clusters of so many rows, which are shorter.
    """
    total = 0
    for part, of in _parts(family, shape):
        of_sums = min(max(1_000_000 // max(of.d, 1), 16), 4096)
        if rows is not None:
            of_sums = min(of_sums, max(rows // 8, 16))
        of_rows = min(of_sums, (shape.n if rows is None else rows) + 1)
        given = {
            name: _by_column(value, of.d)
            for name, value in part.parameters().items()  # type: ignore[attr-defined]
            if name in TABULATED.get(part.name, ())
        }
        match part.name:
            case "BernoulliBeta":
                a, b = given["a"], given["b"]
                entries = (_different(a, b, a + b) + 1) * of_rows
            case "GeometricBeta":
                a, b = given["a"], given["b"]
                entries = _different(a, b, a + b) * of_sums
            case "MultinomialDirichlet":
                entries = _of_counts(given["concentration"], of, of_sums, rows) + of_sums
            case "CategoricalDirichlet":
                a = given["concentration"]
                entries = _different(a, a * given["levels"]) * of_rows
            case "PoissonGamma":
                entries = _of_counts(given["shape"], of, of_sums, rows)
                if rows is not None or not _has_few_counts(of):
                    pairs = np.column_stack([given["shape"], given["rate"]])
                    entries += of_rows * _different(given["rate"])
                    entries += of_rows * len(np.unique(pairs, axis=0))
            case "VonMisesFisher":
                entries = 1 << 16 if rows is None else 0
            case "GaussianProcess":
                entries = 13 * of.d**2  # the kernel's matrices
            case _:
                entries = 0
        total += 8 * entries
    return total


def _has_few_counts(shape: Shape) -> bool:
    """Whether cpp's sparse_poisson_store takes the table, which tabulates no rates."""
    cells = shape.n * shape.d
    return (
        shape.stored is not None and min(shape.n // 4, shape.d) >= 64 and 8 * shape.stored <= cells
    )


def _width(family: Family, shape: Shape) -> int:
    """Numbers that the statistics of a cluster are."""
    return sum(part._width(of.d) for part, of in _parts(family, shape))


def _terms_of_sizes(family: Family, shape: Shape) -> int:
    """Bytes of the terms of the sizes of groups that greedy BHC tabulates, and Gaussian kernels."""
    known = max(shape.n**2 // 4, 4096) if shape.n < 4096 else MOST_SIZES
    total = 9 * min(shape.weight, known)
    if shape.weight > min(shape.n * (shape.n + 1), MOST_SIZES):
        return total
    kernels = sum(part.name in OF_SIZES for part, _ in _parts(family, shape))
    return total + 9 * shape.weight * kernels


def _of_columns(shape: Shape) -> int:
    """Bytes that stores of sparse counts take of columns, whatever is in them."""
    return 0 if shape.stored is None else A_SPARSE_COLUMN * shape.d


def _spread(part: Family, of: Shape) -> float:
    """How many times four levels categories have, of which cells are measured."""
    if part.name != "CategoricalDirichlet":
        return 1.0
    return max(1.0, part._width(of.d) / (4 * of.d))


def _of_few(part: Family, of: Shape) -> int:
    """Bytes that greedy BHC takes more of a table of few rows."""
    store = _store(part, of)
    a_row = store.few + 1.5 * store.pair * of.d
    return math.ceil(of.d * (store.column + a_row * min(of.n, FEW_ROWS)))


def _bhc(family: Family, shape: Shape, **_: int) -> int:
    if shape.grouped:
        return shape.n * (270 + 9 * _width(family, shape)) + _terms_of_sizes(family, shape)
    total = _tables(family, shape) + _of_columns(shape)
    total += shape.copy if isinstance(family, Product) else 0
    for part, of in _parts(family, shape):
        store = _store(part, of)
        total += shape.n * store.greedy_row
        if of.stored is None:
            total += math.ceil(of.n * of.d * (store.greedy * _spread(part, of) + store.pair * of.d))
            total += _of_few(part, of)
        elif part.name == "MultinomialDirichlet":
            total += min(230 * of.stored, 100 * of.stored + 1700 * of.n) + 1300 * of.d
        else:
            wide = 15.5 if part.name == "BernoulliBeta" else 3.5
            total += 40 * of.stored + math.ceil(wide * of.n * part._width(of.d))
    return total


def _rbhc(family: Family, shape: Shape, **_: int) -> int:
    n, width = shape.n, _width(family, shape)
    if family.name == "NormalKnownVariance":
        return n * (220 + (28 if shape.grouped else 20) * shape.d) + 2000 * shape.d
    if shape.grouped:
        return n * (200 + 9 * width)
    cells = sum(
        n * part._width(of.d) * RELAXED.get(part.name, 24) for part, of in _parts(family, shape)
    )
    if shape.stored is not None:
        return n * 200 + math.ceil(1.3 * cells)
    return n * 200 + cells + 2000 * shape.d


def _queries(family: Family, shape: Shape, seeds: int) -> int:
    """Bytes of what Bayes K-means keeps to score rows by, as cpp's row_assignment bounds them.

    Those of clusters' scores with a block of rows are in it.
    """
    cells = shape.n * shape.d if shape.stored is None else shape.stored
    most = (1 << 18) + cells
    scores = 9 * max(min((1 << 18) + cells // 2, 256 * shape.n), BLOCK * seeds)
    if any(part.name in COUNTED for part, _ in _parts(family, shape)):
        return scores + 8 * most
    return scores + 8 * min(most, shape.n * (32 + 6 * (_width(family, shape) + 2)))


def _bayes_kmeans(family: Family, shape: Shape, *, n_seeds: int = 0, **_: int) -> int:
    seeds = min(n_seeds or math.isqrt(shape.n), shape.n)
    if shape.grouped:
        a_seed = A_SEED + 9 * BLOCK
        of_sizes = _terms_of_sizes(family, shape)
        return seeds * a_seed + shape.n * (300 + 18 * _width(family, shape)) + of_sizes
    total = A_SEED * seeds + 300 * shape.n + _tables(family, shape) + _queries(family, shape, seeds)
    total += A_COLUMN * shape.d if shape.stored is None else _of_columns(shape)
    total += shape.copy if isinstance(family, Product) else 0
    for part, of in _parts(family, shape):
        pairs = 9 * part._width(of.d) if part.name == "NormalInverseWishart" else 0
        cell = _store(part, of).kmeans * _spread(part, of)
        total += math.ceil(of.n * (of.d * cell + pairs))
    return max(total, _bhc(family, shape)) if shape.n <= GREEDY_ROWS else total


def _randomized(family: Family, shape: Shape, *, n_threads: int, **_: int) -> int:
    width = _width(family, shape)
    threads = max(n_threads, 2)
    if shape.grouped:
        of_sizes = threads * _terms_of_sizes(family, shape)
        return 370 * shape.n + 2 * threads * 8 * 2048 * width + of_sizes
    at_once = 8 * min(shape.n, 4096) * min(width, 4 * shape.d)
    of_threads = math.ceil((1.35 + 1.2 * (threads - 2)) * at_once)
    if shape.stored is None:
        of_threads += threads * sum(_of_few(part, of) for part, of in _parts(family, shape))
    return 465 * shape.n + of_threads + _tables(family, shape) + threads * _of_columns(shape)


def _posterior(family: Family, shape: Shape, **_: int) -> int:
    if shape.grouped:
        return 120 * shape.n
    return 88 * shape.n + shape.copy + _on_the_way(family, shape)


def _on_the_way(family: Family, shape: Shape) -> int:
    """Statistics of the nodes that a walk over the tree is at, and functions of counts."""
    return 8 * PATH * _width(family, shape) + _tables(family, shape, shape.n)


def _bounds(family: Family, shape: Shape, **_: int) -> int:
    return 116 * shape.n + _on_the_way(family, shape)


def _refine(family: Family, shape: Shape, **_: int) -> int:
    # two nodes a row, and what lies above a subtree kept once more: all nodes of a chain
    if shape.grouped:
        return shape.n * (550 + 25 * _width(family, shape))
    return shape.n * (400 + 25 * _width(family, shape)) + _tables(family, shape, shape.n)


def _insert(family: Family, shape: Shape, *, n_new: int, **_: int) -> int:
    rows = shape.n + n_new
    cells = 8 * rows * shape.d
    if shape.stored is not None:
        stored = math.ceil(16 * shape.stored * rows / shape.n)
        cells = stored + 8 * rows + 2 * rows * _width(family, shape)
    return rows * (380 + 16 * _width(family, shape)) + cells + _tables(family, shape, rows)


def _learn(family: Family, shape: Shape, **_: int) -> int:
    grown = _bhc(family, shape)
    if shape.n <= QUICK_ROWS and family._relaxable:
        grown = max(grown, _rbhc(family, shape))
    features = 0
    for part, of in _parts(family, shape):
        is_categories = part.name == "CategoricalDirichlet"
        features += 2 * part._width(of.d) if is_categories else 4 * of.d
    return grown + shape.n * (200 + 8 * features) + 3000 * shape.d + _posterior(family, shape)


def _coclustering(_family: Family, shape: Shape, **_: int) -> int:
    return 8 * shape.n**2 + 200 * shape.n


def _sample_partitions(_family: Family, shape: Shape, *, n_samples: int, **_: int) -> int:
    return shape.n * (8 * n_samples + 72)


def _predict(family: Family, shape: Shape, *, n_new: int, n_clusters: int, **_: int) -> int:
    a_row = 8 * _width(family, shape) + 8 * (n_clusters + 1) + 40
    return n_new * a_row + _on_the_way(family, shape)


#: What `bytes_needed` knows, by the names that `bhclust.estimate` takes.
ALGORITHMS: dict[str, Callable[..., int]] = {
    "bhc": _bhc,
    "rbhc": _rbhc,
    "bayes_kmeans_bhc": _bayes_kmeans,
    "randomized_bhc": _randomized,
    "posterior": _posterior,
    "bounds": _bounds,
    "coclustering": _coclustering,
    "learn": _learn,
    "refine": _refine,
    "insert": _insert,
    "sample_partitions": _sample_partitions,
    "predict": _predict,
}


def bytes_needed(
    algorithm: str,
    family: Family,
    shape: Shape,
    *,
    n_new: int = 0,
    n_samples: int = 1,
    n_clusters: int = 20,
    n_seeds: int = 0,
    n_threads: int | None = None,
) -> int:
    """Bytes beyond the input that a call takes at most, about.

    ``n_threads`` None: all cores; ``n_seeds`` 0: the root of the rows.
    """
    return LEAST + ALGORITHMS[algorithm](
        family,
        shape,
        n_new=n_new,
        n_samples=n_samples,
        n_clusters=n_clusters,
        n_seeds=n_seeds,
        n_threads=n_threads or _core.all_threads(),
    )


def memory_limit(max_memory: Any) -> float | None:
    """Read a limit: bytes, or text such as "2 GB"; None is none."""
    if max_memory is None:
        return None
    if isinstance(max_memory, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]+)\s*", max_memory)
        units = {unit.lower(): 1000**power for power, unit in enumerate(UNITS)}
        if found is None or found[2].lower() not in units:
            raise ValueError(
                f'max_memory is {shown(max_memory)}; give bytes or text such as "500 MB" or "2 GB"'
            )
        value = float(found[1]) * float(units[found[2].lower()])
    else:
        value = check_number("max_memory", max_memory, 'a number of bytes or text such as "2 GB"')
    if not value > 0:
        raise ValueError(f"max_memory is {shown(max_memory)}; it must be above 0")
    return value


def check_memory(
    max_memory: Any,
    algorithm: str,
    family: Family,
    table: Table | Shape,
    *,
    n_threads: int | None = None,
    **more: int,
) -> None:
    """Refuse a call that takes more than a limit or, without one, than the machine has."""
    limit = memory_limit(max_memory)
    shape = table if isinstance(table, Shape) else shape_of(table, family)
    needed = bytes_needed(algorithm, family, shape, n_threads=n_threads, **more)
    if needed <= (_core.machine_memory() if limit is None else limit):
        return
    told = "".join(f", {name} {value}" for name, value in more.items())
    size = _core.byte_size(needed)
    leaves = "groups" if shape.grouped else "rows"
    what = f"{algorithm} of {shape.n} {leaves} and {shape.d} columns{told} takes {size}"
    if limit is None:
        raise ValueError(
            f"{what}; this machine has {_core.byte_size(_core.machine_memory())} of memory"
        )
    raise ValueError(f"{what} beyond X; max_memory is {_core.byte_size(limit)}")
