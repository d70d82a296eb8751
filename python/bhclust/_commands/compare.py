"""`bhclust compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import click

from .options import json_option, option


@dataclass(frozen=True)
class _Groups:
    """Groups of rows, and names of the rows where there are any."""

    what: str
    groups: Sequence[str]
    names: Sequence[str] | None


@click.command("compare")
@click.argument("first")
@click.argument("second", required=False)
@option("--column", metavar="NAME", help="Column of tables with the groups; else cluster or class.")
@json_option()
def command(first: str, second: str | None, column: str | None) -> None:
    """Compare two clusterings, or one with known classes.

    FIRST and SECOND are folders that fit wrote, or tables such as labels.csv with a column of
    groups, and perhaps one called name to join them by. Without SECOND, FIRST is compared with the
    classes it knows.
    """
    from bhclust import metrics

    from .session import session

    ours, theirs = _two(first, second, column)
    pairs = [(a, b) for a, b in _joined(ours, theirs) if a and b]
    if not pairs:
        raise ValueError(f"{ours.what} and {theirs.what} share no row that has both groups")
    labels, classes = ([pair[side] for pair in pairs] for side in (0, 1))
    found = {
        "adjusted_rand": metrics.adjusted_rand_index(labels, classes),
        "normalized_mutual_information": metrics.normalized_mutual_information(labels, classes),
        "f_measure": metrics.f_measure(labels, classes),
        "purity": metrics.purity(labels, classes),
    }
    session().say(
        f"{ours.what}: {len(set(labels)):,} groups; {theirs.what}: {len(set(classes)):,} groups; "
        f"{len(pairs):,} rows"
    )
    for name, value in found.items():
        session().say(f"  {name.replace('_', ' '):<30} {value:.4f}")
    session().tell({"type": "comparison", "rows": len(pairs), **found})


def _two(first: str, second: str | None, column: str | None) -> tuple[_Groups, _Groups]:
    if second is not None:
        return _groups(first, column, "cluster"), _groups(second, column, "cluster", "class")
    return _groups(first, None, "cluster"), _groups(first, column, "class", "target")


def _groups(path: str, column: str | None, *wanted: str) -> _Groups:
    from bhclust._records import read_records, shown

    place = os.path.join(path, "labels.csv") if os.path.isdir(path) else path
    records = read_records(place)
    keys = [column] if column is not None else list(wanted)
    key = next((key for key in keys if key in records.header), None)
    if key is None:
        raise ValueError(
            f"{place}: has no column {' or '.join(map(repr, keys))}; its columns are "
            f"{', '.join(map(shown, records.header[:8]))}"
        )
    cells = list(zip(*records.rows, strict=True))
    names = cells[records.header.index("name")] if "name" in records.header else None
    if names is not None and len(set(names)) < len(names):
        names = None
    return _Groups(f"{place} ({key})", cells[records.header.index(key)], names)


def _joined(ours: _Groups, theirs: _Groups) -> list[tuple[str, str]]:
    if ours.names is not None and theirs.names is not None:
        other = dict(zip(theirs.names, theirs.groups, strict=True))
        pairs = zip(ours.names, ours.groups, strict=True)
        return [(group, other[name]) for name, group in pairs if name in other]
    if len(ours.groups) != len(theirs.groups):
        raise ValueError(
            f"{ours.what} has {len(ours.groups):,} rows and {theirs.what} {len(theirs.groups):,}; "
            "give both a column called name, with a name for each row, to join them by"
        )
    return list(zip(ours.groups, theirs.groups, strict=True))
