"""Columns that are not clustered on: names of the rows, and known classes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ._raw_column import Cells
from ._sniff import MOST_LEVELS, sniff

_CLASS_NAMES = frozenset(
    {"class", "classes", "cluster", "clusters", "label", "labels", "species", "target", "targets"}
    | {"class label", "class labels", "ground truth", "known class", "true class", "true label"}
)
_NAME_HEADERS = frozenset(
    {"row name", "id", "ids", "name", "names", "rowname", "rownames", "row_name", "index"}
    | {"identifier", "uid", "uuid", "unnamed: 0"}
)


def name_column(columns: Sequence[Cells]) -> str | None:
    """Find the column with the names of the rows, if there is one."""
    for cells in columns:
        lowered = cells.name.lower()
        count = len(cells.distinct)
        if lowered in _NAME_HEADERS or lowered.endswith(("_id", " id", ".id")):
            if count > 1 and count == len(cells.present):
                return cells.name
            if not cells.are_numbers and 2 * count > len(cells.texts):
                return cells.name
    for cells in columns:
        all_differ = len(cells.distinct) == len(cells.texts) > 2
        if all_differ and not cells.are_numbers and isinstance(sniff(cells), str):
            return cells.name
    return None


def is_class_name(name: str) -> bool:
    """Whether columns of this name mostly hold known classes, such as a clustering looks for."""
    return " ".join(re.findall(r"[^\W_]+", name.lower())) in _CLASS_NAMES


def has_known_classes(cells: Cells) -> bool:
    """Whether a column has the name of known classes and holds few categories, each repeated."""
    few = 2 <= len(cells.distinct) <= MOST_LEVELS and 2 * len(cells.distinct) <= len(cells.present)
    if not few or not is_class_name(cells.name):
        return False
    values = cells.numbers()
    if values is None:
        return True
    present = values[cells.present]
    return bool((present == np.rint(present)).all())
