"""Pieces of HTML that the sections of a report are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table_of(name: str, head: Sequence[str], lines: Iterable[str], numeric: int = 0) -> str:
    """Write a table that scrolls by itself, its first columns numeric."""
    heads = "".join(
        f"<th scope='col'{' class=number' if place < numeric else ''}>{escape(text)}</th>"
        for place, text in enumerate(head)
    )
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(name)}'>"
        f"<table class='wide'><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def row_of(cells: Sequence[str], numeric: int = 0) -> str:
    """Write a row of texts."""
    return markup_row([isolated(cell) for cell in cells], numeric)


def markup_row(cells: Sequence[str], numeric: int = 0, attributes: str = "") -> str:
    """Write a row of cells that are HTML."""
    written = "".join(
        f"<td{' class=number' if place < numeric else ''}>{cell}</td>"
        for place, cell in enumerate(cells)
    )
    return f"<tr{attributes}>{written}</tr>"


def isolated(text: str) -> str:
    """Escape a text of the table, and keep its writing direction to itself."""
    return escape(text) if text.isascii() else f"<bdi>{escape(text)}</bdi>"


def bar(share: float) -> str:
    """Draw a share of a whole."""
    return (
        "<svg class='bar' viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * share:.1f}' height='10'/></svg>"
    )
