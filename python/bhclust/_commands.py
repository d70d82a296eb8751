"""The commands of the command line; imported only where click and rich are there."""

from __future__ import annotations

import csv
import importlib.util
import io as text_io
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.progress import Progress

    from ._describe import Findings
    from .io import Table

_MOST_PRINTED = 20
_FAMILY_HELP = (
    "Read every column as this family: gaussian, gaussian-diag, gaussian-spherical, "
    "von-mises-fisher, exponential, poisson, multinomial, geometric, negative-binomial, "
    "bernoulli or categorical."
)


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; errors of the user's become one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, text_io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        result = commands.main(arguments, prog_name="bhclust", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted; nothing was written", 130)
    except BrokenPipeError:
        # The reader has gone (as in `bhclust demo | head`): nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError as error:
        return _fail(str(error) or "not enough memory for this table", 1)
    except (ValueError, TypeError, ImportError, OSError) as error:
        return _fail(str(error), 1)


def _fail(message: str, code: int) -> int:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    return code


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"bhclust {metadata.version('bhclust')}")
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def commands() -> None:
    """Find the clusters in a table, how many there are, and how sure that is."""


@dataclass(frozen=True)
class _Options:
    """How to cluster and what to write."""

    out: Path
    force: bool
    alpha: float = 1.0
    clusters: int | None = None
    rule: str = "map"
    algorithm: str = "greedy"
    threads: int | None = None
    plot: bool = True
    dendrogram: bool = False
    unit: str = "rows"
    title: str = ""


@commands.command()
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for the files; else bhclust-demo."
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
def demo(out: Path | None, force: bool) -> None:
    """Cluster 101 animals by their traits, and draw them."""
    from .datasets import load_zoo

    options = _Options(
        out=out or Path("bhclust-demo"),
        force=force or out is None,
        unit="animals",
        title="101 animals, grouped by 16 traits",
    )
    click.echo("101 animals and 16 of their traits (R. Forsyth 1990, UCI, CC BY 4.0).")
    click.echo("Which belong together? The classes that people gave them are not looked at.\n")
    _cluster(load_zoo(), options)


def _pairs(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for value in values:
        name, sign, family = value.rpartition("=")
        if not sign or not name or not family:
            raise click.BadParameter(f"'{value}' is not NAME=FAMILY", param=parameter)
        asked[name] = family
    return asked


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for the files; else TABLE-clusters."
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--family", help=_FAMILY_HELP)
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_pairs,
    metavar="NAME=FAMILY",
    help="Read one column as a family; may be repeated.",
)
@click.option("--ignore", multiple=True, metavar="NAME", help="Leave out a column; repeatable.")
@click.option("--target", metavar="NAME", help="A column of known classes, only compared with.")
@click.option("--names", metavar="NAME", help="The column with the names of the rows.")
@click.option(
    "--header/--no-header", default=None, help="Whether line 1 names the columns; else found out."
)
@click.option(
    "--alpha",
    type=float,
    default=1.0,
    show_default=True,
    help="Concentration: larger, more clusters.",
)
@click.option("--clusters", type=click.IntRange(min=1), metavar="K", help="Cut into K clusters.")
@click.option(
    "--rule",
    type=click.Choice(["map", "r"]),
    default="map",
    show_default=True,
    help="Where to cut: the likeliest partition, or where a split is likelier than not.",
)
@click.option(
    "--algorithm",
    type=click.Choice(["greedy", "rbhc"]),
    default="greedy",
    show_default=True,
    help="Exact greedy merging, or the fast nearest-neighbour chain for large tables.",
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads; all by default.")
@click.option("--no-plot", is_flag=True, help="Write no picture.")
@click.option("--dendrogram", is_flag=True, help="Also draw the whole tree.")
def fit(
    file: Path,
    out: Path | None,
    force: bool,
    family: str | None,
    columns: dict[str, str],
    ignore: tuple[str, ...],
    target: str | None,
    names: str | None,
    header: bool | None,
    no_plot: bool,
    **how: Any,
) -> None:
    """Cluster the rows of a table: CSV or TSV, plain or gzip."""
    from .io import read_table

    table = read_table(
        file,
        family=family,
        columns=columns,
        ignore=ignore,
        target=target,
        names=names,
        header=header,
    )
    folder = out or Path(f"{file.name.split('.')[0] or 'table'}-clusters")
    _cluster(table, _Options(out=folder, force=force, plot=not no_plot, **how))


def _cluster(table: Table, options: _Options) -> None:
    from . import _describe
    from .io import OutputFiles
    from .trees import leaf_names

    click.echo(_describe.columns_in_words(table))
    _check(table, options)
    files = OutputFiles(options.out, replace=options.force)
    files.check(_file_names(options))
    post, labels, log_evidence = _fit(table, options)
    findings = _describe.Findings(
        table=table,
        labels=labels,
        certainty=_describe.certainty(post, labels),
        log_evidence=log_evidence,
        traits=_describe.traits(table.columns, labels),
        unit=options.unit,
    )
    click.echo(f"\n{_describe.summary(findings, most=_MOST_PRINTED)}\n")
    with files:
        files.add("labels.csv", _labels_csv(findings))
        names = table.row_names
        files.add("tree.json", post.tree.to_json(names=names) + "\n")
        newick = post.tree.to_newick(names=leaf_names(names), heights=post.height)
        files.add("tree.nwk", newick.rstrip("\n") + "\n")
        told = f"{_describe.columns_in_words(table)}\n\n{_describe.summary(findings)}\n"
        files.add("summary.txt", told)
        _add_pictures(files, post, findings, options)
    for path in files:
        click.echo(f"wrote {path}")
    if names is not None and leaf_names(names) is None:
        click.echo("tree.nwk names the rows by number: names are there twice, or empty")


def _check(table: Table, options: _Options) -> None:
    if table.n_rows < 2:
        raise ValueError(f"{table.path}: there is one row; at least two are needed to cluster")
    if not table.columns:
        raise ValueError(
            f"{table.path}: no column is left to cluster on; "
            "use --column NAME=FAMILY on one of those set aside"
        )
    if not options.alpha > 0 or options.alpha == float("inf"):
        raise ValueError(f"--alpha: {options.alpha:g} given; a number above 0 is needed")
    if options.clusters is not None and options.clusters > table.n_rows:
        raise ValueError(
            f"--clusters: {options.clusters:,} given, but the table has {table.n_rows:,} rows"
        )


def _can_draw(options: _Options) -> bool:
    return options.plot and importlib.util.find_spec("matplotlib") is not None


def _file_names(options: _Options) -> list[str]:
    names = ["labels.csv", "tree.json", "tree.nwk", "summary.txt"]
    if _can_draw(options):
        names += ["tree.png", *(["dendrogram.png"] if options.dendrogram else [])]
    return names


def _fit(table: Table, options: _Options) -> tuple[Any, Any, float]:
    import bhclust

    with _ProgressBar() as bar:
        estimator = bhclust.BHC(
            family=table.family,
            alpha=options.alpha,
            tree=options.algorithm,
            n_threads=options.threads,
            progress=bar.show,
        ).fit(table.data)
    post = estimator.posterior_
    if options.clusters is not None:
        labels = post.cut(n_clusters=options.clusters)
    else:
        labels = post.cut(rule=options.rule)
    return post, labels, float(estimator.log_evidence_)


class _ProgressBar:
    """A bar on a terminal, once the work has taken a second."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> _ProgressBar:
        return self

    def show(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._begin < 1.0 or not sys.stderr.isatty():
                return
            self._bar = self._start(total)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    @staticmethod
    def _start(total: int) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.add_task("clustering", total=total)
        bar.start()
        return bar

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _labels_csv(findings: Findings) -> str:
    table = findings.table
    head = ["row", "name", "cluster", "certainty"]
    columns: list[Sequence[Any]] = [
        range(1, table.n_rows + 1),
        table.row_names,
        findings.labels.tolist(),
        [f"{value:.4f}" for value in findings.certainty.tolist()],
    ]
    if table.target is not None:
        head.append("class")
        columns.append(table.target)
    text = text_io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _add_pictures(files: Any, post: Any, findings: Findings, options: _Options) -> None:
    if not options.plot:
        return
    if not _can_draw(options):
        click.echo('no picture: matplotlib is missing (pip install "bhclust[plot]")')
        return
    from . import _describe, plot

    table = findings.table
    # Numbers of rows tell nobody anything where there are many.
    names = table.row_names if table.names or table.n_rows <= 200 else None
    picture = text_io.BytesIO()
    plot.save_condensed_tree(
        picture,
        post,
        labels=findings.labels,
        names=names,
        classes=table.target,
        titles=_describe.titles(findings.traits),
        title=options.title or Path(table.path).name,
        unit=options.unit,
    )
    files.add("tree.png", picture.getvalue())
    if options.dendrogram:
        picture = text_io.BytesIO()
        plot.save_dendrogram(picture, post, labels=findings.labels, names=findings.table.row_names)
        files.add("dendrogram.png", picture.getvalue())
