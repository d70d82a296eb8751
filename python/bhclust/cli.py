"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from . import _interrupts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``bhclust`` command.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process.

    Returns
    -------
    int
        0 when all went well, 1 on an error, 2 on wrong usage, 130 when interrupted, 141 when the
        reader of the output left before its end (all files are written nevertheless).
    """
    if arguments is not None:
        return _run(arguments, _interrupts.Interrupts())
    status = _run(None, _interrupts.take_over())
    _interrupts.let_go()
    return status


def _run(arguments: Sequence[str] | None, interrupts: _interrupts.Interrupts) -> int:
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError:
        sys.stderr.write('the command line needs click and rich: pip install "bhclust[cli]"\n')
        return 1
    from ._commands import run

    return run(arguments, interrupts)
