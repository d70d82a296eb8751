"""`bhclust predict`."""

from __future__ import annotations

from typing import Any

import click

from .options import force_option, json_option, matrix_options, out_file_option, threads_option


@click.command("predict")
@click.argument("run")
@click.argument("file")
@out_file_option()
@force_option()
@click.option("--header/--no-header", default=None, help="Whether line 1 names the columns.")
@matrix_options()
@threads_option()
@json_option()
def command(
    run: str, file: str, out: str | None, force: bool, threads: int | None, **reading: Any
) -> None:
    """Find the clusters of new rows.

    RUN is the folder that fit wrote, or its model.bhclust alone; FILE has the columns of the fitted
    table, in any order; - is standard input. Written are the most probable cluster, its
    probability, that of a new cluster, and the log predictive density in nats.
    """
    from bhclust.io import read_new

    from .clustering import csv_text
    from .files import in_the_file, read_source
    from .saved import open_saved
    from .session import deliver, session

    fitted = open_saved(run)
    table, _ = read_source(file, lambda path: read_new(path, fitted.table, **reading))
    estimator = fitted.estimator
    estimator.n_threads = threads
    with in_the_file(table), session().interrupts.raising():
        proba = estimator.predict_proba(table.data)
        density = estimator.score_samples(table.data)
    labels = proba[:, :-1].argmax(axis=1)
    head = ["row", "line", "name", "cluster", "probability", "new_cluster", "log_density"]
    rows: list[tuple[Any, ...]] = [
        (number, line, name, label, round(p[label], 6), round(p[-1], 6), round(value, 6))
        for number, line, name, label, p, value in zip(
            table.numbers,
            table.lines,
            table.row_names,
            labels.tolist(),
            proba.tolist(),
            density.tolist(),
            strict=True,
        )
    ]
    for row in rows:
        session().tell({"type": "row", **dict(zip(head, row, strict=True))})
    if out is not None or not session().is_json:
        deliver(csv_text(head, rows).encode(), out, force=force)
