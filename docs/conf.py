"""How Sphinx builds the documentation: `make docs`. Nothing is fetched from the network."""

import inspect
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


def _without_types(arguments: str) -> str:
    """Of a signature that pybind11 wrote: keywords with their defaults, without self."""
    return re.sub(r": [^=]*? = ", "=", re.sub(r"^self: [\w.]+(, )?", "", arguments))


def _signature(*event: Any) -> tuple[str, str | None] | None:
    signature, returns = event[-2:]
    if not signature or not signature.startswith("(self: "):
        return None
    return f"({_without_types(signature[1:-1])})", returns


def _defaults(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    # Sphinx takes no signature of a class from the event above where it finds none itself.
    made = re.match(r"__init__\((self: .*)\) -> None", obj.__init__.__doc__ or "")
    if what == "class" and made and " = " in made[1]:
        lines[:0] = [f"``{obj.__name__}({_without_types(made[1])})``", ""]


def _as_it_is(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    # Napoleon takes what stands before a colon for the type of a property.
    if what == "property":
        lines[:] = [*inspect.cleandoc(obj.__doc__).splitlines(), ""]


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _defaults)
    app.connect("autodoc-process-docstring", _as_it_is, priority=900)


# Names in shapes, such as n_rows, are nobody's attributes, though several classes have one.
suppress_warnings = ["ref.python"]
