"""Pictures of a posterior over a tree: axes in, axes out.

matplotlib is imported when a function is called, never before, and nothing is kept between calls.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from . import _page
from ._arguments import (
    checked_axes,
    checked_format,
    checked_labels,
    checked_post,
    checked_text,
    checked_texts,
)
from ._condense import (
    Box,
    Floats,
    Ints,
    PosteriorLike,
    Shape,
    cluster_nodes,
    condense,
    label_below,
    leaf_order,
)
from ._fonts import Script
from ._page import BoxPlace, Classes, Content, Page, Pill, Ruler, odds_in_words
from .options import check_count, check_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from . import _heatmap

__all__ = [
    "condensed_tree",
    "dendrogram",
    "heatmap",
    "odds_in_words",
    "save_condensed_tree",
    "save_dendrogram",
    "save_heatmap",
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
_TALLEST_DENDROGRAM = 14_400.0
_MOST_NAMED = 120
# Letters that pictures hold beside those of the table.
_OURS = "·…\u2013"


def _need_matplotlib() -> None:
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError as missing:
        raise ImportError('pictures need matplotlib: pip install "bhclust[plot]"') from missing


def condensed_tree(
    post: PosteriorLike,
    *,
    X: Any = None,
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
    X : array-like, DataFrame, mapping, CSR matrix or Table, n rows, optional
        The rows: boxes are headed by what sets them apart from the others and from their sibling.
        The columns may be others than those clustered on.
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
        One title for each cluster, in place of what `X` says of it.
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
    ValueError, TypeError
        If X, labels, names or classes do not have one entry for each row, if the labels are not
        a cut of the tree, or if an argument is something else than it should be.
    """
    _need_matplotlib()
    checked_axes(ax)
    content, ruler = _content(post, X, labels, names, classes, titles, title, unit, max_boxes)
    if ax is None:
        width = _page.natural_width(content.shape)
        page, scale = _page.best_page(ruler, content, width, _TALLEST), 1.0
        size = page.width, page.height
        ax = _axes(_pyplot_figure(*size), size)
    else:
        page, scale = _fit_into(ruler, content, ax)
    width, height = _size_in_points(ax)
    pen = _Pen(ax, width / scale, height / scale, scale, ruler.script)
    _draw_page(pen, page, content.shape, post.log_odds)
    return ax


def save_condensed_tree(
    destination: str | os.PathLike[str] | IO[bytes],
    post: PosteriorLike,
    *,
    X: Any = None,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    titles: Sequence[str] | None = None,
    title: str = "",
    unit: str = "rows",
    max_boxes: int = 24,
    file_format: str | None = None,
    dpi: float = 150.0,
) -> None:
    """Write the picture of `condensed_tree` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, X, labels, names, classes, titles, title, unit, max_boxes
        As in `condensed_tree`.
    file_format : str, optional
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``. By default the ending of the
        destination, or else PNG.
    dpi : float, default 150
        Dots per inch.
    """

    def draw() -> Figure:
        content, ruler = _content(post, X, labels, names, classes, titles, title, unit, max_boxes)
        width = _page.natural_width(content.shape)
        page = _page.best_page(ruler, content, width, _TALLEST)
        size = page.width, page.height
        figure = _bare_figure(*size)
        pen = _Pen(_axes(figure, size), *size, 1.0, ruler.script)
        _draw_page(pen, page, content.shape, post.log_odds)
        return figure

    _save(draw, destination, file_format, dpi)


def _save(
    draw: Callable[[], Figure],
    destination: str | os.PathLike[str] | IO[bytes],
    file_format: str | None,
    dpi: float,
) -> None:
    """Write a figure, the same bytes every time; a file appears when it is whole."""
    _need_matplotlib()
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


def _content(
    post: PosteriorLike,
    X: Any,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    classes: Iterable[Any] | None,
    titles: Sequence[str] | None,
    title: str,
    unit: str,
    max_boxes: int,
) -> tuple[Content, Ruler]:
    checked_post(post)
    check_count("max_boxes", max_boxes, 2)
    n = post.tree.n_leaves
    flat = checked_labels(post, labels)
    shape = condense(post.tree, flat, max_boxes)
    known = checked_texts(classes, n, "classes")
    rows = checked_texts(names, n, "names")
    told = _checked_titles(titles, int(flat.max()) + 1)
    words = None if X is None else _box_words(post, X, shape)
    heading, unit = checked_text(title, "title"), checked_text(unit, "unit")
    script = Script.of(
        [*(rows or ()), *(known or ()), *(told or words or ()), heading, unit, _OURS]
    )

    def clean(texts: Sequence[str] | None) -> list[str] | None:
        return None if texts is None else [script.clean(text) for text in texts]

    shown = clean(known)
    content = Content(
        shape=shape,
        names=clean(rows),
        classes=None if shown is None else Classes.of(shown),
        titles=clean(told),
        words=clean(words),
        title=script.clean(heading),
        unit=script.clean(unit),
        note=_page.note_in_words(shape, post.log_odds),
    )
    return content, Ruler(script)


def _checked_titles(titles: Sequence[str] | None, n_clusters: int) -> list[str] | None:
    if titles is None:
        return None
    if isinstance(titles, str):
        raise TypeError(f"titles is one text; give {n_clusters} of them, one for each cluster")
    told = [" ".join(str(title).split()) for title in titles]
    if len(told) < n_clusters:
        raise ValueError(
            f"titles: {len(told)} given for {n_clusters} clusters; give one for each cluster"
        )
    return told


def _box_words(post: PosteriorLike, X: Any, shape: Shape) -> list[str]:
    from ._cells import columns_of
    from ._traits import box_words

    box_of_row = shape.box_of_row()
    return box_words(columns_of(X, post, box_of_row), box_of_row, shape.siblings())


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

    def __init__(self, ax: Axes, width: float, height: float, scale: float, script: Script) -> None:
        self.ax = ax
        self.scale = scale
        self.script = script
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        ax.set_axis_off()

    def text(self, x: float, y: float, words: str, size: float, **style: Any) -> None:
        face = self.script.face(words, style.pop("weight", "normal"))
        style = {"color": _INK, "va": "center_baseline", **face, **style}
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
        if not box.pills:
            middle = box.y + box.height / 2 - (box.head - _page.HEAD) / 2
        x, end = left + _page.STRIP + _page.PADDING, right - _page.PADDING
        for number, line in enumerate(box.title):
            y = middle + number * _page.TITLE_STEP
            self.text(x, y, line, _page.TITLE_SIZE, weight="bold")
        self.text(end, middle, box.count, _page.SMALL_SIZE, color=_FAINT, ha="right")
        for pill in box.pills:
            self.pill(pill, x, box.y + box.head + 2)

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
    ValueError, TypeError
        If labels or names do not have one entry for each row, if the labels are not a cut of the
        tree, or if an argument is something else than it should be.
    """
    _need_matplotlib()
    checked_axes(ax)
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
        figure = _bare_figure(*plan.size)
        _draw_dendrogram(_axes(figure, plan.size, plan.margins), post, plan)
        return figure

    _save(draw, destination, file_format, dpi)


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
        script = Script.of([_OURS])
        return _Plan(flat, [], script, shape, (640.0, 574.0), (16.0, 152.0, 40.0, 14.0))
    script = Script.of([*texts, _OURS])
    ruler = Ruler(script)
    texts = [ruler.shorten(script.clean(text), 8.0, 140.0) for text in texts]
    beside = max(ruler.width(text, 8.0) for text in texts) + 14
    size = (640.0, min(11.5 * n + 54, _TALLEST_DENDROGRAM))
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
        colours.append(_hue(turn[below[node]]) if below[node] >= 0 else _LINE)
    ax.add_collection(LineCollection(paths, colors=colours, linewidths=1.3, capstyle="round"))
    ax.set_ylim(n - 0.4, -0.6)
    size = min(8.0, 0.75 * _size_in_points(ax)[1] / n)
    if size < 3.0:
        return
    room = 20.0 / _size_in_points(ax)[0]
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
        bbox={"boxstyle": "round,pad=0.15", "facecolor": _PAPER, "edgecolor": "none"},
    )


def _hue(turn: int) -> str:
    return _LINES[turn % len(_LINES)]


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
    ax.add_collection(LineCollection(paths, colors=_LINE, linewidths=1.3, capstyle="round"))
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
        ax.axvspan(*edges, color=_BOX, zorder=0)
    whole = ax.get_xaxis_transform()
    ax.vlines(places[1:-1], 0, 1, transform=whole, color=_EDGE, linewidth=0.6, zorder=0.5)
    ax.set_xlabel("chance that the two sides of a fork belong together", color=_INK, fontsize=9)
    ax.tick_params(axis="x", colors=_FAINT, labelsize=8, length=0)
    ax.set_yticks([])
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(False)


def heatmap(
    post: PosteriorLike,
    X: Any,
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    ax: Axes | None = None,
    title: str = "",
    unit: str = "rows",
    max_boxes: int = 40,
    max_columns: int = 60,
) -> Axes:
    """Draw the table with its rows in the order of the tree, and the tree of the clusters beside.

    Every column is shown on its own scale, from dark (low) to light (high); a column of categories
    becomes one for each level. The cells of large clusters are averaged over neighbouring rows.

    Parameters
    ----------
    post : Posterior
        The posterior of the tree to draw.
    X : array-like, DataFrame, mapping, CSR matrix or Table, n rows
        The rows. The columns may be others than those clustered on.
    labels : array of int, shape (n,), optional
        A cut of the tree; by default ``post.cut()``.
    names : sequence, length n, optional
        Names of the rows, shown where there is room for them.
    classes : sequence, length n, optional
        Known classes of the rows, shown as a strip beside the cells.
    ax : Axes, optional
        Axes to draw on; by default a figure of the needed size is made with pyplot.
    title : str, optional
        Title of the picture.
    unit : str, default "rows"
        What the rows are, in the plural.
    max_boxes : int, default 40
        Where there are more clusters, small branches are drawn as one.
    max_columns : int, default 60
        Of more columns those are drawn that differ most between the clusters.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    ValueError, TypeError
        If X, labels, names or classes do not have one entry for each row, if the labels are not a
        cut of the tree, or if an argument is something else than it should be.
    """
    from . import _heatmap

    _need_matplotlib()
    checked_axes(ax)
    found, ruler = _map(post, X, labels, names, classes, title, unit, max_boxes, max_columns)
    if ax is None:
        size = found.natural_size(ruler)
        ax = _axes(_pyplot_figure(*size), size)
    _heatmap.draw(ax, found, ruler, _size_in_points(ax), post.log_odds)
    return ax


def save_heatmap(
    destination: str | os.PathLike[str] | IO[bytes],
    post: PosteriorLike,
    X: Any,
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    title: str = "",
    unit: str = "rows",
    max_boxes: int = 40,
    max_columns: int = 60,
    file_format: str | None = None,
    dpi: float = 150.0,
) -> None:
    """Write the picture of `heatmap` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, X, labels, names, classes, title, unit, max_boxes, max_columns
        As in `heatmap`.
    file_format : str, optional
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``. By default the ending of the
        destination, or else PNG.
    dpi : float, default 150
        Dots per inch.
    """
    from . import _heatmap

    def draw() -> Figure:
        found, ruler = _map(post, X, labels, names, classes, title, unit, max_boxes, max_columns)
        size = found.natural_size(ruler)
        figure = _bare_figure(*size)
        _heatmap.draw(_axes(figure, size), found, ruler, size, post.log_odds)
        return figure

    _save(draw, destination, file_format, dpi)


def _map(
    post: PosteriorLike,
    X: Any,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    classes: Iterable[Any] | None,
    title: str,
    unit: str,
    max_boxes: int,
    max_columns: int,
) -> tuple[_heatmap.Map, Ruler]:
    from ._cells import columns_of
    from ._heatmap import Field, Map, field_of

    checked_post(post)
    check_count("max_boxes", max_boxes, 2)
    check_count("max_columns", max_columns)
    n = post.tree.n_leaves
    shape = condense(post.tree, checked_labels(post, labels), max_boxes)
    rows = checked_texts(names, n, "names") if n <= _MOST_NAMED else None
    known = checked_texts(classes, n, "classes")
    boxes = shape.box_of_row()
    field = field_of(columns_of(X, post, boxes), boxes, max_columns)
    heading, unit = checked_text(title, "title"), checked_text(unit, "unit")
    named = [*(rows or ()), *(known or ())]
    script = Script.of([*named, *field.names, heading, unit, _OURS])
    found = Map(
        shape=shape,
        field=Field(field.cells, [script.clean(name) for name in field.names], field.left_out),
        names=None if rows is None else [script.clean(name) for name in rows],
        classes=None if known is None else Classes.of(list(map(script.clean, known))),
        title=script.clean(heading),
        unit=script.clean(unit),
    )
    return found, Ruler(script)
