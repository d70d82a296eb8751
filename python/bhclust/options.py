"""Checks of the options that several functions share."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

__all__ = [
    "Progress",
    "check_alpha",
    "check_choice",
    "check_count",
    "check_cut",
    "check_cut_options",
    "check_number",
    "check_seed",
    "check_threads",
]

MOST_THREADS = 1024

Progress = Callable[[int, int], object]
"""Called with (done, total) some 25 times a second; an exception raised in it ends the work."""


def check_alpha(alpha: Any) -> float:
    """A concentration: a finite number above 0."""
    value = check_number("alpha", alpha)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(
            f"alpha is {alpha!r}; the concentration must be a finite number above 0 "
            "(1.0 is a usual choice)"
        )
    return value


def check_number(name: str, value: Any, wanted: str = "a number") -> float:
    """A real number; beyond the doubles it is inf."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}, not {value!r}")
    try:
        return float(value)
    except OverflowError:
        whole: Any = value
        return math.inf if whole > 0 else -math.inf


def check_threads(n_threads: Any) -> int:
    """A number of threads for the core: None is all cores (0)."""
    if n_threads is None:
        return 0
    count = check_count("n_threads", n_threads)
    if count > MOST_THREADS:
        raise ValueError(
            f"n_threads is {n_threads}; it must be at most {MOST_THREADS} (None takes all cores)"
        )
    return count


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least 1, or another least one."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    count = int(value)
    if count < least:
        raise ValueError(f"{name} is {count}; it must be at least {least}")
    if count >= 2**63:
        raise ValueError(f"{name} is {count}; it must be below 2^63")
    return count


def check_cut(rule: Any, threshold: Any, n_clusters: Any, n_rows: int) -> None:
    """The options of `Posterior.cut` for one tree, before it is there."""
    check_cut_options(rule, threshold, n_clusters)
    if n_clusters is not None and n_clusters > n_rows:
        raise ValueError(
            f"n_clusters is {n_clusters}; X has {n_rows} row(s), so it must be between 1 and that"
        )


def check_cut_options(rule: Any, threshold: Any, n_clusters: Any) -> None:
    """That the options of a cut go together: none is given in vain."""
    if rule is not None:
        check_choice("rule", rule, ("map", "r", "binder"))
    if not 0 <= check_number("threshold", threshold) <= 1:
        raise ValueError(f"threshold is {threshold!r}; it is a probability, from 0 to 1")
    if threshold != 0.5 and (rule != "r" or n_clusters is not None):
        way = f"n_clusters={n_clusters!r}" if n_clusters is not None else f"rule={rule!r}"
        raise ValueError(
            f'threshold is {threshold!r}, but a cut by {way} has none; say rule="r" without '
            "n_clusters, or leave threshold out"
        )
    if n_clusters is None:
        return
    check_count("n_clusters", n_clusters)
    if rule == "binder":
        raise ValueError(
            'rule="binder" chooses the number of clusters; n_clusters goes with "map" or "r"'
        )


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of several words."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}")
    return str(value)


def check_seed(name: str, value: Any) -> int:
    """A seed: a whole number from 0 to 2^64 - 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    seed = int(value)
    if not 0 <= seed < 2**64:
        raise ValueError(f"{name} is {seed}; it must be from 0 to 2^64 - 1")
    return seed
