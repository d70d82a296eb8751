"""The evidence while trees and hyperparameters were learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arguments import checked_axes
from ._plot_canvas import EDGE, FAINT, INK, LINES, framed_axes, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_WORDS = 24


def learning(learned: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the log evidence of each step of learning, and the best so far.

    Parameters
    ----------
    learned : Learned or sequence of Step
        What `bhclust.learn` gives, or its ``steps``.
    ax : Axes, optional
        Axes to draw on; by default a figure is made with pyplot.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If there are no steps in what is given.
    """
    need_matplotlib()
    checked_axes(ax)
    steps = _steps(learned)
    values = np.array([float(step.log_evidence) for step in steps])
    few = len(steps) <= _MOST_WORDS
    tall = max(220.0, 17.0 * len(steps) + 70.0) if few else 260.0
    ax = framed_axes(ax, (520.0, tall), (190.0 if few else 70.0, 20.0, 44.0, 16.0))
    places = np.arange(1, len(steps) + 1)
    best = int(np.argmax(values))
    (_draw_few if few else _draw_many)(ax, steps, places, values, best)
    return ax


def _steps(learned: Any) -> Sequence[Any]:
    steps: Sequence[Any] = getattr(learned, "steps", learned)
    is_sequence = isinstance(steps, Sequence) and not isinstance(steps, str)
    if not is_sequence or not all(hasattr(step, "log_evidence") for step in steps):
        raise TypeError(
            f"learned must be what bhclust.learn gives, or its steps, not {type(learned).__name__}"
        )
    if not steps:
        raise ValueError("learned has no steps, so there is nothing to draw")
    return steps


def _draw_few(ax: Axes, steps: Sequence[Any], places: Any, values: Any, best: int) -> None:
    """One line for each step, with its words."""
    ax.hlines(places, values.min(), values, color=EDGE, linewidth=1.0)
    ax.plot(values, places, color=LINES[0], marker="o", markersize=4, linewidth=1.0)
    ax.plot(values[best], places[best], color=LINES[1], marker="o", markersize=7)
    ax.annotate(
        f"{values[best]:,.1f}",
        (values[best], places[best]),
        xytext=(-8.0, 0.0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        color=LINES[1],
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
    )
    words = [f"{place}. {_short(str(step.what))}" for place, step in enumerate(steps, 1)]
    ax.set_yticks(places, words)
    ax.invert_yaxis()
    ax.margins(x=0.06)
    ax.set_xlabel("log evidence (nats)", color=INK)
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.locator_params(axis="x", nbins=4)


def _draw_many(ax: Axes, _: Sequence[Any], places: Any, values: Any, best: int) -> None:
    """The steps from left to right, and the best so far."""
    ax.plot(places, values, color=FAINT, linewidth=0.7, marker=".", markersize=3)
    ax.step(places, np.maximum.accumulate(values), where="post", color=LINES[0], linewidth=1.8)
    ax.plot(places[best], values[best], color=LINES[1], marker="o", markersize=7)
    # What went wrong at first must not hide what came of it.
    low, high = np.quantile(values, 0.05), values.max()
    ax.set_ylim(low - 0.1 * (high - low) - 1e-9, high + 0.1 * (high - low) + 1e-9)
    ax.set_xlabel("step", color=INK)
    ax.set_ylabel("log evidence (nats)", color=INK)
    ax.ticklabel_format(axis="y", useOffset=False)


def _short(words: str) -> str:
    return words if len(words) <= 34 else f"{words[:33].rstrip()}…"
