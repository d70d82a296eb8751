"""The examples run; on real tables they say what their pages show."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import pages

FOLDER = pages.ROOT / "docs" / "examples"
DATA = os.environ.get("BHCLUST_DATA")


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    monkeypatch.syspath_prepend(str(FOLDER))
    mpl.use("agg")


def shown(name: str) -> set[str]:
    """The pictures of a page."""
    return set(re.findall(r"results/(\S+\.png)", (FOLDER / f"{name}.md").read_text("utf-8")))


@pytest.mark.parametrize("name", ["digits", "newsgroups", "spambase", "titanic", "wine", "yeast"])
def test_an_example_says_what_its_page_shows(name: str, tmp_path: Path) -> None:
    import run

    real = DATA is not None or name in run.SHIPPED
    said = run.tell(name, Path(DATA) if DATA else None, tmp_path)
    kept = FOLDER / "results" / f"{name}.txt"
    if real:
        assert said == kept.read_text(encoding="utf-8")
    else:
        assert [line.split(":")[0] for line in said.splitlines() if "clusters" in line]
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == shown(name) == {path.name for path in kept.parent.glob(f"{name}-*.png")}
    assert all(path.stat().st_size < 100_000 for path in kept.parent.glob(f"{name}-*.png"))


def test_every_example_is_run() -> None:
    import run

    assert set(run.NAMES) == {path.stem for path in FOLDER.glob("*.md")} - {"index"}
