"""The code of the README and of the documentation runs, and prints what the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bhclust
import pages

HAVE_CODE = [
    page
    for page in pages.pages()
    if re.search("^```python|^\\$ bhclust", page.read_text(encoding="utf-8"), re.M)
]


@pytest.mark.parametrize("page", HAVE_CODE, ids=lambda page: str(page.relative_to(pages.ROOT)))
def test_code_runs_and_prints_what_the_page_says(page: Path) -> None:
    for block, printed in pages.runs(page):
        if block["printed"] is not None:
            assert printed == block["printed"], block["code"]


def test_every_public_name_has_its_place_in_the_api() -> None:
    folder = pages.ROOT / "docs" / "api"
    text = "\n".join(page.read_text(encoding="utf-8") for page in folder.glob("*.md"))
    listed = set(re.findall(r"^\.\. auto\w+:: (?:bhclust\.)?([\w.]+)$", text, re.M))
    missing = set(bhclust.__all__) - listed - {"__version__"}
    assert not missing
    assert listed >= {"learning.Step"}
