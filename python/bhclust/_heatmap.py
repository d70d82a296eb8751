"""The table under the tree: what a heat map shows, and drawing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ._column import Column
from ._condense import Box, Floats, Ints, Shape, leaf_order
from ._page import Classes, Ruler, counted
from ._traits import short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

INK = "#22282f"
_FAINT = "#6b7580"
_LINE = "#4d5863"
_MISSING = "#ffffff"
_SIZE = 8.0
_MOST_BANDS = 200
_CELL = 15.0
_NARROWEST = 4.0
_TREE = 0.16
_COLUMN_TREE = 54.0
_YES = frozenset({"1", "yes", "y", "true", "t"})


@dataclass(frozen=True)
class Field:
    """Cells between 0 and 1, NaN where missing: (rows, fields), and the name of each field."""

    cells: Floats
    names: list[str]
    left_out: int


def field_of(columns: Mapping[str, Column], boxes: Ints, most: int) -> Field:
    """Bring columns to one scale: each from its low end (0) to its high end (1).

    A column of categories becomes a field for each level: has it or not. Of more fields than `most`
    those are kept that differ most between the boxes, in the order of the table.
    """
    cells, names = [], []
    for column in columns.values():
        for name, values in _fields(column):
            names.append(name)
            cells.append(_scaled(values))
    whole = np.column_stack(cells) if cells else np.zeros((len(boxes), 0))
    kept = _most_telling(whole, boxes)[:most]
    kept.sort()
    shown = [names[place] for place in kept.tolist()]
    return Field(whole[:, kept], shown, len(names) - len(shown))


def _fields(column: Column) -> list[tuple[str, Floats]]:
    name, values, levels = short_name(column.name), column.values, column.levels
    if not levels or (len(levels) == 2 and levels[1] in _YES):
        return [(name, values)]
    absent = np.isnan(values)
    shown = [(f"{name}: {short_name(level)}", code) for code, level in enumerate(levels)]
    return [
        (what, np.where(absent, np.nan, (values == code).astype(np.float64)))
        for what, code in (shown[1:] if len(levels) == 2 else shown)
    ]


def _scaled(values: Floats) -> Floats:
    """Put the middle 96% of the values between 0 and 1; what lies outside is clipped."""
    present = values[~np.isnan(values)]
    if not present.size:
        return values
    scale = float(np.abs(present).max()) or 1.0
    low, high = np.quantile(present / scale, (0.02, 0.98))
    if low == high:
        low, high = present.min() / scale, present.max() / scale
    if low == high:
        return np.where(np.isnan(values), np.nan, 0.5)
    scaled: Floats = np.clip((values / scale - low) / (high - low), 0.0, 1.0)
    return scaled


def _most_telling(cells: Floats, boxes: Ints) -> Ints:
    """Order the fields by the share of their variance that lies between the boxes."""
    count = int(boxes.max()) + 1
    present = ~np.isnan(cells)
    filled = np.where(present, cells, 0.0)
    number, sums = np.zeros((count, cells.shape[1])), np.zeros((count, cells.shape[1]))
    np.add.at(number, boxes, present)
    np.add.at(sums, boxes, filled)
    every = np.maximum(number.sum(axis=0), 1)
    mean = sums.sum(axis=0) / every
    between = (number * (sums / np.maximum(number, 1) - mean) ** 2).sum(axis=0)
    order: Ints = np.argsort(-between, kind="stable")
    return order


@dataclass(frozen=True)
class ColumnFork:
    """A fork over the columns: the places of its two sides, their levels, and its own level."""

    places: tuple[float, float]
    below: tuple[int, int]
    level: int


def with_column_tree(field: Field, boxes: Ints) -> tuple[Field, tuple[ColumnFork, ...]]:
    """Put the fields in the order of a tree of their own, grown on their means in the boxes."""
    from .algorithms import bhc

    if len(field.names) < 2:
        return field, ()
    means = means_of(field.cells, boxes)
    tree = bhc(np.ascontiguousarray(np.nan_to_num(means.T, nan=0.5)), "gaussian-diag")
    order, _ = leaf_order(tree, np.zeros(len(field.names), dtype=np.int64))
    place = np.empty(len(order))
    place[order] = np.arange(len(order)) + 0.5
    places, levels, forks = place.tolist(), [0] * len(order), []
    for a, b in tree.children.tolist():
        level = 1 + max(levels[a], levels[b])
        forks.append(ColumnFork((places[a], places[b]), (levels[a], levels[b]), level))
        places.append((places[a] + places[b]) / 2)
        levels.append(level)
    names = [field.names[column] for column in order.tolist()]
    return Field(field.cells[:, order], names, field.left_out), tuple(forks)


def means_of(cells: Floats, groups: Ints) -> Floats:
    """Average the cells of each group; NaN where all are missing."""
    present, count = ~np.isnan(cells), int(groups.max()) + 1
    number, sums = np.zeros((count, cells.shape[1])), np.zeros((count, cells.shape[1]))
    np.add.at(number, groups, present)
    np.add.at(sums, groups, np.where(present, cells, 0.0))
    return np.divide(sums, number, out=np.full_like(sums, np.nan), where=number > 0)


@dataclass(frozen=True)
class Map:
    """What a heat map shows, with its texts ready to be drawn."""

    shape: Shape
    field: Field
    names: list[str] | None
    classes: Classes | None
    title: str
    unit: str
    column_forks: tuple[ColumnFork, ...] = ()

    @property
    def heights(self) -> list[float]:
        """Heights of the boxes in rows; small ones are drawn higher, so that they can be seen."""
        total = sum(len(box.rows) for box in self.shape.boxes)
        least = total / 60 if self.names is None else 1.0
        return [max(float(len(box.rows)), least) for box in self.shape.boxes]

    def natural_size(self, ruler: Ruler) -> tuple[float, float]:
        """Width and height in points at which it reads well."""
        beside = max((ruler.width(name, _SIZE) for name in self.names or ()), default=0.0)
        cells = min(max(_CELL * len(self.field.names), 180.0), 620.0)
        tall = sum(self.heights)
        body = max(11.5 * tall, 60.0) if self.names is not None else min(460.0, 24.0 * tall)
        label = max(ruler.width(_label(box, self.unit), _SIZE) for box in self.shape.boxes)
        wide = 140.0 + min(label, 150.0) + cells + min(beside, 150.0)
        return wide, body + self.above + self.below(ruler)

    @property
    def above(self) -> float:
        """Room over the cells, in points: the title and the known classes."""
        title, classes = 20.0 * bool(self.title), 18.0 * (self.classes is not None)
        return 12.0 + title + classes + (_COLUMN_TREE if self.column_forks else 0.0)

    def below(self, ruler: Ruler) -> float:
        """Room under the cells, in points: names of the columns, and the key."""
        longest = max((ruler.width(name, _SIZE) for name in self.field.names), default=0.0)
        return min(longest, 130.0) + 64.0


def draw(ax: Axes, found: Map, ruler: Ruler, size: tuple[float, float], log_odds: Floats) -> None:
    """Draw on axes of a size in points, whose units become points."""
    width, height = size
    ax.set_xlim(0, width)
    ax.set_ylim(height, 0)
    ax.set_axis_off()
    _Drawing(ax, found, ruler, width, height).draw(log_odds)


class _Drawing:
    """Places of the parts, in points."""

    def __init__(self, ax: Axes, found: Map, ruler: Ruler, width: float, height: float) -> None:
        self.ax, self.map, self.ruler = ax, found, ruler
        beside = max((ruler.width(name, _SIZE) for name in found.names or ()), default=0.0)
        self.names_width = min(beside, 0.2 * width) + (6.0 if beside else 0.0)
        label = max(ruler.width(_label(box, found.unit), _SIZE) for box in found.shape.boxes)
        self.label_width = min(label, 0.3 * width) + 10
        self.tree = 10.0, 10.0 + (_TREE * width if found.shape.forks else 0.0)
        strip = 7.0 if found.classes is not None else 0.0
        self.left = self.tree[1] + self.label_width + strip
        self.right = max(width - 10.0 - self.names_width, self.left + 10.0)
        self.top = found.above
        self.bottom = max(height - found.below(ruler), self.top + 10.0)
        self.step = (self.right - self.left) / max(len(found.field.names), 1)
        scale = (self.bottom - self.top) / sum(found.heights)
        edges = self.top + scale * np.concatenate([[0.0], np.cumsum(found.heights)])
        self.bands = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def draw(self, log_odds: Floats) -> None:
        if self.map.title:
            self._text(10.0, 16.0, self.map.title, 13.0, weight="bold")
        self._legend()
        for box, band in zip(self.map.shape.boxes, self.bands, strict=True):
            self._cells(box, band)
            self._label(box, band)
            self._row_names(box, band)
        self._tree(log_odds)
        self._column_tree()
        self._column_names()
        self._key()

    def _text(self, x: float, y: float, words: str, size: float, **style: Any) -> None:
        face = self.ruler.script.face(words, style.pop("weight", "normal"))
        style = {"color": INK, "va": "center", **face, **style}
        self.ax.text(x, y, words, fontsize=size, parse_math=False, **style)

    def _cells(self, box: Box, band: tuple[float, float]) -> None:
        if not self.map.field.names:
            return
        top, bottom = band
        gap = min(0.8, 0.15 * (bottom - top))
        cells = _banded(self.map.field.cells[box.rows], _MOST_BANDS)
        self.ax.imshow(
            np.ma.masked_invalid(cells),
            cmap=_colours(),
            vmin=0.0,
            vmax=1.0,
            extent=(self.left, self.right, bottom - gap, top + gap),
            interpolation="nearest",
            aspect="auto",
        )
        if self.map.classes is not None:
            self._strip(box, top + gap, bottom - gap)

    def _strip(self, box: Box, top: float, bottom: float) -> None:
        """Show the known classes of the rows, beside them."""
        from matplotlib.patches import Rectangle

        classes = self.map.classes
        if classes is None:
            return
        colours = [classes.colour(row) for row in box.rows.tolist()]
        step, begin = (bottom - top) / len(colours), 0
        for place in range(1, len(colours) + 1):
            if place == len(colours) or colours[place] != colours[begin]:
                at = (self.left - 6.0, top + begin * step)
                colour = colours[begin]
                part = Rectangle(at, 4.5, (place - begin) * step, color=colour, linewidth=0)
                self.ax.add_patch(part)
                begin = place

    def _legend(self) -> None:
        """Name the known classes, as far as there is room."""
        from matplotlib.patches import Rectangle

        x, y = 10.0, self.top - 14.0 - (_COLUMN_TREE if self.map.column_forks else 0.0)
        for words, colour in self.map.classes.legend() if self.map.classes is not None else ():
            wide = self.ruler.width(words, _SIZE)
            if x + 14.0 + wide > self.right + self.names_width:
                self._text(x, y, "…", _SIZE)
                return
            self.ax.add_patch(Rectangle((x, y - 4.0), 8.0, 8.0, color=colour, linewidth=0))
            self._text(x + 12.0, y, words, _SIZE)
            x += wide + 26.0

    def _label(self, box: Box, band: tuple[float, float]) -> None:
        words = self.ruler.shorten(_label(box, self.map.unit), _SIZE, self.label_width - 6)
        self._text(self.tree[1] + 5.0, sum(band) / 2, words, min(_SIZE, 0.95 * (band[1] - band[0])))

    def _row_names(self, box: Box, band: tuple[float, float]) -> None:
        step = (band[1] - band[0]) / len(box.rows)
        if self.map.names is None or step < 3.5:
            return
        size = min(_SIZE, 0.8 * step)
        for place, row in enumerate(box.rows.tolist()):
            words = self.ruler.shorten(self.map.names[row], size, self.names_width - 6)
            self._text(self.right + 5.0, band[0] + (place + 0.5) * step, words, size)

    def _tree(self, log_odds: Floats) -> None:
        forks = self.map.shape.forks
        levels = max((fork.level for fork in forks), default=1)
        begin, end = self.tree
        xs = [end for _ in self.bands]
        ys = [sum(band) / 2 for band in self.bands]
        for fork in forks:
            a, b = fork.sides
            x = end - (end - begin) * fork.level / levels
            self.ax.plot(
                (xs[a], x, x, xs[b]),
                (ys[a], ys[a], ys[b], ys[b]),
                color=_LINE,
                linewidth=1.3,
                linestyle="-" if log_odds[fork.node] <= 0 else (0, (3, 3)),
                solid_joinstyle="round",
                solid_capstyle="round",
            )
            xs.append(x)
            ys.append((ys[a] + ys[b]) / 2)

    def _column_tree(self) -> None:
        forks = self.map.column_forks
        deepest = max((fork.level for fork in forks), default=1)
        high = [
            self.top - 3.0 - (_COLUMN_TREE - 8.0) * level / deepest for level in range(deepest + 1)
        ]
        for fork in forks:
            (a, b), (below_a, below_b) = fork.places, fork.below
            left, right = self.left + a * self.step, self.left + b * self.step
            top = high[fork.level]
            self.ax.plot(
                (left, left, right, right),
                (high[below_a], top, top, high[below_b]),
                color=_LINE,
                linewidth=1.0,
                solid_joinstyle="round",
            )

    def _column_names(self) -> None:
        names = self.map.field.names
        every = max(1, int(np.ceil(_NARROWEST / self.step)))
        size = min(_SIZE, 0.85 * self.step * every + 1.0)
        for place in range(0, len(names), every):
            words = self.ruler.shorten(names[place], size, 130.0)
            x = self.left + (place + 0.5) * self.step
            self._text(x, self.bottom + 4.0, words, size, rotation=90, va="top", ha="center")

    def _key(self) -> None:
        """Explain the colours, and what was left out."""
        x, y, wide = 10.0, self.bottom + self.map.below(self.ruler) - 38.0, 70.0
        ramp = np.linspace(0.0, 1.0, 32)[None, :]
        extent = (x + 20.0, x + 20.0 + wide, y + 4.0, y - 4.0)
        self.ax.imshow(ramp, cmap=_colours(), extent=extent, aspect="auto")
        self._text(x, y, "low", _SIZE, color=_FAINT)
        self._text(x + 24.0 + wide, y, "high: each column on its own scale", _SIZE, color=_FAINT)
        notes = []
        if np.isnan(self.map.field.cells).any():
            notes.append("White: missing.")
        if self.map.field.left_out:
            shown, left = len(self.map.field.names), self.map.field.left_out
            notes.append(
                f"The {shown} columns that differ most between clusters, of {shown + left:,}."
            )
        room = self.right + self.names_width - x
        for number, line in enumerate(self.ruler.wrap(" ".join(notes).split(), _SIZE, room), 1):
            self._text(x, y + 12.0 * number, line, _SIZE, color=_FAINT)


def _label(box: Box, unit: str) -> str:
    rows = counted(len(box.rows), unit)
    if box.trees:
        return f"{box.trees:,} smaller trees · {rows}"
    if box.is_bundle:
        return f"{min(box.labels)} and {len(box.labels) - 1:,} more · {rows}"
    return f"{box.labels[0]} · {rows}"


def _banded(cells: Floats, most: int) -> Floats:
    """Average neighbours where there are more rows than can be seen."""
    if len(cells) <= most:
        return cells
    edges = np.linspace(0, len(cells), most + 1).astype(np.int64)[:-1]
    present = ~np.isnan(cells)
    number = np.add.reduceat(present.astype(np.float64), edges, axis=0)
    sums = np.add.reduceat(np.where(present, cells, 0.0), edges, axis=0)
    return np.divide(sums, number, out=np.full_like(sums, np.nan), where=number > 0)


def _colours() -> Colormap:
    """Colours that grow lighter throughout: told apart with any colour vision, and in print."""
    from matplotlib import colormaps

    return colormaps["cividis"].with_extremes(bad=_MISSING)
