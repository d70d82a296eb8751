"""Runs the code of the documentation as a reader would type it, a page from top to bottom.

The blocks of a page marked ``python`` share their names. Where a block marked ``text`` follows one,
it is what the code prints. Of blocks marked ``console`` the lines that call ``bhclust`` are run.

The commands find tables in ``patients.csv``, ``new.csv`` and ``heart.csv``, and a matrix in ``texts.mtx`` with
names in ``titles.txt`` and ``words.txt``.

    python docs/pages.py write     # puts what the code prints into the pages
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<printed>.*?)^```\n)?",
    re.M | re.S,
)


_PATIENTS = "age,smoker,ward\n" + "34,1,north\n61,0,south\n29,1,north\n58,0,south\n" * 5


_HEART = "age,chol,num\n" + "34,201,0\n61,280,3\n29,190,0\n58,301,1\n" * 5
_TEXTS = "%%MatrixMarket matrix coordinate integer general\n4 3 6\n" + (
    "1 1 5\n2 1 4\n3 2 6\n4 2 3\n1 3 1\n4 3 1\n"
)
_TABLES = {
    "patients.csv": _PATIENTS,
    "new.csv": "age,smoker,ward\n34,1,south\n",
    "heart.csv": _HEART,
    "texts.mtx": _TEXTS,
    "titles.txt": "first\nsecond\nthird\nfourth\n",
    "words.txt": "goal\norbit\nthe\n",
}


def pages() -> list[Path]:
    """The README and the pages of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def runs(page: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Run the blocks of a page in turn, in an empty folder; each block and what it printed."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for table, content in _TABLES.items():
            Path(table).write_text(content, encoding="utf-8")
        for block in _BLOCK.finditer(text):
            printed = io.StringIO()
            if block["kind"] == "console":
                # Those of the README are in the tests of the command line.
                if page.name != "README.md":
                    _run_commands(block["code"])
            else:
                line = text.count("\n", 0, block.start("code"))
                code = compile("\n" * line + block["code"], str(page), "exec")
                with contextlib.redirect_stdout(printed):
                    exec(code, names)
            yield block, printed.getvalue()


def _run_commands(code: str) -> None:
    for command in re.findall(r"^\$ (bhclust .*?)(?:  +#.*)?$", code, re.M):
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command!r} ended with {done.returncode}: {done.stderr}")


def written(page: Path) -> str:
    """The page with what its code prints now."""
    text = page.read_text(encoding="utf-8")
    parts, end = [], 0
    for block, printed in runs(page):
        if block["printed"] is not None:
            parts += [text[end : block.start("printed")], printed]
            end = block.end("printed")
    return "".join([*parts, text[end:]])


def main(write: Callable[[Path, str], object]) -> None:
    """Write the pages whose code prints something else than they say."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        now = written(page) if "```text" in text else text
        if now != text:
            print(page.relative_to(ROOT))
            write(page, now)


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit(__doc__)
    main(lambda page, text: page.write_text(text, encoding="utf-8"))
