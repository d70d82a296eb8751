"""`bhclust plot`."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import click

from .options import cut_options, force_option, option

_FORMATS = ("png", "svg", "pdf")


@click.command("plot")
@click.argument("run")
@click.argument("kind", type=click.Choice(["tree", "dendrogram", "heatmap"]), default="tree")
@option("--out", metavar="FILE", help="Ending in .png, .svg or .pdf; else KIND.png beside RUN.")
@cut_options()
@force_option()
def command(
    run: str, kind: str, out: str | None, clusters: int | None, rule: str | None, force: bool
) -> None:
    """Draw a fitted table: its tree of clusters, the whole dendrogram, or a heatmap.

    RUN is the folder that fit wrote, or its model.bhclust.
    """
    from .clustering import picture
    from .saved import model_path, open_saved
    from .session import deliver, session

    place = Path(out) if out else model_path(run).with_name(f"{kind}.png")
    ending = place.suffix.lower().lstrip(".")
    if ending not in _FORMATS:
        raise ValueError(f"--out: '{place.name}' must end in .png, .svg or .pdf")
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError('pictures need matplotlib: pip install "bhclust[plot]"')
    fitted = open_saved(run)
    findings = fitted.findings(fitted.labels(clusters, rule))
    with session().interrupts.raising():
        drawn = picture(kind, fitted, findings, ending)
    deliver(drawn, str(place), force=force, is_text=False)
