"""Groups of rows as their sufficient statistics: leaves that stand for many rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Family, Product, Table
from bhclust._sealed import is_sealed, seal
from bhclust.options import check_count, shown

__all__ = ["Statistics"]

#: Hyperparameters that the statistics are made with; all others may change afterwards.
_MADE_WITH = {"CategoricalDirichlet": ("levels",), "NegativeBinomialBeta": ("r",)}
#: Bytes that a Product keeps of a column of its tables, in a block or not.
_PRODUCT_COLUMN = 32


class Statistics:
    """Sufficient statistics of groups of rows, as `Family.statistics` makes them.

    Every algorithm takes them in place of the rows: each group is then one leaf, which no partition
    splits, and counts as many rows as it has. Values cannot be changed.

    Parameters
    ----------
    family : Family
    n_columns : int
        Of the rows.
    values : array of shape (n_groups, width)
        What the family keeps of a cluster; constants of the rows such as the factorials of counts
        are among it.
    weights : array of int, shape (n_groups,)
        How many rows each group has, at least 1.
    """

    __slots__ = ("_family", "_table")

    def __init__(self, family: Family, n_columns: int, values: Any, weights: Any) -> None:
        if not isinstance(family, Family):
            raise TypeError(f"family must be a Family, not {shown(family)}")
        columns = check_count("n_columns", n_columns)
        cells = _numbers("values", values).astype(np.float64, copy=False)
        counts = _numbers("weights", weights)
        if cells.ndim != 2 or counts.shape != cells.shape[:1] or counts.dtype.kind not in "iu":
            raise ValueError(
                f"values of shape {cells.shape} and weights of shape {counts.shape} do not fit "
                "together; give (n_groups, width) numbers and (n_groups,) whole numbers"
            )
        if columns > cells.shape[1] and not isinstance(family, Product):
            raise ValueError(
                f"n_columns is {columns} and values has {cells.shape[1]} numbers a group; "
                f"{family.name} keeps one at least of each column"
            )
        if _PRODUCT_COLUMN * columns > _core.machine_memory():
            raise ValueError(
                f"n_columns is {columns}, for which a Product takes "
                f"{_core.byte_size(_PRODUCT_COLUMN * columns)}; this machine has "
                f"{_core.byte_size(_core.machine_memory())} of memory"
            )
        _check_total(counts)
        self._family = family
        self._table = Table.groups(
            _sealed(cells), _sealed(counts.astype(np.int64, copy=False)), columns
        )
        family._check(self._table)

    @property
    def family(self) -> Family:
        """The family they were made by."""
        return self._family

    @property
    def n_columns(self) -> int:
        """Columns of the rows."""
        return self._table.n_columns

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self._table.n_rows

    @property
    def n_rows(self) -> int:
        """Number of rows in all groups."""
        return self._table.total_weight

    @property
    def values(self) -> NDArray[np.float64]:
        """The statistics, shape (n_groups, width), read-only."""
        values: NDArray[np.float64] = self._table.arrays[0]
        return values

    @property
    def weights(self) -> NDArray[np.int64]:
        """Rows in each group, shape (n_groups,), read-only."""
        weights: NDArray[np.int64] = self._table.arrays[1]
        return weights

    @property
    def nbytes(self) -> int:
        """Bytes of the values and weights."""
        return int(self.values.nbytes + self.weights.nbytes)

    @staticmethod
    def concatenate(parts: Iterable[Statistics]) -> Statistics:
        """Put groups of several together, in order.

        Parameters
        ----------
        parts : iterable of Statistics
            At least one, all of one family with the same hyperparameters.
        """
        every = list(parts)
        if not every:
            raise ValueError("there is nothing to concatenate; give at least one Statistics")
        first = every[0]
        for i, part in enumerate(every):
            if not isinstance(part, Statistics):
                raise TypeError(f"parts[{i}] must be a Statistics, not {shown(part)}")
            if part.n_columns != first.n_columns or part.family != first.family:
                raise ValueError(
                    f"parts[{i}] is of {part.n_columns} columns and {shown(part.family)}; parts[0] "
                    f"is of {first.n_columns} and {shown(first.family)}: make all by one family"
                )
        return Statistics(
            first.family,
            first.n_columns,
            _sealed(np.concatenate([part.values for part in every]), own=True),
            _sealed(np.concatenate([part.weights for part in every]), own=True),
        )

    def merge(self, labels: Any) -> Statistics:
        """Merge groups: those with one label become one.

        Parameters
        ----------
        labels : array of int, shape (n_groups,)
            From 0 without gaps; group k of the result is the union of those labelled k.
        """
        return aggregated(self._family, self._table, labels, name="labels")

    def __getitem__(self, indices: Any) -> Statistics:
        """Some of the groups: a number, a slice, or an array of numbers or booleans."""
        rows = np.atleast_1d(np.arange(self.n_groups)[indices])
        if rows.ndim != 1 or rows.size == 0:
            raise ValueError(f"{shown(indices)} names no group; at least one is needed")
        return Statistics(
            self._family,
            self.n_columns,
            _sealed(self.values[rows], own=True),
            _sealed(self.weights[rows], own=True),
        )

    def __len__(self) -> int:
        return self.n_groups

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Statistics):
            return NotImplemented
        return (
            self.n_columns == other.n_columns
            and self.family == other.family
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.weights, other.weights)
        )

    def __repr__(self) -> str:
        return (
            f"<bhclust.Statistics of {self.n_groups} groups of {self.n_rows} rows and "
            f"{self.n_columns} columns, {self.family.name}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Statistics, (self._family, self.n_columns, self.values, self.weights)


def checked_statistics(value: Any) -> Statistics:
    """Refuse what is no Statistics."""
    if not isinstance(value, Statistics):
        raise TypeError(
            f"statistics must be a Statistics, not {shown(value)}; family.statistics(X, groups) "
            "makes one"
        )
    return value


def family_for(X: Statistics, family: Any, *, argument: str = "X") -> Family:
    """The family to take statistics with: None is theirs, another must read them the same way."""
    if family is None:
        return X.family
    if isinstance(family, Family) and _shape(family) == _shape(X.family):
        return family
    raise ValueError(
        f"family is {shown(family)}; {argument} holds statistics made by {shown(X.family)}: give "
        "that, None, or the same class with other hyperparameters (but for levels and r, with "
        "which statistics are made)"
    )


def _shape(family: Family) -> Any:
    """What of a family decides what statistics mean."""
    if isinstance(family, Product):
        return [(_shape(part), list(columns)) for part, columns in family.blocks]
    made_with = [
        np.asarray(getattr(family, name)).tolist() for name in _MADE_WITH.get(family.name, ())
    ]
    return family.name, made_with


def aggregated(
    family: Family, table: Table, labels: Any, *, repeats: Any = None, name: str = "groups"
) -> Statistics:
    """Statistics of the rows or groups of a table with each label; None: each by itself."""
    if labels is None:
        numbers, count = np.arange(table.n_rows, dtype=np.int64), table.n_rows
    else:
        numbers = _whole_numbers(name, labels, table.n_rows)
        count = int(numbers.max(initial=-1)) + 1
        used = np.unique(numbers)
        if used.size < count:
            gap = int(np.argmax(np.append(used, -1) != np.arange(used.size + 1)))
            raise ValueError(
                f"{name} has no {gap} but goes up to {count - 1}; "
                "number the groups from 0 without gaps (np.unique(..., return_inverse=True))"
            )
    times = np.empty(0, dtype=np.int64)
    if repeats is not None:
        times = _whole_numbers("weights", repeats, table.n_rows, least=1)
        _check_total(times)
    values, weights = family._aggregate(table, numbers, count, times)
    return Statistics(
        family, table.n_columns, _sealed(values, own=True), _sealed(weights, own=True)
    )


def _check_total(weights: NDArray[np.int64]) -> None:
    """Refuse more rows in all than numbers count one by one."""
    total = float(np.sum(weights, dtype=np.float64))
    if total >= 2.0**53:
        raise ValueError(f"weights make {total:.3g} rows in all; they must be fewer than 2^53")


def _numbers(name: str, value: Any) -> NDArray[Any]:
    """An array of real numbers."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} is masked in places; statistics have no missing numbers")
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} is ragged; give an array of numbers") from None
    if numbers.dtype.kind not in "biuf":
        raise TypeError(f"{name} has dtype {numbers.dtype}; it must hold real numbers")
    return numbers


def _whole_numbers(name: str, value: Any, n: int, least: int = 0) -> NDArray[np.int64]:
    try:
        numbers = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} is ragged; give one whole number a row") from None
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, not {numbers.dtype}")
    if numbers.shape != (n,):
        raise ValueError(f"{name} has shape {numbers.shape}; it must be ({n},): one number a row")
    wrong = np.flatnonzero(numbers < least)
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] is {numbers[wrong[0]]}; it must be at least {least}")
    large = np.flatnonzero(numbers > np.iinfo(np.int64).max)
    if large.size:
        raise ValueError(f"{name}[{large[0]}] is {numbers[large[0]]}; it must be below 2^63")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def _sealed(values: NDArray[Any], *, own: bool = False) -> NDArray[Any]:
    """A contiguous array that nobody writes to: a copy unless it is one, or nobody else's."""
    kept = np.ascontiguousarray(values)
    if own and kept.flags.writeable:
        return seal(kept)
    return kept if is_sealed(kept) else seal(kept.copy())
