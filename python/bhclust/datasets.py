"""Real tables that ship with the package."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path

from .io import Table, read_table

__all__ = ["load", "load_zoo"]

_NAMES = ("zoo", "digits", "mixed")


def place_of(name: str) -> AbstractContextManager[Path]:
    """Give the file of a table for as long as it is needed."""
    return resources.as_file(resources.files("bhclust") / "data" / f"{name}.csv.gz")


def load(name: str) -> Table:
    """Load a table that ships with the package.

    Parameters
    ----------
    name : {"zoo", "digits", "mixed"}
        ``"zoo"``: `load_zoo`. ``"digits"``: 300 handwritten digits, 64 pixels of black or white,
        and which digit each is. ``"mixed"``: 303 patients, 13 columns of measurements, counts,
        categories and yes or no, some missing, and whether they have a heart disease.

    Returns
    -------
    Table
        What is known of the rows as `target`.

    Notes
    -----
    Ethem Alpaydin and Cenk Kaynak (1998), *Optical Recognition of Handwritten Digits*,
    doi:10.24432/C50P49; Andras Janosi, William Steinbrunn, Matthias Pfisterer and Robert Detrano
    (1989), *Heart Disease*, doi:10.24432/C52P4X: UCI Machine Learning Repository, under CC BY 4.0.
    """
    if name not in _NAMES:
        raise ValueError(f"name is {name!r}; choose from {', '.join(_NAMES)}")
    if name == "zoo":
        return load_zoo()
    with place_of(name) as path:
        return read_table(path, target="target")


def load_zoo() -> Table:
    """Load 101 animals: 15 yes/no traits, the number of legs as a category, and their classes.

    Returns
    -------
    Table
        The traits as `columns`, the animals as `names`, their classes as `target`.

    Notes
    -----
    Richard Forsyth (1990), *Zoo*, UCI Machine Learning Repository, doi:10.24432/C5R59V, under
    CC BY 4.0.

    Examples
    --------
    >>> zoo = load_zoo()
    >>> zoo.n_rows, zoo.columns["legs"].levels
    (101, ('0', '2', '4', '5', '6', '8'))
    """
    with place_of("zoo") as path:
        return read_table(path, target="target", names="name")
