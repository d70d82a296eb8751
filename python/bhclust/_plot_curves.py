"""The curve of a cluster of time series, with its bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arguments import checked_axes
from ._page import counted
from ._plot_canvas import FAINT, INK, LINES, framed_axes, need_matplotlib
from .options import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 200


def curve(
    X: Any,
    family: Any,
    *,
    labels: ArrayLike | None = None,
    cluster: int = 0,
    level: float = 0.95,
    ax: Axes | None = None,
    max_rows: int = 60,
) -> Axes:
    """Draw the curve that the rows of a cluster share, its band, and that of a new row's cells.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_rows, n_times)
        The series; NaN marks missing cells.
    family : GaussianProcess
        With the hyperparameters of the whole table, such as ``family_`` of an estimator.
    labels : array of int, shape (n_rows,), optional
        The cluster of each row; without, all rows are one.
    cluster : int, default 0
        The cluster to draw.
    level : float, default 0.95
        The probability, at any one time, of what lies in a band.
    ax : Axes, optional
        Axes to draw on; by default a figure is made with pyplot.
    max_rows : int, default 60
        Of more rows not the rows are drawn but what their middle 90% hold.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If the family is no GaussianProcess for as many times as X has columns, or no row is in the
        cluster.
    """
    from . import curves
    from .table import as_table

    need_matplotlib()
    checked_axes(ax)
    check_count("max_rows", max_rows)
    cells = np.asarray(as_table(X).arrays)
    if labels is not None:
        cells = cells[_is_in(labels, cluster, len(cells))]
    times = curves.curve(cells, family).times
    fine = np.unique(np.concatenate([np.linspace(times.min(), times.max(), _POINTS), times]))
    found = curves.curve(cells, family, times=fine)
    order = np.argsort(times, kind="stable")
    ax = framed_axes(ax, (480.0, 290.0), (56.0, 16.0, 44.0, 26.0))
    ax.fill_between(fine, *found.band(level, noise=True), color=LINES[0], alpha=0.15, linewidth=0)
    _draw_rows(ax, times[order], cells[:, order], max_rows)
    ax.fill_between(fine, *found.band(level), color=LINES[0], alpha=0.4, linewidth=0)
    ax.plot(fine, found.mean, color=LINES[0], linewidth=2.0)
    of = "" if labels is None else f"cluster {cluster}: "
    told = f"{of}{counted(len(cells), 'rows')}; bands: {level:.0%} of the curve, of new rows"
    if len(cells) > max_rows:
        told += "; dashed: 90% of the rows"
    ax.set_title(told, fontsize=9, color=INK, loc="left")
    ax.set_xlabel("time", color=INK)
    ax.margins(x=0.01)
    return ax


def _is_in(labels: ArrayLike, cluster: int, n: int) -> NDArray[np.bool_]:
    check_count("cluster", cluster, 0)
    flat = np.asarray(labels)
    if flat.shape != (n,):
        raise ValueError(f"labels: shape {flat.shape} found, ({n},) needed: one for each row")
    inside: NDArray[np.bool_] = flat == cluster
    if not inside.any():
        raise ValueError(f"cluster is {cluster}, in which no row is")
    return inside


def _draw_rows(ax: Axes, times: Any, cells: Any, most: int) -> None:
    """Draw the rows, across missing cells, or what their middle nine tenths hold."""
    from matplotlib.collections import LineCollection

    present = ~np.isnan(cells)
    if len(cells) <= most:
        lines = [
            np.column_stack([times[here], row[here]])
            for row, here in zip(cells, present, strict=True)
            if here.sum() > 1
        ]
        ax.add_collection(LineCollection(lines, colors=FAINT, linewidths=0.6, alpha=0.6))
        ax.autoscale_view()
        return
    full = present.any(axis=0)
    low, high = np.nanquantile(cells[:, full], (0.05, 0.95), axis=0)
    for edge in (low, high):
        ax.plot(times[full], edge, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
