"""The golden values of tests/vectors through the Python families."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bhclust.table import as_table
from cases import NAMES, TAKES_SPARSE, make_family

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
FILES = {name: "".join("_" + c.lower() if c.isupper() else c for c in name)[1:] for name in NAMES}


def points_of(name: str) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = json.loads((VECTORS / f"{FILES[name]}.json").read_text())
    return [point for point in points if point["rows"]]


def is_close(found: float, point: dict[str, Any], beside: float = 0.0) -> bool:
    wanted = float(point["log_marginal"])
    allowed = 1e-12 * max(1.0, abs(wanted)) + 4e-16 * point["magnitude"] + beside
    return abs(found - wanted) <= allowed


def lost_to_rounding(name: str, point: dict[str, Any]) -> float:
    """A scatter is known to 1e-16 of itself, which counts where it is large against psi."""
    if name != "NormalInverseWishart":
        return 0.0
    rows, psi = np.array(point["rows"]), np.array(point["hyper"]["psi"])
    scale = np.diag(psi) if psi.ndim == 2 else psi
    spread = float((np.ptp(rows, axis=0) ** 2 / scale).sum())
    return 1e-16 * (point["hyper"]["nu"] + len(rows)) * len(rows) * spread


@pytest.mark.parametrize("name", NAMES)
def test_log_marginal_is_golden(name: str) -> None:
    points = points_of(name)
    assert len(points) >= 100
    rough = 0
    for point in points:
        family = make_family(name, point["hyper"])
        found = family._log_marginal(as_table(np.array(point["rows"], dtype=float)))
        rough += not is_close(found, point)
        assert is_close(found, point, lost_to_rounding(name, point)), (found, point)
    assert rough <= (1 if name == "NormalInverseWishart" else 0)


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_rows_have_the_same_log_marginal(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    checked = 0
    for point in points_of(name):
        cells = np.array(point["rows"], dtype=float)
        if np.isnan(cells).any():
            continue
        family = make_family(name, point["hyper"])
        found = family._log_marginal(as_table(sparse.csr_array(cells)))
        assert is_close(found, point), (found, point)
        checked += 1
    assert checked >= 60


def test_every_family_with_vectors_is_tested() -> None:
    written = {path.stem for path in VECTORS.glob("*.json")} - {"special"}
    assert written == set(FILES.values())
