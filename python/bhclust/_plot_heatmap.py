"""The heatmap: the table in the order of the tree, and the tree of the clusters beside."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from ._arguments import checked_axes, checked_labels, checked_post, checked_text, checked_texts
from ._condense import PosteriorLike, condense
from ._fonts import Script
from ._page import Classes, Ruler
from ._plot_canvas import (
    OURS,
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

    from . import _heatmap

_MOST_NAMED = 120


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
    feature_names: Iterable[Any] | None = None,
    column_tree: bool = False,
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
    feature_names : sequence of str, optional
        Names of the columns of an array or a CSR matrix, which has none of its own; else they go
        by their numbers.
    column_tree : bool, default False
        Whether the columns are put in the order of a tree of their own, which is drawn over them:
        those come together that go with the clusters in the same way.

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
    from ._cells import with_names

    need_matplotlib()
    checked_axes(ax)
    X = with_names(X, feature_names)
    shown = (labels, names, classes, title, unit, max_boxes, max_columns, column_tree)
    found, ruler = _map(post, X, *shown)
    if ax is None:
        size = found.natural_size(ruler)
        ax = axes_on(pyplot_figure(*size), size)
    _heatmap.draw(ax, found, ruler, size_in_points(ax), post.log_odds)
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
    feature_names: Iterable[Any] | None = None,
    column_tree: bool = False,
    file_format: str | None = None,
    dpi: float = 150.0,
) -> None:
    """Write the picture of `heatmap` to a file, without pyplot and without a display.

    Parameters
    ----------
    destination : path or binary file
        Where the picture goes.
    post, X, labels, names, classes, title, unit, max_boxes, max_columns, feature_names, column_tree
        As in `heatmap`.
    file_format : str, optional
        Any format of matplotlib: ``"png"``, ``"svg"``, ``"pdf"``. By default the ending of the
        destination, or else PNG.
    dpi : float, default 150
        Dots per inch.
    """
    from . import _heatmap
    from ._cells import with_names

    X = with_names(X, feature_names)

    def draw() -> Figure:
        shown = (labels, names, classes, title, unit, max_boxes, max_columns, column_tree)
        found, ruler = _map(post, X, *shown)
        size = found.natural_size(ruler)
        figure = bare_figure(*size)
        _heatmap.draw(axes_on(figure, size), found, ruler, size, post.log_odds)
        return figure

    save_figure(draw, destination, file_format, dpi)


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
    column_tree: bool,
) -> tuple[_heatmap.Map, Ruler]:
    from ._cells import columns_of
    from ._heatmap import Field, Map, field_of, with_column_tree

    checked_post(post)
    check_count("max_boxes", max_boxes, 2)
    check_count("max_columns", max_columns)
    n = post.tree.n_leaves
    shape = condense(post.tree, checked_labels(post, labels), max_boxes)
    rows = checked_texts(names, n, "names") if n <= _MOST_NAMED else None
    known = checked_texts(classes, n, "classes")
    boxes = shape.box_of_row()
    field = field_of(columns_of(X, post, boxes), boxes, max_columns)
    field, forks = with_column_tree(field, boxes) if column_tree else (field, ())
    heading, unit = checked_text(title, "title"), checked_text(unit, "unit")
    named = [*(rows or ()), *(known or ())]
    script = Script.of([*named, *field.names, heading, unit, OURS])
    found = Map(
        shape=shape,
        field=Field(field.cells, [script.clean(name) for name in field.names], field.left_out),
        names=None if rows is None else [script.clean(name) for name in rows],
        classes=None if known is None else Classes.of(list(map(script.clean, known))),
        title=script.clean(heading),
        unit=script.clean(unit),
        column_forks=forks,
    )
    return found, Ruler(script)
