"""One run of a command: what it says, to whom, and how it stops."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bhclust import _interrupts

if TYPE_CHECKING:
    from rich.progress import Progress

    from bhclust.io import OutputFiles

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
# Exit status of a process whose reader has gone, as shells count it: 128 + SIGPIPE.
_READER_GONE = 141


class Session:
    """One run of a command: where it stands, and who still listens.

    Attributes
    ----------
    is_json : bool
        Whether standard output is for programs: `tell` speaks, and `say` is silent.
    """

    def __init__(self, interrupts: _interrupts.Interrupts) -> None:
        self.interrupts = interrupts
        self.is_json = False
        self._lost: OSError | None = None

    def say(self, text: str) -> None:
        """Print for a person, if it can be: work goes on when a reader, as `| head`, has gone."""
        if not self.is_json:
            self._print(printable(text))

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Print a line of JSON for a program."""
        if self.is_json:
            self._print(json.dumps(facts, ensure_ascii=True, allow_nan=False))

    def put(self, content: bytes) -> None:
        """Write data as it is, but to a terminal what it can show."""
        stream = sys.stdout
        if stream is not None and stream.isatty():
            self._print(printable(content.decode(errors="replace")).rstrip("\n"))
        else:
            self._print(content)

    def _print(self, content: str | bytes) -> None:
        if self._lost is None:
            try:
                click.echo(content, nl=isinstance(content, str))
            except OSError as error:
                self.lose(error)

    def lose(self, error: OSError) -> None:
        """Note that standard output has failed, and send the rest nowhere."""
        self._lost = error
        with contextlib.suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    @contextlib.contextmanager
    def writing(self, files: OutputFiles) -> Iterator[OutputFiles]:
        """Write files; an interrupt from then on does not say that nothing was written."""
        told = self.interrupts.told
        try:
            with files:
                yield files
                self.interrupts.told = f"interrupted; the files in {files.folder} are written"
        finally:
            if not files.written:
                self.interrupts.told = told

    def status(self, code: int) -> int:
        """Flush, and give the exit status of a command that has ended with a code."""
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError as error:
            self.lose(error)
        if self._lost is None or code:
            return code
        if self._lost.errno == errno.EPIPE:
            return _READER_GONE
        return fail(f"standard output: cannot be written: {self._lost.strerror}", 1)


def session() -> Session:
    """Find the session of the command that runs."""
    found = click.get_current_context().find_object(Session)
    assert found is not None
    return found


def fail(message: str, code: int) -> int:
    """Say in one line what went wrong; the exit code."""
    with contextlib.suppress(OSError):
        click.echo(f"error: {printable(' '.join(message.split()))}", err=True)
    return code


def printable(text: str) -> str:
    """Replace what a terminal would obey: cells and names of files may hold anything."""
    return _CONTROL.sub("\ufffd", text)


def deliver(content: bytes, out: str | None, *, force: bool, is_text: bool = True) -> None:
    """Write data to a file, or to standard output where none is named."""
    from bhclust.io import OutputFiles

    if out is None:
        if not is_text and sys.stdout is not None and sys.stdout.isatty():
            raise ValueError("--out: this is no text; name a file, or send it to a pipe")
        session().put(content)
        return
    place = Path(out)
    files = OutputFiles(place.parent, replace=force)
    files.check([place.name])
    with session().writing(files):
        files.add(place.name, content)
    session().say(f"wrote {place}")
    session().tell({"type": "file", "path": out})


class ProgressBar:
    """A bar on a terminal, once the work has taken a second."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, done: int, total: int) -> None:
        """Show that so much is done."""
        if self._bar is None:
            if time.monotonic() - self._begin < 1.0 or sys.stderr is None:
                return
            if not sys.stderr.isatty():
                return
            self._bar = self._start(total)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    @staticmethod
    def _start(total: int) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.add_task("clustering", total=total)
        bar.start()
        return bar

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
