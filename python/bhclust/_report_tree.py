"""A report's tree: the frame that its script draws in, and what that draws from."""

from __future__ import annotations

from . import _report_data
from ._page import counted
from ._report_findings import Found, doubtful_rows

_RAMP = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")


def tree_section(found: Found) -> str:
    """Make the frame of the tree."""
    return (
        "<noscript><p>The tree needs JavaScript; the tables below do not.</p></noscript>\n"
        "<section id='tree' aria-labelledby='tree-head' hidden><h2 id='tree-head'>The tree</h2>\n"
        "<p>Every box is a branch; those of a cluster bear its colour. Numbers at the forks are "
        "the odds that the two sides are different kinds rather than one, where there is room for "
        "them; the bolder the line, the surer the split. Click a box or a fork to read of it "
        "beside the tree, and to open and close it.</p>\n"
        f"{_key(found)}"
        "<div class='bar-tools' role='group' aria-label='Tree'>"
        "<label for='search'>Find a name</label><input type='search' id='search' "
        "autocomplete='off' spellcheck='false' aria-controls='hits'>"
        "<button type='button' id='reset'>Clusters</button>"
        "<button type='button' id='more'>Open more</button>"
        "<button type='button' id='up'>Zoom out</button>"
        "<span class='faint' id='shown'></span></div>\n"
        "<p id='live' role='status' aria-live='polite' class='faint'></p><ul id='hits'></ul>\n"
        "<div id='workspace'><div id='view'><svg id='tree-picture'></svg>"
        "<canvas id='cells' aria-hidden='true'></canvas></div>"
        "<div id='about' role='region' aria-label='The chosen branch' tabindex='0'></div></div>"
        "<div id='tip' hidden></div></section>"
    )


def _key(found: Found) -> str:
    """Explain the cells beside the tree."""
    if not found.field.names:
        return ""
    ramp = "".join(
        f"<rect x='{14 * place}' width='14' height='10' fill='{colour}'/>"
        for place, colour in enumerate(_RAMP)
    )
    left = found.field.left_out
    more = f" Not shown: {counted(left, 'less telling columns')}." if left else ""
    return (
        "<p class='faint'>Beside the tree: the columns, from low <svg class='scale' width='70' "
        f"height='10' role='img' aria-label='dark to light'>{ramp}</svg> to high; a frame where "
        f"all is missing.{more}</p>"
    )


def data_element(found: Found) -> str:
    """Make the data that the script draws from."""
    counted_off = all(name == f"row {row}" for row, name in enumerate(found.names))
    names = [name.encode(errors="replace").decode() for name in found.names]
    values = {
        "n": len(found.labels),
        "unit": found.unit,
        "names": None if counted_off else names,
        "labels": found.labels.tolist(),
        "sure": [round(value, 2) for value in found.sure.tolist()],
        "doubt": _doubts(found),
        "shorts": [", ".join(trait.short for trait in told[:3]) for told in found.traits],
        **_report_data.tree_of(found.post, found.labels),
        **_report_data.cells_of(found.field),
        **_report_data.explained(found.post, found.widths),
    }
    return f'<script type="application/json" id="data">{_report_data.as_json(values)}</script>'


def _doubts(found: Found) -> dict[str, list[float]]:
    members = found.members
    return {
        str(row): [
            round(float(members.own[row]), 3),
            int(members.other[row]),
            round(float(members.chance[row]), 3),
        ]
        for row in doubtful_rows(found)
    }
