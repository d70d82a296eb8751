"""The condensed tree: flat clusters as boxes of names, and above them the splits."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from . import _page
from ._arguments import checked_axes, checked_labels, checked_post, checked_text, checked_texts
from ._condense import Floats, PosteriorLike, Shape, condense
from ._fonts import Script
from ._page import BoxPlace, Classes, Content, Page, Pill, Ruler, odds_in_words
from ._plot_canvas import (
    BOX,
    EDGE,
    FAINT,
    INK,
    LINE,
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

_TALLEST = 1500.0


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
    feature_names: Iterable[Any] | None = None,
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
    feature_names : sequence of str, optional
        Names of the columns of an array or a CSR matrix, which has none of its own; else they go
        by their numbers.

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
    from ._cells import with_names

    need_matplotlib()
    checked_axes(ax)
    X = with_names(X, feature_names)
    content, ruler = _content(post, X, labels, names, classes, titles, title, unit, max_boxes)
    if ax is None:
        width = _page.natural_width(content.shape)
        page, scale = _page.best_page(ruler, content, width, _TALLEST), 1.0
        size = page.width, page.height
        ax = axes_on(pyplot_figure(*size), size)
    else:
        page, scale = _fit_into(ruler, content, ax)
    width, height = size_in_points(ax)
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
    feature_names: Iterable[Any] | None = None,
    file_format: str | None = None,
    dpi: float = 150.0,
) -> None:
    """Write the picture of `condensed_tree` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, X, labels, names, classes, titles, title, unit, max_boxes, feature_names
        As in `condensed_tree`.
    file_format : str, optional
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``. By default the ending of the
        destination, or else PNG.
    dpi : float, default 150
        Dots per inch.
    """
    from ._cells import with_names

    X = with_names(X, feature_names)

    def draw() -> Figure:
        content, ruler = _content(post, X, labels, names, classes, titles, title, unit, max_boxes)
        width = _page.natural_width(content.shape)
        page = _page.best_page(ruler, content, width, _TALLEST)
        size = page.width, page.height
        figure = bare_figure(*size)
        pen = _Pen(axes_on(figure, size), *size, 1.0, ruler.script)
        _draw_page(pen, page, content.shape, post.log_odds)
        return figure

    save_figure(draw, destination, file_format, dpi)


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
    script = Script.of([*(rows or ()), *(known or ()), *(told or words or ()), heading, unit, OURS])

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
    width, height = size_in_points(ax)
    for scale in (1.0, 0.9, 0.8, 0.7, 0.6):
        page = _page.lay_out(ruler, content, width / scale, 40)
        if page.height * scale <= height:
            return page, scale
    page = _page.best_page(ruler, content, width / scale, height / scale)
    return page, min(scale, height / page.height)


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
        style = {"color": INK, "va": "center_baseline", **face, **style}
        self.ax.text(x, y, words, fontsize=size * self.scale, parse_math=False, **style)

    def pill(self, pill: Pill, x: float, y: float) -> None:
        from matplotlib.patches import FancyBboxPatch

        x, y = x + pill.x, y + pill.y
        middle = y + _page.PILL_HEIGHT / 2
        if not pill.colour:
            self.text(x + 2, middle, pill.text, _page.NAME_SIZE, color=FAINT, style="italic")
            return
        radius = _page.PILL_HEIGHT / 2 - 0.5
        field = FancyBboxPatch(
            (x + radius, y + radius),
            max(pill.width - 2 * radius, 0.1),
            1.0,
            boxstyle=f"round,pad={radius}",
            facecolor=_mix(pill.colour, PAPER, 0.75 if pill.colour == _page.PLAIN else 0.25),
            edgecolor=_mix(pill.colour, INK, 0.15),
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
            facecolor=BOX,
            edgecolor=EDGE if not box.is_bundle else FAINT,
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
        self.text(end, middle, box.count, _page.SMALL_SIZE, color=FAINT, ha="right")
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
            color=LINE,
            linewidth=(0.9 + 1.9 * sure) * self.scale,
            linestyle="-" if log_odds <= 0 else (0, (3, 3)),
            solid_capstyle="round",
            solid_joinstyle="round",
            zorder=0.5,
        )

    def odds(self, x: float, y: float, log_odds: float) -> None:
        frame = {
            "boxstyle": "round,pad=0.28",
            "facecolor": PAPER,
            "edgecolor": LINE,
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
        pen.text(_page.MARGIN, y, line, _page.SMALL_SIZE, color=FAINT)


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
