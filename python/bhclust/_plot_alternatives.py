"""How sure the shape of the tree is: the weight of other trees, at each fork."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ._arguments import checked_axes, checked_labels, checked_post, checked_text
from ._condense import Box, Floats, Shape, condense
from ._page import counted, numbers_in_words
from ._plot_canvas import FAINT, INK, PAPER, framed_axes, need_matplotlib
from .options import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Quiet where all is sure; darker too as it grows redder, for any colour vision.
_TONES = ("#9fb0bf", "#d9a21b", "#d55e00", "#7a1020")


def alternatives(
    post: Any,
    *,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
    unit: str = "rows",
    max_boxes: int = 40,
) -> Axes:
    """Draw the tree of the clusters, each fork in the colour of how sure its place is.

    A fork has other trees beside it, in which one of the branches below it hangs elsewhere. Its
    colour is the share of these in the weight of all partitions, theirs and the tree's: 0% where
    no other tree is in question, over 50% where the others outweigh it (Xu et al. 2009). Of a
    branch that is not drawn, the bar beside its box is the highest share in it.

    Parameters
    ----------
    post : Posterior
        The posterior of a tree.
    labels : array of int, shape (n,), optional
        A cut of the tree; by default ``post.cut()``.
    ax : Axes, optional
        Axes to draw on; by default a figure of the needed size is made with pyplot.
    unit : str, default "rows"
        What the rows are, in the plural.
    max_boxes : int, default 40
        Where there are more clusters, small branches are drawn as one.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If the labels are not a cut of the tree, or an argument is something else than it should be.
    """
    need_matplotlib()
    checked_axes(ax)
    checked_post(post)
    check_count("max_boxes", max_boxes, 2)
    shape = condense(post.tree, checked_labels(post, labels), max_boxes)
    shares = shares_of_alternatives(post)
    tall = 18.0 * len(shape.boxes) + 60.0
    ax = framed_axes(ax, (620.0, max(tall, 130.0)), (14.0, 80.0, 14.0, 14.0))
    _draw(ax, shape, shares, highest_below(post.tree, shares), checked_text(unit, "unit"))
    return ax


def shares_of_alternatives(post: Any) -> Floats:
    """Give for each node the weight of the relocations at it among theirs and the tree's."""
    gains = np.full(post.tree.n_nodes, -np.inf)
    gains[post.tree.n_leaves :] = post.relocation_gains()
    return np.exp(-np.logaddexp(0.0, -gains))


def highest_below(tree: Any, shares: Floats) -> Floats:
    """Give for each node the highest share in its branch."""
    highest: list[float] = shares.tolist()
    for node, (a, b) in enumerate(tree.children.tolist(), tree.n_leaves):
        highest[node] = max(highest[node], highest[a], highest[b])
    return np.array(highest)


def _draw(ax: Axes, shape: Shape, shares: Floats, highest: Floats, unit: str) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    colours = LinearSegmentedColormap.from_list("share", _TONES)
    levels = max((fork.level for fork in shape.forks), default=1)
    xs = [0.0] * len(shape.boxes)
    ys = [float(place) for place in range(len(shape.boxes))]
    paths, tones, dots = [], [], []
    for fork in shape.forks:
        a, b = fork.sides
        x, y = -float(fork.level), (ys[a] + ys[b]) / 2
        paths.append([(xs[a], ys[a]), (x, ys[a]), (x, ys[b]), (xs[b], ys[b])])
        tones.append(colours(float(shares[fork.node])))
        dots.append((x, y, float(shares[fork.node])))
        xs.append(x)
        ys.append(y)
    ax.add_collection(LineCollection(paths, colors=tones, linewidths=2.0, capstyle="round"))
    room = 0.055 * levels
    for place, box in enumerate(shape.boxes):
        tone = colours(float(highest[box.node]) if box.node >= 0 else 0.0)
        ax.plot([room, room], [place - 0.38, place + 0.38], color=tone, linewidth=5)
        ax.text(2 * room, place, _words(box, unit), fontsize=8, color=INK, va="center")
    few = len(dots) <= 60
    for x, y, share in dots if few else ():
        if share >= 0.005:
            ax.annotate(
                f"{share:.0%}",
                (x, y),
                xytext=(0.0, 0.0),
                textcoords="offset points",
                fontsize=7,
                color=INK,
                ha="center",
                va="center",
                bbox={"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none"},
            )
    ax.set_xlim(-1.08 * levels - 0.2, 0.75 * levels)
    ax.set_ylim(len(shape.boxes) - 0.4, -0.6)
    ax.set_axis_off()
    bar = ax.figure.colorbar(
        ScalarMappable(Normalize(0.0, 1.0), colours),
        ax=ax,
        fraction=0.025,
        pad=0.02,
        shrink=0.8,
        aspect=max(10, len(shape.boxes)),
    )
    bar.set_label("share of other trees", color=INK, fontsize=8)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    bar.ax.tick_params(labelsize=7, colors=FAINT)
    bar.outline.set_visible(False)


def _words(box: Box, unit: str) -> str:
    rows = counted(len(box.rows), unit)
    if box.trees:
        return f"{box.trees:,} smaller trees · {rows}"
    if box.is_bundle:
        return f"clusters {numbers_in_words(box.labels, 2)} · {rows}"
    return f"cluster {box.labels[0]} · {rows}"
