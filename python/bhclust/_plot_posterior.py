"""What the posterior says of numbers of clusters and of pairs of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._arguments import checked_axes, checked_labels, checked_post
from ._condense import Floats, leaf_order
from ._page import counted
from ._plot_canvas import EDGE, FAINT, INK, LINES, framed_axes, need_matplotlib
from .options import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_BARS = 60
_MOST_LINES = 60


def cluster_counts(post: Any, *, labels: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the number of clusters; that of the flat clusters stands out.

    Parameters
    ----------
    post : Posterior
        The posterior of a tree.
    labels : array of int, shape (n,), optional
        Flat clusters, whose number stands out; by default ``post.cut()``.
    ax : Axes, optional
        Axes to draw on; by default a figure is made with pyplot.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If an argument is something else than it should be.
    """
    need_matplotlib()
    from matplotlib.ticker import MaxNLocator

    checked_axes(ax)
    checked_post(post)
    here = len(np.unique(checked_labels(post, labels)))
    numbers, chances = _likely_counts(post, here)
    ax = framed_axes(ax, (460.0, 270.0), (56.0, 16.0, 44.0, 26.0))
    if len(numbers) <= _MOST_BARS:
        colours = [LINES[1] if number == here else LINES[0] for number in numbers.tolist()]
        ax.bar(numbers, chances, color=colours, width=0.8)
    else:
        ax.fill_between(numbers, chances, step="mid", color=LINES[0], linewidth=0)
        ax.axvline(here, color=LINES[1], linewidth=1.5)
    place = int(np.searchsorted(numbers, here))
    chance = float(chances[place]) if place < len(numbers) and numbers[place] == here else 0.0
    told = f"{counted(here, 'clusters')}: {_percent(chance)}"
    ax.set_title(told, loc="left", color=LINES[1], fontsize=9)
    ax.set_ylim(bottom=0.0)
    ax.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.set_xlabel("clusters", color=INK)
    ax.set_ylabel("chance", color=INK)
    return ax


def _percent(chance: float) -> str:
    return f"{chance:.1%}" if chance >= 0.0005 else "under 0.1%"


def _likely_counts(post: Any, here: int) -> tuple[Floats, Floats]:
    """Give the numbers of clusters that hold 99.8% of the posterior, and `here`."""
    n = post.tree.n_leaves
    most = min(n, 2 * max(here, int(post.expected_n_clusters())) + 50)
    chances: Floats = post.n_clusters_distribution(most)
    below = np.cumsum(chances)
    low = min(int(np.searchsorted(below, 1e-3)), here - 1)
    high = max(int(np.searchsorted(below, below[-1] - 1e-3)), here - 1)
    high = min(high, most - 1)
    return np.arange(low + 1, high + 2, dtype=np.float64), chances[low : high + 1]


def coclustering(
    post: Any,
    *,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
    max_rows: int = 400,
) -> Axes:
    """Draw the chance of each pair of rows to be in one cluster, rows in the order of the tree.

    Parameters
    ----------
    post : Posterior
        The posterior of a tree.
    labels : array of int, shape (n,), optional
        Flat clusters, which are framed; by default ``post.cut()``.
    ax : Axes, optional
        Axes to draw on; by default a figure is made with pyplot.
    max_rows : int, default 400
        Of more rows so many are drawn, evenly spaced in the order of the tree.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If an argument is something else than it should be.
    """
    need_matplotlib()
    from matplotlib.ticker import MaxNLocator

    checked_axes(ax)
    checked_post(post)
    check_count("max_rows", max_rows, 2)
    flat = checked_labels(post, labels)
    n = len(flat)
    order, _ = leaf_order(post.tree, flat)
    shown = order if n <= max_rows else order[np.linspace(0, n - 1, max_rows).astype(np.int64)]
    ax = framed_axes(ax, (500.0, 400.0), (56.0, 70.0, 44.0, 16.0))
    extent = (0.0, float(n), float(n), 0.0)
    image = ax.imshow(
        post.coclustering(shown),
        cmap="cividis",
        vmin=0.0,
        vmax=1.0,
        extent=extent,
        interpolation="nearest",
        aspect="equal",
    )
    _frame_clusters(ax, flat[order])
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.045, pad=0.03)
    bar.set_label("chance to be in one cluster", color=INK)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    bar.outline.set_visible(False)
    told = counted(n, "rows") if n <= max_rows else f"{max_rows:,} of {counted(n, 'rows')}"
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, integer=True))
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.set_xlabel(f"{told}, in the order of the tree", color=INK)
    return ax


def _frame_clusters(ax: Axes, labels: Any) -> None:
    """Frame the clusters along the diagonal, the smallest of them only where there is room."""
    from matplotlib.patches import Rectangle

    edges = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1, [len(labels)]])
    runs = sorted(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True), key=_length)
    for begin, end in runs[-_MOST_LINES:]:
        side = end - begin
        ax.add_patch(
            Rectangle((begin, begin), side, side, fill=False, edgecolor=LINES[1], linewidth=0.9)
        )
        if side >= 0.04 * len(labels):
            words = f"{labels[begin]}"
            ax.text(
                len(labels) * 1.0,
                (begin + end) / 2,
                f" {words}",
                color=FAINT,
                fontsize=7,
                va="center",
                clip_on=False,
            )
    for spine in ax.spines.values():
        spine.set_color(EDGE)


def _length(run: tuple[int, int]) -> int:
    return run[1] - run[0]
