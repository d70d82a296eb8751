"""The commands of the command line; imported only where click and rich are there."""

from __future__ import annotations

import contextlib
import csv
import errno
import importlib.util
import io as text_io
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import _interrupts
from .options import MOST_THREADS

if TYPE_CHECKING:
    from rich.progress import Progress

    from ._describe import Findings
    from .io import OutputFiles, Table

_MOST_PRINTED = 20
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
# Exit status of a process whose reader has gone, as shells count it: 128 + SIGPIPE.
_READER_GONE = 141
_FAMILY_HELP = (
    "Read every column as this family: gaussian, gaussian-diag, gaussian-spherical, "
    "von-mises-fisher, exponential, poisson, multinomial, geometric, negative-binomial, "
    "bernoulli, categorical, hurdle (numbers with a spike at zero) or time-series (each row a "
    "series over the columns)."
)


class _Session:
    """One run of a command: where it stands, and who still listens."""

    def __init__(self, interrupts: _interrupts.Interrupts) -> None:
        self.interrupts = interrupts
        self._lost: OSError | None = None

    def say(self, text: str) -> None:
        """Print, if it can be: a reader that has gone (as in `| head`) must not stop the work."""
        if self._lost is None:
            try:
                click.echo(_printable(text))
            except OSError as error:
                self.lose(error)

    def lose(self, error: OSError) -> None:
        """Note that standard output has failed, and send the rest nowhere."""
        self._lost = error
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    @contextlib.contextmanager
    def writing(self, files: OutputFiles) -> Iterator[OutputFiles]:
        """Write files; an interrupt from then on does not say that nothing was written."""
        told = self.interrupts.told
        try:
            with files:
                yield files
                self.interrupts.told = f"interrupted; the files in {files.folder} are written"
        finally:
            if not files.written:
                self.interrupts.told = told

    def status(self, code: int) -> int:
        """Flush, and give the exit status of a command that has ended with a code."""
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            self.lose(error)
        if self._lost is None or code:
            return code
        if self._lost.errno == errno.EPIPE:
            return _READER_GONE
        return _fail(f"standard output: cannot be written: {self._lost.strerror}", 1)


class _Interrupted(Exception):  # noqa: N818
    """KeyboardInterrupt, which click would answer with a line of its own."""


class _ReaderGone(Exception):  # noqa: N818
    """BrokenPipeError, at which click would leave with the status of an error."""

    def __init__(self, error: BrokenPipeError) -> None:
        super().__init__()
        self.error = error


class _Group(click.Group):
    """Commands whose interrupts and lost readers reach `run` as they are."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _not_for_click():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _not_for_click():
            return super().invoke(ctx)


@contextlib.contextmanager
def _not_for_click() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise _Interrupted from None
    except BrokenPipeError as error:
        raise _ReaderGone(error) from None


def run(arguments: Sequence[str] | None, interrupts: _interrupts.Interrupts) -> int:
    """Run a command; errors of the user's become one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, text_io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    session = _Session(interrupts)
    try:
        return session.status(_run(arguments, session))
    except Exception:
        if not interrupts.seen:
            raise
        return _fail(interrupts.told, _interrupts.STATUS)


def _run(arguments: Sequence[str] | None, session: _Session) -> int:
    try:
        result = commands.main(arguments, prog_name="bhclust", standalone_mode=False, obj=session)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except _ReaderGone as gone:
        session.lose(gone.error)
        return 0
    except click.ClickException as error:
        return _wrong_usage(error)
    except (_Interrupted, KeyboardInterrupt, click.Abort):
        return _fail(session.interrupts.told, _interrupts.STATUS)
    except MemoryError as error:
        return _fail(str(error) or "not enough memory for this table", 1)
    except (ValueError, TypeError, ImportError, OSError) as error:
        if session.interrupts.seen:
            raise
        return _fail(str(error), 1)


def _wrong_usage(error: click.ClickException) -> int:
    message = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if "\n" in message or context is None:
        # The help, for want of a command.
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    hint = f"{context.command_path} --help lists the options"
    return _fail(f"{message.rstrip('.')} ({hint})", error.exit_code)


def _fail(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"error: {_printable(' '.join(message.split()))}", err=True)
    return code


def _printable(text: str) -> str:
    """Replace what a terminal would obey: cells and names of files may hold anything."""
    return _CONTROL.sub("\ufffd", text)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        click.echo(f"bhclust {metadata.version('bhclust')}")
        context.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
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


def _the_only(_: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    if len(values) > 1:
        raise click.BadParameter("given more than once", param=parameter)
    if values == ("",):
        raise click.BadParameter("a name is needed, not ''", param=parameter)
    return values[0] if values else None


def _numbers(context: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    text = _the_only(context, parameter, values)
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is no list of numbers such as 0,7,14", param=parameter
        ) from None


def _option(
    name: str, *, callback: Callable[..., Any] = _the_only, **how: Any
) -> Callable[[Any], Any]:
    """Make an option with a value that may be given once: none loses to a later one unnoticed."""
    return click.option(name, multiple=True, callback=callback, **how)


@commands.command()
@_option("--out", metavar="FOLDER", help="Folder for the files; else bhclust-demo.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
def demo(out: str | None, force: bool) -> None:
    """Cluster 101 animals by their traits, and draw them."""
    from .datasets import load_zoo

    options = _Options(
        out=Path(out or "bhclust-demo"),
        force=force or out is None,
        unit="animals",
        title="101 animals, grouped by 16 traits",
    )
    _say("101 animals and 16 of their traits (R. Forsyth 1990, UCI, CC BY 4.0).")
    _say("Which belong together? The classes that people gave them are not looked at.\n")
    _cluster(load_zoo(), options)


def _pairs(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    asked: dict[str, str] = {}
    for value in values:
        name, sign, family = value.rpartition("=")
        if not sign or not name or not family:
            raise click.BadParameter(f"'{value}' is not NAME=FAMILY", param=parameter)
        if name in asked:
            raise click.BadParameter(
                f"'{name}' is given two families, {asked[name]} and {family}", param=parameter
            )
        asked[name] = family
    return asked


@commands.command()
@click.argument("file")
@_option("--out", metavar="FOLDER", help="Folder for the files; else TABLE-clusters.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@_option("--family", metavar="NAME", help=_FAMILY_HELP)
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_pairs,
    metavar="NAME=FAMILY",
    help="Read one column as a family; may be repeated.",
)
@click.option("--ignore", multiple=True, metavar="NAME", help="Leave out a column; repeatable.")
@_option(
    "--target",
    metavar="NAME",
    help=(
        "A column of known classes, only compared with; by default one called class, target, "
        "label, species, cluster or the like that holds few categories. "
        "(--column NAME=categorical clusters on it.)"
    ),
)
@_option("--names", metavar="NAME", help="The column with the names of the rows.")
@click.option(
    "--header/--no-header", default=None, help="Whether line 1 names the columns; else found out."
)
@_option(
    "--times",
    metavar="T1,T2,...",
    callback=_numbers,
    help=(
        "With --family time-series: the times of the columns; by default their names where all "
        "are numbers, else 0, 1, 2, ...."
    ),
)
@_option(
    "--alpha",
    type=float,
    metavar="NUMBER",
    help="Concentration: larger, more clusters; learned by default, or else 1.",
)
@_option("--clusters", type=click.IntRange(min=1), metavar="K", help="Cut into K clusters.")
@_option(
    "--rule",
    type=click.Choice(["map", "r"]),
    help=(
        "Where to cut: the likeliest partition (map, the default), or where a split is likelier "
        "than not (r). With --clusters K: the likeliest partition into K, or the likeliest splits "
        "first (r, then the default)."
    ),
)
@_option(
    "--algorithm",
    type=click.Choice(["auto", "greedy", "rbhc", "ward"]),
    help=(
        "How the tree is grown: exact greedy merging, RBHC, Ward's method, "
        "or the one of these with the highest evidence (auto, the default)."
    ),
)
@_option(
    "--hyperparameters",
    type=click.Choice(["learn", "data"]),
    help="Learned from the evidence (the default), or only set to the scale of the data: quicker.",
)
@_option(
    "--threads",
    type=click.IntRange(1, MOST_THREADS),
    metavar="N",
    help="Threads; all by default.",
)
@click.option("--no-plot", is_flag=True, help="Write no picture.")
@click.option("--dendrogram", is_flag=True, help="Also draw the whole tree.")
@click.option("--report/--no-report", default=True, help="Whether to write report.html.")
def fit(
    file: str,
    out: str | None,
    force: bool,
    family: str | None,
    columns: dict[str, str],
    ignore: tuple[str, ...],
    target: str | None,
    names: str | None,
    header: bool | None,
    times: list[float] | None,
    no_plot: bool,
    dendrogram: bool,
    **how: Any,
) -> None:
    """Cluster the rows of a table: CSV or TSV, plain or gzip.

    In labels.csv, row counts the rows below the header, empty ones too, as spreadsheets, pandas
    and R do, and line is the line of the file.
    """
    from .io import read_table

    if no_plot and dendrogram:
        raise ValueError("--dendrogram: --no-plot forbids it; choose one of them")
    table = read_table(
        file,
        family=family,
        columns=columns,
        ignore=ignore,
        target=target,
        names=names,
        header=header,
        times=times,
    )
    folder = Path(out or f"{Path(file).name.split('.')[0] or 'table'}-clusters")
    given = {name: value for name, value in how.items() if value is not None}
    options = _Options(out=folder, force=force, plot=not no_plot, dendrogram=dendrogram, **given)
    _cluster(table, options)


def _say(text: str) -> None:
    _session().say(text)


def _session() -> _Session:
    found = click.get_current_context().find_object(_Session)
    assert found is not None
    return found


def _cluster(table: Table, options: _Options) -> None:
    from . import _describe
    from .io import OutputFiles
    from .trees import leaf_names

    _say(_describe.columns_in_words(table))
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
    _say(f"\n{_describe.summary(findings, most=_MOST_PRINTED)}\n")
    contents = _contents(post, findings, options)
    with _session().writing(files):
        for name, content in contents.items():
            files.add(name, content)
    for path in files:
        _say(f"wrote {path}")
    if leaf_names(table.row_names) is None:
        _say("tree.nwk names the rows by number: names are there twice, or empty")


def _contents(post: Any, findings: Findings, options: _Options) -> dict[str, str | bytes]:
    """Make all files before the first is written, so that an interrupt finds none half done."""
    from . import _describe
    from .trees import leaf_names

    table = findings.table
    names = table.row_names
    newick = post.tree.to_newick(names=leaf_names(names), heights=post.height)
    return {
        "labels.csv": _labels_csv(findings),
        "tree.json": post.tree.to_json(names=names) + "\n",
        "tree.nwk": newick.rstrip("\n") + "\n",
        "summary.txt": f"{_describe.columns_in_words(table)}\n\n{_describe.summary(findings)}\n",
        **_pictures(post, findings, options),
        **({"report.html": _report(post, findings, options)} if options.report else {}),
    }


def _check(table: Table, options: _Options) -> None:
    if table.n_rows < 2:
        raise ValueError(f"{table.path}: there is one row; at least two are needed to cluster")
    if not table.columns:
        raise ValueError(
            f"{table.path}: no column is left to cluster on; "
            "use --column NAME=FAMILY on one of those set aside"
        )
    if options.alpha is not None and not 0 < options.alpha < float("inf"):
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
    return [*names, "report.html"] if options.report else names


def _fit(table: Table, options: _Options) -> tuple[Any, Any, float]:
    import bhclust

    with _in_the_file(table), _ProgressBar() as bar, _session().interrupts.raising():
        estimator = bhclust.BHC(
            family=_family(table),
            alpha=options.alpha,
            tree=options.algorithm,
            hyperparameters=options.hyperparameters,
            n_threads=options.threads,
            progress=bar.show,
        ).fit(table.data)
    post = estimator.posterior_
    labels = post.cut(rule=options.rule, n_clusters=options.clusters)
    return post, labels, float(estimator.log_evidence_)


def _family(table: Table) -> Any:
    """What the estimator takes: of time series with the times, which a matrix cannot carry."""
    if not table.times:
        return table.family
    from .families import GaussianProcess

    return GaussianProcess.from_data(table.data, times=table.times)


@contextlib.contextmanager
def _in_the_file(table: Table) -> Iterator[None]:
    """Refusals of the core name the line of the file and the column, as the reader's do."""
    try:
        yield
    except ValueError as error:
        place = re.match(r"X: row (\d+)(?:, column (\d+) )?", str(error))
        if place is None:
            raise
        told = f"{table.path}: line {table.lines[int(place[1])]}"
        if place[2] is not None:
            told += f", column '{list(table.columns)[int(place[2])]}' "
        raise ValueError(told + str(error)[place.end() :]) from None


class _ProgressBar:
    """A bar on a terminal, once the work has taken a second."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> _ProgressBar:
        return self

    def show(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._begin < 1.0 or sys.stderr is None:
                return
            if not sys.stderr.isatty():
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
    text = text_io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _pictures(post: Any, findings: Findings, options: _Options) -> dict[str, bytes]:
    if not options.plot:
        return {}
    if not _can_draw(options):
        _say('no picture: matplotlib is missing (pip install "bhclust[plot]")')
        return {}
    from . import plot

    table = findings.table
    # Numbers of rows tell nobody anything where there are many.
    names = table.row_names if table.names or table.n_rows <= 200 else None
    tree, dendrogram = text_io.BytesIO(), text_io.BytesIO()
    plot.save_condensed_tree(
        tree,
        post,
        X=table,
        labels=findings.labels,
        names=names,
        classes=table.target,
        title=_title(table, options),
        unit=options.unit,
    )
    if options.dendrogram:
        plot.save_dendrogram(dendrogram, post, labels=findings.labels, names=table.row_names)
    drawn = {"tree.png": tree.getvalue(), "dendrogram.png": dendrogram.getvalue()}
    return {name: content for name, content in drawn.items() if content}


def _title(table: Table, options: _Options) -> str:
    return options.title or Path(table.path).name.encode(errors="replace").decode()


def _report(post: Any, findings: Findings, options: _Options) -> str:
    from . import _report

    rule = f"rule {options.rule or 'map'}"
    chosen = f"cut into {options.clusters:,}" if options.clusters else rule
    return _report.page(
        post,
        findings.table,
        labels=findings.labels,
        title=_title(findings.table, options),
        unit=options.unit,
        choices={
            "clusters": chosen,
            "tree": options.algorithm,
            "hyperparameters": options.hyperparameters,
        },
        pictures=options.plot,
    )
