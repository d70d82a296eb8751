"""Laying out the picture of a condensed tree: what stands where, in points; nothing is drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ._condense import Box, Floats, Shape
from ._fonts import Script

MARGIN = 14.0
NAME_SIZE = 8.6
TITLE_SIZE = 9.6
SMALL_SIZE = 8.0
PILL_HEIGHT = 14.0
LINE_STEP = 17.5
HEAD = 17.0
STRIP = 5.0
PADDING = 9.0
STEM = 18.0
_NOTE_STEP = 11.0
TITLE_STEP = 12.5
_MOST_TITLE_LINES = 3
_GAP = 4.0
_BETWEEN = 9.0
_LONGEST_NAME = 190.0
_WIDEST_STEP = 74.0

OTHER = "#b3b3b3"
PLAIN = "#8fa3b8"
# Paul Tol's "light" scheme: made for cells that hold dark text, told apart with any colour vision.
# Two more follow for tables with many classes; what comes after them is grey.
_PALETTE = (
    "#EEDD88",
    "#77AADD",
    "#44BB99",
    "#FFAABB",
    "#EE8866",
    "#AAAA00",
    "#99DDFF",
    "#BBCC33",
    "#BBAAEE",
    "#C9A27E",
)
_BLANK = ("", "nan", "none", "<na>", "nat")


@dataclass(frozen=True)
class Classes:
    """The known class of each row, and the colours of the most frequent classes."""

    of_row: list[str]
    colours: dict[str, str]

    @classmethod
    def of(cls, values: list[str]) -> Classes:
        """Give the most frequent classes a colour each."""
        counts = Counter(value for value in values if value.lower() not in _BLANK)
        kept = [name for name, _ in counts.most_common(len(_PALETTE))]
        return cls(values, dict(zip(kept, _PALETTE, strict=False)))

    def colour(self, row: int) -> str:
        """Colour of the class of a row."""
        return self.colours.get(self.of_row[row], OTHER)

    def legend(self) -> list[tuple[str, str]]:
        """Words and colour of each entry."""
        counts = Counter(self.of_row)
        entries = [(f"{name}  {counts[name]:,}", colour) for name, colour in self.colours.items()]
        others = sum(count for name, count in counts.items() if name not in self.colours)
        return [*entries, (f"others  {others:,}", OTHER)] if others else entries


@dataclass(frozen=True)
class Content:
    """What the picture says, before it is laid out; `words` say what sets each box apart."""

    shape: Shape
    names: list[str] | None
    classes: Classes | None
    titles: Sequence[str] | None
    words: Sequence[str] | None
    title: str
    unit: str
    note: str

    def box_title(self, place: int) -> str:
        """Heading of a box: which clusters it is, and what sets it apart."""
        box = self.shape.boxes[place]
        if self.titles is not None and not box.is_bundle:
            return self.titles[box.labels[0]]
        words = self.words[place] if self.words is not None else ""
        if box.trees:
            head = f"{box.trees:,} smaller trees"
        elif box.is_bundle:
            head = f"{len(box.labels):,} clusters"
        else:
            head = f"{box.labels[0]}" if words else f"cluster {box.labels[0]}"
        return f"{head} · {words}" if words else head

    def box_items(self, box: Box, most: int) -> list[tuple[str, str]]:
        """Numbers of a bundle's clusters, and names of a box's rows, with their colours."""
        bundled = [(f"clusters {numbers_in_words(box.labels)}", "")] if box.is_bundle else []
        if self.names is None:
            return bundled
        colour = self.classes.colour if self.classes else lambda _: PLAIN
        named = [(self.names[row], colour(row)) for row in box.rows[:most].tolist()]
        return [*bundled, *named]

    def n_items(self, box: Box) -> int:
        """How many items a box has in all."""
        return box.is_bundle + (0 if self.names is None else len(box.rows))

    def shares(self, box: Box) -> list[tuple[str, float]]:
        """Colours of a box's classes and their shares, the largest first."""
        if self.classes is None:
            return [(PLAIN, 1.0)]
        counts = Counter(map(self.classes.colour, box.rows.tolist()))
        return [(colour, count / len(box.rows)) for colour, count in counts.most_common()]

    def count(self, box: Box) -> str:
        """How many rows a box has, with the unit."""
        return counted(len(box.rows), self.unit)

    def mixtures(self, box: Box) -> list[str]:
        """Classes of a box in words, from all of them to the share of the largest."""
        if self.classes is None:
            return []
        counts = Counter(self.classes.of_row[row] or "unknown" for row in box.rows.tolist())
        return mixtures_in_words(counts)


def counted(number: int, unit: str) -> str:
    """Write a number of things, whose name is given in the plural."""
    return f"{number:,} {unit.removesuffix('s') if number == 1 else unit}".strip()


def numbers_in_words(numbers: Sequence[int], most: int = 12) -> str:
    """Write numbers in order, runs of them with a dash: "3, 7-9"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = [
        f"{low}" if low == high else f"{low}, {high}" if high == low + 1 else f"{low}\u2013{high}"
        for low, high in runs[:most]
    ]
    return ", ".join(shown) + (", …" if len(runs) > most else "")


def mixtures_in_words(counts: Counter[str]) -> list[str]:
    """Say how many there are of each class, in ever fewer words."""
    whole = mixture_in_words(counts)
    if len(counts) == 1:
        return [whole]
    (name, count), *rest = counts.most_common()
    least = f"{count / sum(counts.values()):.0%} {_class_name(name)}"
    others = sum(number for _, number in rest)
    shorter = [f"{_of_class(name, count)}, {others:,} of {len(rest)} others"] if rest[1:] else []
    return [whole, *shorter, least]


def mixture_in_words(counts: Counter[str]) -> str:
    """Say how many there are of each class: "13 fish, 1 reptile", or "all fish"."""
    if len(counts) == 1:
        name, count = next(iter(counts.items()))
        return _class_name(name) if count == 1 else f"all {_class_name(name)}"
    return ", ".join(_of_class(name, count) for name, count in counts.most_common())


def _class_name(name: str) -> str:
    return name if name[:1].isalpha() else f"class {name}"


def _of_class(name: str, count: int) -> str:
    named = _class_name(name)
    return f"{count:,} {named}" if named == name else f"{count:,} of {named}"


class Ruler:
    """Measures words in points, without a figure, as the sum of their letters' widths."""

    def __init__(self, script: Script) -> None:
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        self._path = text_to_path
        self.script = script
        self._fonts = {
            weight: FontProperties(family=families, size=100, weight=weight)
            for weight, families in script.families.items()
        }
        self._letters: dict[tuple[str, str], float] = {}

    def width(self, text: str, size: float, weight: str = "normal") -> float:
        """Width of a line of text."""
        weight = self.script.weight(text, weight)
        return size / 100 * sum(self._letter(letter, weight) for letter in text)

    def _letter(self, letter: str, weight: str) -> float:
        known = self._letters.get((letter, weight))
        if known is None:
            # Between two letters, for alone a space has no extent.
            known = self._extent(f"n{letter}n", weight) - self._extent("nn", weight)
            self._letters[letter, weight] = known
        return known

    def _extent(self, text: str, weight: str) -> float:
        font = self._fonts[weight]
        return float(self._path.get_text_width_height_descent(text, font, False)[0])

    def shorten(self, text: str, size: float, room: float, weight: str = "normal") -> str:
        """Cut a line of text to fit, ending in an ellipsis."""
        if self.width(text, size, weight) <= room:
            return text
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.width(text[:middle].rstrip() + "…", size, weight) <= room:
                low = middle
            else:
                high = middle - 1
        return text[:low].rstrip() + "…"

    def wrap(
        self, pieces: Sequence[str], size: float, room: float, weight: str = "normal"
    ) -> list[str]:
        """Set pieces of text, such as its words, into lines that fit, as far as the pieces do."""
        lines: list[str] = []
        for piece in pieces:
            longer = f"{lines[-1]} {piece}" if lines else piece
            if lines and self.width(longer, size, weight) <= room:
                lines[-1] = longer
            else:
                lines.append(piece)
        return lines


@dataclass(frozen=True)
class Pill:
    """A word on a rounded field; without a colour only the word."""

    text: str
    colour: str
    x: float
    y: float
    width: float


def _pill(ruler: Ruler, text: str, colour: str, room: float) -> Pill:
    short = ruler.shorten(text, NAME_SIZE, min(room - 10, _LONGEST_NAME) if colour else room - 10)
    return Pill(short, colour, 0.0, 0.0, ruler.width(short, NAME_SIZE) + 10)


def _flow(
    ruler: Ruler, items: Sequence[tuple[str, str]], room: float, max_lines: int, total: int
) -> list[Pill]:
    """Set words into lines; where they do not all fit the last one says how many are left."""
    pills: list[Pill] = []
    x, line = 0.0, 0
    for text, colour in items:
        pill = _pill(ruler, text, colour, room)
        if x and x + pill.width > room:
            x, line = 0.0, line + 1
        if line >= max_lines:
            break
        pills.append(replace(pill, x=x, y=line * LINE_STEP))
        x += pill.width + _GAP
    return pills if len(pills) == total else _with_rest(ruler, pills, room, total)


def _one_line(ruler: Ruler, items: Sequence[tuple[str, str]], room: float) -> list[Pill] | None:
    """Set words into one line, or None where they do not fit."""
    pills: list[Pill] = []
    x = 0.0
    for text, colour in items:
        pill = _pill(ruler, text, colour, math.inf)
        if x + pill.width > room:
            return None
        pills.append(replace(pill, x=x))
        x += pill.width + _GAP
    return pills


def _with_rest(ruler: Ruler, pills: list[Pill], room: float, total: int) -> list[Pill]:
    while pills:
        rest = _pill(ruler, f"+ {total - len(pills):,} more", "", room)
        last = pills[-1]
        x = last.x + last.width + _GAP
        if x + rest.width <= room or len(pills) == 1:
            return [*pills, replace(rest, x=x, y=last.y)]
        pills = pills[:-1]
    return pills


def _lines(pills: Sequence[Pill]) -> int:
    return round(pills[-1].y / LINE_STEP) + 1 if pills else 0


@dataclass(frozen=True)
class BoxPlace:
    """A box at its place; the pills' places are relative to the first line of names."""

    title: list[str]
    count: str
    pills: list[Pill]
    y: float
    height: float
    shares: list[tuple[str, float]]
    is_bundle: bool

    @property
    def head(self) -> float:
        """Height of the title."""
        return HEAD + TITLE_STEP * (len(self.title) - 1)


@dataclass(frozen=True)
class Page:
    """The whole picture."""

    width: float
    height: float
    left: float
    step: float
    title: str
    legend: list[Pill]
    legend_y: float
    boxes: list[BoxPlace]
    note: list[str]
    note_y: float

    def fork_x(self, level: int) -> float:
        """Where the forks of a level stand."""
        return self.left - STEM - (level - 0.5) * self.step


def _place_box(ruler: Ruler, content: Content, place: int, room: float, max_lines: int) -> BoxPlace:
    box = content.shape.boxes[place]
    items, total = content.box_items(box, 60 * max_lines), content.n_items(box)
    count = _count_that_fits(ruler, content, box, room, content.box_title(place))
    # On a coarse screen bold letters are set wider than they are.
    title_room = 0.96 * (room - ruler.width(count, SMALL_SIZE) - 10)
    title = _title_lines(ruler, content.box_title(place), title_room)
    found = BoxPlace(title, count, [], 0.0, 0.0, content.shares(box), box.is_bundle)
    title_width = 1.04 * ruler.width(title[0], TITLE_SIZE, "bold")
    left_over = title_room - title_width - 14
    beside = _one_line(ruler, items, left_over) if len(title) == 1 else None
    if len(items) == total and beside is not None:
        pills = [replace(pill, x=pill.x + title_width + 12, y=2.2 - HEAD) for pill in beside]
        return replace(found, pills=pills, height=HEAD + 5)
    pills = _flow(ruler, items, room, max_lines, total)
    return replace(found, pills=pills, height=found.head + _lines(pills) * LINE_STEP + 7)


def _count_that_fits(ruler: Ruler, content: Content, box: Box, room: float, title: str) -> str:
    """Choose the longest account of a box's classes that leaves the title one line, or two."""
    count, mixtures = content.count(box), content.mixtures(box)
    left_over = room - ruler.width(title, TITLE_SIZE, "bold") - 10
    for enough in (left_over, 0.5 * room):
        for mixture in mixtures:
            if ruler.width(f"{count}: {mixture}", SMALL_SIZE) <= enough:
                return f"{count}: {mixture}"
    if mixtures:
        return f"{count}: {ruler.shorten(mixtures[-1], SMALL_SIZE, 0.4 * room)}"
    return ruler.shorten(count, SMALL_SIZE, 0.6 * room)


def _pieces(ruler: Ruler, title: str, room: float) -> list[str]:
    """Break a title behind its commas, and where this is not enough into words."""
    pieces = []
    for piece in title.replace(", ", ",\n").split("\n"):
        fits = ruler.width(piece, TITLE_SIZE, "bold") <= room
        pieces += [piece] if fits else piece.split()
    return pieces


def _title_lines(ruler: Ruler, title: str, room: float) -> list[str]:
    lines = ruler.wrap(_pieces(ruler, title, room), TITLE_SIZE, room, "bold")[:_MOST_TITLE_LINES]
    lines = lines or [""]
    if len(lines) == _MOST_TITLE_LINES:
        before = len(" ".join(lines[:-1]))
        lines[-1] = title[before:].strip()
    return [ruler.shorten(line, TITLE_SIZE, room, "bold") for line in lines]


def _legend(ruler: Ruler, content: Content, room: float) -> list[Pill]:
    if content.classes is None:
        return []
    entries = [("Known class:", ""), *content.classes.legend()]
    return _flow(ruler, entries, room, 99, len(entries))


def lay_out(ruler: Ruler, content: Content, width: float, max_lines: int) -> Page:
    """Lay out the picture with at most `max_lines` lines of names in a box."""
    levels = max((fork.level for fork in content.shape.forks), default=0)
    step = min(_WIDEST_STEP, 0.42 * width / levels) if levels else 0.0
    left = MARGIN + (levels * step + STEM + 10 if levels else 0.0)
    legend_y = MARGIN + (28 if content.title else 0)
    legend = _legend(ruler, content, width - 2 * MARGIN)
    y = legend_y + (_lines(legend) * LINE_STEP + 8 if legend else 0)
    room = width - left - MARGIN - STRIP - 2 * PADDING
    boxes = []
    for number in range(len(content.shape.boxes)):
        place = replace(_place_box(ruler, content, number, room, max_lines), y=y)
        boxes.append(place)
        y += place.height + _BETWEEN
    note = ruler.wrap(content.note.split(), SMALL_SIZE, 0.95 * (width - 2 * MARGIN))
    height = y + _NOTE_STEP * len(note) + MARGIN - _BETWEEN + (5 if note else 0)
    return Page(width, height, left, step, content.title, legend, legend_y, boxes, note, y + 5)


def best_page(ruler: Ruler, content: Content, width: float, tallest: float) -> Page:
    """Lay out the picture with as many names as fit into a height."""
    page = lay_out(ruler, content, width, 40)
    for max_lines in (24, 16, 12, 9, 7, 5, 4, 3, 2, 1):
        if page.height <= tallest:
            break
        page = lay_out(ruler, content, width, max_lines)
    return page


def natural_width(shape: Shape) -> float:
    """Width at which a picture reads well: wider where the splits are many levels deep."""
    levels = max((fork.level for fork in shape.forks), default=0)
    return 792.0 + 24.0 * max(0, levels - 6)


def note_in_words(shape: Shape, log_odds: Floats) -> str:
    """Explain the forks below the picture."""
    if not shape.forks:
        return ""
    note = (
        "Numbers at the forks: the odds that the two sides are different kinds rather than one. "
        "The bolder the line, the surer the split."
    )
    if any(log_odds[fork.node] > 0 for fork in shape.forks):
        note += " Dashed: the data speak for one kind, but a split was asked for."
    return note


def odds_in_words(log_odds: float) -> str:
    """Say the odds of a split the way a person says them.

    Parameters
    ----------
    log_odds : float
        Log odds of one cluster against a split, in nats, as in ``Posterior.log_odds``.

    Returns
    -------
    str
        Odds for the split: ``"1,200 : 1"``, ``"2.5 : 1"``, ``"1 : 3"`` where one cluster is
        likelier, capped at ``"> 1 million : 1"`` and ``"1 : > 1 million"``.

    Examples
    --------
    >>> odds_in_words(-7.09)
    '1,200 : 1'
    >>> odds_in_words(0.0)
    '1 : 1'
    """
    if math.isnan(log_odds):
        return "?"
    words = _times(abs(log_odds))
    return f"{words} : 1" if log_odds <= 0 else f"1 : {words}"


def _times(log_ratio: float) -> str:
    if log_ratio > math.log(1e6) + 1e-9:
        return "> 1 million"
    ratio = math.exp(log_ratio)
    if ratio < 9.95:
        return f"{ratio:.1f}".removesuffix(".0")
    digits = math.floor(math.log10(ratio)) - 1
    return f"{round(ratio, -digits):,.0f}"
