"""Hyperparameters as a vector that an optimiser may move freely, with weak hyperpriors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import (
    CategoricalDirichlet,
    Family,
    GaussianProcess,
    MultinomialDirichlet,
    NegativeBinomialBeta,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    Product,
    Table,
    VonMisesFisher,
)
from bhclust.growth import is_vast

__all__ = ["HyperparameterVector"]

Vector = NDArray[np.float64]

SPREAD = 3.0
"""Standard deviation of the log-normal hyperpriors."""
REACH = np.log(1e3), np.log(200.0)
"""How far below and above its start a hyperparameter may go, in logs."""
MEAN_UNIT = 0.2
"""What a prior mean moves by, in spreads of its column."""
MEAN_REACH = 10.0
"""How far from its start a prior mean may go, in these units."""
MOST_ALPHA = 0.25
"""How large the concentration may become, in rows; its start may be larger."""


@dataclass(frozen=True)
class _Piece:
    """One hyperparameter of one family: entries ``first`` … of the vector."""

    keyword: str
    shape: tuple[int, ...]
    shift: float
    """The log is taken of the value less this: nu lies above n_columns - 1."""
    first: int
    count: int
    gradient: slice
    """Its place in the core's gradient."""
    is_scaled: bool
    """Learned up to one factor: a full matrix, and a vast table's concentrations."""
    base: Any
    unit: Vector | None
    """Of a prior mean, which has no log: how far from its base it lies, in columns' spreads."""

    def made(self, vector: Vector) -> Any:
        """Its value."""
        moved = vector[self.first : self.first + self.count]
        if self.unit is not None:
            value = self.base + self.unit * moved.reshape(self.shape)
        elif self.is_scaled:
            value = self.base * np.exp(moved[0])
        else:
            value = np.exp(moved).reshape(self.shape) + self.shift
        return float(value) if np.ndim(value) == 0 else value


class HyperparameterVector:
    """The learned hyperparameters of a family, and the concentration, as logs.

    Prior means of Gaussian families move linearly, in fifths of their columns' spreads, with the
    same hyperprior and bounds of 10. Mean directions, numbers of levels, the negative binomial's r,
    times and kernels stay as they are. A scalar stays a scalar, one value a column stays one a
    column; a full psi keeps its correlations and its shape and learns its scale, and so do the
    concentrations of a multinomial of a vast table (`bhclust.growth.is_vast`). Each log has a
    normal hyperprior about its start with standard deviation 3 and bounds of a factor of 1,000
    below and 200 above; scales of Gaussian families stay above the resolution of the recorded
    values (their least distance, squared, over 12). The concentration may rise to a quarter of the
    number of rows, however far that is from its start, as tables of many rows may have a cluster
    for every few: above it every row would be a cluster for nothing, and a table of noise is
    explained by that as well as by one cluster.

    Of groups of rows the spreads are those of the groups' means, no resolution is known, and the
    prior means of the blocks of a `Product` stay as they are; the concentration stays below a
    quarter of the number of groups.

    Parameters
    ----------
    family : Family
        The start, such as `from_data` gives.
    alpha : float
        The start of the concentration.
    table : Table
        The rows, for their number and the resolution.
    learn_alpha : bool
    fixed : collection of int
        Columns of a Product whose blocks keep their hyperparameters.
    """

    def __init__(
        self,
        family: Family,
        alpha: float,
        table: Table,
        *,
        learn_alpha: bool,
        fixed: Collection[int] = (),
    ) -> None:
        self._alpha = alpha
        self._learn_alpha = learn_alpha
        self._start: list[float] = [np.log(alpha)] if learn_alpha else []
        self._lower = [value - REACH[0] for value in self._start]
        self._linear = [False] * len(self._start)
        self._gradient_size = 0
        self._table = table
        self._blocks: list[tuple[Family, list[_Piece], list[int]]] = []
        self._family = family
        for block, columns in _blocks(family, table.n_columns):
            learned = not set(columns) <= set(fixed)
            self._blocks.append((block, self._pieces(block, columns, learned), columns))
        self.start: Vector = np.array(self._start)
        self.lower: Vector = np.minimum(np.array(self._lower), self.start)
        self.upper: Vector = np.where(np.array(self._linear), MEAN_REACH, self.start + REACH[1])
        if learn_alpha:
            self.upper[0] = max(self.start[0], np.log(MOST_ALPHA * table.n_rows))

    def few_clusters(self) -> Vector:
        """Give the start with the least concentration."""
        start = self.start.copy()
        if self._learn_alpha:
            start[0] = self.lower[0]
        return start

    @property
    def size(self) -> int:
        """How many numbers are learned."""
        return int(self.start.size)

    def values(self, vector: Vector) -> tuple[Family, float]:
        """The family and the concentration of a vector."""
        alpha = float(np.exp(vector[0])) if self._learn_alpha else self._alpha
        made = [(_rebuilt(b, pieces, vector), columns) for b, pieces, columns in self._blocks]
        return (Product(made) if isinstance(self._family, Product) else made[0][0]), alpha

    def log_prior(self, vector: Vector) -> tuple[float, Vector]:
        """The log hyperprior, less its constant, and its gradient."""
        z = (vector - self.start) / SPREAD
        return float(-0.5 * z @ z), -z / SPREAD

    def gradient(self, vector: Vector, by_alpha: float, by_family: Vector) -> Vector:
        """The gradient by the vector from the core's by the hyperparameters."""
        result = np.zeros(self.size)
        if self._learn_alpha:
            result[0] = by_alpha * np.exp(vector[0])
        for _, pieces, _ in self._blocks:
            for piece in pieces:
                part = slice(piece.first, piece.first + piece.count)
                result[part] = _pulled_back(piece, vector[part], by_family[piece.gradient])
        return result

    def _pieces(self, family: Family, columns: list[int], learned: bool) -> list[_Piece]:
        sizes = type(family)._gradient_sizes(len(columns))  # type: ignore[attr-defined]
        pieces = []
        for keyword, value in family.parameters().items():  # type: ignore[attr-defined]
            place = slice(self._gradient_size, self._gradient_size + sizes[keyword])
            self._gradient_size = place.stop
            if learned and keyword not in self._kept(family):
                pieces.append(self._piece(family, columns, keyword, value, place))
        return pieces

    def _kept(self, family: Family) -> Collection[str]:
        """The hyperparameters that are not learned."""
        given = list(_given(family))
        if self._table.is_grouped and isinstance(self._family, Product):
            given.append("mean")
        return given

    def _piece(
        self, family: Family, columns: list[int], keyword: str, value: Any, place: slice
    ) -> _Piece:
        base = np.asarray(value, dtype=np.float64)
        if keyword == "mean":
            return self._mean_piece(family, columns, base, place)
        shares = isinstance(family, MultinomialDirichlet) and base.size > 1
        is_scaled = base.ndim == 2 or (shares and is_vast(self._table))
        is_nu = isinstance(family, NormalInverseWishart) and keyword == "nu"
        shift = float(len(columns) - 1) if is_nu else 0.0
        logs = np.zeros(1) if is_scaled else np.log(base.ravel() - shift)
        piece = _Piece(
            keyword, base.shape, shift, len(self._start), logs.size, place, is_scaled, base, None
        )
        floor = logs - REACH[0]
        is_recorded = not self._table.is_grouped
        if is_recorded and not is_scaled and keyword in _scales(family):
            floor = np.maximum(floor, self._log_resolution(columns, logs.size))
        self._start.extend(logs.tolist())
        self._lower.extend(floor.tolist())
        self._linear.extend([False] * logs.size)
        return piece

    def _mean_piece(self, family: Family, columns: list[int], base: Vector, place: slice) -> _Piece:
        is_grouped = self._table.is_grouped
        cells = _means_of_groups(family, self._table) if is_grouped else self._cells()
        spreads = np.array([_spread(cells[:, j]) for j in columns])
        unit = MEAN_UNIT * (spreads if base.size == len(columns) else np.array(spreads.max()))
        unit = unit.reshape(base.shape)
        piece = _Piece(
            "mean", base.shape, 0.0, len(self._start), base.size, place, False, base, unit
        )
        self._start.extend([0.0] * base.size)
        self._lower.extend([-MEAN_REACH] * base.size)
        self._linear.extend([True] * base.size)
        return piece

    def _cells(self) -> Vector:
        return np.asarray(self._table.arrays)

    def _log_resolution(self, columns: list[int], count: int) -> Vector:
        cells = self._cells()
        steps = np.array([_least_step(cells[:, j]) for j in columns])
        with np.errstate(divide="ignore"):
            floors = np.log(steps**2 / 12)
        return floors if count == len(columns) else np.full(count, floors.min())


def _blocks(family: Family, n_columns: int) -> list[tuple[Family, list[int]]]:
    if isinstance(family, Product):
        return [(block, list(columns)) for block, columns in family.blocks]
    return [(family, list(range(n_columns)))]


def _given(family: Family) -> Collection[str]:
    """The hyperparameters that are not learned."""
    given = ["mean_direction"]
    if isinstance(family, CategoricalDirichlet):
        given.append("levels")
    if isinstance(family, NegativeBinomialBeta):
        given.append("r")
    if isinstance(family, GaussianProcess):
        given += ["times", "kernel"]
    if isinstance(family, VonMisesFisher) and family.prior_kappa == 0:
        given.append("prior_kappa")
    return given


def _scales(family: Family) -> Collection[str]:
    """The hyperparameters that a variance within clusters goes with."""
    if isinstance(family, NormalInverseGamma):
        return ("b",)
    if isinstance(family, NormalInverseWishart):
        return ("psi",)
    if isinstance(family, GaussianProcess):
        return ("noise",)
    return ("variance",) if isinstance(family, NormalKnownVariance) else ()


def _least_step(column: Vector) -> float:
    """The least distance of different values; 0 when all are equal."""
    steps = np.diff(np.unique(column[np.isfinite(column)]))
    return float(steps.min()) if steps.size else 0.0


def _means_of_groups(family: Family, table: Table) -> Vector:
    """The mean of each column in each group, NaN where nothing was observed."""
    values = np.asarray(table.arrays[0])
    if isinstance(family, NormalInverseWishart):
        return values[:, 1 : 1 + table.n_columns]
    # each column: its number of values, their mean as a pair, their squares about it
    moments = values.reshape(table.n_rows, table.n_columns, 4)
    return np.where(moments[:, :, 0] > 0, moments[:, :, 1], np.nan)


def _spread(column: Vector) -> float:
    """The standard deviation of the cells present, without overflow; 0 where all are equal."""
    present = column[np.isfinite(column)]
    largest = float(np.abs(present).max(initial=0.0))
    return float((present / largest).std()) * largest if largest > 0 else 0.0


def _rebuilt(family: Family, pieces: list[_Piece], vector: Vector) -> Family:
    parameters = dict(family.parameters())  # type: ignore[attr-defined]
    parameters.update({piece.keyword: piece.made(vector) for piece in pieces})
    made = type(family)(**parameters)
    assert isinstance(made, Family)
    return made


def _pulled_back(piece: _Piece, logs: Vector, by_entries: Vector) -> Vector:
    """The gradient by the vector from that by the core's entries: it has d² of them for psi."""
    if piece.unit is not None:
        summed = by_entries if by_entries.size == logs.size else np.array([by_entries.sum()])
        return np.asarray(summed * piece.unit.ravel())
    scale = np.exp(logs)
    if piece.is_scaled:
        return np.array([scale[0] * (piece.base.ravel() @ by_entries)])
    columns = round(by_entries.size**0.5)
    if piece.keyword == "psi" and by_entries.size == columns**2:
        by_entries = np.diag(by_entries.reshape(columns, columns))
    summed = by_entries if by_entries.size == logs.size else np.array([by_entries.sum()])
    return np.asarray(summed * scale)
