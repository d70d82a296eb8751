"""textbook_bhc.cpp, called from Python."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

LIBRARY = Path(__file__).parents[2] / "build" / "release" / "bench" / "libtextbook_bhc.so"


def prior_of(family: Any, d: int) -> list[Any]:
    """The hyperparameters in textbook_bhc.cpp's order."""

    def columns(value: Any) -> Any:
        return np.broadcast_to(np.asarray(value, dtype=float), (d,))

    name = type(family).__name__
    if name == "BernoulliBeta":
        return [columns(family.a), columns(family.b)]
    if name == "PoissonGamma":
        return [columns(family.shape), columns(family.rate)]
    if name == "MultinomialDirichlet":
        return [columns(family.concentration)]
    if name == "NormalInverseGamma":
        return [family.kappa, family.a, columns(family.mean), columns(family.b)]
    psi = np.asarray(family.psi, dtype=float)
    scale = np.diag(psi) if psi.ndim == 1 else psi
    return [family.kappa, family.nu, columns(family.mean), scale.ravel()]


def textbook_bhc(X: Any, family: Any) -> tuple[Any, float]:
    """The merges of one tree with alpha = 1, and log p~_T of its root (nats).

    Counts' constants, which depend on the rows alone, are left out of the latter.
    """
    n, d = X.shape
    function = ctypes.CDLL(str(LIBRARY)).textbook_bhc
    function.restype = ctypes.c_double
    address, integer = ctypes.c_void_p, ctypes.c_int64
    prior = np.hstack([np.ravel(part) for part in prior_of(family, d)]).astype(float)
    cells = np.ascontiguousarray(X, dtype=float)
    children = np.empty((n - 1, 2), dtype=np.int64)
    log_tree = function(
        type(family).__name__.encode(),
        address(prior.ctypes.data),
        address(cells.ctypes.data),
        integer(n),
        integer(d),
        address(children.ctypes.data),
    )
    return children, log_tree
