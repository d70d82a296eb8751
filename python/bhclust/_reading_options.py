"""Refusals of what a reader of tables was asked for."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._column import FAMILIES
from ._records import Records, shown


def refuse_options(path: str | os.PathLike[str], why: str, **options: Any) -> None:
    """Refuse options that say nothing about such a file."""
    given = [name for name, value in options.items() if value]
    if given:
        raise ValueError(f"{given[0]}: {os.fsdecode(path)} {why}; leave it out")


def check_options(
    records: Records,
    family: str | None,
    columns: Mapping[str, str],
    ignore: Sequence[str],
    target: str | None,
    names: str | None,
) -> None:
    """Refuse columns that are not there, or have two uses, and families that are not known."""
    if isinstance(ignore, str):
        raise TypeError(f"ignore must be a list of columns, not '{ignore}'; write ['{ignore}']")
    named = [("columns", name) for name in columns] + [("ignore", name) for name in ignore]
    named += [("target", target)] if target is not None else []
    named += [("names", names)] if names is not None else []
    use: dict[str, str] = {}
    for option, name in named:
        if name not in records.header:
            raise ValueError(
                f"{option}: {records.path} has no column '{shown(name)}'; "
                + did_you_mean(name, records.header)
            )
        if use.setdefault(name, option) != option:
            raise ValueError(
                f"{option}: '{shown(name)}' is named by {use[name]} too; a column has one use, so "
                "name it once"
            )
    for alias in [*columns.values(), *([family] if family is not None else [])]:
        if alias not in FAMILIES:
            raise ValueError(f"family: '{alias}' is not known; choose from {', '.join(FAMILIES)}")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Point to the name that was meant, or to all."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"its columns are {few(known)}"


def few(texts: Sequence[str]) -> str:
    """List the first texts."""
    return ", ".join(map(shown, texts[:8])) + (", …" if len(texts) > 8 else "")
