"""Checks of the options that several functions share."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "check_alpha", "check_choice", "check_count", "check_seed", "check_threads"]

Progress = Callable[[int, int], object]
"""Called with (done, total) some 25 times a second; an exception raised in it ends the work."""


def check_alpha(alpha: Any) -> float:
    """A concentration: a finite number above 0."""
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
        raise TypeError(f"alpha must be a number, not {alpha!r}")
    value = float(alpha)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(
            f"alpha is {alpha!r}; the concentration must be a finite number above 0 "
            "(1.0 is a usual choice)"
        )
    return value


def check_threads(n_threads: Any) -> int:
    """A number of threads for the core: None is all cores (0)."""
    if n_threads is None:
        return 0
    return check_count("n_threads", n_threads)


def check_count(name: str, value: Any) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if value < 1:
        raise ValueError(f"{name} is {value}; it must be at least 1")
    return int(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of several words."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    return str(value)


def check_seed(name: str, value: Any) -> int:
    """A seed: a whole number from 0 to 2^64 - 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if not 0 <= value < 2**64:
        raise ValueError(f"{name} is {value}; it must be from 0 to 2^64 - 1")
    return int(value)
