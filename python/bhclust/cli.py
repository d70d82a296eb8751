"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``bhclust`` command.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        0 when all went well, 1 on an error, 2 on wrong usage, 130 when interrupted.
    """
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        sys.stderr.write('the command line needs click and rich: pip install "bhclust[cli]"\n')
        return 1
    from ._commands import run

    return run(arguments)
