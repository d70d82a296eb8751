"""A clustering on one page: HTML that holds all it needs and opens without a network."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterable, Mapping
from html import escape
from importlib import resources
from typing import Any

from numpy.typing import ArrayLike

from ._cells import with_names
from ._condense import PosteriorLike
from ._report_answers import answers, number_of_clusters
from ._report_clusters import clusters_section, doubtful_section
from ._report_columns import choices_section, columns_section
from ._report_findings import found_of
from ._report_tree import data_element, tree_section
from .io import OutputFiles
from .options import check_path


def report(
    post: PosteriorLike,
    X: Any,
    path: str | os.PathLike[str],
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    title: str = "",
    unit: str = "rows",
    choices: Mapping[str, Any] | None = None,
    feature_names: Iterable[Any] | None = None,
) -> None:
    """Write what was found to one HTML file, which opens in any browser and without a network.

    It tells how many clusters there are and how sure that is; shows the tree with the table beside
    it, to be opened, closed, zoomed and searched; lists for each cluster what sets it apart and how
    certain its rows are, and the rows that are doubtful with their alternatives; and says how the
    columns were read and what was chosen.

    Parameters
    ----------
    post : Posterior
        The posterior of a tree.
    X : array-like, DataFrame, mapping, CSR matrix or Table, n rows
        The rows. The columns may be others than those clustered on.
    path : path
        The file; one that exists is replaced, once the new one is whole.
    labels : array of int, shape (n,), optional
        A cut of the tree; by default ``post.cut()``.
    names : sequence, length n, optional
        Names of the rows; by default those of a Table, else ``row 0``, ``row 1``, …
    classes : sequence, length n, optional
        Known classes of the rows, only compared with; by default those of a Table.
    title : str, optional
        Title of the page.
    unit : str, default "rows"
        What the rows are, in the plural.
    choices : mapping of str to anything, optional
        What else was chosen on the way, told with the family and the concentration.
    feature_names : sequence of str, optional
        Names of the columns of an array or a CSR matrix, which has none of its own; else they go
        by their numbers.

    Returns
    -------
    None

    Raises
    ------
    ValueError, TypeError
        If X, labels, names or classes do not have one entry for each row, if the labels are not a
        cut of the tree, or if an argument is something else than it should be.
    """
    place = check_path("path", path)
    text = page(
        post,
        with_names(X, feature_names),
        labels=labels,
        names=names,
        classes=classes,
        title=title,
        unit=unit,
        choices=choices,
    )
    files = OutputFiles(place.parent, replace=True)
    with files:
        files.add(place.name, text.encode(errors="replace"))


def page(
    post: PosteriorLike,
    X: Any,
    *,
    labels: ArrayLike | None = None,
    names: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    title: str = "",
    unit: str = "rows",
    choices: Mapping[str, Any] | None = None,
    pictures: bool = True,
) -> str:
    """Write what `report` puts into its file; without `pictures` there is no tree to look at."""
    found = found_of(post, X, labels, names, classes, title, unit, dict(choices or {}))
    shown = f"{found.title or 'Clusters'}"
    style, script = _own_file("report.css"), _own_file("report.js") if pictures else ""
    sections = [
        answers(found),
        tree_section(found) if pictures else "",
        number_of_clusters(found),
        clusters_section(found),
        doubtful_section(found),
        columns_section(found),
        choices_section(found),
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(shown)}</title>",
            f"<style>{style}</style></head>",
            "<body>",
            f"<header><h1><bdi>{escape(shown)}</bdi></h1></header>",
            "<main>",
            *filter(None, sections),
            "</main>",
            *([data_element(found), f"<script>{script}</script>"] if pictures else []),
            "</body></html>",
            "",
        ]
    )


def _own_file(name: str) -> str:
    return (resources.files("bhclust") / "data" / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Allow what the page itself holds and nothing else, so that no text can become code."""

    def own(text: str) -> str:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
        return f"'sha256-{digest}'" if text else "'none'"

    return (
        f"default-src 'none'; style-src {own(style)}; script-src {own(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
