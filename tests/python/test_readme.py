"""The README's Python runs, block after block, as a reader would type it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


def test_python_blocks_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    assert len(blocks) >= 4
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    assert namespace["est"].n_clusters_ == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["demo", "test"])
def test_commands_exist(name: str) -> None:
    text = README.read_text(encoding="utf-8")
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    assert f"make {name}" in text
    assert re.search(rf"^{name}:", makefile, re.M)
