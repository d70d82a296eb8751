"""Which family each column of a table gets, and why: one mechanism for files and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._column import Column
from bhclust._column_roles import has_known_classes, name_column
from bhclust._core import Table
from bhclust._raw_column import ArrayCells
from bhclust._sniff import sniff
from bhclust.families import product_of
from bhclust.growth import growths
from bhclust.hurdles import split_column

__all__ = ["ColumnChoice", "likelier", "model_columns", "take_columns"]

_ROWS = 1000
_FEW = 10
_LEAST_GAIN = 3.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnChoice:
    """What a column was taken for."""

    family: str | None
    """Alias of its family; None: it is set aside."""
    why: str
    """In words."""


def take_columns(X: Mapping[Any, NDArray[Any]]) -> tuple[dict[Any, Column], dict[Any, str]]:
    """Find families for the columns of a table.

    Parameters
    ----------
    X : mapping of name or number to array of shape (n_rows,)

    Returns
    -------
    dict of key to Column
        The columns to cluster on.
    dict of key to str
        Those set aside: identifiers, known classes, constants, free text, dates; and why.
    """
    cells = {key: ArrayCells(values, key) for key, values in X.items()}
    names = name_column([column for column in cells.values() if isinstance(column.key, str)])
    used: dict[Any, Column] = {}
    aside: dict[Any, str] = {}
    for key, column in cells.items():
        if column.name == names and isinstance(key, str):
            aside[key] = "names of the rows"
        elif isinstance(key, str) and has_known_classes(column):
            aside[key] = (
                f"{len(column.distinct)} categories, by the name known classes: clusters found "
                "from them would say nothing; give it a family to cluster on it"
            )
        else:
            taken = sniff(column)
            if isinstance(taken, str):
                aside[key] = taken
            else:
                used[key] = taken
    return likelier(used, list(used)), aside


def model_columns(column: Column) -> list[tuple[str, Floats]]:
    """The columns of cells that model a column, each with the alias of its family."""
    if column.family != "hurdle":
        return [(column.family, column.values)]
    bit, rest = split_column(column.values)
    return [("gaussian-diag", rest), ("bernoulli", bit)]


def likelier(columns: Mapping[Any, Column], free: Collection[Any]) -> dict[Any, Column]:
    """Choose between families that fit a column by the evidence of a quick tree.

    Counts may be Poisson, geometric or, where they are few, categories; positive measurements
    Normal or exponential; and Normal columns without missing cells one block with correlations.
    All of these are densities of the same cells, so that their evidences compare. The tree is
    Ward's, of at most 1,000 rows: some passes over it, O(1000 · width) each.

    Parameters
    ----------
    columns : mapping of key to Column
    free : collection of keys
        The columns that were not given their family by the user.
    """
    chosen = {key: column for key, column in columns.items() if key in free}
    options = {key: _alternatives(column) for key, column in chosen.items()}
    if not any(options.values()) and len(options) < 2:
        return dict(columns)
    trial = _Trial(chosen)
    for key, others in options.items():
        best = trial.evidence(chosen)
        for other in others:
            found = trial.evidence({**chosen, key: other})
            if found > best + _LEAST_GAIN:
                told = f"{other.family} beats {chosen[key].family} by {found - best:,.0f} nats"
                chosen[key], best = replace(other, why=f"{columns[key].why}; {told}"), found
    joint = trial.together(chosen)
    gain = trial.evidence({**chosen, **joint}) - trial.evidence(chosen) if joint else 0.0
    if gain > _LEAST_GAIN:
        told = f"correlations of {len(joint)} columns are worth {gain:,.0f} nats"
        chosen |= {k: replace(column, why=f"{column.why}; {told}") for k, column in joint.items()}
    return {key: chosen.get(key, column) for key, column in columns.items()}


def _alternatives(column: Column) -> list[Column]:
    present = column.values[~np.isnan(column.values)]
    if column.family == "poisson":
        others = [replace(column, family="geometric")]
        levels = np.unique(present)
        if len(levels) <= _FEW and 3 * len(levels) <= len(present):
            codes = np.full(len(column.values), np.nan)
            codes[~np.isnan(column.values)] = np.searchsorted(levels, present)
            told = tuple(f"{level:.0f}" for level in levels)
            others.append(replace(column, family="categorical", values=codes, levels=told))
        return others
    if column.family == "categorical" and all(map(str.isdecimal, column.levels)):
        levels = np.array(column.levels, dtype=np.float64)
        if levels[0] > 1:
            return []
        counts = np.full(len(column.values), np.nan)
        counts[~np.isnan(column.values)] = levels[present.astype(np.int64)]
        plain = replace(column, values=counts, levels=())
        return [replace(plain, family=family) for family in ("poisson", "geometric")]
    if column.family == "gaussian-diag" and present.min() > 0:
        return [replace(column, family="exponential")]
    return []


class _Trial:
    """Evidences of families for columns, on one tree of some rows."""

    def __init__(self, columns: Mapping[Any, Column]) -> None:
        n = max((len(column.values) for column in columns.values()), default=0)
        draw = np.random.default_rng(0).permutation(n)[:_ROWS]
        self.rows = np.sort(draw)
        self.tree = None
        if len(self.rows) > 2:
            table, family = self._model(columns)
            self.tree = growths("ward", table, family)[1].grow(family, 1.0)

    def _model(self, columns: Mapping[Any, Column]) -> tuple[Table, Any]:
        parts = [part for column in columns.values() for part in model_columns(column)]
        cells = np.column_stack([values[self.rows] for _, values in parts])
        table = Table.dense(np.ascontiguousarray(cells))
        return table, product_of(dict(enumerate(family for family, _ in parts)), table)

    def evidence(self, columns: Mapping[Any, Column]) -> float:
        """Log evidence of the tree, in nats."""
        if self.tree is None:
            return 0.0
        table, family = self._model(columns)
        return _core.posterior(self.tree, table, family, 1.0, None).log_evidence_bound

    def together(self, columns: Mapping[Any, Column]) -> dict[Any, Column]:
        """The Normal columns without missing cells as one block, if there are several."""
        whole = {
            key: replace(column, family="gaussian")
            for key, column in columns.items()
            if column.family == "gaussian-diag" and not column.n_missing
        }
        return whole if 2 <= len(whole) <= len(self.rows) / 5 else {}


def told_choices(
    columns: Mapping[Any, Column], aside: Mapping[Any, str], order: Sequence[Any]
) -> dict[Any, ColumnChoice]:
    """What became of each column, in their order."""
    return {
        key: ColumnChoice(columns[key].family, columns[key].why)
        if key in columns
        else ColumnChoice(None, aside[key])
        for key in order
    }
