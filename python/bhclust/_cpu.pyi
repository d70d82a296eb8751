"""
What this machine can run.
"""

from __future__ import annotations

__all__: list[str] = ["levels"]

def levels() -> list[str]:
    """
    The levels of x86-64 that this machine has, the best first.
    """
