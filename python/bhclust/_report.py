"""A clustering on one page: HTML that holds all it needs and opens without a network."""

from __future__ import annotations

import base64
import importlib.util
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arguments import checked_labels, checked_post, checked_text, checked_texts
from ._cells import alias_of, columns_of, with_names
from ._condense import Ints, PosteriorLike, condense
from ._core import __version__
from ._describe import adjusted_rand, certainty, certainty_in_words, percent_in_words
from ._page import counted, mixture_in_words
from ._sniff import Column
from ._traits import Trait, traits
from .io import OutputFiles, Table

_MOST_CLUSTERS = 300
_MOST_NAMES = 12
_MOST_COLUMNS = 500
_MOST_WORK = 2e8
_MOST_NAMED_ROWS = 200
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

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 68rem; color: #22282f;
  background: #fff; font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid #d5dae0;
  padding-bottom: .25rem; }
p { margin: .5rem 0; max-width: 46rem; }
.faint { color: #59636e; }
dl.facts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
dl.facts div { border: 1px solid #d5dae0; border-radius: .4rem; padding: .5rem .9rem; }
dl.facts dt { color: #59636e; font-size: .85rem; }
dl.facts dd { margin: 0; font-size: 1.3rem; font-weight: 600; }
figure { margin: 1rem 0; overflow-x: auto; }
figure img { max-width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .6rem;
  border-bottom: 1px solid #e4e8ec; overflow-wrap: anywhere; }
thead th { border-bottom: 2px solid #4d5863; overflow-wrap: normal; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.bar { display: inline-block; height: .75rem; background: #0072b2; vertical-align: middle;
  min-width: 1px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.chosen .bar { background: #d55e00; }
.chosen td { font-weight: 600; }
table.narrow { width: auto; min-width: 24rem; }
table.narrow td:last-child { width: 16rem; }
@media print { body { padding: 0; max-width: none; font-size: 10pt; } h2 { break-after: avoid; }
  tr, figure { break-inside: avoid; } thead { display: table-header-group; }
  figure img { max-height: 24cm; width: auto; } .scroll, figure { overflow: visible; } }
"""


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

    It tells how many clusters there are and how sure that is, draws the tree and the table (with
    matplotlib), lists for each cluster what sets it apart and how certain its rows are, and says
    how the columns were read and what was chosen.

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
    """Write what `report` puts into its file; without `pictures` nothing is drawn."""
    found = _found(post, X, labels, names, classes, title, unit, dict(choices or {}))
    shown = f"{found.title or 'Clusters'}"
    sections = [
        _head(found),
        _tree(found, X) if pictures else "",
        _number_of_clusters(found),
        _clusters(found),
        _heatmap(found, X) if pictures else "",
        _columns(found),
        _choices(found),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(shown)}</title>",
            f"<style>{_STYLE}</style></head>",
            "<body>",
            f"<h1>{escape(shown)}</h1>",
            *filter(None, sections),
            "</body></html>",
            "",
        ]
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
    has_names: bool
    classes: list[str] | None
    traits: list[list[Trait]]
    title: str
    unit: str
    cut: str
    choices: dict[str, Any]

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.labels))


def _found(
    post: PosteriorLike,
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
    known = checked_texts(classes, n, "classes")
    return _Found(
        post=post,
        columns=columns,
        set_aside=X.set_aside if is_table else {},
        notes=X.notes if is_table else (),
        labels=flat,
        names=told or own_names,
        has_names=told is not None or bool(is_table and X.names),
        classes=known or own_classes,
        traits=traits(columns, flat),
        title=checked_text(title, "title"),
        unit=checked_text(unit, "unit"),
        cut="the most probable partition" if labels is None else "as given",
        choices=choices,
    )


def _head(found: _Found) -> str:
    rows = counted(len(found.labels), found.unit)
    facts = [
        ("clusters", f"{found.n_clusters:,}"),
        (found.unit, f"{len(found.labels):,}"),
        ("columns", f"{len(found.columns):,}"),
        ("log evidence (nats)", f"{found.post.log_evidence:,.2f}"),
    ]
    known = [row for row, name in enumerate(found.classes or ()) if name]
    told = [found.classes[row] for row in known] if found.classes else []
    if len(set(told)) > 1:
        index = adjusted_rand(found.labels[known], told)
        facts.append(("adjusted Rand index with the known classes", f"{index:.2f}"))
    items = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(b)}</dd></div>" for a, b in facts)
    lead = f"{counted(found.n_clusters, 'clusters')} in {rows}."
    if len(set(told)) > 1:
        lead += " The adjusted Rand index is 1 where clusters and classes are the same, 0 where"
        lead += " they agree as by chance; the classes were not clustered on."
    return f"<p>{escape(lead)}</p>\n<dl class='facts'>{items}</dl>"


def _tree(found: _Found, X: Any) -> str:
    from . import plot

    drawn = _picture(
        lambda file: plot.save_condensed_tree(
            file,
            found.post,
            X=X,
            labels=found.labels,
            names=found.names if found.has_names or len(found.names) <= _MOST_NAMED_ROWS else None,
            classes=found.classes,
            unit=found.unit,
            file_format="svg",
        ),
        f"The tree of {counted(found.n_clusters, 'clusters')}; the table below tells the same.",
    )
    return f"<h2>The tree</h2>\n{drawn}"


def _heatmap(found: _Found, X: Any) -> str:
    from . import plot

    if not found.columns or importlib.util.find_spec("matplotlib") is None:
        return ""
    drawn = _picture(
        lambda file: plot.save_heatmap(
            file,
            found.post,
            X,
            labels=found.labels,
            names=found.names if found.has_names else None,
            classes=found.classes,
            unit=found.unit,
            file_format="svg",
        ),
        "The table, its rows in the order of the tree.",
    )
    return f"<h2>The table in the order of the tree</h2>\n{drawn}"


def _picture(save: Callable[[io.BytesIO], None], told: str) -> str:
    if importlib.util.find_spec("matplotlib") is None:
        return '<p class="faint">No picture: it needs matplotlib (bhclust[plot]).</p>'
    file = io.BytesIO()
    save(file)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f'<figure><img alt="{escape(told, quote=True)}" '
        f'src="data:image/svg+xml;base64,{data}"></figure>'
    )


def _number_of_clusters(found: _Found) -> str:
    here = found.n_clusters
    expected = f"{found.post.expected_n_clusters():,.1f}"
    most = min(len(found.labels), int(here + 6 * here**0.5) + 50)
    head = "<h2>How many clusters</h2>"
    if most * len(found.labels) > _MOST_WORK:
        return f"{head}\n<p>On average over the posterior there are {expected} clusters.</p>"
    chances = found.post.n_clusters_distribution(most)
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
        f"<td><span class='bar' style='width:{100 * chances[number - 1] / chances.max():.1f}%'>"
        f"</span></td></tr>"
        for number in range(left + 1, min(right, len(chances)) + 1)
    )
    return (
        f"{head}\n<p>{escape(told)}</p>\n<table class='narrow'><thead><tr>"
        f"<th class='number'>clusters</th><th class='number'>chance</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
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
    sure = certainty(found.post, found.labels)
    sizes = np.bincount(found.labels)
    largest = np.argsort(-sizes, kind="stable")[: min(found.n_clusters, _MOST_CLUSTERS)]
    head = ["cluster", found.unit, "certainty", "set apart by", "such as"]
    head += ["known classes"] if found.classes is not None else []
    numeric = ("cluster", found.unit, "certainty")
    lines = []
    by_cluster = np.split(np.argsort(found.labels, kind="stable"), np.cumsum(sizes)[:-1])
    for label in sorted(largest.tolist()):
        rows = by_cluster[label]
        told = "; ".join(trait.text for trait in found.traits[label])
        shown = ", ".join(found.names[row] for row in rows[:_MOST_NAMES].tolist())
        more = f" and {len(rows) - _MOST_NAMES:,} more" if len(rows) > _MOST_NAMES else ""
        cells = [f"{label}", f"{len(rows):,}", percent_in_words(float(sure[rows].mean()))]
        cells += [told, shown + more]
        if found.classes is not None:
            counts = Counter(found.classes[row] or "unknown" for row in rows.tolist())
            cells.append(mixture_in_words(counts))
        lines.append(_row(cells, len(numeric)))
    after = ""
    if found.n_clusters > len(largest):
        more = f"{found.n_clusters - len(largest):,}"
        after = f"<p class='faint'>The {len(largest):,} largest are listed; {more} are not.</p>"
    heads = "".join(
        f"<th{' class=number' if name in numeric else ''}>{escape(name)}</th>" for name in head
    )
    return (
        f"<h2>The clusters</h2>\n<p>{escape(certainty_in_words(found.labels, found.unit))} "
        "Shares and means are compared with those of the whole table.</p>\n"
        f"<div class='scroll'><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>\n{after}"
    )


def _row(cells: Sequence[str], numeric: int = 0) -> str:
    written = "".join(
        f"<td{' class=number' if place < numeric else ''}>{escape(cell)}</td>"
        for place, cell in enumerate(cells)
    )
    return f"<tr>{written}</tr>"


def _columns(found: _Found) -> str:
    lines = []
    for column in list(found.columns.values())[:_MOST_COLUMNS]:
        kind = _KINDS.get(column.family, "measurements")
        lines.append(_row([column.name, f"{kind} ({column.family})", _values(column), column.why]))
    lines += [_row([name, "set aside", "", why]) for name, why in found.set_aside.items()]
    notes = "".join(f"<p class='faint'>{escape(note)}</p>" for note in found.notes)
    left = len(found.columns) - _MOST_COLUMNS
    more = f"<p class='faint'>and {left:,} more columns</p>" if left > 0 else ""
    return (
        f"<h2>The columns as they were read</h2>\n{notes}<div class='scroll'><table><thead><tr>"
        "<th>column</th><th>taken for</th><th>values</th><th>because</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>{more}"
    )


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
        f"<h2>What was chosen</h2>\n<div class='scroll'><table><tbody>{lines}</tbody></table></div>"
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
