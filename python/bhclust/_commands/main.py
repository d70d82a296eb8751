"""The command `bhclust`: its subcommands, and what becomes of errors."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from bhclust import _interrupts

from .session import Session, fail

#: In the order in which a person meets them; the modules are called so too.
_COMMANDS = (
    *("demo", "inspect", "fit", "predict", "cut", "show", "plot"),
    *("explain", "compare", "export", "doctor"),
)


class _Interrupted(Exception):  # noqa: N818
    """KeyboardInterrupt, which click would answer with a line of its own."""


class _ReaderGone(Exception):  # noqa: N818
    """BrokenPipeError, at which click would leave with the status of an error."""

    def __init__(self, error: BrokenPipeError) -> None:
        super().__init__()
        self.error = error


class _Group(click.Group):
    """Commands that are loaded when used; interrupts and lost readers reach `run` as they are."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"bhclust._commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _not_for_click():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _not_for_click():
            return super().invoke(ctx)


@contextlib.contextmanager
def _not_for_click() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise _Interrupted from None
    except BrokenPipeError as error:
        raise _ReaderGone(error) from None


def run(arguments: Sequence[str] | None, interrupts: _interrupts.Interrupts) -> int:
    """Run a command; errors of the user's become one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    session = Session(interrupts)
    try:
        return session.status(_run(arguments, session))
    except Exception:
        if not interrupts.seen:
            raise
        return fail(interrupts.told, _interrupts.STATUS)


def _run(arguments: Sequence[str] | None, session: Session) -> int:
    try:
        result = commands.main(arguments, prog_name="bhclust", standalone_mode=False, obj=session)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except _ReaderGone as gone:
        session.lose(gone.error)
        return 0
    except click.ClickException as error:
        return _wrong_usage(error)
    except (_Interrupted, KeyboardInterrupt, click.Abort):
        return fail(session.interrupts.told, _interrupts.STATUS)
    except MemoryError as error:
        return fail(str(error) or "not enough memory for this table", 1)
    except (ValueError, TypeError, ImportError, OSError) as error:
        if session.interrupts.seen:
            raise
        return fail(str(error), 1)


def _wrong_usage(error: click.ClickException) -> int:
    message = error.format_message()
    context = error.ctx if isinstance(error, click.UsageError) else None
    if "\n" in message or context is None:
        # The help, for want of a command.
        with contextlib.suppress(OSError):
            error.show()
        return error.exit_code
    hint = f"{context.command_path} --help lists the options"
    return fail(f"{message.rstrip('.')} ({hint})", error.exit_code)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from importlib import metadata

        click.echo(f"bhclust {metadata.version('bhclust')}")
        context.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def commands() -> None:
    """Find the clusters in a table, how many there are, and how sure that is.

    Exit codes: 0 done, 1 an error or a check that failed, 2 wrong usage, 130 interrupted.
    """
