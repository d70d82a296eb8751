"""A report's tables of the clusters and of the rows that may belong elsewhere."""

from __future__ import annotations

from collections import Counter
from html import escape

import numpy as np

from ._condense import Ints
from ._describe import certainty_in_words, percent_in_words
from ._page import mixture_in_words
from ._report_findings import SURE, Found, doubtful_rows
from ._report_markup import isolated, markup_row, table_of
from ._traits import short_name

_MOST_CLUSTERS = 200
_MOST_NAMES = 12
_MANY_CLUSTERS = 50
_FEWER_NAMES = 5
_MOST_DOUBTED = 60


def clusters_section(found: Found) -> str:
    """List the clusters."""
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
        shown = ", ".join(isolated(found.names[row]) for row in rows[:most].tolist())
        more = f" and {len(rows) - most:,} more" if len(rows) > most else ""
        sure = percent_in_words(float(found.sure[rows].mean()))
        cells = [_linked(label, sizes), f"{len(rows):,}", sure, told or "nothing", shown + more]
        if found.classes is not None:
            counts = Counter(found.classes[row] or "unknown" for row in rows.tolist())
            cells.append(isolated(mixture_in_words(counts)))
        lines.append(markup_row(cells, 3, f' id="cluster-{label}"'))
    after = ""
    if found.n_clusters > len(largest):
        more = f"{found.n_clusters - len(largest):,}"
        after = f"<p class='faint'>The {len(largest):,} largest are listed; {more} are not.</p>"
    return (
        "<section id='clusters'><h2>The clusters</h2>\n"
        f"<p>{escape(certainty_in_words(found.labels, found.unit))} "
        "Shares and means are compared with those of the whole table.</p>\n"
        f"{table_of('Clusters', head, lines, 3)}\n{after}</section>"
    )


def _linked(label: int, sizes: Ints) -> str:
    return f'<a href="#tree" data-cluster="{label}">{label}</a>' if len(sizes) > 1 else f"{label}"


def doubtful_section(found: Found) -> str:
    """List the rows that may belong elsewhere."""
    doubted = doubtful_rows(found)
    unit = found.unit
    head = (
        f"<section id='doubtful'><h2>Doubtful {escape(unit)}</h2>\n"
        f"<p>Each of the {escape(unit)} was set aside, and the clusters of the others were asked "
        "whose it is. Listed are those that find back to their own with a chance below "
        f"{SURE:.0%}. Some fit another cluster better than their own: clusters are whole "
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
        name = f'<a href="#tree" data-show="{row}">{isolated(found.names[row])}</a>'
        chance = percent_in_words(float(found.members.chance[row]))
        back = percent_in_words(float(found.members.own[row]))
        why = isolated(_differs(found, row, label, other)) if other >= 0 else ""
        lines.append(markup_row([name, f"{label}", back, goes, chance, why]))
    left = len(doubted) - _MOST_DOUBTED
    after = f"<p class='faint'>and {left:,} more.</p>" if left > 0 else ""
    names = ("name", "in cluster", "chance there", "or else in", "chance", "because")
    return f"{head}\n{table_of('Doubtful', names, lines)}{after}</section>"


def _differs(found: Found, row: int, own: int, other: int) -> str:
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


def _column_of(found: Found, place: int) -> str:
    """Name the column of a field; one of a level bears the level's name too."""
    name = found.field.names[place]
    before = name.rpartition(": ")[0]
    return before if before in {short_name(column) for column in found.columns} else name
