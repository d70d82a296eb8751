"""Pictures of a posterior over a tree: axes in, axes out.

matplotlib is imported when a function is called, never before, and nothing is kept between calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from . import _page
from ._condense import (
    Box,
    Floats,
    Ints,
    PosteriorLike,
    Shape,
    checked_labels,
    checked_texts,
    condense,
    label_below,
    leaf_order,
)
from ._page import BoxPlace, Classes, Content, Page, Pill, Ruler, odds_in_words

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "condensed_tree",
    "dendrogram",
    "odds_in_words",
    "save_condensed_tree",
    "save_dendrogram",
]

_INK = "#22282f"
_FAINT = "#6b7580"
_LINE = "#4d5863"
_PAPER = "#ffffff"
_BOX = "#f7f8fa"
_EDGE = "#d5dae0"
# Dark enough for lines on white, told apart with any colour vision (after Okabe and Ito).
_LINES = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07800", "#3D8FBF")
_TALLEST = 1500.0


def _need_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as missing:
        raise ImportError('pictures need matplotlib: pip install "bhclust[plot]"') from missing


def condensed_tree(
    post: PosteriorLike,
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    ax: Axes | None = None,
    titles: Sequence[str] | None = None,
    title: str = "",
    unit: str = "rows",
    max_boxes: int = 24,
) -> Axes:
    """Draw the flat clusters as boxes of names, and above them the splits with their odds.

    Parameters
    ----------
    post : Posterior
        The posterior of the tree to draw.
    labels : array of int, shape (n,), optional
        A cut of the tree; by default ``post.cut()``.
    names : sequence, length n, optional
        Names of the rows. Without them the boxes show sizes only.
    classes : sequence, length n, optional
        Known classes of the rows: they colour the names, and are not used otherwise.
    ax : Axes, optional
        Axes to draw on. The type is set for their size at the time of the call. Without axes a
        figure of the size that the content needs is made with pyplot.
    titles : sequence of str, optional
        One title for each cluster; by default ``cluster 0``, ``cluster 1``, …
    title : str, optional
        Title of the picture.
    unit : str, default "rows"
        What the rows are, in the plural, for the count in each box: ``"animals"``.
    max_boxes : int, default 24
        Where there are more clusters, small branches are drawn as one dashed box.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError
        If labels, names or classes do not have one entry for each row, or if the labels are not
        a cut of the tree.
    """
    content = _content(post, labels, names, classes, titles, title, unit, max_boxes)
    ruler = Ruler()
    if ax is None:
        width = _page.natural_width(content.shape)
        page, scale = _page.best_page(ruler, content, width, _TALLEST), 1.0
        size = page.width, page.height
        ax = _axes(_pyplot_figure(*size), size)
    else:
        page, scale = _fit_into(ruler, content, ax)
    width, height = _size_in_points(ax)
    _draw_page(_Pen(ax, width / scale, height / scale, scale), page, content.shape, post.log_odds)
    return ax


def save_condensed_tree(
    destination: str | os.PathLike[str] | IO[bytes],
    post: PosteriorLike,
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    titles: Sequence[str] | None = None,
    title: str = "",
    unit: str = "rows",
    max_boxes: int = 24,
    file_format: str = "png",
    dpi: float = 150.0,
) -> None:
    """Write the picture of `condensed_tree` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, labels, names, classes, titles, title, unit, max_boxes
        As in `condensed_tree`.
    file_format : str, default "png"
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``.
    dpi : float, default 150
        Dots per inch.
    """
    content = _content(post, labels, names, classes, titles, title, unit, max_boxes)
    width = _page.natural_width(content.shape)
    page = _page.best_page(Ruler(), content, width, _TALLEST)
    size = page.width, page.height
    figure = _bare_figure(*size)
    ax = _axes(figure, size)
    _draw_page(_Pen(ax, page.width, page.height, 1.0), page, content.shape, post.log_odds)
    figure.savefig(destination, format=file_format, dpi=dpi)


def _content(
    post: PosteriorLike,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    classes: Iterable[Any] | None,
    titles: Sequence[str] | None,
    title: str,
    unit: str,
    max_boxes: int,
) -> Content:
    _need_matplotlib()
    if max_boxes < 2:
        raise ValueError(f"max_boxes: {max_boxes} given; at least 2 are needed")
    n = post.tree.n_leaves
    flat = checked_labels(post, labels)
    if titles is not None and len(titles) <= flat.max():
        raise ValueError(
            f"titles: {len(titles)} given for {flat.max() + 1} clusters; give one for each cluster"
        )
    shape = condense(post.tree, flat, max_boxes)
    known = checked_texts(classes, n, "classes")
    return Content(
        shape=shape,
        names=checked_texts(names, n, "names"),
        classes=None if known is None else Classes.of(known),
        titles=titles,
        title=title,
        unit=unit,
        note=_page.note_in_words(shape, post.log_odds),
    )


def _fit_into(ruler: Ruler, content: Content, ax: Axes) -> tuple[Page, float]:
    """Lay out the page for given axes: smaller type first, then fewer names."""
    width, height = _size_in_points(ax)
    for scale in (1.0, 0.9, 0.8, 0.7, 0.6):
        page = _page.lay_out(ruler, content, width / scale, 40)
        if page.height * scale <= height:
            return page, scale
    page = _page.best_page(ruler, content, width / scale, height / scale)
    return page, min(scale, height / page.height)


def _size_in_points(ax: Axes) -> tuple[float, float]:
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    return points * float(box.width), points * float(box.height)


def _bare_figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width / 72, height / 72), facecolor=_PAPER)


def _pyplot_figure(width: float, height: float) -> Figure:
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width / 72, height / 72), facecolor=_PAPER)


def _axes(
    figure: Figure,
    size: tuple[float, float],
    margins: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
) -> Axes:
    """Make axes on a figure of a size in points; margins: left, right, bottom, top."""
    width, height = size
    left, right, bottom, top = margins
    inner = (width - left - right) / width, (height - bottom - top) / height
    return figure.add_axes((left / width, bottom / height, *inner))


class _Pen:
    """Draws on axes whose units are points (times a scale), y growing downwards."""

    def __init__(self, ax: Axes, width: float, height: float, scale: float) -> None:
        self.ax = ax
        self.scale = scale
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_axis_off()

    def text(self, x: float, y: float, words: str, size: float, **style: Any) -> None:
        style = {"color": _INK, "va": "center_baseline", **style}
        self.ax.text(x, y, words, fontsize=size * self.scale, parse_math=False, **style)

    def pill(self, pill: Pill, x: float, y: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        x, y = x + pill.x, y + pill.y
        middle = y + _page.PILL_HEIGHT / 2
        if not pill.colour:
            self.text(x + 2, middle, pill.text, _page.NAME_SIZE, color=_FAINT, style="italic")
            return
        radius = _page.PILL_HEIGHT / 2 - 0.5
        field = FancyBboxPatch(
            (x + radius, y + radius),
            max(pill.width - 2 * radius, 0.1),
            1.0,
            boxstyle=f"round,pad={radius}",
            facecolor=_mix(pill.colour, _PAPER, 0.75 if pill.colour == _page.PLAIN else 0.25),
            edgecolor=_mix(pill.colour, _INK, 0.15),
            linewidth=0.7 * self.scale,
        )
        self.ax.add_patch(field)
        self.text(x + pill.width / 2, middle, pill.text, _page.NAME_SIZE, ha="center")

    def box(self, box: BoxPlace, left: float, right: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        frame = FancyBboxPatch(
            (left + 3, box.y + 3),
            right - left - 6,
            box.height - 6,
            boxstyle="round,pad=3",
            facecolor=_BOX,
            edgecolor=_EDGE if not box.is_bundle else _FAINT,
            linewidth=0.9 * self.scale,
            linestyle="--" if box.is_bundle else "-",
        )
        self.ax.add_patch(frame)
        self._strip(box, left, frame)
        middle = box.y + min(_page.HEAD / 2 + 2.5, box.height / 2)
        x, end = left + _page.STRIP + _page.PADDING, right - _page.PADDING
        self.text(x, middle, box.title, _page.TITLE_SIZE, weight="bold")
        self.text(end, middle, box.count, _page.SMALL_SIZE, color=_FAINT, ha="right")
        for pill in box.pills:
            self.pill(pill, x, box.y + _page.HEAD + 2)

    def _strip(self, box: BoxPlace, left: float, frame: Any) -> None:
        from matplotlib.patches import Rectangle

        y = box.y
        for colour, share in box.shares:
            part = Rectangle((left, y), _page.STRIP, box.height * share, color=colour, linewidth=0)
            self.ax.add_patch(part)
            part.set_clip_path(frame)
            y += box.height * share

    def elbow(self, xs: Sequence[float], ys: Sequence[float], log_odds: float) -> None:
        sure = min(max(-log_odds, 0.0) / math.log(1e6), 1.0)
        self.ax.plot(
            xs,
            ys,
            color=_LINE,
            linewidth=(0.9 + 1.9 * sure) * self.scale,
            linestyle="-" if log_odds <= 0 else (0, (3, 3)),
            solid_capstyle="round",
            solid_joinstyle="round",
            zorder=0.5,
        )

    def odds(self, x: float, y: float, log_odds: float) -> None:
        frame = {
            "boxstyle": "round,pad=0.28",
            "facecolor": _PAPER,
            "edgecolor": _LINE,
            "linewidth": 0.7 * self.scale,
        }
        words = odds_in_words(log_odds)
        self.text(x, y, words, _page.SMALL_SIZE, ha="center", bbox=frame, zorder=3)


def _draw_page(pen: _Pen, page: Page, shape: Shape, log_odds: Floats) -> None:
    if page.title:
        pen.text(_page.MARGIN, _page.MARGIN + 9, page.title, 14.0, weight="bold")
    for pill in page.legend:
        pen.pill(pill, _page.MARGIN, page.legend_y)
    _draw_forks(pen, page, shape, log_odds)
    for box in page.boxes:
        pen.box(box, page.left, page.width - _page.MARGIN)
    for number, line in enumerate(page.note):
        y = page.note_y + 3 + 11 * number
        pen.text(_page.MARGIN, y, line, _page.SMALL_SIZE, color=_FAINT)


def _draw_forks(pen: _Pen, page: Page, shape: Shape, log_odds: Floats) -> None:
    ys = [box.y + box.height / 2 for box in page.boxes]
    xs = [page.left for _ in page.boxes]
    for fork in shape.forks:
        a, b = fork.sides
        x, odds = page.fork_x(fork.level), float(log_odds[fork.node])
        pen.elbow((xs[a], x, x, xs[b]), (ys[a], ys[a], ys[b], ys[b]), odds)
        xs.append(x)
        ys.append((ys[a] + ys[b]) / 2)
        pen.odds(x, ys[-1], odds)


def _mix(colour: str, other: str, share: float) -> tuple[float, float, float]:
    """Mix a colour with a share of another one, both as #rrggbb."""
    pairs = zip(_rgb(colour), _rgb(other), strict=True)
    r, g, b = ((1 - share) * first + share * second for first, second in pairs)
    return r, g, b


def _rgb(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


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
    ValueError
        If labels or names do not have one entry for each row, or if the labels are not a cut of
        the tree.
    """
    plan = _plan(post, labels, names, max_leaves)
    if ax is None:
        ax = _axes(_pyplot_figure(*plan.size), plan.size, plan.margins)
    _draw_dendrogram(ax, post, plan)
    return ax


def save_dendrogram(
    destination: str | os.PathLike[str] | IO[bytes],
    post: PosteriorLike,
    *,
    names: Iterable[Any] | None = None,
    labels: ArrayLike | None = None,
    max_leaves: int = 150,
    file_format: str = "png",
    dpi: float = 150.0,
) -> None:
    """Write the picture of `dendrogram` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, names, labels, max_leaves
        As in `dendrogram`.
    file_format : str, default "png"
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``.
    dpi : float, default 150
        Dots per inch.
    """
    plan = _plan(post, labels, names, max_leaves)
    figure = _bare_figure(*plan.size)
    _draw_dendrogram(_axes(figure, plan.size, plan.margins), post, plan)
    figure.savefig(destination, format=file_format, dpi=dpi)


@dataclass(frozen=True)
class _Plan:
    """What a dendrogram shows: names of rows where it is detailed, else a condensed shape."""

    labels: Ints
    names: list[str]
    shape: Shape | None
    size: tuple[float, float]
    margins: tuple[float, float, float, float]


def _plan(
    post: PosteriorLike,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    max_leaves: int,
) -> _Plan:
    _need_matplotlib()
    n = post.tree.n_leaves
    flat = checked_labels(post, labels)
    texts = checked_texts(range(n) if names is None else names, n, "names") or []
    shape = condense(post.tree, flat, 40)
    if n > max_leaves:
        return _Plan(flat, [], shape, (640.0, 574.0), (16.0, 134.0, 40.0, 14.0))
    ruler = Ruler()
    texts = [ruler.shorten(text, 8.0, 140.0) for text in texts]
    beside = max(ruler.width(text, 8.0) for text in texts) + 14
    return _Plan(flat, texts, None, (640.0, 11.5 * n + 54), (16.0, beside, 40.0, 14.0))


def _draw_dendrogram(ax: Axes, post: PosteriorLike, plan: _Plan) -> None:
    if plan.shape is None:
        _draw_rows(ax, post, plan.labels, plan.names)
    else:
        _draw_wedges(ax, post, plan.shape)
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


def _draw_rows(ax: Axes, post: PosteriorLike, labels: Ints, names: list[str]) -> None:
    from matplotlib.collections import LineCollection

    tree, across = post.tree, _across(post)
    n = tree.n_leaves
    order, _ = leaf_order(tree)
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
        colours.append(_hue(turn[below[node]]) if below[node] >= 0 else _LINE)
    ax.add_collection(LineCollection(paths, colors=colours, linewidths=1.3, capstyle="round"))
    ax.set_ylim(n - 0.4, -0.6)
    size = min(8.0, 0.75 * _size_in_points(ax)[1] / n)
    if size < 3.0:
        return
    for row, name in enumerate(names):
        _beside(ax, y[row], name, size, _hue(turn[int(labels[row])]))


def _hue(turn: int) -> str:
    return _LINES[turn % len(_LINES)]


def _beside(ax: Axes, y: float, words: str, size: float, colour: str) -> None:
    ax.annotate(
        words,
        (0.0, y),
        xytext=(5.0, 0.0),
        textcoords="offset points",
        fontsize=size,
        color=colour,
        va="center",
        annotation_clip=False,
        parse_math=False,
    )


def _draw_wedges(ax: Axes, post: PosteriorLike, shape: Shape) -> None:
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
        _beside(ax, y[-1], _wedge_words(box), 8.0, _hue(turn))
    for fork in shape.forks:
        a, b = fork.sides
        x.append(across[fork.node])
        y.append((y[a] + y[b]) / 2)
        paths.append([(x[a], y[a]), (x[-1], y[a]), (x[-1], y[b]), (x[b], y[b])])
    hues = [_hue(turn) for turn in range(len(wedges))]
    ax.add_collection(PolyCollection(wedges, facecolors=hues, linewidths=0, alpha=0.75))
    ax.add_collection(LineCollection(paths, colors=_LINE, linewidths=1.3, capstyle="round"))
    ax.set_ylim(bottom, 0.0)


def _wedge_words(box: Box) -> str:
    rows = f"{len(box.rows):,} row{'s' if len(box.rows) > 1 else ''}"
    if box.trees:
        return f"{box.trees:,} smaller trees · {rows}"
    if box.is_bundle:
        return f"{len(box.labels):,} clusters · {rows}"
    return f"cluster {box.labels[0]} · {rows}"


def _dress(ax: Axes) -> None:
    chances = (0.99, 0.9, 0.5, 0.1, 0.01)
    places = [_NEAR / 2, *map(_between, chances), (1 + _FAR) / 2]
    words = ["together", *(f"{chance:.0%}" for chance in chances), "apart"]
    ax.set_xlim(1.0, 0.0)
    ax.set_xticks(places, words)
    for edges in ((0.0, _NEAR), (_FAR, 1.0)):
        ax.axvspan(*edges, color=_BOX, zorder=0)
    whole = ax.get_xaxis_transform()
    ax.vlines(places[1:-1], 0, 1, transform=whole, color=_EDGE, linewidth=0.6, zorder=0.5)
    ax.set_xlabel("chance that the two sides of a fork belong together", color=_INK, fontsize=9)
    ax.tick_params(axis="x", colors=_FAINT, labelsize=8, length=0)
    ax.set_yticks([])
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)
