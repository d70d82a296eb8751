"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from .session import session

Decorator = Callable[[Any], Any]

_FAMILY_HELP = (
    "Read every column as this family: gaussian, gaussian-diag, gaussian-spherical, "
    "von-mises-fisher, exponential, poisson, multinomial, geometric, negative-binomial, "
    "bernoulli, categorical, hurdle (numbers with a spike at zero) or time-series (each row a "
    "series over the columns)."
)


def the_only(_: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    """Give the value of an option, which may be given once, and not empty."""
    if len(values) > 1:
        raise click.BadParameter("given more than once", param=parameter)
    if values == ("",):
        raise click.BadParameter("a name is needed, not ''", param=parameter)
    return values[0] if values else None


def _separator(context: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    text = the_only(context, parameter, values)
    return "\t" if text == "tab" else text


def _numbers(context: click.Context, parameter: click.Parameter, values: tuple[Any, ...]) -> Any:
    text = the_only(context, parameter, values)
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"'{text}' is no list of numbers such as 0,7,14", param=parameter
        ) from None


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


def option(*names: str, callback: Callable[..., Any] = the_only, **how: Any) -> Decorator:
    """Make an option with a value that may be given once: none loses to a later one unnoticed."""
    return click.option(*names, multiple=True, callback=callback, **how)


def together(*decorators: Decorator) -> Decorator:
    """Make one decorator of several."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _speak_json(_: click.Context, __: click.Parameter, wanted: bool) -> None:
    session().is_json = wanted


def json_option() -> Decorator:
    """Make ``--json``, which the session keeps."""
    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=_speak_json,
        help="Print lines of JSON, for programs.",
    )


def force_option() -> Decorator:
    """Make ``--force``."""
    return click.option("--force", is_flag=True, help="Replace files that exist.")


def out_file_option(default: str = "standard output") -> Decorator:
    """Make ``--out`` for one file."""
    return option("--out", metavar="FILE", help=f"File to write; else {default}.")


def threads_option() -> Decorator:
    """Make ``--threads``."""
    return option(
        "--threads",
        type=click.IntRange(min=1),
        metavar="N",
        help="Threads; all by default. Results do not depend on it.",
    )


def cut_options() -> Decorator:
    """Make the options that say where a tree is cut."""
    return together(
        option("--clusters", type=click.IntRange(min=1), metavar="K", help="Cut into K clusters."),
        option(
            "--rule",
            type=click.Choice(["map", "r"]),
            help=(
                "Where to cut: the likeliest partition (map, the default), or where a split is "
                "likelier than not (r). With --clusters K: the likeliest partition into K, or the "
                "likeliest splits first (r, then the default)."
            ),
        ),
    )


def table_options() -> Decorator:
    """Make the options that say how a file is read."""
    return together(
        option("--family", metavar="NAME", help=_FAMILY_HELP),
        click.option(
            "--column",
            "columns",
            multiple=True,
            callback=_pairs,
            metavar="NAME=FAMILY",
            help="Read one column as a family; may be repeated.",
        ),
        click.option(
            "--ignore", multiple=True, metavar="NAME", help="Leave out a column; repeatable."
        ),
        option(
            "--target",
            metavar="NAME",
            help=(
                "A column of known classes, only compared with; by default one called class, "
                "target, label, species, cluster or the like that holds few categories. "
                "(--column NAME=categorical clusters on it.)"
            ),
        ),
        option("--names", metavar="NAME", help="The column with the names of the rows."),
        matrix_options(),
        click.option(
            "--header/--no-header",
            default=None,
            help="Whether line 1 names the columns; else found out.",
        ),
        option(
            "--separator",
            metavar="CHARACTER",
            help="What stands between cells; else found out. 'tab' is a tab.",
            callback=_separator,
        ),
        option(
            "--decimal", type=click.Choice([".", ","]), help="The decimal sign; else found out."
        ),
        option(
            "--times",
            metavar="T1,T2,...",
            callback=_numbers,
            help=(
                "With --family time-series: the times of the columns; by default their names "
                "where all are numbers, else 0, 1, 2, ...."
            ),
        ),
    )


def matrix_options() -> Decorator:
    """Make the options that say how a file of one matrix is read."""
    return together(
        option(
            "--row-names",
            metavar="FILE",
            help=(
                "Of a matrix without names (MatrixMarket, .npy): a file with those of its rows, "
                "one a line."
            ),
        ),
        option(
            "--column-names",
            metavar="FILE",
            help=(
                "The same for its columns: words, genes. (barcodes.tsv and features.tsv beside a "
                "matrix.mtx are found unasked.)"
            ),
        ),
        click.option(
            "--transpose", is_flag=True, help="Of a file of one matrix: cluster its columns."
        ),
    )


def growth_options() -> Decorator:
    """Make the options that say how a table is clustered."""
    return together(
        option(
            "--alpha",
            type=float,
            metavar="NUMBER",
            help="Concentration: larger, more clusters; learned by default, or else 1.",
        ),
        cut_options(),
        option(
            "--algorithm",
            type=click.Choice(["auto", "greedy", "rbhc", "ward", "bayes-kmeans", "randomized"]),
            help=(
                "How the tree is grown: exact greedy merging, RBHC, Ward's method, or the one of "
                "these with the highest evidence (auto, the default). For many rows: bayes-kmeans, "
                "randomized."
            ),
        ),
        option(
            "--hyperparameters",
            type=click.Choice(["learn", "data"]),
            help=(
                "Learned from the evidence (the default), or only set to the scale of the data: "
                "quicker."
            ),
        ),
    )
