"""`bhclust explain`."""

from __future__ import annotations

from typing import Any

import click

from .options import cut_options, json_option, option


@click.command("explain")
@click.argument("run")
@option("--cluster", type=click.IntRange(min=0), metavar="K", help="What sets cluster K apart.")
@option("--against", type=click.IntRange(min=0), metavar="J", help="From cluster J, not the rest.")
@option(
    "--node", type=click.IntRange(min=0), metavar="N", help="What makes node N one cluster or two."
)
@option("--top", type=click.IntRange(min=1), metavar="M", help="Print M columns; 20 by default.")
@cut_options()
@json_option()
def command(
    run: str,
    cluster: int | None,
    against: int | None,
    node: int | None,
    top: int | None,
    **cut: Any,
) -> None:
    """Say which columns make a cluster or a node special, in nats of evidence.

    RUN is the folder that fit wrote, or its model.bhclust. Of a cluster: above 0 where a column
    keeps its rows apart from the others. Of a node: above 0 where it speaks for one cluster.
    """
    if (cluster is None) == (node is None):
        raise click.UsageError("name a cluster by --cluster K, or a node by --node N")
    if against is not None and cluster is None:
        raise click.UsageError("--against goes with --cluster")
    from .saved import cell_columns, open_saved
    from .session import session

    fitted = open_saved(run)
    parts, head = (
        _of_node(fitted, node) if node is not None else _of_cluster(fitted, cluster, against, cut)
    )
    sums: dict[str, float] = {}
    for name, part in zip(cell_columns(fitted.table), parts.tolist(), strict=True):
        sums[name] = sums.get(name, 0.0) + part
    session().say(head)
    order = sorted(sums, key=lambda name: -abs(sums[name]))
    for name in order[: top or 20]:
        session().say(f"  {sums[name]:>12,.2f}  {name}")
        session().tell({"type": "column", "name": name, "nats": sums[name]})


def _of_node(fitted: Any, node: int) -> tuple[Any, str]:
    found = fitted.estimator.posterior_.explain(node)
    head = (
        f"node {node}: log odds of one cluster {found.log_odds:,.2f} nats, of which the prior "
        f"{found.prior:,.2f}, splits inside {found.children:,.2f}, and the columns"
    )
    return found.columns, head


def _of_cluster(
    fitted: Any, cluster: int | None, against: int | None, cut: dict[str, Any]
) -> tuple[Any, str]:
    labels = fitted.labels(**cut)
    last = int(labels.max())
    for name, label in (("--cluster", cluster), ("--against", against)):
        if label is not None and label > last:
            raise ValueError(f"{name}: {label} given; the clusters are 0 to {last}")
    if last == 0:
        raise ValueError("--cluster: there is one cluster, and nothing to set it apart from")
    pair, words = (cluster, against), f"cluster {against}"
    if against is None:
        labels, pair, words = (labels != cluster).astype("int64"), (0, 1), "the other rows"
    parts = fitted.estimator.posterior_.separating_columns(*pair, labels)
    head = f"cluster {cluster} against {words}: {parts.sum():,.2f} nats for two clusters, by column"
    return parts, head
