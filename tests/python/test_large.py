"""The ways to trees of many rows: Bayes K-means BHC, randomised BHC, and what they lose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference import bhc as twin
from reference import large

import bhclust
from cases import NAMES, TAKES_SPARSE, random_case

WAYS = (bhclust.bayes_kmeans_bhc, bhclust.randomized_bhc)


def same(a: bhclust.Tree, b: bhclust.Tree) -> bool:
    return np.array_equal(a.children, b.children) and np.array_equal(a.log_d, b.log_d)


def clades(tree: bhclust.Tree) -> set[frozenset[int]]:
    n = tree.n_leaves
    found = twin.clades([(int(a), int(b)) for a, b in tree.children], n)
    return found | {frozenset([i]) for i in range(n)}


def groups(n: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(8.0 * rng.integers(4, size=(n, 1)), 1.0, (n, 2))


@pytest.mark.parametrize("name", NAMES)
def test_clusters_are_the_twins(name: str) -> None:
    for seed in range(3):
        case = random_case(name, 20, seed)
        on_rows, seeds = case.log_marginal(), [1, 4, 9]
        for merge in (False, True):
            wanted = large.assign(20, on_rows, 1.0, seeds)
            if merge:
                wanted = large.merge(on_rows, 1.0, wanted)
            tree = bhclust.bayes_kmeans_bhc(case.cells, case.family, seeds=seeds, merge=merge)
            assert {frozenset(c) for c in wanted} <= clades(tree)


@pytest.mark.parametrize("name", NAMES)
def test_with_all_rows_they_are_exact(name: str) -> None:
    for n in (1, 2, 3, 25):
        case = random_case(name, n, 5)
        exact = bhclust.bhc(case.cells, case.family, alpha=0.7)
        every = bhclust.bayes_kmeans_bhc(
            case.cells, case.family, alpha=0.7, seeds=range(n), merge=False
        )
        assert same(every, exact)
        assert same(bhclust.randomized_bhc(case.cells, case.family, alpha=0.7, subset=25), exact)


@pytest.mark.parametrize("grow", WAYS)
def test_log_d_is_the_posteriors(grow: Any) -> None:
    X = groups(700)
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=100.0)
    tree = grow(X, family, alpha=0.3)
    assert (tree.n_leaves, tree.n_merges, list(tree.roots)) == (700, 699, [1398])
    found = bhclust.posterior(tree, X, family, alpha=0.3)
    assert np.allclose(tree.log_d, -found.log_odds[700:], rtol=1e-8, atol=1e-7)
    assert found.cut().max() + 1 == 4


@pytest.mark.parametrize("grow", WAYS)
def test_seeds_and_threads(grow: Any) -> None:
    X = np.random.default_rng(1).normal(size=(900, 2))  # one cluster, which many trees fit
    family = bhclust.NormalKnownVariance(variance=0.3)
    one = grow(X, family, random_state=2, n_threads=1)
    assert same(grow(X, family, random_state=2, n_threads=3), one)
    assert not same(grow(X, family, random_state=3), one)


@pytest.mark.parametrize("grow", WAYS)
def test_rows_that_are_all_alike(grow: Any) -> None:
    tree = grow(np.ones((3000, 2)), "bernoulli")
    assert tree.n_merges == 2999


def test_one_seed_and_every_row_a_seed() -> None:
    X = groups(60)
    for n_seeds in (1, 60):
        assert bhclust.bayes_kmeans_bhc(X, "gaussian", n_seeds=n_seeds).n_merges == 59


@pytest.mark.parametrize("name", sorted(TAKES_SPARSE))
def test_sparse_as_dense(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 40, 3)
    cells = np.nan_to_num(np.asarray(case.cells, dtype=float))
    for grow in WAYS:
        few = {} if grow is WAYS[0] else {"subset": 10}
        dense = grow(cells, case.family, **few)
        found = grow(sparse.csr_array(cells), case.family, **few)
        assert np.array_equal(found.children, dense.children)
        assert np.allclose(found.log_d, dense.log_d, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("tree", ["bayes-kmeans", "randomized"])
def test_the_estimator_takes_them(tree: str) -> None:
    X = groups(300)
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=100.0)
    found = bhclust.BHC(family, tree=tree, alpha=1.0).fit(X)
    assert found.n_clusters_ == 4


@pytest.mark.parametrize("method", ["bayes-kmeans", "randomized", "rbhc"])
def test_what_is_lost(method: str) -> None:
    X = groups(500)
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=100.0)
    loss = bhclust.approximation_loss(X, family, method=method, n_rows=300, random_state=1)
    assert (loss.method, loss.n_rows) == (method, 300)
    lost = loss.exact_log_evidence_bound - loss.log_evidence_bound
    assert loss.loss_per_row == lost / 300
    assert loss.adjusted_rand_index == 1.0
    assert abs(loss.loss_per_row) < 0.1
    assert loss.seconds > 0
    assert "300 rows" in str(loss)
    assert bhclust.approximation_loss(X, family, method=method).n_rows == 500


def test_nothing_is_lost_where_the_method_is_exact() -> None:
    loss = bhclust.approximation_loss(groups(80), "gaussian", method="randomized", n_rows=80)
    assert loss.loss_per_row == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_seeds": 0}, "n_seeds is 0; it must be at least 1"),
        ({"n_seeds": 11}, "n_seeds is 11; X has 10 row"),
        ({"n_seeds": 2, "seeds": [1]}, "n_seeds and seeds are both given"),
        ({"seeds": [3, 10]}, "seeds holds 10; X has rows 0 to 9"),
        ({"seeds": [3, 3]}, "seeds holds row 3 twice"),
        ({"seeds": []}, "it must be a list of row numbers"),
        ({"seeds": [0.5]}, "it must be a list of row numbers"),
        ({"exact_rows": 1}, "exact_rows is 1; it must be at least 2"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_refusals(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bhclust.bayes_kmeans_bhc(groups(10), "gaussian", **options)


def test_more_refusals() -> None:
    with pytest.raises(ValueError, match="subset is 1; it must be at least 2"):
        bhclust.randomized_bhc(groups(10), "gaussian", subset=1)
    with pytest.raises(TypeError, match="merge must be True or False, not 'no'"):
        bhclust.bayes_kmeans_bhc(groups(10), "gaussian", merge="no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="method is 'greedy'; it must be one of"):
        bhclust.approximation_loss(groups(10), "gaussian", method="greedy")
