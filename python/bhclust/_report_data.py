"""What the script of a report draws from: the tree, the rows and the cells, as compact JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._condense import Floats, Ints, leaf_order, roots_by_label
from ._heatmap import Field

_ALPHABET = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", dtype=np.uint8
)
_LEVELS = 62
_MISSING = 63
_MOST_CELLS = 44_000
_FEWEST_FIELDS = 8
_MOST_FIELDS = 26
_MOST_EXPLAINED = 250
_MOST_WORK = 5e7
_MOST_PARTS = 8


def most_fields(n: int) -> int:
    """How many columns of cells there is room for."""
    return int(min(_MOST_FIELDS, max(_FEWEST_FIELDS, _MOST_CELLS // max(n, 1))))


def as_json(values: dict[str, Any]) -> str:
    """Write JSON that may stand in a page: no text in it can end the element or begin another."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def tree_of(post: Any, labels: Ints) -> dict[str, Any]:
    """The merges, the side first that is drawn first, their log odds, and the roots."""
    tree = post.tree
    _, start = leaf_order(tree, labels)
    children = tree.children.copy()
    turned = start[children[:, 0]] > start[children[:, 1]]
    children[turned] = children[turned][:, ::-1]
    odds = np.clip(np.nan_to_num(post.log_odds[tree.n_leaves :]), -99.0, 99.0)
    return {
        "kids": children.ravel().tolist(),
        "odds": [round(value, 1) if abs(value) > 9 else round(value, 2) for value in odds.tolist()],
        "roots": roots_by_label(tree, labels),
    }


def cells_of(field: Field) -> dict[str, Any]:
    """The names of the fields, and their cells as one letter each, row after row."""
    cells = field.cells
    levels = np.rint(np.nan_to_num(cells) * _LEVELS).astype(np.int64)
    letters = _ALPHABET[np.where(np.isnan(cells), _MISSING, levels)]
    return {"fields": field.names, "cells": letters.tobytes().decode("ascii")}


def explained(post: Any, columns: Mapping[str, int]) -> dict[str, Any]:
    """The strongest contributions of the columns at the largest nodes, in nats.

    `columns` are their numbers of cells. None where they are others than those clustered on.
    """
    tree, names = post.tree, list(columns)
    widths = np.array(list(columns.values()), dtype=int)
    if not names or post._table.n_columns != widths.sum():
        return {"columns": [], "explained": {}}
    firsts = np.cumsum(widths) - widths
    size = tree.size
    nodes = np.arange(tree.n_leaves, tree.n_nodes)
    nodes = nodes[np.argsort(-size[nodes], kind="stable")][:_MOST_EXPLAINED]
    work = np.cumsum(size[nodes]) * len(names)
    told: dict[str, list[list[Any]]] = {}
    for node in nodes[(work <= _MOST_WORK) | (np.arange(len(nodes)) < 3)].tolist():
        parts: Floats = np.add.reduceat(post.explain(node).columns, firsts)
        strongest = np.argsort(-np.abs(parts), kind="stable")[:_MOST_PARTS]
        told[str(node)] = [
            [column, round(float(parts[column]), 1)]
            for column in strongest.tolist()
            if abs(parts[column]) >= 0.05
        ]
    used = sorted({part[0] for parts in told.values() for part in parts})
    number = {column: place for place, column in enumerate(used)}
    for told_here in told.values():
        for part in told_here:
            part[0] = number[part[0]]
    return {"columns": [names[column] for column in used], "explained": told}
