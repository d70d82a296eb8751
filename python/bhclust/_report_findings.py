"""What a report tells of: a posterior, its table and its clusters, looked at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _report_data
from ._arguments import checked_labels, checked_post, checked_text, checked_texts
from ._cells import columns_of
from ._column import Column
from ._condense import Floats, Ints, condense
from ._describe import certainty
from ._heatmap import Field, field_of, means_of
from ._matrix import SparseColumns
from ._memberships import Memberships, memberships
from ._traits import Trait, traits
from .io import Table

_MOST_WORK = 2e8
SURE = 0.9


@dataclass(frozen=True)
class Found:
    """What the page tells of."""

    post: Any
    columns: dict[str, Column]
    set_aside: dict[str, str]
    notes: Sequence[str]
    labels: Ints
    names: list[str]
    classes: list[str] | None
    traits: list[list[Trait]]
    title: str
    unit: str
    cut: str
    choices: dict[str, Any]
    sure: Floats
    members: Memberships
    chances: Floats | None
    field: Field
    means: Floats
    widths: dict[str, int]

    @property
    def n_clusters(self) -> int:
        return len(np.unique(self.labels))


def found_of(
    post: Any,
    X: Any,
    labels: ArrayLike | None,
    names: Iterable[Any] | None,
    classes: Iterable[Any] | None,
    title: str,
    unit: str,
    choices: dict[str, Any],
) -> Found:
    """Check the arguments and look at all once."""
    checked_post(post)
    n = post.tree.n_leaves
    flat = checked_labels(post, labels)
    # Refuses labels that are no cut.
    condense(post.tree, flat, 2)
    is_table = isinstance(X, Table)
    columns = columns_of(X, post, flat)
    own_names = X.row_names if is_table else [f"row {row}" for row in range(n)]
    own_classes = X.target if is_table else None
    told = checked_texts(names, n, "names")
    sure = certainty(post, flat)
    field = field_of(columns, flat, _report_data.most_fields(n))
    known = checked_texts(classes, n, "classes")
    return Found(
        post=post,
        columns=columns,
        set_aside=X.set_aside if is_table else {},
        notes=X.notes if is_table else (),
        labels=flat,
        names=told or own_names,
        classes=known or own_classes,
        traits=traits(columns, flat),
        title=checked_text(title, "title"),
        unit=checked_text(unit, "unit"),
        cut="the most probable partition" if labels is None else "as given",
        choices=choices,
        sure=sure,
        members=memberships(post, flat, np.argsort(sure, kind="stable")),
        chances=_chances(post, flat),
        field=field,
        means=means_of(field.cells, flat),
        widths=_widths(X if is_table else None, columns),
    )


def _widths(table: Table | None, columns: dict[str, Column]) -> dict[str, int]:
    """For each column its number of cells in the model; of a sparse table they are too many."""
    if table is not None and isinstance(table.columns, SparseColumns):
        return dict.fromkeys(table.columns, 1)
    # A hurdle makes two cells of a column, side by side.
    return {name: 1 + (column.family == "hurdle") for name, column in columns.items()}


def _chances(post: Any, labels: Ints) -> Floats | None:
    """Find the posterior of the number of clusters, unless it takes too long."""
    here = len(np.unique(labels))
    most = min(len(labels), int(here + 6 * here**0.5) + 50)
    if most * len(labels) > _MOST_WORK:
        return None
    found: Floats = post.n_clusters_distribution(most)
    return found


def doubtful_rows(found: Found) -> list[int]:
    """List the rows whose own cluster is not much likelier than others, the least sure first."""
    own = found.members.own
    order = np.argsort(np.where(np.isnan(own), np.inf, own), kind="stable")
    return [row for row in order.tolist() if own[row] < SURE]
