"""Checks of the options that several functions share."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Progress",
    "check_alpha",
    "check_bool",
    "check_choice",
    "check_count",
    "check_cut",
    "check_cut_options",
    "check_number",
    "check_path",
    "check_path_type",
    "check_progress",
    "check_seed",
    "check_threads",
    "check_weights",
    "nearest_double",
    "shown",
]

MOST_THREADS = 1024
LONGEST_SHOWN = 80

Progress = Callable[[int, int], object]
"""Called with (done, total) some 25 times a second; an exception raised in it ends the work."""


def shown(value: Any) -> str:
    """Show a value in a message: in one line, cut when it is long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the repr of an object of whatever kind
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def check_alpha(alpha: Any) -> float:
    """A concentration: a finite number above 0."""
    value = check_number("alpha", alpha)
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(
            f"alpha is {shown(alpha)}; the concentration must be a finite number above 0 "
            "(1.0 is a usual choice)"
        )
    return value


def check_number(name: str, value: Any, wanted: str = "a number") -> float:
    """A real number; beyond the doubles it is inf."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {wanted}, not {shown(value)}")
    return nearest_double(value)


def nearest_double(value: Any) -> float:
    """Round a number; beyond the doubles it is inf, which is refused later with its place."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


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
    count = _whole(name, value)
    if count < least:
        raise ValueError(f"{name} is {count}; it must be at least {least}")
    if count >= 2**63:
        raise ValueError(f"{name} is {shown(count)}; it must be below 2^63")
    return count


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be a whole number, not {shown(value)}")
    return int(value)


def check_cut(rule: Any, threshold: Any, n_clusters: Any, n_rows: int) -> None:
    """The options of `Posterior.cut` for one tree, before it is there."""
    check_cut_options(rule, threshold, n_clusters)
    if n_clusters is not None and n_clusters > n_rows:
        raise ValueError(
            f"n_clusters is {n_clusters}; X has {n_rows} row(s), so it must be between 1 and that"
        )


def check_cut_options(rule: Any, threshold: Any, n_clusters: Any) -> None:
    """The options of a cut: all in range, and none given in vain; None is not given."""
    if rule is not None:
        check_choice("rule", rule, ("map", "r", "binder"))
    if threshold is not None:
        if not 0 <= check_number("threshold", threshold) <= 1:
            raise ValueError(f"threshold is {threshold!r}; it is a probability, from 0 to 1")
        if rule != "r" or n_clusters is not None:
            way = f"rule={rule!r}" if n_clusters is None else f"n_clusters={shown(n_clusters)}"
            raise ValueError(
                f"threshold is {threshold!r}, but a cut by {way} has none; say "
                'rule="r" without n_clusters, or leave threshold out'
            )
    if n_clusters is None:
        return
    check_count("n_clusters", n_clusters)
    if rule == "binder":
        raise ValueError(
            'rule="binder" chooses the number of clusters; n_clusters goes with "map" or "r"'
        )


def check_bool(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def check_path_type(name: str, value: Any) -> str:
    """Refuse what is no path; the text of one."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be the path of a file, not {shown(value)}")
    return os.fsdecode(value)


def check_path(name: str, value: Any) -> Path:
    """Refuse what cannot be the name of a file."""
    text = check_path_type(name, value)
    if not text or "\0" in text:
        raise ValueError(f"{name} is {text!r}; this cannot be the name of a file")
    return Path(text)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of several words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(
            f"{name} is {shown(value)}; it must be one of {', '.join(map(repr, choices))}"
        )
    return str(value)


def check_seed(name: str, value: Any, bits: int = 64) -> int:
    """A seed: a whole number from 0 to 2^bits - 1."""
    seed = _whole(name, value)
    if not 0 <= seed < 2**bits:
        raise ValueError(f"{name} is {shown(seed)}; it must be from 0 to 2^{bits} - 1")
    return seed


def check_progress(progress: Any) -> Progress | None:
    """A callable, or None."""
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable or None, not {shown(progress)}")
    return progress  # type: ignore[no-any-return]


def check_weights(sample_weight: Any) -> NDArray[np.int64]:
    """How often rows were seen: whole numbers from 0 up, not all 0."""
    try:
        weights = np.asarray(sample_weight)
    except ValueError:
        raise ValueError("sample_weight is ragged; give one number a row") from None
    if weights.ndim != 1:
        raise ValueError(
            f"sample_weight has {weights.ndim} dimensions (shape {weights.shape}); it must have "
            "one: a number a row"
        )
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"sample_weight has dtype {weights.dtype}; it must hold whole numbers")
    wrong = np.flatnonzero(~((weights >= 0) & (weights < 2**53) & (weights == np.floor(weights))))
    if wrong.size:
        raise ValueError(
            f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}; it must be a whole number from 0 "
            "to 2^53: how often the row was seen. A fraction of a row has no likelihood: round the "
            "weights, or draw rows by them"
        )
    if not weights.any():
        raise ValueError("every sample_weight is zero; at least one row must be seen")
    return weights.astype(np.int64)
