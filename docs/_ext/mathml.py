"""Formulas as MathML, made when the pages are built: browsers draw it without scripts or fonts."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util.math import get_node_equation_number


def _formula(text: str, display: str) -> str:
    # Operators set apart from what follows them, as TeX does.
    return re.sub(
        r"(<mi>(?:log|max)</mi>)", r'\1<mspace width="0.17em"/>', convert(text, display=display)
    )


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_formula(node.astext(), "inline"))
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.math_block) -> None:
    number = ""
    if node.get("number"):
        number = f'<span class="eqno">({get_node_equation_number(translator, node)})</span>'
    translator.body.append(f'<div class="math">{number}{_formula(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
