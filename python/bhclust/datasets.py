"""Real tables that ship with the package."""

from __future__ import annotations

from importlib import resources

from .io import Table, read_table

__all__ = ["load_zoo"]


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
    with resources.as_file(resources.files(__package__) / "data" / "zoo.csv.gz") as path:
        return read_table(path, target="target", names="name")
