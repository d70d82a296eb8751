"""What `fit` leaves behind for the other commands: a model file that knows its table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bhclust import model_file
from bhclust._cells import columns_of
from bhclust._column import FAMILIES, Column
from bhclust._describe import Findings, certainty, traits
from bhclust._matrix import SparseColumns
from bhclust._records import shown_path
from bhclust.estimators import BHC
from bhclust.hurdles import joined_column
from bhclust.io import Table

MODEL = "model.bhclust"


@dataclass(frozen=True)
class Saved:
    """A fitted estimator with the table it was fitted to."""

    estimator: BHC
    table: Table
    unit: str
    title: str

    def labels(self, clusters: int | None = None, rule: str | None = None) -> Any:
        """The flat clusters of the fit, or others."""
        if clusters is None and rule is None:
            return self.estimator.labels_
        if clusters is not None and clusters > self.table.n_rows:
            raise ValueError(
                f"--clusters: {clusters:,} given, but the table has {self.table.n_rows:,} rows"
            )
        return self.estimator.posterior_.cut(rule=rule, n_clusters=clusters)

    def findings(self, labels: Any) -> Findings:
        """What is told about flat clusters."""
        return Findings(
            table=self.table,
            labels=labels,
            certainty=certainty(self.estimator.posterior_, labels),
            log_evidence=float(self.estimator.log_evidence_),
            traits=traits(columns_of(self.table, self.estimator.posterior_, labels), labels),
            unit=self.unit,
        )


def packed(saved: Saved) -> bytes:
    """Give the bytes of the model file."""
    table = saved.table
    about = {
        "path": _text(table.path),
        "unit": saved.unit,
        "title": _text(saved.title),
        "columns": [
            [column.name, column.family, column.why, list(column.levels)]
            for column in table.columns.values()
        ],
        "set_aside": dict(table.set_aside),
        "names": table.names,
        "target": table.target,
        "notes": list(table.notes),
        "numbers": list(table.numbers),
        "lines": list(table.lines),
        "times": list(table.times),
        "dialect": table.dialect,
    }
    return model_file.packed(saved.estimator, about)


def _text(name: str) -> str:
    """Names of files may hold bytes that are no text."""
    return name.encode(errors="replace").decode()


def model_path(run: str) -> Path:
    """Find the model file of a run: the folder that `fit` wrote, or the file itself."""
    place = Path(run)
    return place / MODEL if place.is_dir() else place


def open_saved(run: str) -> Saved:
    """Read what `fit` wrote."""
    place = model_path(run)
    if "\0" in run or not os.path.lexists(place):
        where = f"no {MODEL} in it; " if Path(run.replace("\0", "")).is_dir() else "no such file; "
        raise ValueError(f"{shown_path(run)}: {where}name the folder that bhclust fit wrote")
    fitted, about = model_file.opened(place)
    if about is None or not isinstance(fitted, BHC):
        raise ValueError(
            f"{shown_path(place)}: this model was not written by bhclust fit, and does not say "
            "what its table was; open it in Python: bhclust.load(path)"
        )
    try:
        return _saved(fitted, about)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        raise ValueError(
            f"{shown_path(place)}: not a model that can be read: what it says about its table "
            "does not fit it"
        ) from None


def _saved(fitted: BHC, about: Mapping[str, Any]) -> Saved:
    n_rows = fitted.posterior_.tree.n_leaves
    columns = _columns(fitted, about["columns"])
    aside = {_a_text(key): _a_text(why) for key, why in about["set_aside"].items()}
    table = Table(
        path=_a_text(about["path"]),
        n_rows=n_rows,
        columns=columns,
        set_aside=aside,
        names=_texts(about["names"], n_rows),
        target=_texts(about["target"], n_rows),
        notes=tuple(map(_a_text, about["notes"])),
        numbers=_numbers(about["numbers"], n_rows),
        lines=_numbers(about["lines"], n_rows),
        times=[float(time) for time in about["times"]],
        dialect=_a_text(about["dialect"]),
    )
    return Saved(fitted, table, _a_text(about["unit"]), _a_text(about["title"]))


def _columns(fitted: BHC, told: Any) -> Mapping[str, Column]:
    """Make the columns from the cells of the model."""
    if fitted.posterior_._table.is_sparse:
        return _sparse_columns(fitted.posterior_._table, told)
    cells = np.asarray(fitted.posterior_._table.arrays)
    columns: dict[str, Column] = {}
    place = 0
    for name, family, why, levels in told:
        if family not in FAMILIES:
            raise ValueError(f"family {family!r} is not known")
        if family == "hurdle":
            values = joined_column(cells[:, place + 1], cells[:, place])
            place += 1
        else:
            values = np.ascontiguousarray(cells[:, place])
        place += 1
        codes = values[~np.isnan(values)]
        texts = tuple(map(_a_text, levels))
        if texts and codes.size and not codes.max() < len(texts):
            raise ValueError("codes without levels")
        columns[_a_text(name)] = Column(name, family, values, texts, _a_text(why))
    if place != cells.shape[1] or not columns or len(columns) < len(told):
        raise ValueError("other columns than the model has")
    return columns


def _sparse_columns(table: Any, told: Any) -> SparseColumns:
    import scipy.sparse

    names = [_a_text(name) for name, _, _, _ in told]
    kinds = {(family, why) for _, family, why, _ in told}
    if len(set(names)) != table.n_columns or len(names) != table.n_columns or len(kinds) != 1:
        raise ValueError("other columns than the model has")
    family, why = kinds.pop()
    if family not in FAMILIES:
        raise ValueError(f"family {family!r} is not known")
    data, indices, indptr = map(np.asarray, table.arrays)
    matrix = scipy.sparse.csr_array((data, indices, indptr), shape=(table.n_rows, table.n_columns))
    return SparseColumns(matrix, names, family, _a_text(why))


def cell_columns(table: Table) -> list[str]:
    """Name the column of each of the model's columns of cells."""
    return [
        name
        for name, column in table.columns.items()
        for _ in range(2 if column.family == "hurdle" else 1)
    ]


def _a_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _texts(value: Any, n_rows: int) -> list[str] | None:
    if value is None:
        return None
    if len(value) != n_rows:
        raise ValueError("not one a row")
    return list(map(_a_text, value))


def _numbers(value: Any, n_rows: int) -> list[int]:
    if value and len(value) != n_rows:
        raise ValueError("not one a row")
    return [int(number) for number in value]
