"""The threshold of RBHC from k-means."""

from __future__ import annotations

import math
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import lambda_heuristic
from cases import NAMES, SINGLE, TAKES_SPARSE, Case, close, random_case

WITH_MEANS = [name for name in SINGLE if name != "CategoricalDirichlet"]


@pytest.fixture
def sklearn_cluster() -> Any:
    return pytest.importorskip("sklearn.cluster")


def without_holes(name: str, n: int, seed: int) -> Case:
    case = random_case(name, n, seed)
    rows = np.where(np.isnan(case.cells), 0.5, case.cells).tolist()
    return Case(name, rows, case.hyper)


@pytest.mark.parametrize("name", WITH_MEANS)
def test_it_is_the_mean_divergence_of_the_centres(name: str, sklearn_cluster: Any) -> None:
    case = without_holes(name, 50, 0)
    found = lambda_heuristic(case.cells, case.family, n_clusters=3, random_state=5)
    fitted = sklearn_cluster.KMeans(12, n_init=1, random_state=5).fit(case.cells)
    potential = Case(name, fitted.cluster_centers_.tolist(), case.hyper).potential()
    costs = [
        potential([i]) + potential([j]) - potential([i, j]) for i, j in combinations(range(12), 2)
    ]
    assert close(found, np.mean(costs), 1e-9)


def test_the_guess_is_the_root_of_half_the_rows(sklearn_cluster: Any) -> None:  # noqa: ARG001
    for n, guess in ((8, 2), (98, 7), (200, 10)):
        case = without_holes("NormalKnownVariance", n, 1)
        wanted = lambda_heuristic(case.cells, case.family, n_clusters=guess)
        assert lambda_heuristic(case.cells, case.family) == wanted


def test_it_follows_the_data_and_not_their_unit(sklearn_cluster: Any) -> None:  # noqa: ARG001
    X = without_holes("NormalKnownVariance", 60, 2).cells
    wanted = lambda_heuristic(X, "gaussian-spherical")
    assert wanted > 0
    assert close(lambda_heuristic(1e30 * X, "gaussian-spherical"), wanted, 1e-6)
    assert lambda_heuristic(X.tolist(), "gaussian-spherical") == wanted
    assert lambda_heuristic(X, "gaussian-spherical", random_state=0) == wanted


def test_it_makes_a_forest_of_several_trees(sklearn_cluster: Any) -> None:  # noqa: ARG001
    X = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 20, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape)
    family = bhclust.NormalKnownVariance()
    lam = lambda_heuristic(X, family, n_clusters=3)
    assert 2 <= len(bhclust.rbhc(X, family, lam=lam).roots) < 60


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_and_dense_tables_agree(name: str, sklearn_cluster: Any) -> None:  # noqa: ARG001
    sparse = pytest.importorskip("scipy.sparse")
    for seed in range(5):
        case = random_case(name, 40, seed)
        dense = lambda_heuristic(case.cells, case.family)
        assert lambda_heuristic(sparse.csr_array(case.cells), case.family) == dense


def test_sparse_tables_too_large_to_be_made_dense(
    sklearn_cluster: Any,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = np.kron(np.eye(4), np.full((10, 3), 50.0)) + np.arange(40.0)[:, None] % 3
    family = bhclust.PoissonGamma()
    wanted = lambda_heuristic(X, family, n_clusters=1)
    monkeypatch.setattr("bhclust._lambda.FEW_CELLS", 0)
    assert close(lambda_heuristic(sparse.csr_array(X), family, n_clusters=1), wanted, 1e-6)


def test_two_rows_are_enough(sklearn_cluster: Any) -> None:  # noqa: ARG001
    family = bhclust.NormalKnownVariance(variance=2.0)
    assert close(lambda_heuristic([[0.0], [4.0]], family), 16 / 8)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0]], 'lam="auto" needs at least 2 different rows; give lam or n_clusters'),
        ([[1.0, 2.0]] * 9, 'lam="auto" needs at least 2 different rows'),
        ([[math.nan, 2.0]] * 9, 'lam="auto" needs at least 2 different rows'),
        ([[math.nan, math.nan]] * 9, 'lam="auto" needs at least 2 different rows'),
        ([[1.0, math.inf], [2.0, 3.0]], "row 0, column 1 is inf"),
        (np.empty((0, 2)), "X has no rows"),
    ],
)
def test_tables_without_centres_are_refused(
    X: Any,
    message: str,
    sklearn_cluster: Any,  # noqa: ARG001
) -> None:
    family = bhclust.NormalKnownVariance()
    with pytest.raises(ValueError, match=message):
        lambda_heuristic(X, family)
    with pytest.raises(ValueError, match=message):
        bhclust.RBHC(family).fit(X)


def test_missing_cells_count_as_the_mean_of_their_column(
    sklearn_cluster: Any,  # noqa: ARG001
) -> None:
    X = without_holes("NormalInverseGamma", 40, 6).cells
    family = bhclust.NormalInverseGamma(b=2.0)
    filled, holes = X.copy(), X.copy()
    holes[3, 1] = holes[7, 1] = holes[9, 0] = math.nan
    filled[[3, 7], 1] = np.nanmean(holes[:, 1])
    filled[9, 0] = np.nanmean(holes[:, 0])
    wanted = lambda_heuristic(filled, family)
    assert lambda_heuristic(holes, family) == wanted
    empty = np.column_stack([holes, np.full(40, math.nan)])
    assert lambda_heuristic(empty, family) == wanted
    assert bhclust.RBHC(family).fit(empty).lam_ == wanted


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(WITH_MEANS)))
def test_rows_without_means_are_refused(name: str) -> None:
    case = random_case(name, 10, 4)
    with pytest.raises(ValueError, match=f"needs means of rows, which {name} has not; give lam"):
        lambda_heuristic(case.cells, case.family)


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (-1, ValueError), (2.5, TypeError), ("3", TypeError)]
)
def test_the_guess_is_checked(value: Any, error: Any) -> None:
    with pytest.raises(error, match="n_clusters"):
        lambda_heuristic([[1.0], [2.0]], bhclust.NormalKnownVariance(), n_clusters=value)


@pytest.mark.parametrize("missing", ["sklearn.cluster", "sklearn"])
def test_a_missing_scikit_learn_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    if missing == "sklearn":
        monkeypatch.delitem(sys.modules, "sklearn.cluster", raising=False)
    family = bhclust.NormalKnownVariance()
    for call in (lambda_heuristic, lambda X, f: bhclust.RBHC(f).fit(X)):
        with pytest.raises(ImportError, match=r'pip install "bhclust\[sklearn\]"; or give lam'):
            call([[1.0], [2.0], [5.0]], family)
    assert bhclust.RBHC(family, lam=1.0).fit([[1.0], [2.0], [5.0]]).n_clusters_ >= 1
