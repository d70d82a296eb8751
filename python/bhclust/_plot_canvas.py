"""What the pictures share: colours, figures of a size in points, and files that are whole."""

from __future__ import annotations

import io
import math
import os
from typing import IO, TYPE_CHECKING

from ._arguments import checked_format
from .options import check_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#22282f"
FAINT = "#6b7580"
LINE = "#4d5863"
PAPER = "#ffffff"
BOX = "#f7f8fa"
EDGE = "#d5dae0"
# Dark enough for lines on white, told apart with any colour vision (after Okabe and Ito).
LINES = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07800", "#3D8FBF")
# Letters that pictures hold beside those of the table.
OURS = "·…\u2013"


def need_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as missing:
        raise ImportError('pictures need matplotlib: pip install "bhclust[plot]"') from missing


def save_figure(
    draw: Callable[[], Figure],
    destination: str | os.PathLike[str] | IO[bytes],
    file_format: str | None,
    dpi: float,
) -> None:
    """Write a figure, the same bytes every time; a file appears when it is whole."""
    need_matplotlib()
    import matplotlib as mpl

    kind = checked_format(destination, file_format)
    if not 0 < check_number("dpi", dpi) < math.inf:
        raise ValueError(f"dpi is {dpi!r}; it must be a finite number above 0")
    undated = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
    picture = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "bhclust"}):
        draw().savefig(picture, format=kind, dpi=dpi, metadata=undated.get(kind))
    if not isinstance(destination, (str, os.PathLike)):
        destination.write(picture.getvalue())
        return
    with open(destination, "wb") as file:
        file.write(picture.getvalue())


def size_in_points(ax: Axes) -> tuple[float, float]:
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    return points * float(box.width), points * float(box.height)


def bare_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width / 72, height / 72), facecolor=PAPER)


def pyplot_figure(width: float, height: float) -> Figure:
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width / 72, height / 72), facecolor=PAPER)


def axes_on(
    figure: Figure,
    size: tuple[float, float],
    margins: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
) -> Axes:
    """Make axes on a figure of a size in points; margins: left, right, bottom, top."""
    width, height = size
    left, right, bottom, top = margins
    inner = (width - left - right) / width, (height - bottom - top) / height
    return figure.add_axes((left / width, bottom / height, *inner))


def framed_axes(
    ax: Axes | None,
    size: tuple[float, float],
    margins: tuple[float, float, float, float] = (56.0, 16.0, 44.0, 16.0),
) -> Axes:
    """Give axes with quiet frames: those given, or else those of a new figure of a size."""
    if ax is None:
        ax = axes_on(pyplot_figure(*size), size, margins)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(EDGE)
    ax.tick_params(colors=FAINT, labelsize=8)
    return ax
