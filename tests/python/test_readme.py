"""The commands that the README names exist. Its code runs in test_docs.py."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("name", ["demo", "test"])
def test_commands_exist(name: str) -> None:
    text = README.read_text(encoding="utf-8")
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    assert f"make {name}" in text
    assert re.search(rf"^{name}:", makefile, re.M)
