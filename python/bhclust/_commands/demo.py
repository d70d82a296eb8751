"""`bhclust demo`."""

from __future__ import annotations

from pathlib import Path

import click

from .options import force_option, json_option, option, threads_option

_DEMOS = {
    "zoo": (
        "animals",
        "101 animals, grouped by 16 traits",
        "101 animals and 16 of their traits (R. Forsyth 1990, UCI, CC BY 4.0).\n"
        "Which belong together? The classes that people gave them are not looked at.\n",
    ),
    "digits": (
        "digits",
        "300 handwritten digits, grouped by 64 pixels",
        "300 handwritten digits of 8 by 8 black or white pixels (E. Alpaydin and C. Kaynak 1998, "
        "UCI, CC BY 4.0).\nWhich look alike? Which digit each one is, is not looked at.\n",
    ),
    "mixed": (
        "patients",
        "303 patients, grouped by 13 columns of four kinds",
        "303 patients: measurements, counts, categories and yes or no, some missing (A. Janosi and "
        "others 1988,\nUCI, CC BY 4.0). Which are alike? Whether they are ill is not looked at.\n",
    ),
}


@click.command("demo")
@click.argument("table", type=click.Choice(list(_DEMOS)), default="zoo")
@option("--out", metavar="FOLDER", help="Folder for the files; else bhclust-demo.")
@force_option()
@threads_option()
@json_option()
def command(table: str, out: str | None, force: bool, threads: int | None) -> None:
    """Cluster a table that ships with the package, and draw it: zoo, digits or mixed."""
    from bhclust import datasets

    from .clustering import Options, cluster
    from .files import shipped_source
    from .session import session

    unit, title, story = _DEMOS[table]
    session().say(story)
    options = Options(
        out=Path(out or "bhclust-demo"),
        force=force or out is None,
        threads=threads,
        unit=unit,
        title=title,
        given={"table": table},
    )
    cluster(datasets.load(table), shipped_source(table), options)
