"""Output files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

from . import _interrupts
from ._records import shown_path

__all__ = ["OutputFiles"]

_REMEDIES = {
    errno.EACCES: "name a folder that you may write to",
    errno.EPERM: "name a folder that you may write to",
    errno.EROFS: "name a folder that you may write to",
    errno.ENOSPC: "free some space, or name a folder on another disk",
    errno.EDQUOT: "free some space, or name a folder on another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ENOTDIR: "a file is where a folder is to be; name another folder",
    errno.EEXIST: "a file is where a folder is to be; name another folder",
}


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Inside, an error of the operating system comes out with the path and a remedy, in a line."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "name another folder")
        told = type(error)(
            f"{shown_path(path)}: cannot be written: {error.strerror or error}; {remedy}"
        )
        told.errno = error.errno
        raise told from None


def _is_there(place: Path) -> bool:
    """Whether something has this name; an error where nothing can have it."""
    try:
        place.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


class OutputFiles:
    """Several files of one folder that all appear, or none of them.

    Inside a ``with`` block `add` puts files under names of their own beside their places. When
    the block ends they are renamed into place; when it fails they are removed, and so is the
    folder if it was made. Ctrl-C inside the block takes effect in `add` and at the end of the
    block, so that it leaves nothing half done.

    Parameters
    ----------
    folder : path
        Where the files go; made if it does not exist.
    replace : bool, default False
        Whether files that exist may be replaced.

    Attributes
    ----------
    written : bool
        Whether the files are in place.
    """

    def __init__(self, folder: str | os.PathLike[str], *, replace: bool = False) -> None:
        if "\0" in os.fspath(folder):
            raise ValueError(f"{os.fspath(folder)!r}: this cannot be the name of a folder")
        self.folder: Path = Path(folder)
        self.replace = replace
        self.written: bool = False
        self._made: list[Path] = []
        self._staged: dict[Path, Path] = {}
        self._held = _interrupts.Held()

    def check(self, names: Sequence[str]) -> None:
        """Refuse, before any work is done, places where the files cannot go, and files there."""
        with _telling(self.folder):
            self._check_folder()
            self._check_names(names)

    def _check_folder(self) -> None:
        nearest = next(filter(_is_there, self._with_parents()), Path())
        for missing in self.folder.parts[len(nearest.parts) :]:
            _is_there(nearest / missing)
        if not nearest.is_dir():
            raise ValueError(f"{nearest}: is a file; name a folder for the output")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def _with_parents(self) -> list[Path]:
        # The parents of a relative path end in ".", which is there.
        return [self.folder, *self.folder.parents]

    def _check_names(self, names: Sequence[str]) -> None:
        folders = [name for name in names if (self.folder / name).is_dir()]
        if folders:
            raise ValueError(f"{self.folder / folders[0]}: is a folder where a file is to go")
        there = [name for name in names if os.path.lexists(self.folder / name)]
        if there and not self.replace:
            raise ValueError(
                f"{self.folder / there[0]}: exists already; "
                "name another place (--out), or say --force (in Python replace=True)"
            )

    def __enter__(self) -> OutputFiles:
        self._held.__enter__()
        try:
            with _telling(self.folder):
                self._made = [place for place in self._with_parents() if not place.exists()]
                self.folder.mkdir(parents=True, exist_ok=True)
        except BaseException:
            self._clean_up()
            self._held.__exit__()
            raise
        return self

    def add(self, name: str, content: str | bytes) -> None:
        """Write a file of the folder; text is encoded in UTF-8."""
        self._stop_if_interrupted()
        self.check([name])
        # Names of files may hold bytes that are no text.
        data = content.encode(errors="replace") if isinstance(content, str) else content
        staged = self.folder / f".{name}.{secrets.token_hex(4)}.tmp"
        self._staged[staged] = self.folder / name
        with _telling(self.folder / name), open(staged, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _stop_if_interrupted(self) -> None:
        if self._held.noted:
            raise KeyboardInterrupt

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._stop_if_interrupted()
                self._put_in_place()
                self.written = True
        finally:
            self._clean_up()
            self._held.__exit__()
        if kind is None:
            self._stop_if_interrupted()

    def _put_in_place(self) -> None:
        """Rename all files, or, where that fails, leave everything as it was."""
        before: dict[Path, Path] = {}
        done: list[Path] = []
        try:
            for staged, final in self._staged.items():
                with _telling(final):
                    if os.path.lexists(final):
                        old = staged.with_suffix(".old")
                        os.replace(final, old)
                        before[final] = old
                    os.replace(staged, final)
                done.append(final)
        except BaseException:
            for final in done:
                final.unlink()
            for final, old in before.items():
                os.replace(old, final)
            raise
        for old in before.values():
            old.unlink()

    def _clean_up(self) -> None:
        """Remove what was not renamed, and the folders that were made if they are empty."""
        for staged in self._staged:
            with contextlib.suppress(OSError):
                staged.unlink(missing_ok=True)
        for folder in self._made:
            with contextlib.suppress(OSError):
                folder.rmdir()

    def __iter__(self) -> Iterator[Path]:
        """Give the places of the files."""
        return iter(self._staged.values())
