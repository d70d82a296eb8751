"""From a table to its clusters, and to the files that tell of them."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bhclust import _core, _describe
from bhclust.io import OutputFiles, Table
from bhclust.trees import leaf_names

from . import saved
from .files import Source, in_the_file
from .session import ProgressBar, session

if TYPE_CHECKING:
    from bhclust._describe import Findings

    from .saved import Saved

_MOST_PRINTED = 20


@dataclass(frozen=True)
class Options:
    """How to cluster and what to write."""

    out: Path
    force: bool
    alpha: float | None = None
    clusters: int | None = None
    rule: str | None = None
    algorithm: str = "auto"
    hyperparameters: str = "learn"
    threads: int | None = None
    plot: bool = True
    dendrogram: bool = False
    report: bool = True
    unit: str = "rows"
    title: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    """As the user gave them, for run.json."""


def cluster(table: Table, source: Source, options: Options) -> None:
    """Cluster a table, print what was found, and write the files."""
    session().say(_describe.columns_in_words(table))
    tell_columns(table)
    _check(table, options)
    files = OutputFiles(options.out, replace=options.force)
    files.check(_file_names(options))
    fitted = saved.Saved(_fit(table, options), table, options.unit, _title(table, options))
    findings = fitted.findings(fitted.estimator.labels_)
    session().say(f"\n{_describe.summary(findings, most=_MOST_PRINTED)}\n")
    contents = _contents(fitted, findings, source, options)
    with session().writing(files):
        for name, content in contents.items():
            files.add(name, content)
    for path in files:
        session().say(f"wrote {path}")
    if leaf_names(table.row_names) is None:
        session().say("tree.nwk names the rows by number: names are there twice, or empty")
    tell_clusters(findings)
    session().tell({"type": "files", "files": [str(path) for path in files]})


def tell_columns(table: Table) -> None:
    """Tell a program what the columns were taken for."""
    session().tell(
        {"type": "table", "path": table.path, "rows": table.n_rows, "notes": list(table.notes)}
    )
    for column in table.columns.values():
        session().tell(
            {
                "type": "column",
                "name": column.name,
                "family": column.family,
                "why": column.why,
                "missing": column.n_missing,
                "levels": list(column.levels),
            }
        )
    for name, why in table.set_aside.items():
        session().tell({"type": "column", "name": name, "family": None, "why": why})


def tell_clusters(findings: Findings) -> None:
    """Tell a program what the clusters are."""
    labels = findings.labels
    count = int(labels.max()) + 1
    for label in range(count):
        rows = labels == label
        session().tell(
            {
                "type": "cluster",
                "cluster": label,
                "rows": int(rows.sum()),
                "certainty": round(float(findings.certainty[rows].mean()), 6),
                "set_apart_by": [trait.text for trait in findings.traits[label]],
            }
        )
    session().tell(
        {"type": "clusters", "clusters": count, "log_evidence": float(findings.log_evidence)}
    )


def _contents(
    fitted: Saved, findings: Findings, source: Source, options: Options
) -> dict[str, str | bytes]:
    """Make all files before the first is written, so that an interrupt finds none half done."""
    table, post = findings.table, fitted.estimator.posterior_
    names = table.row_names
    newick = post.tree.to_newick(names=leaf_names(names), heights=post.height)
    return {
        "labels.csv": labels_csv(findings),
        "tree.json": post.tree.to_json(names=names) + "\n",
        "tree.nwk": newick.rstrip("\n") + "\n",
        "summary.txt": f"{_describe.columns_in_words(table)}\n\n{_describe.summary(findings)}\n",
        saved.MODEL: saved.packed(fitted),
        "run.json": _run_json(fitted, source, options),
        **_pictures(fitted, findings, options),
        **({"report.html": _report(fitted, findings, options)} if options.report else {}),
    }


def _run_json(fitted: Saved, source: Source, options: Options) -> str:
    """Say how the files came about: the same for the same input, so without a time."""
    versions = {"python": platform.python_version(), "bhclust": _core.__version__}
    for name in ("numpy", "scipy", "matplotlib"):
        if importlib.util.find_spec(name) is not None:
            versions[name] = metadata.version(name)
    told = {
        "versions": versions,
        "input": {"name": source.name, "bytes": source.size, "sha256": source.sha256},
        **_name_files(fitted.table),
        "options": dict(sorted(options.given.items())),
        "result": {
            "rows": fitted.table.n_rows,
            "clusters": fitted.estimator.n_clusters_,
            "log_evidence": float(fitted.estimator.log_evidence_),
            "alpha": float(fitted.estimator.posterior_.alpha),
        },
    }
    return json.dumps(told, indent=2) + "\n"


def _name_files(table: Table) -> dict[str, Any]:
    """Tell of the files of names, read when asked for or unasked, by what they name."""
    told = {
        file.argument: {
            "name": os.path.basename(file.path).encode(errors="replace").decode(),
            "bytes": file.size,
            "sha256": file.sha256,
        }
        for file in table.name_files
    }
    return {"names": told} if told else {}


def _check(table: Table, options: Options) -> None:
    check_columns(table)
    if options.alpha is not None and not 0 < options.alpha < float("inf"):
        raise ValueError(f"--alpha: {options.alpha:g} given; a number above 0 is needed")
    if options.clusters is not None and options.clusters > table.n_rows:
        raise ValueError(
            f"--clusters: {options.clusters:,} given, but the table has {table.n_rows:,} rows"
        )


def check_columns(table: Table) -> None:
    """Refuse a table with nothing to cluster."""
    if table.n_rows < 2:
        raise ValueError(f"{table.path}: there is one row; at least two are needed to cluster")
    if not table.columns:
        raise ValueError(
            f"{table.path}: no column is left to cluster on; "
            "use --column NAME=FAMILY on one of those set aside"
        )


def _can_draw(options: Options) -> bool:
    return options.plot and importlib.util.find_spec("matplotlib") is not None


def _file_names(options: Options) -> list[str]:
    names = ["labels.csv", "tree.json", "tree.nwk", "summary.txt", saved.MODEL, "run.json"]
    if _can_draw(options):
        names += ["tree.png", *(["dendrogram.png"] if options.dendrogram else [])]
    return [*names, "report.html"] if options.report else names


def _fit(table: Table, options: Options) -> Any:
    import bhclust

    with in_the_file(table), ProgressBar() as bar, session().interrupts.raising():
        return bhclust.BHC(
            family=family_of(table),
            alpha=options.alpha,
            tree=options.algorithm,
            hyperparameters=options.hyperparameters,
            rule=options.rule,
            n_clusters=options.clusters,
            n_threads=options.threads,
            progress=bar.show,
        ).fit(table.data)


def family_of(table: Table) -> Any:
    """What the estimator takes: of time series with the times, which a matrix cannot carry."""
    if not table.times:
        return table.family
    from bhclust.families import GaussianProcess

    return GaussianProcess.from_data(table.data, times=table.times)


def labels_csv(findings: Findings) -> str:
    """Write a line for each row: where it was in the file, its cluster, and how sure that is."""
    table = findings.table
    head = ["row", "line", "name", "cluster", "certainty"]
    columns: list[Sequence[Any]] = [
        table.numbers,
        table.lines,
        table.row_names,
        findings.labels.tolist(),
        [f"{value:.4f}" for value in findings.certainty.tolist()],
    ]
    if table.target is not None:
        head.append("class")
        columns.append(table.target)
    return csv_text(head, zip(*columns, strict=True))


def csv_text(head: Sequence[str], rows: Any) -> str:
    """Write CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def _pictures(fitted: Saved, findings: Findings, options: Options) -> dict[str, bytes]:
    if not options.plot:
        return {}
    if not _can_draw(options):
        session().say('no picture: matplotlib is missing (pip install "bhclust[plot]")')
        return {}
    drawn = {"tree.png": picture("tree", fitted, findings)}
    if options.dendrogram:
        drawn["dendrogram.png"] = picture("dendrogram", fitted, findings)
    return drawn


def picture(kind: str, fitted: Saved, findings: Findings, file_format: str = "png") -> bytes:
    """Draw the tree, the dendrogram or the heatmap of flat clusters."""
    from bhclust import plot

    table, post = findings.table, fitted.estimator.posterior_
    # Numbers of rows tell nobody anything where there are many.
    names = table.row_names if table.names or table.n_rows <= 200 else None
    drawn = io.BytesIO()
    how: dict[str, Any] = {"labels": findings.labels, "file_format": file_format}
    more: dict[str, Any] = {"classes": table.target, "title": fitted.title, "unit": fitted.unit}
    if kind == "dendrogram":
        plot.save_dendrogram(drawn, post, names=table.row_names, **how)
    elif kind == "heatmap":
        plot.save_heatmap(drawn, post, table, names=names, **how, **more)
    else:
        plot.save_condensed_tree(drawn, post, X=table, names=names, **how, **more)
    return drawn.getvalue()


def _title(table: Table, options: Options) -> str:
    return options.title or Path(table.path).name.encode(errors="replace").decode()


def _report(fitted: Saved, findings: Findings, options: Options) -> str:
    from bhclust import _report

    rule = f"rule {options.rule or 'map'}"
    chosen = f"cut into {options.clusters:,}" if options.clusters else rule
    return _report.page(
        fitted.estimator.posterior_,
        findings.table,
        labels=findings.labels,
        title=fitted.title,
        unit=options.unit,
        choices={
            "clusters": chosen,
            "tree": options.algorithm,
            "hyperparameters": options.hyperparameters,
        },
        pictures=options.plot,
    )
