"""What a clustering found, in plain words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ._condense import Floats, Ints, PosteriorLike, cluster_nodes
from ._page import mixture_in_words
from ._records import counted
from ._sniff import Column, is_class_name
from .io import Table

_WIDTH = 92
_YES = frozenset({"1", "yes", "y", "true", "t"})
_KINDS = {
    "bernoulli": "yes or no",
    "categorical": "categories",
    "poisson": "counts",
    "gaussian-diag": "measurements",
}


class _PosteriorWithOmega(PosteriorLike, Protocol):
    @property
    def omega(self) -> Floats: ...


@dataclass(frozen=True)
class Trait:
    """Something that sets a cluster apart: in full, in short, and how far (nats a row)."""

    text: str
    short: str
    distance: float
    is_lack: bool = False


def traits(columns: Mapping[str, Column], labels: Ints, *, most: int = 4) -> list[list[Trait]]:
    """Find what sets each cluster apart, the most telling column first.

    A column tells as much as the divergence of its values in the cluster from those in the whole
    table: Kullback and Leibler's between the shares, the Poisson means, or the normal means.
    O(rows · columns).
    """
    clusters = int(labels.max()) + 1
    if clusters == 1:
        return [[]]
    contrasts = [_contrast(column, labels, clusters) for column in columns.values()]
    distances = np.array([contrast.distance for contrast in contrasts])
    order = np.argsort(-distances, axis=0, kind="stable")[:most]
    return [
        [contrasts[place].trait(label) for place in places if distances[place, label] > 0.05]
        for label, places in enumerate(order.T.tolist())
    ]


class _Contrast(Protocol):
    @property
    def distance(self) -> Floats: ...
    def trait(self, label: int) -> Trait: ...


def _contrast(column: Column, labels: Ints, clusters: int) -> _Contrast:
    present = ~np.isnan(column.values)
    values, inside = column.values[present], labels[present]
    if column.family in ("bernoulli", "categorical"):
        found: _Contrast = _shares_of(column, values.astype(np.int64), inside, clusters)
    else:
        found = _means_of(column, values, inside, clusters)
    # What few rows of a cluster have a value for says little about it.
    known = np.bincount(inside, minlength=clusters) / np.bincount(labels, minlength=clusters)
    found.distance[:] *= known
    return found


@dataclass(frozen=True)
class _Shares:
    """Shares of the levels in each cluster (rows) and overall."""

    column: Column
    here: Floats
    overall: Floats
    level: Ints
    distance: Floats

    def trait(self, label: int) -> Trait:
        name, levels, level = self.column.name, self.column.levels, int(self.level[label])
        distance = float(self.distance[label])
        if self.column.family == "bernoulli" and levels[1] in _YES:
            short = name if level == 1 else f"{name}: no"
            return Trait(self._text(name, label, 1), short, distance, level == 0)
        text = self._text(f"{name} = {levels[level]}", label, level)
        return Trait(text, f"{name}: {levels[level]}", distance)

    def _text(self, what: str, label: int, level: int) -> str:
        return f"{what} {self.here[label, level]:.0%} ({self.overall[level]:.0%} overall)"


def _shares_of(column: Column, codes: Ints, labels: Ints, clusters: int) -> _Shares:
    bins = len(column.levels)
    counts = np.bincount(labels * bins + codes, minlength=clusters * bins).reshape(clusters, bins)
    here = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    overall = counts.sum(axis=0) / max(len(codes), 1)
    ratio = np.divide(here, overall, out=np.ones_like(here), where=here > 0)
    terms = here * np.log(ratio)
    return _Shares(column, here, overall, np.argmax(terms, axis=1), terms.sum(axis=1))


@dataclass(frozen=True)
class _Means:
    """Means in each cluster and overall, in units of the column's largest value."""

    column: Column
    here: Floats
    overall: float
    scale: float
    distance: Floats

    def trait(self, label: int) -> Trait:
        name, mean = self.column.name, float(self.here[label])
        text = (
            f"{name} {mean * self.scale:.3g} on average ({self.overall * self.scale:.3g} overall)"
        )
        short = f"{'high' if mean > self.overall else 'low'} {name}"
        return Trait(text, short, float(self.distance[label]))


def _means_of(column: Column, values: Floats, labels: Ints, clusters: int) -> _Means:
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    scaled = values / scale
    overall = float(scaled.mean()) if len(values) else 0.0
    counts = np.bincount(labels, minlength=clusters)
    sums = np.bincount(labels, weights=scaled, minlength=clusters)
    here = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    if column.family == "poisson" and overall > 0:
        ratio = np.divide(here, overall, out=np.ones_like(here), where=here > 0)
        distance = scale * (here * np.log(ratio) - here + overall)
    else:
        spread = float(scaled.std()) if len(values) else 0.0
        distance = 0.5 * ((here - overall) / spread) ** 2 if spread > 0 else np.zeros(clusters)
    return _Means(column, here, overall, scale, distance)


def titles(found: Sequence[Sequence[Trait]]) -> list[str]:
    """Name each cluster after what sets it apart most, and then rather by what it has."""
    named = []
    for label, cluster in enumerate(found):
        others = [trait for trait in cluster[1:] if trait.distance > cluster[0].distance / 3]
        telling = [*cluster[:1], *sorted(others, key=lambda trait: trait.is_lack)]
        words = ", ".join(trait.short for trait in telling[:3])
        named.append(f"{label} · {words}" if words else f"cluster {label}")
    return named


def certainty(post: _PosteriorWithOmega, labels: Ints) -> Floats:
    """Find for each row the mean chance that it belongs with the other rows of its cluster.

    For a row that is a cluster of its own it is the chance that it is one.
    """
    tree = post.tree
    n = tree.n_leaves
    tops = cluster_nodes(tree, labels)
    together = (1.0 - post.height).tolist()
    size, parent = tree.size.tolist(), tree.parent.tolist()
    mates = [0.0] * tree.n_nodes
    top = [0] * tree.n_nodes
    for node in range(tree.n_nodes - 1, -1, -1):
        up = parent[node]
        if node in tops:
            top[node] = node
        elif up >= 0:
            top[node] = top[up]
            mates[node] = mates[up] + (size[up] - size[node]) * together[up]
    alone = np.clip(post.omega[:n], 0.0, 1.0)
    sizes = np.array([size[top[row]] for row in range(n)], dtype=np.float64)
    shared = np.array(mates[:n]) / np.maximum(sizes - 1.0, 1.0)
    return np.where(sizes > 1, np.clip(shared, 0.0, 1.0), alone)


def columns_in_words(table: Table) -> str:
    """Say what each column was taken for, and why."""
    lines = [
        f"{Path(table.path).name}: {counted(table.n_rows, 'row')}",
        *(f"  note: {note}" for note in table.notes),
    ]
    by_kind: dict[str, list[Column]] = {}
    for column in table.columns.values():
        by_kind.setdefault(column.family, []).append(column)
    for family, columns in by_kind.items():
        kind = f"{_KINDS[family]} ({family})" if family in _KINDS else family
        lines += _entry(kind, _with_reasons(columns))
        missing = [f"{column.name} {column.n_missing:,}" for column in columns if column.n_missing]
        lines += _entry("  missing values", [", ".join(missing)]) if missing else []
    lines += _entry("set aside", [f"{name} ({why})" for name, why in table.set_aside.items()])
    known = [name for name in table.columns if is_class_name(name)]
    if known and table.target is None:
        lines.append(f"  note: if '{known[0]}' holds known classes, say --target '{known[0]}'")
    return "\n".join(lines)


def _with_reasons(columns: Iterable[Column]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for column in columns:
        by_reason.setdefault(column.why, []).append(column.name)
    shown = []
    for why, names in by_reason.items():
        listed = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
        shown.append(f"{listed} ({why})")
    return shown


def _entry(head: str, texts: Sequence[str]) -> list[str]:
    first = f"  {head:<28}  "
    return [
        line
        for place, text in enumerate(texts)
        for line in textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=first if place == 0 else " " * 32,
            subsequent_indent=" " * 32,
            break_on_hyphens=False,
        )
    ]


@dataclass(frozen=True)
class Findings:
    """What is told about a clustering."""

    table: Table
    labels: Ints
    certainty: Floats
    log_evidence: float
    traits: list[list[Trait]]
    unit: str


def summary(findings: Findings, *, most: int | None = None) -> str:
    """Tell the clusters in plain words; where there are more than `most`, the largest of them."""
    labels = findings.labels
    clusters = int(labels.max()) + 1
    found = counted(clusters, "cluster")
    lines = [
        f"{found} in {len(labels):,} {findings.unit}",
        f"log evidence {findings.log_evidence:,.2f}",
    ]
    if findings.table.target is not None:
        index = adjusted_rand(labels, findings.table.target)
        lines.append(f"adjusted Rand index with the known classes {index:.2f} (1 same, 0 chance)")
    largest = np.argsort(-np.bincount(labels), kind="stable")[:most]
    for label in sorted(largest.tolist()):
        lines += ["", *_cluster(findings, label)]
    lines.append("")
    if len(largest) < clusters:
        smaller = counted(clusters - len(largest), "smaller cluster")
        lines.append(f"and {smaller}: see summary.txt")
    lines.append("Certainty is the mean chance that two rows of a cluster belong together.")
    return "\n".join(lines)


def _cluster(findings: Findings, label: int) -> list[str]:
    rows = np.flatnonzero(findings.labels == label)
    sure = float(findings.certainty[rows].mean())
    unit = findings.unit.removesuffix("s") if len(rows) == 1 else findings.unit
    lines = [f"cluster {label}: {len(rows):,} {unit}, certainty {_percent(sure)}"]
    told = [trait.text for trait in findings.traits[label]]
    lines += _entry("set apart by", [", ".join(told)]) if told else []
    names = findings.table.row_names
    shown = [names[row] for row in rows[:12].tolist()]
    more = f" and {len(rows) - 12:,} more" if len(rows) > 12 else ""
    lines += _entry("such as" if more else "rows", [", ".join(shown) + more])
    if findings.table.target is not None:
        counts = Counter(findings.table.target[row] or "unknown" for row in rows.tolist())
        lines += _entry("known classes", [mixture_in_words(counts)])
    return lines


def _percent(share: float) -> str:
    """Round to whole per cent, but never up to 100%."""
    if share > 0.995:
        return "over 99%"
    return "under 1%" if share < 0.005 else f"{share:.0%}"


def adjusted_rand(labels: Ints, classes: Sequence[str]) -> float:
    """Compare two groupings by the adjusted Rand index (Hubert and Arabie 1985), in O(n)."""

    def pairs(counts: Iterable[int]) -> float:
        return float(sum(count * (count - 1) // 2 for count in counts))

    both = pairs(Counter(zip(labels.tolist(), classes, strict=True)).values())
    first = pairs(Counter(labels.tolist()).values())
    second = pairs(Counter(classes).values())
    every = len(labels) * (len(labels) - 1) / 2
    chance = first * second / every if every else 0.0
    best = (first + second) / 2
    return 1.0 if best == chance else (both - chance) / (best - chance)
