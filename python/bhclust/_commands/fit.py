"""`bhclust fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import (
    force_option,
    growth_options,
    json_option,
    option,
    table_options,
    threads_option,
)


@click.command("fit")
@click.argument("file")
@option("--out", metavar="FOLDER", help="Folder for the files; else TABLE-clusters.")
@force_option()
@table_options()
@growth_options()
@threads_option()
@click.option("--no-plot", is_flag=True, help="Write no picture.")
@click.option("--dendrogram", is_flag=True, help="Also draw the whole tree.")
@click.option("--report/--no-report", default=True, help="Whether to write report.html.")
@json_option()
def command(
    file: str, out: str | None, force: bool, no_plot: bool, dendrogram: bool, **how: Any
) -> None:
    """Cluster the rows of a table.

    FILE is CSV, TSV, Parquet, .npy, .npz, MatrixMarket, .h5ad or an alignment in FASTA, plain or
    packed by gzip or zstd; - is standard input.

    In labels.csv, row counts the rows below the header, empty ones too, as spreadsheets, pandas
    and R do, and line is the line of the file. model.bhclust is what the other commands need.
    """
    if no_plot and dendrogram:
        raise ValueError("--dendrogram: --no-plot forbids it; choose one of them")
    from .clustering import Options, cluster

    table, source, reading = read(file, how)
    given = {name: value for name, value in how.items() if value is not None}
    told = {name: value for name, value in given.items() if name != "threads"}
    options = Options(
        out=Path(out or f"{Path(table.path).name.split('.')[0] or 'table'}-clusters"),
        force=force,
        plot=not no_plot,
        dendrogram=dendrogram,
        given={**told, **reading, "plot": not no_plot, "dendrogram": dendrogram},
        **given,
    )
    cluster(table, source, options)


_READING = (
    "family",
    "columns",
    "ignore",
    "target",
    "names",
    "header",
    "separator",
    "decimal",
    "times",
    "row_names",
    "column_names",
    "transpose",
)


def read(file: str, how: dict[str, Any]) -> Any:
    """Read the table, taking the options of the reader from the others: it, its file and they."""
    from bhclust.io import read_table

    from .files import read_source

    reading = {name: how.pop(name) for name in _READING}
    table, source = read_source(file, lambda path: read_table(path, **reading))
    given = {
        name: value
        for name, value in reading.items()
        if value not in (None, {}, ()) and (name, value) != ("transpose", False)
    }
    return table, source, given
