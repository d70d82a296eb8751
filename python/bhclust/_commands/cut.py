"""`bhclust cut`."""

from __future__ import annotations

import click

from .options import cut_options, force_option, json_option, out_file_option


@click.command("cut")
@click.argument("run")
@cut_options()
@out_file_option()
@force_option()
@json_option()
def command(run: str, clusters: int | None, rule: str | None, out: str | None, force: bool) -> None:
    """Cut a fitted tree into other clusters.

    RUN is the folder that fit wrote, or its model.bhclust. Written is what labels.csv has.
    """
    from .clustering import labels_csv, tell_clusters
    from .saved import open_saved
    from .session import deliver, session

    fitted = open_saved(run)
    findings = fitted.findings(fitted.labels(clusters, rule))
    tell_clusters(findings)
    if out is not None or not session().is_json:
        deliver(labels_csv(findings).encode(), out, force=force)
