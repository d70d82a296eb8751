"""What calls take of memory, and the refusal of those that take too much.

The figures are bytes beyond the input, the result included, as measured and rounded up;
tests/python/test_estimate.py measures them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bhclust import _core
from bhclust._core import Family, Product, Table
from bhclust.options import check_number, shown

__all__ = ["ALGORITHMS", "bytes_needed", "check_memory", "check_table_memory", "memory_limit"]

UNITS = ("B", "kB", "MB", "GB", "TB", "PB")

#: Bytes a column of a row in greedy BHC's store; what is stored a pair of columns is 1 byte.
STORE = {
    "BernoulliBeta": 16,
    "CategoricalDirichlet": 28,
    "MultinomialDirichlet": 26,
    "PoissonGamma": 26,
    "GeometricBeta": 18,
    "NegativeBinomialBeta": 18,
    "ExponentialGamma": 90,
    "NormalInverseGamma": 22,
    "NormalInverseWishart": 20,
    "NormalKnownVariance": 20,
    "VonMisesFisher": 14,
    "GaussianProcess": 32,
}

#: What every call may take, however small its table.
LEAST = 1 << 19


def _store(family: Family, n_columns: int) -> int:
    """Bytes a row of the statistics that merges are scored by."""
    if isinstance(family, Product):
        return sum(_store(part, len(columns)) for part, columns in family.blocks)
    pairs = n_columns**2 if family.name in ("NormalInverseWishart", "GaussianProcess") else 0
    return STORE[family.name] * n_columns + pairs


def _bhc(family: Family, n: int, d: int, **_: int) -> int:
    return n * (190 + _store(family, d))


def _rbhc(family: Family, n: int, d: int, **_: int) -> int:
    if family.name == "NormalKnownVariance":
        return n * (190 + _store(family, d))
    return n * (190 + 12 * _width(family, d))


def _bayes_kmeans(family: Family, n: int, d: int, **_: int) -> int:
    return n * (300 + _store(family, d) + 8 * d)


def _randomized(_family: Family, n: int, _d: int, **_: int) -> int:
    return 300 * n


def _posterior(_family: Family, n: int, d: int, **_: int) -> int:
    return n * (56 + 8 * d)


def _bounds(_family: Family, n: int, _d: int, **_: int) -> int:
    return 96 * n


def _refine(family: Family, n: int, d: int, **_: int) -> int:
    return n * (300 + 2 * 8 * _width(family, d))


def _learn(family: Family, n: int, d: int, **_: int) -> int:
    return 2 * _bhc(family, n, d) + _posterior(family, n, d)


def _coclustering(_family: Family, n: int, _d: int, **_: int) -> int:
    return 8 * n * n + 200 * n


def _sample_partitions(_family: Family, n: int, _d: int, *, n_samples: int, **_: int) -> int:
    return n * (8 * n_samples + 40)


def _predict(family: Family, _n: int, d: int, *, n_new: int, n_clusters: int, **_: int) -> int:
    return n_new * (8 * _width(family, d) + 8 * (n_clusters + 1) + 40)


def _width(family: Family, n_columns: int) -> int:
    """Numbers that the statistics of a cluster are."""
    if isinstance(family, Product):
        return sum(_width(part, len(columns)) for part, columns in family.blocks)
    pairs = n_columns**2 // 2 if family.name in ("NormalInverseWishart", "GaussianProcess") else 0
    return 4 * n_columns + pairs


def _bhc_of_groups(family: Family, n: int, d: int, **_: int) -> int:
    return n * (200 + 9 * family._width(d))


def _rbhc_of_groups(family: Family, n: int, d: int, **_: int) -> int:
    if family.name == "NormalKnownVariance":
        return n * (220 + (8 + STORE[family.name]) * d)
    return _bhc_of_groups(family, n, d)


def _bayes_kmeans_of_groups(family: Family, n: int, d: int, **_: int) -> int:
    return n * (300 + 18 * family._width(d))


def _randomized_of_groups(family: Family, n: int, d: int, **_: int) -> int:
    a_thread = 2 * 8 * 2048 * family._width(d)
    return 300 * n + 2 * a_thread


def _posterior_of_groups(_family: Family, n: int, _d: int, **_: int) -> int:
    return 80 * n


def _refine_of_groups(family: Family, n: int, d: int, **_: int) -> int:
    return n * (300 + 2 * 8 * family._width(d))


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
    "sample_partitions": _sample_partitions,
    "predict": _predict,
}

#: The same of groups, where it differs.
OF_GROUPS: dict[str, Callable[..., int]] = {
    "bhc": _bhc_of_groups,
    "rbhc": _rbhc_of_groups,
    "bayes_kmeans_bhc": _bayes_kmeans_of_groups,
    "randomized_bhc": _randomized_of_groups,
    "posterior": _posterior_of_groups,
    "refine": _refine_of_groups,
}


def bytes_needed(
    algorithm: str,
    family: Family,
    n_rows: int,
    n_columns: int,
    *,
    grouped: bool = False,
    n_new: int = 0,
    n_samples: int = 1,
    n_clusters: int = 20,
) -> int:
    """Bytes beyond the input that a call takes at most, about; ``grouped``: rows are groups."""
    more = {"n_new": n_new, "n_samples": n_samples, "n_clusters": n_clusters}
    needed = OF_GROUPS.get(algorithm) if grouped else None
    return LEAST + (needed or ALGORITHMS[algorithm])(family, n_rows, n_columns, **more)


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


def check_table_memory(
    max_memory: Any, algorithm: str, family: Family, table: Table, **more: int
) -> None:
    """`check_memory` of a table of rows or groups."""
    n, d, grouped = table.n_rows, table.n_columns, table.is_grouped
    check_memory(max_memory, algorithm, family, n, d, grouped=grouped, **more)


def check_memory(
    max_memory: Any,
    algorithm: str,
    family: Family,
    n_rows: int,
    n_columns: int,
    *,
    grouped: bool = False,
    **more: int,
) -> None:
    """Refuse a call that takes more than a limit or, without one, than the machine has."""
    limit = memory_limit(max_memory)
    needed = bytes_needed(algorithm, family, n_rows, n_columns, grouped=grouped, **more)
    if needed <= (_core.machine_memory() if limit is None else limit):
        return
    told = "".join(f", {name} {value}" for name, value in more.items())
    size = _core.byte_size(needed)
    leaves = "groups" if grouped else "rows"
    what = f"{algorithm} of {n_rows} {leaves} and {n_columns} columns{told} takes {size}"
    if limit is None:
        raise ValueError(
            f"{what}; this machine has {_core.byte_size(_core.machine_memory())} of memory"
        )
    raise ValueError(f"{what} beyond X; max_memory is {_core.byte_size(limit)}")
