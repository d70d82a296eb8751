"""Curves of clusters of time series: posterior means with bands, at any times."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bhclust import _core
from bhclust._core import Family, GaussianProcess, Table
from bhclust.families import aliases, resolve_family
from bhclust.options import check_number, shown
from bhclust.table import as_table

__all__ = ["Curve", "cluster_curves", "curve"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """What the rows of one cluster tell of its curve."""

    times: Vector
    mean: Vector
    """Posterior mean of the curve at each time."""
    sd: Vector
    """Posterior standard deviation of the curve at each time, without noise."""
    noise: float
    """Variance of a cell about the curve."""

    def band(self, level: float = 0.95, *, noise: bool = False) -> tuple[Vector, Vector]:
        """Lower and upper limits at each time.

        Parameters
        ----------
        level : float
            The probability, at any one time, of what lies between them.
        noise : bool
            Of a new row's cells; else of the curve itself.

        Returns
        -------
        lower, upper : arrays of shape (n_times,)
        """
        if not 0.0 < check_number("level", level) < 1.0:
            raise ValueError(f"level is {level!r}; it must be between 0 and 1")
        reach = NormalDist().inv_cdf(0.5 + 0.5 * level)
        spread = reach * (np.sqrt(self.sd**2 + self.noise) if noise else self.sd)
        return self.mean - spread, self.mean + spread


def curve(X: Any, family: GaussianProcess | str, *, times: ArrayLike | None = None) -> Curve:
    """The curve that all rows of X share.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_times)
        The rows of one cluster; NaN marks missing cells.
    family : GaussianProcess
        With the hyperparameters of the whole table, such as `learn(...).family`.
    times : array-like of shape (n_new,), optional
        Where to look; between and beyond the times of the columns too. None: the columns' times.

    Returns
    -------
    Curve

    Raises
    ------
    TypeError, ValueError
        When the family is not a GaussianProcess for as many times as X has columns.

    Examples
    --------
    >>> import bhclust
    >>> from bhclust import GaussianProcess
    >>> family = GaussianProcess(times=[0.0, 1.0, 3.0], noise=0.01)
    >>> found = bhclust.curves.curve([[0.1, 0.5, 0.9]], family, times=[2.0])
    >>> lower, upper = found.band(0.95)
    """
    table = as_table(X)
    return _curve(table, _checked(family, X), times)


def cluster_curves(
    X: Any,
    labels: ArrayLike,
    family: GaussianProcess | str,
    *,
    times: ArrayLike | None = None,
) -> dict[int, Curve]:
    """The curve of each cluster of a partition.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_times)
    labels : array-like of int, shape (n_rows,)
        The cluster of each row, such as ``BHC(...).fit(X).labels_``.
    family : GaussianProcess
    times : array-like, optional
        As for `curve`.

    Returns
    -------
    dict of int to Curve
        In the order of the labels.
    """
    table = as_table(X)
    model = _checked(family, X)
    model._check(table)
    groups = _array("labels", labels)
    if groups.dtype.kind not in "iu":
        raise TypeError(f"labels must be whole numbers, not {groups.dtype}")
    if groups.shape != (table.n_rows,):
        raise ValueError(
            f"labels has shape {groups.shape}; it must have one label for each of the "
            f"{table.n_rows} rows of X"
        )
    cells = np.asarray(table.arrays)
    return {
        int(label): _curve(as_table(cells[groups == label]), model, times)
        for label in np.unique(groups)
    }


def _checked(family: Any, X: Any) -> GaussianProcess:
    known = aliases().get(family, family) if isinstance(family, str) else family
    if known is GaussianProcess:
        known = resolve_family(known, X)
    if not isinstance(known, GaussianProcess):
        name = known.name if isinstance(known, Family) else shown(family)
        raise TypeError(f"family is {name}; curves are those of GaussianProcess")
    return known


def _array(name: str, values: Any) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} is ragged; give one number after another") from None


def _curve(table: Table, family: GaussianProcess, times: ArrayLike | None) -> Curve:
    own = np.asarray(family.times, dtype=np.float64)
    if times is None:
        at = own if own.ndim else own * np.arange(table.n_columns)
    else:
        at = _array("times", times)
        if at.size and at.dtype.kind not in "fiu":
            raise TypeError(f"times must be numbers, not {shown(times)}")
        if at.ndim != 1:
            raise ValueError(f"times has {at.ndim} dimensions; it must have one")
    at = at.astype(np.float64)
    mean, variance = _core.curve(family, table, at)
    return Curve(np.array(at), mean, np.sqrt(variance), float(np.asarray(family.noise)))
