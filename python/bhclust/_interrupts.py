"""Ctrl-C in a process that is the command line: one line and a status, from the imports on.

Loads nothing but the standard library, since it must be there before anything slow is imported.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

#: Exit status of a process that was interrupted, as shells count it: 128 + SIGINT.
STATUS = 130


class Interrupts:
    """The handler of SIGINT: it tells so in one line and leaves at once.

    Leaving at once is safe wherever nothing has to be undone, and it is the only way that no
    exception gets lost in an extension module or a destructor. Where something has to be undone,
    inside `raising`, the handler raises KeyboardInterrupt.

    Attributes
    ----------
    told : str
        What is said on the way out.
    seen : bool
        Whether KeyboardInterrupt has been raised: it may have come out as something else.
    """

    def __init__(self) -> None:
        self.told = "interrupted; nothing was written"
        self.seen = False
        self._raises = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        if self._raises:
            self._raises = False
            self.seen = True
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):
            os.write(2, f"error: {self.told}\n".encode())
        os._exit(STATUS)

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Inside, the first interrupt raises KeyboardInterrupt; a second one leaves."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False
        if self.seen:
            raise KeyboardInterrupt


def take_over() -> Interrupts:
    """Install the handler, or find the one that is installed.

    Where interrupts are ignored, as in a shell's background jobs, they stay so.
    """
    there = signal.getsignal(signal.SIGINT)
    if isinstance(there, Interrupts):
        return there
    interrupts = Interrupts()
    if there is signal.default_int_handler and _in_main_thread():
        signal.signal(signal.SIGINT, interrupts)
    return interrupts


def let_go() -> None:
    """Ignore interrupts where the handler was installed: all is done, the process only ends."""
    if isinstance(signal.getsignal(signal.SIGINT), Interrupts) and _in_main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class Held:
    """Puts off interrupts: inside ``with`` they are only noted, in `noted`.

    In other threads than the main one none arrive.
    """

    def __init__(self) -> None:
        self.noted = False
        self._before: signal._HANDLER = None

    def __enter__(self) -> Held:
        if _in_main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.noted = True

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_command() -> bool:
    """Whether this process was started as ``bhclust`` or ``python -m bhclust``."""
    started = sys.argv[0] if sys.argv else ""
    if started == "-m":
        given = sys.orig_argv
        return "-m" in given[:-1] and given[given.index("-m") + 1] == "bhclust"
    return os.path.basename(started).lower() in ("bhclust", "bhclust.exe")


if _is_command():
    take_over()
