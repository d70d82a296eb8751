"""`bhclust export`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .options import force_option, option, out_file_option

_BINARY = ("npz", "safetensors", "h5ad")


@click.command("export")
@click.argument("run")
@option(
    "--to",
    "form",
    type=click.Choice(
        [
            *("newick", "linkage", "hclust", "json", "tree", "graphml", "labels", "partitions"),
            *_BINARY,
        ]
    ),
    help=(
        "newick, with probabilities as support (the default); linkage, SciPy's as CSV; hclust, for "
        "R's dget; json, a list of nodes; tree, what Tree.from_json reads; graphml; labels, a CSV "
        "table; partitions, drawn from the posterior; npz or safetensors, arrays; h5ad, AnnData."
    ),
)
@out_file_option()
@option("--samples", type=click.IntRange(min=1), metavar="N", help="Partitions to draw; else 100.")
@option("--seed", type=click.IntRange(min=0), metavar="S", help="Of the draws; else 0.")
@force_option()
def command(
    run: str,
    form: str | None,
    out: str | None,
    samples: int | None,
    seed: int | None,
    force: bool,
) -> None:
    """Write a fitted tree in the form of another program.

    RUN is the folder that fit wrote, or its model.bhclust.
    """
    kind = form or "newick"
    if kind != "partitions" and (samples is not None or seed is not None):
        raise click.UsageError("--samples and --seed go with --to partitions")
    from .saved import open_saved
    from .session import deliver

    fitted = open_saved(run)
    content = (
        _partitions(fitted, samples or 100, seed or 0)
        if kind == "partitions"
        else (_WRITERS[kind](fitted))
    )
    data = content.encode() if isinstance(content, str) else content
    deliver(data, out, force=force, is_text=kind not in _BINARY)


def _partitions(fitted: Any, samples: int, seed: int) -> str:
    from .clustering import csv_text

    drawn = fitted.estimator.posterior_.sample_partitions(samples, random_state=seed)
    names = fitted.table.row_names
    head = ["name", *(f"sample {number}" for number in range(1, samples + 1))]
    rows = ([name, *row] for name, row in zip(names, drawn.T.tolist(), strict=True))
    return csv_text(head, rows)


def _newick(fitted: Any) -> str:
    from bhclust import export
    from bhclust.trees import leaf_names

    text = export.to_newick(fitted.estimator, names=leaf_names(fitted.table.row_names))
    return text.rstrip("\n") + "\n"


def _linkage(fitted: Any) -> str:
    from .clustering import csv_text

    post = fitted.estimator.posterior_
    Z = post.tree.to_linkage(heights=post.height).tolist()
    rows = ([int(a), int(b), repr(height), int(size)] for a, b, height, size in Z)
    return csv_text(["a", "b", "height", "size"], rows)


def _graphml(fitted: Any) -> str:
    from bhclust import export

    graph = export.to_networkx(fitted.estimator, names=fitted.table.row_names)
    import networkx as nx

    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _labels(fitted: Any) -> str:
    from .clustering import labels_csv

    return labels_csv(fitted.findings(fitted.estimator.labels_))


def _hclust(fitted: Any) -> str:
    from bhclust import export

    return export.hclust_text(fitted.estimator, names=fitted.table.row_names)


def _json(fitted: Any) -> str:
    from bhclust import export

    return export.to_json(fitted.estimator, names=fitted.table.row_names) + "\n"


def _tree(fitted: Any) -> str:
    return str(fitted.estimator.tree_.to_json(names=fitted.table.row_names)) + "\n"


def _arrays(form: str) -> Callable[[Any], bytes]:
    def write(fitted: Any) -> bytes:
        from bhclust import export

        return export.packed_arrays(fitted.estimator, form)

    return write


def _cells(table: Any) -> Any:
    """All cells as one matrix: CSR where the table is sparse."""
    import numpy as np

    if hasattr(table.data, "tocsr"):
        return table.data
    return np.column_stack([column.values for column in table.columns.values()])


def _h5ad(fitted: Any) -> bytes:
    try:
        import anndata
        import pandas as pd
    except ImportError:
        raise ImportError('h5ad needs anndata: pip install "bhclust[anndata]"') from None
    from bhclust import export

    table = fitted.table
    adata = anndata.AnnData(
        _cells(table),
        obs=pd.DataFrame(index=table.row_names),
        var=pd.DataFrame(index=list(table.columns)),
    )
    export.annotate(adata, fitted.estimator)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "table.h5ad"
        adata.write_h5ad(place)
        return place.read_bytes()


_WRITERS: dict[str, Callable[[Any], str | bytes]] = {
    "newick": _newick,
    "linkage": _linkage,
    "hclust": _hclust,
    "json": _json,
    "tree": _tree,
    "graphml": _graphml,
    "labels": _labels,
    "npz": _arrays("npz"),
    "safetensors": _arrays("safetensors"),
    "h5ad": _h5ad,
}
