"""How Sphinx builds the documentation: `make docs`. Nothing is fetched from the network."""

import re
import sys
from pathlib import Path
from typing import Any

import bhclust

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "bhclust"
author = "The bhclust authors"
copyright = author  # noqa: A001
release = version = bhclust.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "matplotlib.sphinxext.plot_directive",
    "mathml",
]
exclude_patterns = ["examples/results"]
html_theme = "furo"
html_title = "bhclust"
html_static_path = ["_static"]
html_css_files = ["bhclust.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_default_options = {"member-order": "bysource"}
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = False

plot_formats = [("svg", 100)]
plot_html_show_formats = False
plot_html_show_source_link = True
plot_include_source = False
plot_rcparams = {
    "figure.facecolor": "white",
    "figure.figsize": (7.2, 3.6),
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "bhclust",
    "savefig.bbox": "tight",
}
plot_apply_rcparams = True
plot_basedir = str(Path(__file__).parent / "figures")


def _signature(
    _app: Any,
    what: str,
    _name: str,
    obj: Any,
    _options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str, str | None] | None:
    """Of what pybind11 made: keywords with their defaults, without types and self."""
    told = obj.__init__.__doc__ if what == "class" else signature
    made = re.match(r"(?:__init__)?\((self: [\w.]+(?:, )?)(.*?)\)(?: -> (.*))?(?:\n|$)", told or "")
    if not made:
        return None
    keywords = re.sub(r": [^=]*? = ", "=", made[2])
    return f"({keywords})", None if what == "class" else made[3] or returns


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("autodoc-process-signature", _signature)
