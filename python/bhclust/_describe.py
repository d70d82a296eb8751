"""What a clustering found, in plain words."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ._column import Column
from ._column_roles import is_class_name
from ._condense import Floats, Ints, PosteriorLike, cluster_nodes
from ._page import mixture_in_words
from ._records import counted
from ._traits import Trait as Trait
from ._traits import traits as traits
from .io import Table
from .metrics import adjusted_rand_index

_WIDTH = 92
_KINDS = {
    "bernoulli": "yes or no",
    "categorical": "categories",
    "poisson": "counts",
    "gaussian-diag": "measurements",
}


class _PosteriorWithOmega(PosteriorLike, Protocol):
    @property
    def omega(self) -> Floats: ...


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
        lines += compared_in_words(labels, findings.table.target)
    largest = np.argsort(-np.bincount(labels), kind="stable")[:most]
    for label in sorted(largest.tolist()):
        lines += ["", *_cluster(findings, label)]
    lines.append("")
    if len(largest) < clusters:
        more = clusters - len(largest)
        words = "cluster that is no larger" if more == 1 else "clusters that are no larger"
        lines.append(f"and {more:,} more {words}: see summary.txt")
    lines.append(certainty_in_words(labels, findings.unit))
    return "\n".join(lines)


def compared_in_words(labels: Ints, classes: Sequence[str]) -> list[str]:
    """Compare with two or more known classes; rows without one do not count."""
    known = [row for row, name in enumerate(classes) if name]
    found = [classes[row] for row in known]
    if len(set(found)) < 2:
        return []
    index = adjusted_rand_index(labels[known], found)
    of = "" if len(known) == len(classes) else f" of {len(known):,} rows that have one"
    return [f"adjusted Rand index with the known classes{of} {index:.2f} (1 same, 0 chance)"]


def _cluster(findings: Findings, label: int) -> list[str]:
    rows = np.flatnonzero(findings.labels == label)
    sure = float(findings.certainty[rows].mean())
    unit = findings.unit.removesuffix("s") if len(rows) == 1 else findings.unit
    lines = [f"cluster {label}: {len(rows):,} {unit}, certainty {percent_in_words(sure)}"]
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


def certainty_in_words(labels: Ints, unit: str) -> str:
    """Say what certainty is, as far as there are clusters to which it applies."""
    sizes = np.bincount(labels)
    single, alone = unit.removesuffix("s"), "stands alone"
    if len(labels) == 1:
        return f"Certainty: there is one {single}, so it is certain."
    if sizes.max() == 1:
        return f"Certainty is the chance that a {single} {alone}."
    of = "" if len(sizes) == 1 else " of a cluster"
    told = f"Certainty is the mean chance that two {unit}{of} belong together"
    if (sizes == 1).any():
        told += f"; for a cluster of one {single}, the chance that it {alone}"
    return f"{told}."


def percent_in_words(share: float) -> str:
    """Round to whole per cent, but never up to 100%."""
    if share > 0.995:
        return "over 99%"
    return "under 1%" if share < 0.005 else f"{share:.0%}"
