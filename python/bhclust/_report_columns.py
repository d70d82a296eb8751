"""A report's tables of the columns as they were read and of what was chosen."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ._cells import alias_of
from ._column import Column
from ._core import __version__
from ._page import counted
from ._report_findings import Found
from ._report_markup import row_of, table_of

_MOST_COLUMNS = 500
_KINDS = {
    "bernoulli": "yes or no",
    "categorical": "categories",
    "poisson": "counts",
    "geometric": "counts",
    "negative-binomial": "counts",
    "multinomial": "counts, as shares of their row",
    "exponential": "waiting times",
    "von-mises-fisher": "directions",
}


def columns_section(found: Found) -> str:
    """List the columns."""
    lines = []
    for column in list(found.columns.values())[:_MOST_COLUMNS]:
        kind = _KINDS.get(column.family, "measurements")
        cells = [column.name, f"{kind} ({column.family})", _values(column), column.why]
        lines.append(row_of(cells))
    lines += [row_of([name, "set aside", "", why]) for name, why in found.set_aside.items()]
    notes = "".join(f"<p class='faint'>{escape(note)}</p>" for note in found.notes)
    left = len(found.widths) - min(len(found.columns), _MOST_COLUMNS)
    more = f"<p class='faint'>and {left:,} more columns</p>" if left > 0 else ""
    head = ("column", "taken for", "values", "because")
    shown = table_of("Columns", head, lines)
    return f"<section><h2>The columns as they were read</h2>\n{notes}{shown}{more}</section>"


def _values(column: Column) -> str:
    present = column.values[~np.isnan(column.values)]
    if column.levels:
        shown = ", ".join(column.levels[:8]) + (", …" if len(column.levels) > 8 else "")
    elif len(present):
        shown = f"{present.min():.4g} to {present.max():.4g}"
    else:
        shown = "none"
    return f"{shown}; {column.n_missing:,} missing" if column.n_missing else shown


def choices_section(found: Found) -> str:
    """List what was chosen, and the hyperparameters."""
    post = found.post
    told = list({"clusters": found.cut, **found.choices}.items())
    told.append(("concentration (alpha)", f"{post.alpha:.6g}"))
    for family, columns in getattr(post.family, "blocks", [(post.family, None)]):
        where = "" if columns is None else f" for {counted(len(columns), 'columns')}"
        told.append((f"family{where}: {alias_of(family)}", _hyperparameters(family)))
    told.append(("bhclust", __version__))
    lines = "".join(row_of([str(name), str(value)]) for name, value in told)
    return (
        "<section><h2>What was chosen</h2>\n<div class='scroll'><table><tbody>"
        f"{lines}</tbody></table></div></section>"
    )


def _hyperparameters(family: Any) -> str:
    if not hasattr(family, "parameters"):
        return repr(family)[:300]
    return ", ".join(
        f"{name} {_brief(np.asarray(value))}" for name, value in family.parameters().items()
    )


def _brief(value: Any) -> str:
    if value.dtype.kind not in "iuf" or not value.size:
        return str(value)[:60]
    low, high = float(value.min()), float(value.max())
    if low == high:
        return f"{low:.4g}"
    return f"{low:.4g} to {high:.4g} ({value.size:,} values)"
