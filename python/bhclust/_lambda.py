"""The threshold of RBHC from k-means (Lee & Choi 2015, section 3.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bhclust._core import CategoricalDirichlet, Family, Product, Table
from bhclust.families import resolve_family
from bhclust.options import check_count, check_seed
from bhclust.table import as_table

__all__ = ["lambda_heuristic"]

#: Sparse tables of no more cells are made dense for k-means, which rounds otherwise on sparse ones:
#: where rows tie its centres would be others.
FEW_CELLS = 4_000_000


def lambda_heuristic(
    X: Any, family: Family | str, *, n_clusters: int | None = None, random_state: int = 0
) -> float:
    """A threshold λ for `rbhc`: the mean d* between all pairs of 4 · n_clusters k-means centres.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n_rows, n_columns)
        Missing cells count as the mean of their column.
    family : Family or str
        Not categorical or mixed: their rows have no means.
    n_clusters : int, optional
        A rough guess of the number of clusters; sqrt(n_rows / 2), from 2 to 25, by default.
    random_state : int
        Seed of k-means, from 0 to 2^32 - 1.

    Returns
    -------
    float
        Above 0, in the units of d*.

    Raises
    ------
    ImportError
        Without scikit-learn, which has the k-means.
    ValueError
        When the family or the table has no centres, or they all coincide.
    """
    seed = check_seed("random_state", random_state, bits=32)
    table = as_table(X)
    model = resolve_family(family, X)
    model._check(table)
    n = table.n_rows
    if isinstance(model, (CategoricalDirichlet, Product)):
        raise ValueError(
            f'lam="auto" needs means of rows, which {model.name} has not; give lam or n_clusters'
        )
    guess = (
        min(max(2, round(math.sqrt(n / 2))), 25)
        if n_clusters is None
        else check_count("n_clusters", n_clusters)
    )
    points, columns = _points(table)
    centres = _centres(points, min(4 * guess, n), seed)
    if len(centres) < 2:
        raise ValueError('lam="auto" needs at least 2 different rows; give lam or n_clusters')
    cells = np.full((len(centres), table.n_columns), math.nan)
    cells[:, columns] = centres
    lam = model._mean_divergence(Table.dense(cells))
    if not lam > 0:
        raise ValueError(
            'lam="auto": the centres of k-means are too close to tell apart; give lam or n_clusters'
        )
    return lam


def _points(table: Table) -> tuple[Any, Any]:
    """Give the rows for k-means, without holes, and the columns they are from."""
    if not table.is_sparse:
        return _filled(np.asarray(table.arrays))
    try:
        from scipy.sparse import csr_array
    except ImportError:
        raise ImportError('lam="auto" on sparse tables needs SciPy: pip install scipy') from None
    data, indices, indptr = table.arrays
    if max(data.size, table.n_columns) >= 2**31:
        raise ValueError('lam="auto" takes no sparse tables so large; give lam or n_clusters')
    # The k-means of scikit-learn takes no other indices.
    small = (data, indices.astype(np.int32), indptr.astype(np.int32))
    points = csr_array(small, shape=(table.n_rows, table.n_columns))
    if table.n_rows * table.n_columns <= FEW_CELLS:
        return points.toarray(), slice(None)
    return points, slice(None)


def _filled(cells: Any) -> tuple[Any, Any]:
    missing = np.isnan(cells)
    columns = np.flatnonzero(~missing.all(axis=0))
    cells, missing = cells[:, columns], missing[:, columns]
    means = np.mean(cells, axis=0, where=~missing)
    return np.where(missing, means, cells), columns


def _centres(points: Any, k: int, random_state: int) -> Any:
    try:
        from sklearn.cluster import KMeans
    except ImportError:
        raise ImportError(
            'lam="auto" needs scikit-learn for its k-means: pip install "bhclust[sklearn]"; '
            "or give lam or n_clusters"
        ) from None
    if k < 2 or points.shape[1] == 0:
        return np.empty((0, 0))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct rows than centres is no news to the user
        kmeans: Any = KMeans
        found = kmeans(k, n_init=1, random_state=random_state).fit(points)
    return np.unique(np.ascontiguousarray(found.cluster_centers_, dtype=np.float64), axis=0)
