"""Arrays that nobody writes to any more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_sealed", "seal"]


def seal(array: NDArray[Any]) -> NDArray[Any]:
    """Mark an array that is nobody else's as read-only."""
    array.flags.writeable = False
    return array


def is_sealed(array: NDArray[Any]) -> bool:
    """Whether an array is read-only down to what owns its memory.

    A read-only view of cells that can be written to, as pandas gives of a frame's, is not.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    try:
        return owner is None or memoryview(owner).readonly
    except TypeError:  # memory of the core's
        return True
