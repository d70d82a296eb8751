"""Lets `bhclust._core` be the module that was built for the best instruction set of this machine.

The modules for x86-64-v2, v3 and v4 lie in folders of those names. The best one's folder becomes
the first in the package's search path, so that it is found in the usual way, by the usual name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import MutableSequence, Sequence
from importlib.machinery import PathFinder

LEVELS = ("x86-64-v4", "x86-64-v3", "x86-64-v2")


def folders(path: Sequence[str]) -> dict[str, str]:
    """Find the folders of modules under a search path, by level, the best first."""
    return {
        level: folder
        for level in LEVELS
        for folder in (os.path.join(place, level) for place in path)
        if os.path.isdir(folder)
    }


def has_baseline(path: Sequence[str]) -> bool:
    """Tell whether the module without a level is in a search path."""
    places = [place for place in path if os.path.basename(place) not in LEVELS]
    return PathFinder.find_spec("bhclust._core", places) is not None


def built(path: Sequence[str]) -> tuple[str, ...]:
    """Name the sets that there are modules for, the best first."""
    return (*folders(path), *(["baseline"] if has_baseline(path) else []))


def best(modules: Sequence[str], levels: Sequence[str]) -> str:
    """Choose among modules, the best first, for a machine that has the levels."""
    for module in modules:
        if module == "baseline" or module in levels:
            return module
    raise ImportError(
        f"bhclust was built for {', '.join(modules)}, which this machine's processor does not have;"
        " install it with -C cmake.define.BHCLUST_INSTRUCTION_SETS=baseline"
    )


def choose(path: MutableSequence[str]) -> None:
    """Put the best module's folder first in a package's search path."""
    found = folders(path)
    if not found:
        return
    from bhclust import _cpu

    level = best(built(path), _cpu.levels())
    if level in found:
        path.insert(0, found[level])


choose(sys.modules["bhclust"].__path__)
