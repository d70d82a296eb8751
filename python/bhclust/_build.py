"""How the package was built."""

from __future__ import annotations

from dataclasses import dataclass

import bhclust
from bhclust import _core, _instruction_sets

__all__ = ["BuildInfo", "build_info"]


@dataclass(frozen=True)
class BuildInfo:
    """What computes: for reports of faults and of speed.

    Attributes
    ----------
    version : str
    instruction_set : str
        That of the module in use: "baseline", "x86-64-v2", "x86-64-v3" or "x86-64-v4". Results do
        not depend on it.
    instruction_sets : tuple of str
        All that modules were built for; the best that the machine has is in use.
    compiler : str
    n_threads : int
        Threads that ``n_threads=None`` takes.
    """

    version: str
    instruction_set: str
    instruction_sets: tuple[str, ...]
    compiler: str
    n_threads: int


def build_info() -> BuildInfo:
    """Tell the version, the instruction set in use, the compiler and the number of threads.

    Returns
    -------
    BuildInfo

    Examples
    --------
    >>> bhclust.build_info().instruction_set  # doctest: +SKIP
    'x86-64-v3'
    """
    return BuildInfo(
        _core.__version__,
        _core.instruction_set(),
        _instruction_sets.built(bhclust.__path__),
        _core.compiler(),
        _core.all_threads(),
    )
