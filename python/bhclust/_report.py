"""A clustering on one page: HTML that holds all it needs and opens without a network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _report_data
from ._arguments import checked_labels, checked_post, checked_text, checked_texts
from ._cells import alias_of, columns_of, with_names
from ._condense import Floats, Ints, PosteriorLike, condense
from ._core import __version__
from ._describe import certainty, certainty_in_words, percent_in_words
from ._heatmap import Field, field_of, means_of
from ._matrix import SparseColumns
from ._memberships import Memberships, memberships
from ._page import counted, mixture_in_words
from ._sniff import Column
from ._traits import Trait, short_name, traits
from .io import OutputFiles, Table
from .metrics import adjusted_rand_index

_MOST_CLUSTERS = 200
_MOST_NAMES = 12
_MANY_CLUSTERS = 50
_MOST_APART = 3
_FEWER_NAMES = 5
_MOST_COLUMNS = 500
_MOST_WORK = 2e8
_MOST_DOUBTED = 60
_SURE = 0.9
_RAMP = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
_KINDS = {
    "bernoulli": "yes or no",
    "categorical": "categories",
    "poisson": "counts",
    "geometric": "counts",
    "negative-binomial": "counts",
    "multinomial": "counts, as shares of their row",
    "exponential": "waiting times",
    "von-mises-fisher": "directions",
}


def report(
    post: PosteriorLike,
    X: Any,
    path: str | os.PathLike[str],
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    title: str = "",
    unit: str = "rows",
    choices: Mapping[str, Any] | None = None,
    feature_names: Iterable[Any] | None = None,
) -> None:
    """Write what was found to one HTML file, which opens in any browser and without a network.

    It tells how many clusters there are and how sure that is; shows the tree with the table beside
    it, to be opened, closed, zoomed and searched; lists for each cluster what sets it apart and how
    certain its rows are, and the rows that are doubtful with their alternatives; and says how the
    columns were read and what was chosen.

    Parameters
    ----------
    post : Posterior
        The posterior of a tree.
    X : array-like, DataFrame, mapping, CSR matrix or Table, n rows
        The rows. The columns may be others than those clustered on.
    path : path
        The file; one that exists is replaced, once the new one is whole.
    labels : array of int, shape (n,), optional
        A cut of the tree; by default ``post.cut()``.
    names : sequence, length n, optional
        Names of the rows; by default those of a Table, else ``row 0``, ``row 1``, …
    classes : sequence, length n, optional
        Known classes of the rows, only compared with; by default those of a Table.
    title : str, optional
        Title of the page.
    unit : str, default "rows"
        What the rows are, in the plural.
    choices : mapping of str to anything, optional
        What else was chosen on the way, told with the family and the concentration.
    feature_names : sequence of str, optional
        Names of the columns of an array or a CSR matrix, which has none of its own; else they go
        by their numbers.

    Returns
    -------
    None

    Raises
    ------
    ValueError, TypeError
        If X, labels, names or classes do not have one entry for each row, if the labels are not a
        cut of the tree, or if an argument is something else than it should be.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be the path of a file, not {path!r}")
    text = page(
        post,
        with_names(X, feature_names),
        labels=labels,
        names=names,
        classes=classes,
        title=title,
        unit=unit,
        choices=choices,
    )
    place = Path(os.fsdecode(path))
    files = OutputFiles(place.parent, replace=True)
    with files:
        files.add(place.name, text.encode(errors="replace"))


def page(
    post: PosteriorLike,
    X: Any,
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    title: str = "",
    unit: str = "rows",
    choices: Mapping[str, Any] | None = None,
    pictures: bool = True,
) -> str:
    """Write what `report` puts into its file; without `pictures` there is no tree to look at."""
    found = _found(post, X, labels, names, classes, title, unit, dict(choices or {}))
    shown = f"{found.title or 'Clusters'}"
    style, script = _own_file("report.css"), _own_file("report.js") if pictures else ""
    sections = [
        _head(found),
        _tree(found) if pictures else "",
        _number_of_clusters(found),
        _clusters(found),
        _doubtful(found),
        _columns(found),
        _choices(found),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(shown)}</title>",
            f"<style>{style}</style></head>",
            "<body>",
            f"<header><h1><bdi>{escape(shown)}</bdi></h1></header>",
            "<main>",
            *filter(None, sections),
            "</main>",
            *([_data(found), f"<script>{script}</script>"] if pictures else []),
            "</body></html>",
            "",
        ]
    )


def _own_file(name: str) -> str:
    return (resources.files("bhclust") / "data" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Allow what the page itself holds and nothing else, so that no text can become code."""

    def own(text: str) -> str:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
        return f"'sha256-{digest}'" if text else "'none'"

    return (
        f"default-src 'none'; style-src {own(style)}; script-src {own(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


@dataclass(frozen=True)
class _Found:
    """What the page tells of."""

    post: Any
    columns: dict[str, Column]
    set_aside: dict[str, str]
    notes: Sequence[str]
    labels: Ints
    names: list[str]
    classes: list[str] | None
    traits: list[list[Trait]]
    title: str
    unit: str
    cut: str
    choices: dict[str, Any]
    sure: Floats
    members: Memberships
    chances: Floats | None
    field: Field
    means: Floats
    widths: dict[str, int]

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.labels))


def _found(
    post: Any,
    X: Any,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    classes: Iterable[Any] | None,
    title: str,
    unit: str,
    choices: dict[str, Any],
) -> _Found:
    checked_post(post)
    n = post.tree.n_leaves
    flat = checked_labels(post, labels)
    # Refuses labels that are no cut.
    condense(post.tree, flat, 2)
    is_table = isinstance(X, Table)
    columns = columns_of(X, post, flat)
    own_names = X.row_names if is_table else [f"row {row}" for row in range(n)]
    own_classes = X.target if is_table else None
    told = checked_texts(names, n, "names")
    sure = certainty(post, flat)
    field = field_of(columns, flat, _report_data.most_fields(n))
    known = checked_texts(classes, n, "classes")
    return _Found(
        post=post,
        columns=columns,
        set_aside=X.set_aside if is_table else {},
        notes=X.notes if is_table else (),
        labels=flat,
        names=told or own_names,
        classes=known or own_classes,
        traits=traits(columns, flat),
        title=checked_text(title, "title"),
        unit=checked_text(unit, "unit"),
        cut="the most probable partition" if labels is None else "as given",
        choices=choices,
        sure=sure,
        members=memberships(post, flat, np.argsort(sure, kind="stable")),
        chances=_chances(post, flat),
        field=field,
        means=means_of(field.cells, flat),
        widths=_widths(X if is_table else None, columns),
    )


def _widths(table: Table | None, columns: dict[str, Column]) -> dict[str, int]:
    """For each column its number of cells in the model; of a sparse table they are too many."""
    if table is not None and isinstance(table.columns, SparseColumns):
        return dict.fromkeys(table.columns, 1)
    # A hurdle makes two cells of a column, side by side.
    return {name: 1 + (column.family == "hurdle") for name, column in columns.items()}


def _chances(post: Any, labels: Ints) -> Floats | None:
    """Find the posterior of the number of clusters, unless it takes too long."""
    here = len(np.unique(labels))
    most = min(len(labels), int(here + 6 * here**0.5) + 50)
    if most * len(labels) > _MOST_WORK:
        return None
    found: Floats = post.n_clusters_distribution(most)
    return found


def _head(found: _Found) -> str:
    rows = counted(len(found.labels), found.unit)
    told = [("How many clusters", *_how_many(found)), ("How sure", *_how_sure(found))]
    told.append(("Doubtful", *_how_doubtful(found)))
    if found.n_clusters > 1:
        told.append(("What sets them apart", "", _what_apart(found), "clusters"))
    known = [row for row, name in enumerate(found.classes or ()) if name]
    classes = [found.classes[row] for row in known] if found.classes else []
    if len(set(classes)) > 1:
        index = adjusted_rand_index(found.labels[known], classes)
        words = (
            "is the adjusted Rand index with the known classes: 1 where they are the same, 0 where "
            "they agree as by chance. The classes were not clustered on."
        )
        told.append(("Known classes", f"{index:.2f}", words, ""))
    items = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{f'<b>{escape(short)}</b> ' if short else ''}"
        + escape(words)
        + (f' <a href="#{place}">More</a>' if place else "")
        + "</dd></div>"
        for what, short, words, place in told
    )
    lead = f"{counted(found.n_clusters, 'clusters')} in {rows}."
    return (
        '<a class="skip" href="#clusters">To the table of the clusters</a>\n'
        f"<p>{escape(lead)} <span class='faint'>Log evidence "
        f"{found.post.log_evidence:,.2f} nats; {counted(len(found.widths), 'columns')}.</span></p>"
        f"\n<dl class='answers'>{items}</dl>"
    )


def _how_many(found: _Found) -> tuple[str, str, str]:
    if found.chances is None:
        expected = found.post.expected_n_clusters()
        return f"{found.n_clusters:,}", f"({expected:,.1f} on average)", "number"
    low, high = _range(found.chances, 0.95)
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    chance = _chance(float(found.chances[low - 1 : high].sum()))
    return f"{found.n_clusters:,}", f"({span} with a chance of {chance})", "number"


def _how_sure(found: _Found) -> tuple[str, str, str]:
    sizes = np.bincount(found.labels)
    sure = np.bincount(found.labels, weights=found.sure) / sizes
    least = int(np.argmin(sure))
    words = "is the mean chance, by this tree, that rows of a cluster belong together"
    if found.n_clusters > 1:
        words += f"; least sure is cluster {least} ({percent_in_words(float(sure[least]))})"
    return percent_in_words(float(found.sure.mean())), f"{words}.", "clusters"


def _how_doubtful(found: _Found) -> tuple[str, str, str]:
    many = len(_doubted(found))
    words = (
        f"of {counted(len(found.labels), found.unit)} may belong elsewhere: set aside, they find "
        f"back to their cluster with a chance below {_SURE:.0%}."
    )
    return f"{many:,}", words, "doubtful" if many else ""


def _what_apart(found: _Found) -> str:
    """Say what marks the largest clusters, which have the first numbers."""
    largest = np.argsort(-np.bincount(found.labels), kind="stable")[:_MOST_APART]
    marks = {
        label: ", ".join(trait.short for trait in found.traits[label][:2])
        for label in sorted(largest.tolist())
    }
    told = "; ".join(f"cluster {label}: {short}" for label, short in marks.items() if short)
    if not told:
        return "No column does by itself."
    return f"{told}{'; …' if found.n_clusters > len(largest) else '.'}"


def _key(found: _Found) -> str:
    """Explain the cells beside the tree."""
    if not found.field.names:
        return ""
    ramp = "".join(
        f"<rect x='{14 * place}' width='14' height='10' fill='{colour}'/>"
        for place, colour in enumerate(_RAMP)
    )
    left = found.field.left_out
    more = f" Not shown: {counted(left, 'less telling columns')}." if left else ""
    return (
        "<p class='faint'>Beside the tree: the columns, from low <svg class='scale' width='70' "
        f"height='10' role='img' aria-label='dark to light'>{ramp}</svg> to high; a frame where "
        f"all is missing.{more}</p>"
    )


def _tree(found: _Found) -> str:
    return (
        "<noscript><p>The tree needs JavaScript; the tables below do not.</p></noscript>\n"
        "<section id='tree' aria-labelledby='tree-head' hidden><h2 id='tree-head'>The tree</h2>\n"
        "<p>Every box is a branch; those of a cluster bear its colour. Numbers at the forks are "
        "the odds that the two sides are different kinds rather than one, where there is room for "
        "them; the bolder the line, the surer the split. Click a box or a fork to read of it "
        "beside the tree, and to open and close it.</p>\n"
        f"{_key(found)}"
        "<div class='bar-tools' role='group' aria-label='Tree'>"
        "<label for='search'>Find a name</label><input type='search' id='search' "
        "autocomplete='off' spellcheck='false' aria-controls='hits'>"
        "<button type='button' id='reset'>Clusters</button>"
        "<button type='button' id='more'>Open more</button>"
        "<button type='button' id='up'>Zoom out</button>"
        "<span class='faint' id='shown'></span></div>\n"
        "<p id='live' role='status' aria-live='polite' class='faint'></p><ul id='hits'></ul>\n"
        "<div id='workspace'><div id='view'><svg id='tree-picture'></svg>"
        "<canvas id='cells' aria-hidden='true'></canvas></div>"
        "<div id='about' role='region' aria-label='The chosen branch' tabindex='0'></div></div>"
        "<div id='tip' hidden></div></section>"
    )


def _data(found: _Found) -> str:
    counted_off = all(name == f"row {row}" for row, name in enumerate(found.names))
    names = [name.encode(errors="replace").decode() for name in found.names]
    values = {
        "n": len(found.labels),
        "unit": found.unit,
        "names": None if counted_off else names,
        "labels": found.labels.tolist(),
        "sure": [round(value, 2) for value in found.sure.tolist()],
        "doubt": _doubts(found),
        "shorts": [", ".join(trait.short for trait in told[:3]) for told in found.traits],
        **_report_data.tree_of(found.post, found.labels),
        **_report_data.cells_of(found.field),
        **_report_data.explained(found.post, found.widths),
    }
    return f'<script type="application/json" id="data">{_report_data.as_json(values)}</script>'


def _doubts(found: _Found) -> dict[str, list[float]]:
    members = found.members
    return {
        str(row): [
            round(float(members.own[row]), 3),
            int(members.other[row]),
            round(float(members.chance[row]), 3),
        ]
        for row in _doubted(found)
    }


def _number_of_clusters(found: _Found) -> str:
    here = found.n_clusters
    expected = f"{found.post.expected_n_clusters():,.1f}"
    head = "<section id='number'><h2>How many clusters</h2>"
    chances = found.chances
    if chances is None:
        return (
            f"{head}\n<p>On average over the posterior there are {expected} clusters.</p></section>"
        )
    best = int(np.argmax(chances)) + 1
    low, high = _range(chances, 0.95)
    told = (
        f"The most probable number is {best:,} ({_chance(chances[best - 1])}); "
        + (f"{low:,}" if low == high else f"from {low:,} to {high:,}")
        + f" with a chance of {_chance(float(chances[low - 1 : high].sum()))}; "
        f"{expected} on average. The clusters below are {here:,}."
    )
    if best != here and found.cut != "as given":
        told += (
            " The two differ because the clusters are the one most probable partition, while many"
            " partitions share a number."
        )
    left = max(0, min(low, here if here >= low - 12 else low) - 1)
    right = max(high, here if here <= high + 12 else high)
    if right - left > 40:
        left, right = max(0, best - 20), min(best + 20, len(chances))
    rows = "".join(
        f"<tr{' class=chosen' if number == here else ''}><td class='number'>{number:,}</td>"
        f"<td class='number'>{_chance(chances[number - 1])}</td>"
        f"<td>{_bar(float(chances[number - 1] / chances.max()))}</td></tr>"
        for number in range(left + 1, min(right, len(chances)) + 1)
    )
    return (
        f"{head}\n<p>{escape(told)}</p>\n<table class='narrow'><thead><tr>"
        "<th class='number' scope='col'>clusters</th><th class='number' scope='col'>chance</th>"
        f"<td></td></tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _bar(share: float) -> str:
    return (
        "<svg class='bar' viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * share:.1f}' height='10'/></svg>"
    )


def _range(chances: Any, enough: float) -> tuple[int, int]:
    """Find the shortest run of numbers of clusters that hold so much of the posterior."""
    best = int(np.argmax(chances))
    low = high = best
    total = float(chances[best])
    while total < enough and (low > 0 or high < len(chances) - 1):
        below = float(chances[low - 1]) if low > 0 else -1.0
        above = float(chances[high + 1]) if high < len(chances) - 1 else -1.0
        if below >= above:
            low -= 1
        else:
            high += 1
        total += max(below, above)
    return low + 1, high + 1


def _chance(chance: float) -> str:
    return f"{chance:.1%}" if 0.0005 <= chance < 0.9995 else percent_in_words(chance)


def _clusters(found: _Found) -> str:
    sizes = np.bincount(found.labels)
    largest = np.argsort(-sizes, kind="stable")[: min(found.n_clusters, _MOST_CLUSTERS)]
    head = ["cluster", found.unit, "certainty", "set apart by", "such as"]
    head += ["known classes"] if found.classes is not None else []
    lines = []
    most = _MOST_NAMES if found.n_clusters <= _MANY_CLUSTERS else _FEWER_NAMES
    by_cluster = np.split(np.argsort(found.labels, kind="stable"), np.cumsum(sizes)[:-1])
    for label in sorted(largest.tolist()):
        rows = by_cluster[label]
        # From here the script reads what it tells of a cluster.
        told = "; ".join(f"<bdi>{escape(trait.text)}</bdi>" for trait in found.traits[label])
        shown = ", ".join(_isolated(found.names[row]) for row in rows[:most].tolist())
        more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
        sure = percent_in_words(float(found.sure[rows].mean()))
        cells = [_linked(label, sizes), f"{len(rows):,}", sure, told or "nothing", shown + more]
        if found.classes is not None:
            counts = Counter(found.classes[row] or "unknown" for row in rows.tolist())
            cells.append(_isolated(mixture_in_words(counts)))
        lines.append(_markup_row(cells, 3, f' id="cluster-{label}"'))
    after = ""
    if found.n_clusters > len(largest):
        more = f"{found.n_clusters - len(largest):,}"
        after = f"<p class='faint'>The {len(largest):,} largest are listed; {more} are not.</p>"
    return (
        "<section id='clusters'><h2>The clusters</h2>\n"
        f"<p>{escape(certainty_in_words(found.labels, found.unit))} "
        "Shares and means are compared with those of the whole table.</p>\n"
        f"{_table('Clusters', head, lines, 3)}\n{after}</section>"
    )


def _linked(label: int, sizes: Ints) -> str:
    return f'<a href="#tree" data-cluster="{label}">{label}</a>' if len(sizes) > 1 else f"{label}"


def _isolated(text: str) -> str:
    """Escape a text of the table, and keep its writing direction to itself."""
    return escape(text) if text.isascii() else f"<bdi>{escape(text)}</bdi>"


def _table(name: str, head: Sequence[str], lines: Iterable[str], numeric: int = 0) -> str:
    heads = "".join(
        f"<th scope='col'{' class=number' if place < numeric else ''}>{escape(text)}</th>"
        for place, text in enumerate(head)
    )
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(name)}'>"
        f"<table class='wide'><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _doubted(found: _Found) -> list[int]:
    """List the rows whose own cluster is not much likelier than others, the least sure first."""
    own = found.members.own
    order = np.argsort(np.where(np.isnan(own), np.inf, own), kind="stable")
    return [row for row in order.tolist() if own[row] < _SURE]


def _doubtful(found: _Found) -> str:
    doubted = _doubted(found)
    unit = found.unit
    head = (
        f"<section id='doubtful'><h2>Doubtful {escape(unit)}</h2>\n"
        f"<p>Each of the {escape(unit)} was set aside, and the clusters of the others were asked "
        "whose it is. Listed are those that find back to their own with a chance below "
        f"{_SURE:.0%}. Some fit another cluster better than their own: clusters are whole "
        "branches of the tree.</p>"
    )
    looked = int(np.isfinite(found.members.own).sum())
    if looked < len(found.labels):
        head += f"<p class='faint'>The {looked:,} least sure were looked at.</p>"
    if not doubted:
        return f"{head}\n<p>None.</p></section>"
    lines = []
    for row in doubted[:_MOST_DOUBTED]:
        label, other = int(found.labels[row]), int(found.members.other[row])
        goes = f"cluster {other}" if other >= 0 else "a cluster of its own"
        name = f'<a href="#tree" data-show="{row}">{_isolated(found.names[row])}</a>'
        chance = percent_in_words(float(found.members.chance[row]))
        back = percent_in_words(float(found.members.own[row]))
        why = _isolated(_differs(found, row, label, other)) if other >= 0 else ""
        lines.append(_markup_row([name, f"{label}", back, goes, chance, why]))
    left = len(doubted) - _MOST_DOUBTED
    after = f"<p class='faint'>and {left:,} more.</p>" if left > 0 else ""
    names = ("name", "in cluster", "chance there", "or else in", "chance", "because")
    return f"{head}\n{_table('Doubtful', names, lines)}{after}</section>"


def _differs(found: _Found, row: int, own: int, other: int) -> str:
    """Say in which field of the heat map the row is nearest to the other cluster."""
    cells = found.field.cells
    if not cells.shape[1]:
        return ""
    gain = np.abs(cells[row] - found.means[own]) - np.abs(cells[row] - found.means[other])
    gain = np.nan_to_num(gain, nan=-1.0)
    best = np.argsort(-gain, kind="stable")[:6]
    telling = [_column_of(found, place) for place in best.tolist() if gain[place] > 0.1]
    near = list(dict.fromkeys(telling))[:2]
    return f"like cluster {other} in {', '.join(near)}" if near else ""


def _column_of(found: _Found, place: int) -> str:
    """Name the column of a field; one of a level bears the level's name too."""
    name = found.field.names[place]
    before = name.rpartition(": ")[0]
    return before if before in {short_name(column) for column in found.columns} else name


def _row(cells: Sequence[str], numeric: int = 0) -> str:
    return _markup_row([_isolated(cell) for cell in cells], numeric)


def _markup_row(cells: Sequence[str], numeric: int = 0, attributes: str = "") -> str:
    written = "".join(
        f"<td{' class=number' if place < numeric else ''}>{cell}</td>"
        for place, cell in enumerate(cells)
    )
    return f"<tr{attributes}>{written}</tr>"


def _columns(found: _Found) -> str:
    lines = []
    for column in list(found.columns.values())[:_MOST_COLUMNS]:
        kind = _KINDS.get(column.family, "measurements")
        lines.append(_row([column.name, f"{kind} ({column.family})", _values(column), column.why]))
    lines += [_row([name, "set aside", "", why]) for name, why in found.set_aside.items()]
    notes = "".join(f"<p class='faint'>{escape(note)}</p>" for note in found.notes)
    left = len(found.widths) - min(len(found.columns), _MOST_COLUMNS)
    more = f"<p class='faint'>and {left:,} more columns</p>" if left > 0 else ""
    head = ("column", "taken for", "values", "because")
    shown = _table("Columns", head, lines)
    return f"<section><h2>The columns as they were read</h2>\n{notes}{shown}{more}</section>"


def _values(column: Column) -> str:
    present = column.values[~np.isnan(column.values)]
    if column.levels:
        shown = ", ".join(column.levels[:8]) + (", …" if len(column.levels) > 8 else "")
    elif len(present):
        shown = f"{present.min():.4g} to {present.max():.4g}"
    else:
        shown = "none"
    return f"{shown}; {column.n_missing:,} missing" if column.n_missing else shown


def _choices(found: _Found) -> str:
    post = found.post
    told = list({"clusters": found.cut, **found.choices}.items())
    told.append(("concentration (alpha)", f"{post.alpha:.6g}"))
    for family, columns in getattr(post.family, "blocks", [(post.family, None)]):
        where = "" if columns is None else f" for {counted(len(columns), 'columns')}"
        told.append((f"family{where}: {alias_of(family)}", _hyperparameters(family)))
    told.append(("bhclust", __version__))
    lines = "".join(_row([str(name), str(value)]) for name, value in told)
    return (
        "<section><h2>What was chosen</h2>\n<div class='scroll'><table><tbody>"
        f"{lines}</tbody></table></div></section>"
    )


def _hyperparameters(family: Any) -> str:
    if not hasattr(family, "parameters"):
        return repr(family)[:300]
    return ", ".join(
        f"{name} {_brief(np.asarray(value))}" for name, value in family.parameters().items()
    )


def _brief(value: Any) -> str:
    if value.dtype.kind not in "iuf" or not value.size:
        return str(value)[:60]
    low, high = float(value.min()), float(value.max())
    if low == high:
        return f"{low:.4g}"
    return f"{low:.4g} to {high:.4g} ({value.size:,} values)"
