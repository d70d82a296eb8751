"""The families, their short names, and the choice of one by name, class or columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bhclust import _core
from bhclust._core import (
    BernoulliBeta,
    CategoricalDirichlet,
    ExponentialGamma,
    Family,
    GaussianProcess,
    GeometricBeta,
    MultinomialDirichlet,
    NegativeBinomialBeta,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PoissonGamma,
    Product,
    VonMisesFisher,
)
from bhclust.options import shown
from bhclust.statistics import Statistics, aggregated, family_for
from bhclust.table import as_table, names_as_numbers

__all__ = [
    "HURDLE",
    "BernoulliBeta",
    "CategoricalDirichlet",
    "ExponentialGamma",
    "Family",
    "GaussianProcess",
    "GeometricBeta",
    "MultinomialDirichlet",
    "NegativeBinomialBeta",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "PoissonGamma",
    "Product",
    "VonMisesFisher",
    "aliases",
    "bit_columns",
    "product_of",
    "resolve_family",
    "single_columns",
]


HURDLE = "hurdle"
"""What estimators and the command line call columns with a spike at zero: `bhclust.hurdle`."""


def aliases() -> dict[str, type[Any]]:
    """Short name of each family, as the estimators and the command line take them."""
    return {
        "gaussian": NormalInverseWishart,
        "gaussian-diag": NormalInverseGamma,
        "gaussian-spherical": NormalKnownVariance,
        "bernoulli": BernoulliBeta,
        "categorical": CategoricalDirichlet,
        "multinomial": MultinomialDirichlet,
        "poisson": PoissonGamma,
        "exponential": ExponentialGamma,
        "geometric": GeometricBeta,
        "negative-binomial": NegativeBinomialBeta,
        "von-mises-fisher": VonMisesFisher,
        "time-series": GaussianProcess,
    }


def resolve_family(family: Any, X: Any) -> Family:
    """A family as an object: an instance stays, a name or class takes its defaults from X.

    Parameters
    ----------
    family : Family, str or type
        An instance, an alias such as ``"gaussian"``, or a class such as ``NormalInverseGamma``.
    X : array-like, DataFrame or Table
        The rows for `from_data`. Or Statistics, whose own family None stands for.

    Raises
    ------
    ValueError, TypeError
        When there is no such family, or its family does not take X.
    """
    if isinstance(X, Statistics):
        return family_for(X, family)
    if isinstance(family, Family):
        return family
    if isinstance(family, str):
        known = aliases()
        if family == HURDLE:
            raise ValueError(
                "family is 'hurdle', which is for columns: an estimator takes it in a mapping, "
                "such as {'rain': 'hurdle'}, and bhclust.hurdle(X) gives the table and the Product"
            )
        if family not in known:
            raise ValueError(f"family is {shown(family)}; the names are {', '.join(sorted(known))}")
        return _from_data(known[family], X)
    if isinstance(family, type) and issubclass(family, Family) and hasattr(family, "from_data"):
        return _from_data(family, X)
    raise TypeError(
        "family must be a Family, one of its classes or a name such as 'gaussian', not "
        + shown(family)
    )


def _from_data(cls: Any, X: Any) -> Family:
    found = cls.from_data(X)
    assert isinstance(found, Family)
    return found


def product_of(choice: Mapping[int, Any], X: Any, *, names: Sequence[Any] | None = None) -> Product:
    """A Product from one family a column.

    Parameters
    ----------
    choice : mapping of column number to Family, class or alias
        Neighbours or not, columns with the same alias or class form one block; an instance forms a
        block with the other columns that are given the same object.
    X : array-like or Table of shape (n_rows, n_columns)
        Dense; the rows for `from_data`.
    names : sequence, optional
        What the columns are called; of time series the times, where these are numbers.
    """
    table = as_table(X)
    if table.is_sparse:
        raise TypeError("X is sparse; a family a column needs a dense table (X.toarray())")
    cells = np.asarray(table.arrays)
    groups: dict[Any, tuple[Any, list[int]]] = {}
    for column, family in choice.items():
        if not 0 <= column < cells.shape[1]:
            raise ValueError(
                f"family names column {column}, and X has columns 0 to {cells.shape[1] - 1}"
            )
        key = id(family) if isinstance(family, Family) else family
        groups.setdefault(key, (family, []))[1].append(column)
    if not groups:
        raise ValueError("family names no column; give at least one")
    return Product([_block(family, columns, cells, names) for family, columns in groups.values()])


def _block(
    family: Any, columns: list[int], cells: Any, names: Sequence[Any] | None
) -> tuple[Family, Sequence[int]]:
    part = np.ascontiguousarray(cells[:, columns])
    try:
        times = None if names is None else names_as_numbers([names[j] for j in columns])
        if times is not None and (family is GaussianProcess or family == "time-series"):
            return GaussianProcess.from_data(part, times=times), columns
        return resolve_family(family, part), columns
    except ValueError as error:
        if len(columns) > 1:
            for column in columns:
                _block(family, [column], cells, names)
        message = str(error)
        if len(columns) == 1:
            message = message.replace("column 0", f"column {columns[0]}", 1)
        raise ValueError(message) from None


def bit_columns(family: Family, n_columns: int) -> list[int]:
    """The columns that a family takes for bits."""
    if isinstance(family, BernoulliBeta):
        return list(range(n_columns))
    if not isinstance(family, Product):
        return []
    return sorted(
        columns[j] for block, columns in family.blocks for j in bit_columns(block, len(columns))
    )


def single_columns(family: Family, n_columns: int) -> list[int]:
    """The columns of categories with one level."""
    if isinstance(family, CategoricalDirichlet):
        levels = np.broadcast_to(family.levels, (n_columns,))
        return np.flatnonzero(levels == 1.0).tolist()
    if not isinstance(family, Product):
        return []
    return sorted(
        columns[j] for block, columns in family.blocks for j in single_columns(block, len(columns))
    )


def statistics_of(family: Family, X: Any, groups: Any, weights: Any) -> Statistics:
    """`Family.statistics`."""
    return aggregated(family, as_table(X), groups, repeats=weights)


def from_parameters(name: str, parameters: Mapping[str, Any]) -> Family:
    """The family of a name with the hyperparameters of `Family.parameters` (used by pickle)."""
    family = getattr(_core, name)(**parameters)
    assert isinstance(family, Family)
    return family
