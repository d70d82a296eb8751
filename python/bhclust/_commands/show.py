"""`bhclust show`."""

from __future__ import annotations

import click

from .options import cut_options, json_option


@click.command("show")
@click.argument("run")
@cut_options()
@json_option()
def command(run: str, clusters: int | None, rule: str | None) -> None:
    """Tell the clusters of a fitted table in words.

    RUN is the folder that fit wrote, or its model.bhclust.
    """
    from bhclust import _describe

    from .clustering import tell_clusters
    from .saved import open_saved
    from .session import session

    fitted = open_saved(run)
    findings = fitted.findings(fitted.labels(clusters, rule))
    session().say(_describe.summary(findings))
    tell_clusters(findings)
