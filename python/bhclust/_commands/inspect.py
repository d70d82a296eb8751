"""`bhclust inspect`."""

from __future__ import annotations

from typing import Any

import click

from .options import json_option, table_options, threads_option


@click.command("inspect")
@click.argument("file")
@table_options()
@threads_option()
@json_option()
def command(file: str, threads: int | None, **how: Any) -> None:
    """Say what a table was taken for, and what fit will take.

    For each column its family and why; the time and the memory, from trials on few rows.
    """
    from bhclust import _core, _describe, estimate
    from bhclust.columns import ColumnCoder

    from .clustering import check_columns, family_of, tell_columns
    from .files import in_the_file
    from .fit import read
    from .session import session

    table, _, _ = read(file, how)
    check_columns(table)
    session().say(_describe.columns_in_words(table))
    if table.dialect:
        session().say(f"  {table.dialect}")
    tell_columns(table)
    with in_the_file(table), session().interrupts.raising():
        family, data = family_of(table), table.data
        if isinstance(family, dict):
            data, family = ColumnCoder(family).fit(data)
        found = estimate(data, family, algorithm="learn", n_threads=threads)
    low, high = found.seconds
    session().say(
        f"\nfit will take some {low:.1g} to {high:.1g} seconds and {_core.byte_size(found.bytes)}"
    )
    session().tell({"type": "estimate", "bytes": found.bytes, "seconds": [low, high]})
