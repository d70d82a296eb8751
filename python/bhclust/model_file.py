"""Model files: a fitted estimator or posterior, to be opened in years to come.

Layout, all numbers little-endian:

====================  =====================================================================
8 bytes               ``BHCMODEL``
uint32                version of the format, 1
uint32                length of the header
header                JSON in UTF-8, filled up with spaces so that the arrays begin at a
                      multiple of 64 bytes
arrays                flat, C order, each at a multiple of 64 bytes; the header says where
32 bytes              SHA-256 of everything before
====================  =====================================================================

There is no code in a file, and reading one runs none. The posterior is computed anew from the tree,
the table and the family, which takes one pass over the tree and gives the same bits.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core, estimators
from bhclust._choice import ColumnChoice
from bhclust._core import Family, Product, Table, Tree
from bhclust._layout import Layout
from bhclust._records import shown_path
from bhclust._sealed import seal
from bhclust._written import Form
from bhclust.columns import ColumnCoder
from bhclust.families import aliases, from_parameters
from bhclust.inference import Posterior
from bhclust.options import check_path, shown
from bhclust.table import check_csr

__all__ = ["load", "save"]

MAGIC = b"BHCMODEL"
VERSION = 1
_FRONT = struct.Struct("<8sII")
_ALIGN = 64
_TYPES = ("<f8", "<i8")
_MOST_MATRIX = 1 << 14
_MOST_LEVELS = 1 << 16
_LEAST_WIDTH = 1 << 22
_DEEPEST = 20

Arrays = dict[str, NDArray[Any]]


def save(fitted: Any, path: str | os.PathLike[str], *, replace: bool = True) -> Path:
    """Write a fitted estimator or a posterior to a model file.

    Parameters
    ----------
    fitted : BHC, RBHC or Posterior
        A progress callback is not kept; everything else is, the table included.
    path : path
    replace : bool
        Whether a file that exists may be replaced. The file appears whole or not at all.

    Returns
    -------
    Path
        Of the file.

    Raises
    ------
    TypeError, ValueError
        When it is not fitted, or has column names that are neither text nor whole numbers.
    """
    from bhclust.io import OutputFiles

    place = check_path("path", path)
    with OutputFiles(place.parent, replace=replace) as files:
        files.add(place.name, packed(fitted))
    return place


def packed(fitted: Any, about: Mapping[str, Any] | None = None) -> bytes:
    """Give the bytes of a model file; ``about`` is JSON that `opened` gives back."""
    arrays: Arrays = {}
    if isinstance(fitted, Posterior):
        meta = {"kind": "Posterior", **_posterior_meta(fitted, arrays)}
    elif isinstance(fitted, (estimators.BHC, estimators.RBHC)):
        fitted._check_fitted()
        meta = _estimator_meta(fitted, arrays)
    else:
        raise TypeError(f"fitted must be a BHC, an RBHC or a Posterior, not {shown(fitted)}")
    if about is not None:
        meta["about"] = dict(about)
    return _packed(meta, arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file that `save` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    BHC, RBHC or Posterior
        As it was saved.

    Raises
    ------
    ValueError
        When there is no such file, or it is damaged, of a newer format, or no model file. No code
        is run, and no more memory taken than the model needs.
    """
    return opened(path)[0]


def opened(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any] | None]:
    """Read a model file, and what it says about the table, unchecked."""
    place = check_path("path", path)
    name = shown_path(place)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise ValueError(f"{name}: cannot be read: {error.strerror or error}") from None
    try:
        meta, arrays = _unpacked(data)
        about = meta.get("about")
        if not isinstance(about, (dict, type(None))):
            raise ValueError("what it says about its table is no JSON object")
        return _model(meta, arrays, len(data)), about
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        told = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{name}: not a model that can be read: {told}") from None
    except (OverflowError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"{name}: not a model that can be read: {type(error).__name__} ({error})"
        ) from None


def _packed(meta: Mapping[str, Any], arrays: Arrays) -> bytes:
    places, parts, offset = [], [], 0
    for name, array in arrays.items():
        kind = "<i8" if array.dtype.kind in "iub" else "<f8"
        data = np.ascontiguousarray(array, dtype=kind).tobytes()
        places.append({"name": name, "dtype": kind, "shape": list(array.shape), "offset": offset})
        parts.append(data + b"\0" * (-len(data) % _ALIGN))
        offset += len(parts[-1])
    header = {"bhclust": _core.__version__, "model": meta, "arrays": places, "length": offset}
    text = json.dumps(header, allow_nan=True, ensure_ascii=True).encode()
    text += b" " * (-(len(text) + _FRONT.size) % _ALIGN)
    body = b"".join([_FRONT.pack(MAGIC, VERSION, len(text)), text, *parts])
    return body + hashlib.sha256(body).digest()


def _unpacked(data: bytes) -> tuple[dict[str, Any], Arrays]:
    if data[:8] != MAGIC:
        raise ValueError("it does not begin as one")
    if len(data) < _FRONT.size + 32:
        raise ValueError("it is cut off")
    _, version, length = _FRONT.unpack_from(data)
    if version != VERSION:
        raise ValueError(
            f"it has version {version} of the format, and this bhclust reads {VERSION}"
        )
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise ValueError("it is damaged or cut off: its checksum does not fit")
    begin = _FRONT.size + length
    if begin > len(data) - 32:
        raise ValueError("its header is longer than the file")
    header = json.loads(data[_FRONT.size : begin].decode("utf-8"))
    body = memoryview(data)[begin : len(data) - 32]
    arrays: Arrays = {}
    for entry in _listed(header["arrays"]):
        arrays[str(entry["name"])] = _array(entry, body)
    return header["model"], arrays


def _array(entry: Mapping[str, Any], body: memoryview) -> NDArray[Any]:
    kind, offset = entry["dtype"], _count(entry["offset"])
    shape = [_count(length) for length in _listed(entry["shape"])]
    if kind not in _TYPES or not 1 <= len(shape) <= 2:
        raise ValueError(f"an array of type {shown(kind)} and {len(shape)} dimensions")
    size = math.prod(shape)
    if offset + 8 * size > len(body):
        raise ValueError(f"array {shown(entry['name'])} reaches beyond the end")
    cells = np.frombuffer(body, dtype=kind, count=size, offset=offset)
    return cells.astype(cells.dtype.newbyteorder("=")).reshape(shape)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise ValueError(f"{shown(value)} where a number from 0 up is needed")
    return value


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} where an array is needed")
    return value


def _posterior_meta(post: Posterior, arrays: Arrays) -> dict[str, Any]:
    tree, table = post.tree, post._table
    arrays["children"] = np.asarray(tree.children)
    arrays["costs"] = np.asarray(tree.cost if tree.kind == "divergence" else tree.log_d)
    if table.is_grouped:
        arrays["statistics"], arrays["weights"] = map(np.asarray, table.arrays)
    elif table.is_sparse:
        arrays["data"], arrays["indices"], arrays["indptr"] = map(np.asarray, table.arrays)
    else:
        arrays["cells"] = np.asarray(table.arrays)
    return {
        "n_rows": tree.n_leaves,
        "n_columns": table.n_columns,
        "tree_kind": tree.kind,
        "alpha": post.alpha,
        "family": _family_meta(post.family, arrays),
    }


def _posterior(meta: Mapping[str, Any], arrays: Arrays, size: int) -> Posterior:
    n_rows, n_columns = _count(meta["n_rows"]), _count(meta["n_columns"])
    table = _table(n_rows, n_columns, arrays, size)
    costs, kind = arrays["costs"], meta["tree_kind"]
    tree = Tree.from_children(
        n_rows, arrays["children"], costs=costs if costs.size else None, kind=kind
    )
    family = _family(meta["family"], arrays, n_columns)
    alpha = meta["alpha"]
    if type(alpha) is not float or not 0 < alpha < math.inf:
        raise ValueError(f"its concentration is {shown(alpha)}")
    family._check(table)
    return Posterior(tree, _core.posterior(tree, table, family, alpha, None), table, family)


def _table(n_rows: int, n_columns: int, arrays: Arrays, size: int) -> Table:
    if "cells" in arrays:
        cells = arrays["cells"]
        if cells.shape != (n_rows, n_columns):
            raise ValueError(f"its table has shape {cells.shape}, not {(n_rows, n_columns)}")
        return Table.dense(seal(cells))
    if "statistics" in arrays:
        values, weights = arrays["statistics"], arrays["weights"]
        if values.shape[0] != n_rows or values.dtype.kind != "f" or weights.dtype.kind != "i":
            raise ValueError(f"its statistics of {values.shape[0]} groups do not fit its tree")
        if n_columns > max(_LEAST_WIDTH, size):
            raise ValueError(f"its statistics of {n_columns:,} columns do not fit the file")
        return Table.groups(seal(values), seal(weights), n_columns)
    data, indices, indptr = (arrays[key] for key in ("data", "indices", "indptr"))
    if data.dtype.kind != "f" or indices.dtype.kind != "i" or indptr.dtype.kind != "i":
        raise ValueError("its sparse table has arrays of other types")
    if n_columns > max(_LEAST_WIDTH, size) or not data.ndim == indices.ndim == indptr.ndim == 1:
        raise ValueError(f"its sparse table of {n_columns:,} columns does not fit the file")
    parts = SimpleNamespace(data=data, indices=indices, indptr=indptr, shape=(n_rows, n_columns))
    check_csr(parts, "its table")
    rows = np.repeat(np.arange(n_rows), np.diff(indptr))
    places = rows * n_columns + indices
    if len(data) != len(indices) or (np.diff(places) <= 0).any():
        raise ValueError("its sparse table is not sorted")
    return Table.csr(data, indices, indptr, n_columns)


def _family_meta(family: Family, arrays: Arrays) -> dict[str, Any]:
    if isinstance(family, Product):
        blocks = [
            {"family": _family_meta(part, arrays), "columns": [int(j) for j in columns]}
            for part, columns in family.blocks
        ]
        return {"name": "Product", "blocks": blocks}
    parameters: dict[str, Any] = {}
    found: dict[str, Any] = family.parameters()  # type: ignore[attr-defined]
    for key, value in found.items():
        if isinstance(value, str):
            parameters[key] = value
        elif np.ndim(value) == 0:
            parameters[key] = float(value)
        else:
            parameters[key] = {"array": f"hyperparameter {len(arrays)}"}
            arrays[f"hyperparameter {len(arrays)}"] = np.asarray(value, dtype=np.float64)
    return {"name": family.name, "parameters": parameters}


def _family(meta: Mapping[str, Any], arrays: Arrays, n_columns: int) -> Family:
    if meta["name"] == "Product":
        blocks = []
        for block in _listed(meta["blocks"]):
            if block["family"]["name"] == "Product":
                raise ValueError("a Product in a Product")
            columns = [_count(j) for j in _listed(block["columns"])]
            blocks.append((_family(block["family"], arrays, len(columns)), columns))
        return Product(blocks)
    known = {cls.__name__ for cls in aliases().values()}
    if meta["name"] not in known:
        raise ValueError(f"its family {shown(meta['name'])} is not known")
    if meta["name"] in ("NormalInverseWishart", "GaussianProcess") and n_columns > _MOST_MATRIX:
        raise ValueError(f"{n_columns:,} columns are too many for {meta['name']}")
    parameters = {
        str(key): arrays[value["array"]] if isinstance(value, dict) else value
        for key, value in meta["parameters"].items()
    }
    levels = np.asarray(parameters.get("levels", 0.0))
    if levels.dtype.kind != "f" or (levels.size and not levels.max() <= _MOST_LEVELS):
        raise ValueError("a column has too many levels")
    return from_parameters(meta["name"], parameters)


def _estimator_meta(est: Any, arrays: Arrays) -> dict[str, Any]:
    post = _posterior_meta(est.posterior_, arrays)
    arrays["leaf labels"], arrays["labels"] = est._leaf_labels, est.labels_
    parameters = est.get_params()
    family = parameters.pop("family")
    parameters.pop("progress")
    return {
        "kind": "RBHC" if isinstance(est, estimators.RBHC) else "BHC",
        "posterior": post,
        "family": _choice_meta(family, arrays),
        "parameters": {name: _scalar(value, name) for name, value in parameters.items()},
        "layout": _layout_meta(est._layout, arrays),
        "lam": getattr(est, "lam_", None),
        "weighted": est._weighted,
    }


def _scalar(value: Any, what: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"{what} is {shown(value)}; a model file holds text, numbers and booleans")


def _choice_meta(family: Any, arrays: Arrays) -> Any:
    """The family that the user chose."""
    if isinstance(family, Mapping):
        return {
            "columns": [
                [_scalar(k, "a column"), _choice_meta(f, arrays)] for k, f in family.items()
            ]
        }
    if isinstance(family, Family):
        return {"family": _family_meta(family, arrays)}
    return {"class": family.__name__} if isinstance(family, type) else str(family)


def _choice(meta: Any, arrays: Arrays) -> Any:
    if isinstance(meta, str):
        return meta
    if "columns" in meta:
        return {_key(key): _choice(part, arrays) for key, part in _listed(meta["columns"])}
    if "family" in meta:
        return _family(meta["family"], arrays, 1)
    known = {cls.__name__: cls for cls in aliases().values()}
    return known[meta["class"]]


def _key(value: Any) -> Any:
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{shown(value)} as the name of a column")
    return value


def _layout_meta(layout: Any, arrays: Arrays) -> dict[str, Any]:
    form, coder = layout.form, layout.coder
    meta = {
        "names": layout.names,
        "n_columns": layout.n_columns,
        "form": {
            "library": _library(form.frame),
            "is_mapping": form.is_mapping,
            "names": [_scalar(name, "a column") for name in form.names],
            "width": form.width,
        },
        "coder": None,
    }
    if coder is not None:
        meta["coder"] = {
            "asked": _choice_meta(coder.asked, arrays),
            "choice": _choice_meta(coder.choice, arrays),
            "levels": [
                [_scalar(key, "a column"), [_scalar(level, "a level") for level in levels]]
                for key, levels in coder.levels.items()
            ],
            "text": [_scalar(key, "a column") for key in coder.choice if key in coder._as_text],
            "choices": [
                [_scalar(key, "a column"), found.family, found.why]
                for key, found in coder.choices.items()
            ],
        }
    return meta


def _library(frame: Any) -> str | None:
    if frame is None:
        return None
    cls = frame if isinstance(frame, type) else type(frame)
    return cls.__module__.partition(".")[0]


def _layout(meta: Mapping[str, Any], arrays: Arrays) -> Any:
    layout = Layout()
    names = meta["names"]
    layout.names = None if names is None else [str(name) for name in _listed(names)]
    layout.n_columns = _count(meta["n_columns"])
    found = meta["form"]
    layout.form = Form.of(
        found["library"],
        is_mapping=bool(found["is_mapping"]),
        names=[_key(name) for name in _listed(found["names"])],
        width=_count(found["width"]),
    )
    if meta["coder"] is not None:
        layout.coder = _coder(meta["coder"], arrays)
    return layout


def _coder(meta: Mapping[str, Any], arrays: Arrays) -> ColumnCoder:
    coder = ColumnCoder(_choice(meta["asked"], arrays))
    coder.choice = dict(_choice(meta["choice"], arrays))
    coder.levels = {_key(key): _levels(levels) for key, levels in _listed(meta["levels"])}
    coder._as_text = {_key(key) for key in _listed(meta["text"])}
    coder.choices = {
        _key(key): ColumnChoice(None if family is None else str(family), str(why))
        for key, family, why in _listed(meta["choices"])
    }
    if not coder.choice or not set(coder.levels) <= set(coder.choice):
        raise ValueError("its columns do not fit together")
    return coder


def _levels(values: Any) -> list[Any]:
    levels = [_key(value) for value in _listed(values)]
    if not levels:
        raise ValueError("a column without levels")
    return levels


def _model(meta: Mapping[str, Any], arrays: Arrays, size: int) -> Any:
    kind = meta["kind"]
    if kind == "Posterior":
        return _posterior(meta, arrays, size)
    if kind not in ("BHC", "RBHC"):
        raise ValueError(f"it holds {shown(kind)}, which is not known")
    est = getattr(estimators, kind)(_choice(meta["family"], arrays))
    # The first files have no `collapse`.
    parameters = {**({"collapse": False} if kind == "BHC" else {}), **meta["parameters"]}
    if set(parameters) != set(est.get_params()) - {"family", "progress"}:
        raise ValueError(f"it has other parameters than {kind}")
    est.set_params(**{name: _scalar(value, name) for name, value in parameters.items()})
    post = _posterior(meta["posterior"], arrays, size)
    layout = _layout(meta["layout"], arrays)
    cells = layout.n_columns if layout.coder is None else len(layout.coder.columns)
    if cells != post._table.n_columns:
        raise ValueError(f"{cells} columns are described, and its table has others")
    leaves = _labels(arrays["leaf labels"])
    if leaves.shape != (post.tree.n_leaves,) or len(np.unique(leaves)) != leaves.max() + 1:
        raise ValueError("its labels do not fit its tree")
    labels = _labels(arrays["labels"])
    if not labels.size or labels.max() > leaves.max():
        raise ValueError("its labels are not those of its tree")
    # The first files do not say.
    weighted = bool(meta.get("weighted", not np.array_equal(labels, leaves)))
    est._restore(layout, post, leaves, labels, weighted=weighted)
    if kind == "RBHC":
        est.lam_ = float(meta["lam"])
    return est


def _labels(labels: NDArray[Any]) -> NDArray[np.int64]:
    if labels.dtype.kind != "i" or labels.ndim != 1 or not labels.size or labels.min() < 0:
        raise ValueError("its labels are no labels")
    return labels
