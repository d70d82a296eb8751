"""The dendrogram: the whole tree, every fork placed by its height."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from . import _page
from ._arguments import checked_axes, checked_labels, checked_post, checked_texts
from ._condense import (
    Box,
    Ints,
    PosteriorLike,
    Shape,
    cluster_nodes,
    condense,
    label_below,
    leaf_order,
)
from ._fonts import Script
from ._page import Ruler
from ._plot_canvas import (
    BOX,
    EDGE,
    FAINT,
    INK,
    LINE,
    LINES,
    OURS,
    PAPER,
    axes_on,
    bare_figure,
    need_matplotlib,
    pyplot_figure,
    save_figure,
    size_in_points,
)
from .options import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TALLEST = 14_400.0


def dendrogram(
    post: PosteriorLike,
    *,
    ax: Axes | None = None,
    names: Iterable[Any] | None = None,
    labels: ArrayLike | None = None,
    max_leaves: int = 150,
) -> Axes:
    """Draw the whole tree, every fork placed by its height, and the flat clusters in colour.

    A fork stands at the chance that a row from its one side and a row from its other side belong
    to one cluster, ``1 - post.height``, on a logit scale. Chances above 99.9% and below 0.1% are
    drawn in two shaded margins, "together" and "apart", where forks are spread by their depth:
    most forks of a real tree lie there, and would hide each other.

    Parameters
    ----------
    post : Posterior
        The posterior of the tree to draw.
    ax : Axes, optional
        Axes to draw on; by default a figure of the needed size is made with pyplot.
    names : sequence, length n, optional
        Names of the rows; by default their numbers.
    labels : array of int, shape (n,), optional
        A cut of the tree; by default ``post.cut()``.
    max_leaves : int, default 150
        With more rows than this each cluster is drawn as one wedge.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If labels or names do not have one entry for each row, if the labels are not a cut of the
        tree, or if an argument is something else than it should be.
    """
    need_matplotlib()
    checked_axes(ax)
    plan = _plan(post, labels, names, max_leaves)
    if ax is None:
        ax = axes_on(pyplot_figure(*plan.size), plan.size, plan.margins)
    _draw_dendrogram(ax, post, plan)
    return ax


def save_dendrogram(
    destination: str | os.PathLike[str] | IO[bytes],
    post: PosteriorLike,
    *,
    names: Iterable[Any] | None = None,
    labels: ArrayLike | None = None,
    max_leaves: int = 150,
    file_format: str | None = None,
    dpi: float = 150.0,
) -> None:
    """Write the picture of `dendrogram` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, names, labels, max_leaves
        As in `dendrogram`.
    file_format : str, optional
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``. By default the ending of the
        destination, or else PNG.
    dpi : float, default 150
        Dots per inch.
    """

    def draw() -> Figure:
        plan = _plan(post, labels, names, max_leaves)
        figure = bare_figure(*plan.size)
        _draw_dendrogram(axes_on(figure, plan.size, plan.margins), post, plan)
        return figure

    save_figure(draw, destination, file_format, dpi)


@dataclass(frozen=True)
class _Plan:
    """What a dendrogram shows: names of rows where it is detailed, else a condensed shape."""

    labels: Ints
    names: list[str]
    script: Script
    shape: Shape | None
    size: tuple[float, float]
    margins: tuple[float, float, float, float]


def _plan(
    post: PosteriorLike,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    max_leaves: int,
) -> _Plan:
    checked_post(post)
    check_count("max_leaves", max_leaves)
    n = post.tree.n_leaves
    flat = checked_labels(post, labels)
    texts = checked_texts(range(n) if names is None else names, n, "names") or []
    shape = condense(post.tree, flat, 40)
    if n > max_leaves:
        script = Script.of([OURS])
        return _Plan(flat, [], script, shape, (680.0, 574.0), (16.0, 192.0, 40.0, 14.0))
    script = Script.of([*texts, OURS])
    ruler = Ruler(script)
    texts = [ruler.shorten(script.clean(text), 8.0, 140.0) for text in texts]
    beside = max(ruler.width(text, 8.0) for text in texts) + 14
    size = (640.0, min(11.5 * n + 54, _TALLEST))
    return _Plan(flat, texts, script, None, size, (16.0, beside, 40.0, 14.0))


def _draw_dendrogram(ax: Axes, post: PosteriorLike, plan: _Plan) -> None:
    if plan.shape is None:
        _draw_rows(ax, post, plan)
    else:
        _draw_wedges(ax, post, plan.shape, plan.script)
    _dress(ax)


# The dendrogram's axis: leaves at 0, the margin "together" up to _NEAR, the margin "apart" from
# _FAR to 1, and between them the logit of the chance.
_NEAR, _FAR, _SURE = 0.3, 0.7, 1e-3


def _between(chance: float) -> float:
    edge = math.log1p(-_SURE) - math.log(_SURE)
    share = 0.5 - 0.5 * (math.log(chance) - math.log1p(-chance)) / edge
    return _NEAR + (_FAR - _NEAR) * share


def _across(post: PosteriorLike) -> list[float]:
    """Place every node between the leaves (0) and the left edge (1); rises from child to parent."""
    n = post.tree.n_leaves
    height = post.height.tolist()
    margin = [-1] * n + [1 if h > 1 - _SURE else -1 if h < _SURE else 0 for h in height[n:]]
    level = [0] * len(height)
    deepest = {-1: 1, 0: 1, 1: 1}
    for node, sides in enumerate(post.tree.children.tolist(), n):
        here = margin[node]
        level[node] = 1 + max([level[side] for side in sides if margin[side] == here], default=0)
        deepest[here] = max(deepest[here], level[node])
    across = []
    for node, here in enumerate(margin):
        share = level[node] / (deepest[here] + 0.5)
        across.append(
            _between(1 - height[node])
            if here == 0
            else _NEAR * share
            if here < 0
            else _FAR + (1 - _FAR) * share
        )
    return across


def _draw_rows(ax: Axes, post: PosteriorLike, plan: _Plan) -> None:
    from matplotlib.collections import LineCollection

    tree, labels, across = post.tree, plan.labels, _across(post)
    n = tree.n_leaves
    order, _ = leaf_order(tree, labels)
    turn = {label: place for place, label in enumerate(dict.fromkeys(labels[order].tolist()))}
    y = [0.0] * tree.n_nodes
    for place, row in enumerate(order.tolist()):
        y[row] = float(place)
    below = label_below(tree, labels)
    paths, colours = [], []
    for node, (a, b) in enumerate(tree.children.tolist(), n):
        y[node] = (y[a] + y[b]) / 2
        x = across[node]
        paths.append([(across[a], y[a]), (x, y[a]), (x, y[b]), (across[b], y[b])])
        colours.append(_hue(turn[below[node]]) if below[node] >= 0 else LINE)
    ax.add_collection(LineCollection(paths, colors=colours, linewidths=1.3, capstyle="round"))
    ax.set_ylim(n - 0.4, -0.6)
    size = min(8.0, 0.75 * size_in_points(ax)[1] / n)
    if size < 3.0:
        return
    room = 20.0 / size_in_points(ax)[0]
    for node, label in cluster_nodes(tree, labels).items():
        up = int(tree.parent[node])
        if up < 0 or across[up] - across[node] > room:
            _on_stem(ax, (across[node], y[node]), f"{label}", size, _hue(turn[label]))
    for row, name in enumerate(plan.names):
        _beside(ax, y[row], name, size, _hue(turn[int(labels[row])]), plan.script)


def _on_stem(ax: Axes, place: tuple[float, float], words: str, size: float, colour: str) -> None:
    """Write a cluster's number on the line that leads to it."""
    ax.annotate(
        words,
        place,
        xytext=(-9.0, 0.0),
        textcoords="offset points",
        fontsize=size,
        color=colour,
        weight="bold",
        ha="center",
        va="center_baseline",
        annotation_clip=False,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": PAPER, "edgecolor": "none"},
    )


def _hue(turn: int) -> str:
    return LINES[turn % len(LINES)]


def _beside(ax: Axes, y: float, words: str, size: float, colour: str, script: Script) -> None:
    ax.annotate(
        words,
        (0.0, y),
        xytext=(5.0, 0.0),
        textcoords="offset points",
        fontsize=size,
        color=colour,
        **script.face(words),
        va="center",
        annotation_clip=False,
        parse_math=False,
    )


def _draw_wedges(ax: Axes, post: PosteriorLike, shape: Shape, script: Script) -> None:
    from matplotlib.collections import LineCollection, PolyCollection

    across = _across(post)
    least = post.tree.n_leaves / 45
    x: list[float] = []
    y: list[float] = []
    wedges, paths, bottom = [], [], 0.0
    for turn, box in enumerate(shape.boxes):
        tall = max(float(len(box.rows)), least)
        x.append(across[box.node] if box.node >= 0 else 0.0)
        y.append(bottom + tall / 2)
        bottom += tall
        tip, half = (max(x[-1], 0.004), y[-1]), 0.42 * tall
        wedges.append([tip, (0.0, y[-1] - half), (0.0, y[-1] + half)])
        _beside(ax, y[-1], _wedge_words(box), 8.0, _hue(turn), script)
    for fork in shape.forks:
        a, b = fork.sides
        x.append(across[fork.node])
        y.append((y[a] + y[b]) / 2)
        paths.append([(x[a], y[a]), (x[-1], y[a]), (x[-1], y[b]), (x[b], y[b])])
    hues = [_hue(turn) for turn in range(len(wedges))]
    ax.add_collection(PolyCollection(wedges, facecolors=hues, linewidths=0, alpha=0.75))
    ax.add_collection(LineCollection(paths, colors=LINE, linewidths=1.3, capstyle="round"))
    ax.set_ylim(bottom, 0.0)


def _wedge_words(box: Box) -> str:
    rows = _page.counted(len(box.rows), "rows")
    if box.trees:
        return f"{box.trees:,} smaller trees · {rows}"
    if box.is_bundle:
        return f"clusters {_page.numbers_in_words(box.labels, 2)} · {rows}"
    return f"cluster {box.labels[0]} · {rows}"


def _dress(ax: Axes) -> None:
    chances = (0.99, 0.9, 0.5, 0.1, 0.01)
    places = [_NEAR / 2, *map(_between, chances), (1 + _FAR) / 2]
    words = ["together", *(f"{chance:.0%}" for chance in chances), "apart"]
    ax.set_xlim(1.0, 0.0)
    ax.set_xticks(places, words)
    for edges in ((0.0, _NEAR), (_FAR, 1.0)):
        ax.axvspan(*edges, color=BOX, zorder=0)
    whole = ax.get_xaxis_transform()
    ax.vlines(places[1:-1], 0, 1, transform=whole, color=EDGE, linewidth=0.6, zorder=0.5)
    ax.set_xlabel("chance that the two sides of a fork belong together", color=INK, fontsize=9)
    ax.tick_params(axis="x", colors=FAINT, labelsize=8, length=0)
    ax.set_yticks([])
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)
