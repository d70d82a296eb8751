"""A column that is clustered on, and codes for its texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ._raw_column import Cells

Floats = NDArray[np.float64]
#: Families that can be asked for by name, and what their columns must hold.
FAMILIES = {
    "gaussian": "numbers",
    "gaussian-diag": "numbers",
    "gaussian-spherical": "numbers",
    "time-series": "numbers",
    "hurdle": "numbers",
    "von-mises-fisher": "numbers",
    "exponential": "numbers above zero",
    "poisson": "counts",
    "multinomial": "counts",
    "geometric": "counts",
    "negative-binomial": "counts",
    "bernoulli": "yes or no",
    "categorical": "categories",
}
_YES_NO = ({"no", "yes"}, {"n", "y"}, {"false", "true"}, {"f", "t"})


@dataclass(frozen=True)
class Column:
    """A column that is clustered on.

    Attributes
    ----------
    name : str
        Its name.
    family : str
        Alias of the family it is modelled by.
    values : array of float64, shape (n,)
        Its values, codes of the levels for categories and yes/no; NaN where missing.
    levels : tuple of str
        What the codes 0, 1, … stand for; empty for numbers.
    why : str
        Why it was taken for this.
    """

    name: str
    family: str
    values: Floats
    levels: tuple[str, ...]
    why: str

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(np.isnan(self.values).sum())


def yes_no(cells: Cells) -> Column | None:
    """Read texts of two kinds that say yes and no, or give None."""
    lowered = {text.lower() for text in cells.distinct}
    if lowered not in _YES_NO:
        return None
    levels = tuple(sorted(lowered))
    codes = np.full(len(cells.texts), np.nan)
    codes[cells.present] = [cells.texts[place].lower() == levels[1] for place in cells.present]
    return Column(cells.name, "bernoulli", codes, levels, f"only {levels[0]} and {levels[1]}")


def coded_texts(cells: Cells, why: str) -> Column:
    """Number the texts, in their order."""
    levels = tuple(sorted(cells.distinct))
    code = {text: place for place, text in enumerate(levels)}
    codes = np.full(len(cells.texts), np.nan)
    codes[cells.present] = [code[cells.texts[place]] for place in cells.present]
    return Column(cells.name, "categorical", codes, levels, why)


def coded_numbers(cells: Cells, values: Floats, why: str) -> Column:
    """Number the different values, in their order."""
    distinct = np.unique(values[cells.present])
    codes = np.full(len(values), np.nan)
    codes[cells.present] = np.searchsorted(distinct, values[cells.present])
    levels = tuple(repr(value).removesuffix(".0") for value in distinct.tolist())
    return Column(cells.name, "categorical", codes, levels, why)
