"""Rows put into trees and taken out: against every place tried, by functions and estimators."""

from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.insertion import places

import bhclust
from bhclust import BHC
from cases import NAMES, SINGLE, TAKES_SPARSE, Case, bounded, cases, random_case
from test_refine import chain, leaf_sets


def evidence(tree: bhclust.Tree, X: Any, family: Any, alpha: float) -> float:
    return bhclust.posterior(tree, X, family, alpha=alpha).log_evidence


def random_tree(n: int, seed: int) -> bhclust.Tree:
    rng = np.random.default_rng(seed)
    live, pairs = list(range(n)), []
    while len(live) > 1:
        rng.shuffle(live)
        pairs.append([live.pop(), live.pop()])
        live.append(n + len(pairs) - 1)
    return bhclust.Tree.from_children(n, np.array(pairs, dtype=np.int64).reshape(-1, 2))


@pytest.mark.parametrize("name", NAMES)
def test_looking_everywhere_finds_the_best_of_all_places(name: str) -> None:
    @bounded(6)
    @given(cases(name, least=2, most=9), st.sampled_from([0.3, 1.0, 3.0]), st.integers(0, 99))
    def check(case: Case, alpha: float, seed: int) -> None:
        n = len(case.rows) - 1
        X, family = case.cells, case.family
        tree = random_tree(n, seed)
        found = places(tree.children.tolist(), n, case.own_log_marginal(), alpha)
        best = max(found) + math.lgamma(alpha) - math.lgamma(alpha + n + 1)
        slack = 1e-8 * (1 + abs(best))
        for everywhere in (True, False):
            grown = bhclust.insert(
                tree, X[:n], X[n:], family, alpha=alpha, everywhere=everywhere, rotate=False
            )
            value = evidence(grown, X, family, alpha)
            assert value <= best + slack
            # of so few rows every place above the clusters and in four of them is looked at
            assert value >= best - (slack if everywhere else 0.1 + slack)
            turned = bhclust.insert(tree, X[:n], X[n:], family, alpha=alpha, everywhere=everywhere)
            assert evidence(turned, X, family, alpha) >= value - slack

    check()


@pytest.mark.parametrize("name", NAMES)
def test_log_d_is_that_of_the_posterior_computed_anew(name: str) -> None:
    @bounded(6)
    @given(cases(name, least=4, most=24), st.booleans(), st.booleans())
    def check(case: Case, everywhere: bool, rotate: bool) -> None:
        n = len(case.rows) // 2
        X, family = case.cells, case.family
        grown = bhclust.insert(
            bhclust.bhc(X[:n], family), X[:n], X[n:], family, everywhere=everywhere, rotate=rotate
        )
        assert grown.n_leaves == len(X)
        assert grown.n_merges == len(X) - 1
        post = bhclust.posterior(grown, X, family)
        slack = 1e-9 * (1 + np.abs(post.log_tree[len(X) :]))
        assert np.all(np.abs(grown.log_d + post.log_odds[len(X) :]) <= slack)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_without_interchanges_forgetting_takes_back_what_was_inserted(name: str) -> None:
    @bounded(6)
    @given(cases(name, least=3, most=20), st.booleans())
    def check(case: Case, everywhere: bool) -> None:
        n = 1 + len(case.rows) // 2
        X, family = case.cells, case.family
        tree = bhclust.bhc(X[:n], family)
        grown = bhclust.insert(tree, X[:n], X[n:], family, everywhere=everywhere, rotate=False)
        back = bhclust.forget(grown, range(n, len(X)))
        assert set(leaf_sets(back)) == set(leaf_sets(tree))
        assert evidence(back, X[:n], family, 1.0) == pytest.approx(
            evidence(tree, X[:n], family, 1.0), rel=1e-12
        )

    check()


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_rows_are_as_dense_ones(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 40, 3)
    X, family = case.cells, case.family
    tree = bhclust.bhc(X[:25], family)
    dense = bhclust.insert(tree, X[:25], X[25:], family)
    csr = sparse.csr_matrix(X)
    found = bhclust.insert(tree, csr[:25], csr[25:], family)
    assert evidence(found, X, family, 1.0) == pytest.approx(evidence(dense, X, family, 1.0))
    with pytest.raises(TypeError, match=r"X_new is dense and the rows before are sparse"):
        bhclust.insert(tree, csr[:25], X[25:], family)


def groups(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Five groups at corners of a cube."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    corners = 12.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    return rng.normal(corners[y], 1.0), y


def test_a_stream_of_rows_finds_the_groups_that_a_fit_finds() -> None:
    X, y = groups(600)
    family = bhclust.NormalInverseGamma.from_data(X)
    tree = bhclust.bhc(X[:50], family)
    for begin in range(50, 600, 110):
        tree = bhclust.insert(tree, X[:begin], X[begin : begin + 110], family)
    post = bhclust.posterior(tree, X, family)
    fitted = bhclust.posterior(bhclust.bhc(X, family), X, family)
    assert bhclust.metrics.adjusted_rand_index(post.cut(), y) > 0.99
    assert post.log_evidence > fitted.log_evidence - 20


def test_a_group_that_was_not_there_gets_a_cluster_of_its_own() -> None:
    X, y = groups(400)
    X, y = np.r_[X[y < 4], X[y == 4]], np.r_[y[y < 4], y[y == 4]]
    est = BHC("gaussian-diag", tree="greedy", hyperparameters="data").fit(X)
    old = int((y < 4).sum())
    est = BHC(est.family_, alpha=1.0).partial_fit(X[:old])
    assert est.n_clusters_ == 4
    est.partial_fit(X[old:])
    assert est.n_clusters_ == 5
    assert bhclust.metrics.adjusted_rand_index(est.labels_, y) == 1.0


def test_forests_keep_their_number_of_roots() -> None:
    case = random_case("NormalKnownVariance", 40, 1)
    X = case.cells
    forest = bhclust.rbhc(X[:30], case.family, n_clusters=3)
    grown = bhclust.insert(forest, X[:30], X[30:], case.family)
    assert len(grown.roots) == 3
    assert len(bhclust.forget(grown, [0, 5, 39]).roots) <= 3


def test_duplicates_and_constants_and_huge_cells() -> None:
    for value in (0.0, 1.0, 1e140):
        X = np.full((500, 2), value)
        family = bhclust.NormalKnownVariance(variance=1.0, mean=value, prior_variance=4.0)
        tree = bhclust.insert(random_tree(3, 0), X[:3], X[3:], family)
        post = bhclust.posterior(tree, X, family)
        assert np.isfinite(post.log_evidence)
        assert post.cut().max() == 0


def test_missing_cells() -> None:
    X, y = groups(300)
    X[np.random.default_rng(1).random(X.shape) < 0.15] = math.nan
    X[-1] = math.nan
    est = BHC("gaussian-diag", hyperparameters="data").partial_fit(X[:200]).partial_fit(X[200:])
    fitted = BHC(est.family_).fit(X)
    agreement, wanted = (
        bhclust.metrics.adjusted_rand_index(found.labels_, y) for found in (est, fitted)
    )
    assert wanted > 0.7
    assert agreement > wanted - 0.1


def test_a_deep_chain_takes_rows_and_gives_them_back() -> None:
    n = 100_000
    X = np.tile([[0.0], [1.0]], (n // 2 + 20, 1))
    tree = bhclust.insert(chain(n), X[:n], X[n:], bhclust.BernoulliBeta())
    assert tree.n_leaves == n + 40
    back = bhclust.forget(tree, range(n, n + 40))
    assert back.n_merges == n - 1


def test_the_tree_does_not_depend_on_the_number_of_threads() -> None:
    X, _ = groups(2000, 3)
    family = bhclust.NormalKnownVariance(variance=1e-4, prior_variance=100.0)
    tree = bhclust.bhc(X[:1900], family)
    one = bhclust.insert(tree, X[:1900], X[1900:], family, n_threads=1)
    assert one == bhclust.insert(tree, X[:1900], X[1900:], family, n_threads=3)


def test_partial_fit_is_fit_and_then_insert() -> None:
    X, _ = groups(200)
    est = BHC("gaussian-diag", rule="r", threshold=0.4)
    assert est.partial_fit(X[:120]) is est
    assert est.tree_ == BHC("gaussian-diag", rule="r", threshold=0.4).fit(X[:120]).tree_
    family, alpha = est.family_, est.posterior_.alpha
    grown = bhclust.insert(est.tree_, X[:120], X[120:], family, alpha=alpha)
    est.partial_fit(X[120:])
    assert est.tree_ == grown
    assert est.family_ == family
    assert est.posterior_.alpha == alpha
    post = bhclust.posterior(grown, X, family, alpha=alpha)
    assert est.log_evidence_ == post.log_evidence
    np.testing.assert_array_equal(est.labels_, post.cut(rule="r", threshold=0.4))
    assert est.predict_proba(X[:5]).shape == (5, est.n_clusters_ + 1)


@pytest.mark.parametrize("name", [*SINGLE, "Product"])
def test_models_of_every_family_go_on(name: str, tmp_path: Path) -> None:
    case = random_case(name, 30, 4)
    X = case.cells
    est = BHC(case.family).partial_fit(X[:20])
    kept = [
        copy.deepcopy(est),
        pickle.loads(pickle.dumps(est)),
        bhclust.load(bhclust.save(est, tmp_path / "a.bhc")),
    ]
    est.partial_fit(X[20:]).forget([0, 7])
    assert len(est.labels_) == 28
    kept.append(bhclust.load(bhclust.save(est, tmp_path / "b.bhc")))
    for other in kept[:3]:
        other.partial_fit(X[20:]).forget([0, 7])
    for other in kept:
        assert other.tree_ == est.tree_
        assert other.log_evidence_ == est.log_evidence_
        np.testing.assert_array_equal(other.labels_, est.labels_)
        np.testing.assert_array_equal(other.predict(X), est.predict(X))


def test_forget_leaves_the_tree_of_the_rows_kept() -> None:
    X, y = groups(150)
    est = BHC("gaussian-diag").fit(X)
    family = est.family_
    gone = np.flatnonzero(y == 2)
    est.forget(gone)
    assert est.family_ == family
    np.testing.assert_array_equal(est.posterior_._table.arrays, X[y != 2])
    assert bhclust.metrics.adjusted_rand_index(est.labels_, y[y != 2]) == 1.0
    fitted = bhclust.posterior(est.tree_, X[y != 2], family, alpha=est.posterior_.alpha)
    assert est.log_evidence_ == fitted.log_evidence


def test_frames_of_mixed_columns() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 120)
    frame = pandas.DataFrame(
        {"size": rng.normal(5.0 * kind, 0.5), "colour": np.where(kind == 1, "red", "blue")}
    )
    est = BHC("auto").partial_fit(frame[:80]).partial_fit(frame[80:])
    assert len(est.labels_) == 120
    assert bhclust.metrics.adjusted_rand_index(est.labels_, kind) > 0.9
    assert list(est.impute().columns) == ["size", "colour"]
    with pytest.raises(ValueError, match="colour"):
        est.partial_fit(pandas.DataFrame({"size": [1.0], "colour": ["green"]}))
    assert len(est.labels_) == 120


@pytest.mark.parametrize("empty", [np.empty((0, 3)), np.empty((0, 3), dtype=int)])
def test_a_batch_without_rows_changes_nothing(empty: Any) -> None:
    X, _ = groups(30)
    est = BHC("gaussian-diag", hyperparameters="data").fit(X)
    tree, labels = est.tree_, est.labels_
    assert est.partial_fit(empty) is est
    assert est.tree_ is tree
    assert est.labels_ is labels
    assert bhclust.insert(tree, X, empty, est.family_) == tree
    with pytest.raises(ValueError, match=r"X has 2 features, but BHC is expecting 3"):
        est.partial_fit(empty[:, :2])
    with pytest.raises(ValueError, match=r"X has no rows; at least one is needed"):
        BHC("gaussian-diag").partial_fit(empty)
    with pytest.raises(ValueError, match=r"X_new has 2 columns; the rows before have 3"):
        bhclust.insert(tree, X, empty[:, :2], est.family_)
    S = est.family_.statistics(X)
    assert bhclust.insert(bhclust.bhc(S), S, empty) == bhclust.bhc(S)
    with pytest.raises(ValueError, match=r"X_new has 2 columns; the rows before have 3"):
        bhclust.insert(bhclust.bhc(S), S, empty[:, :2])
    with pytest.raises(ValueError, match=r"alpha is -1"):
        bhclust.insert(tree, X, empty, est.family_, alpha=-1)


def test_a_batch_without_rows_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"size": [1.0, 1.1, 5.0, 5.2], "colour": ["red", "red", "blue", "blue"]}
    )
    est = BHC("auto", hyperparameters="data").fit(frame)
    assert len(est.partial_fit(frame[:0]).labels_) == 4
    with pytest.raises(ValueError, match="colour"):
        est.partial_fit(frame[["size"]][:0])


def test_refusals() -> None:
    X, _ = groups(20)
    family = bhclust.NormalInverseGamma()
    tree = bhclust.bhc(X, family)
    with pytest.raises(ValueError, match=r"X_new has 2 columns; the rows before have 3"):
        bhclust.insert(tree, X, X[:, :2], family)
    with pytest.raises(ValueError, match=r"the tree has 20 leaves and X has 19 rows"):
        bhclust.insert(tree, X[:19], X, family)
    with pytest.raises(ValueError, match=r"^X_new: row 1, column 2 is inf"):
        bhclust.insert(tree, X, np.array([[0.0, 0, 0], [0, 0, math.inf]]), family)
    with pytest.raises(TypeError, match=r"everywhere must be True or False"):
        bhclust.insert(tree, X, X, family, everywhere=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"rows names 20; the tree has the rows 0 to 19"):
        bhclust.forget(tree, [20])
    with pytest.raises(ValueError, match=r"rows names all 20 rows"):
        bhclust.forget(tree, range(20))
    with pytest.raises(ValueError, match=r"rows is .*; it must be a list of row numbers"):
        bhclust.forget(tree, [0.5])
    est = BHC(family, n_clusters=18).fit(X)
    with pytest.raises(ValueError, match=r"n_clusters"):
        est.forget([0, 1, 2])
    assert len(est.labels_) == 20
    weighted = BHC(family).fit(X, sample_weight=np.arange(20) % 3)
    for call in (lambda: weighted.partial_fit(X), lambda: weighted.forget([1])):
        with pytest.raises(ValueError, match=r"needs a fit without sample_weight"):
            call()
    with pytest.raises(ValueError, match=r"not fitted"):
        BHC().forget([0])


@pytest.mark.parametrize("name", NAMES)
def test_rows_join_groups(name: str) -> None:
    case = random_case(name, 24, 5)
    X, family = case.cells, case.family
    labels = np.repeat(np.arange(6), 3)
    S = family.statistics(X[:18], groups=labels)
    tree = bhclust.bhc(S)
    grown = bhclust.insert(tree, S, X[18:], everywhere=True)
    every = bhclust.Statistics.concatenate([S, family.statistics(X[18:])])
    assert grown.n_leaves == 12
    again = bhclust.insert(tree, S, family.statistics(X[18:]), family, everywhere=True)
    assert np.array_equal(grown.children, again.children)
    # log d says what the tree of groups makes of its root
    found = bhclust.posterior(grown, every)
    assert found.log_odds[-1] == pytest.approx(-grown.log_d[-1], rel=1e-9, abs=1e-9)
    est = BHC().fit_statistics(S)
    est.partial_fit(X[18:])
    assert len(est.labels_) == 12
    est.forget([0, 7])
    assert len(est.labels_) == 10
    with pytest.raises(TypeError, match=r"X_new is Statistics and the rows before are rows"):
        bhclust.insert(bhclust.bhc(X, family), X, S, family)


def test_groups_of_another_family_do_not_join() -> None:
    X = np.eye(3)
    S = bhclust.BernoulliBeta().statistics(X)
    tree = bhclust.bhc(S)
    other = bhclust.GeometricBeta().statistics(X)  # as many numbers
    with pytest.raises(ValueError, match="X_new holds statistics made by GeometricBeta"):
        bhclust.insert(tree, S, other)
    two, three = (bhclust.NegativeBinomialBeta(r=r).statistics(X) for r in (2.0, 3.0))
    with pytest.raises(ValueError, match="X_new holds statistics made by NegativeBinomialBeta"):
        bhclust.insert(bhclust.bhc(two), two, three)
    strict = bhclust.BernoulliBeta(a=3.0).statistics(X)  # the same numbers, another prior
    assert bhclust.insert(tree, S, strict) == bhclust.insert(tree, S, S)


def test_groups_of_one_row_are_rows() -> None:
    X, _ = groups(40)
    family = bhclust.NormalInverseGamma()
    tree = bhclust.bhc(X[:30], family)
    of_rows = bhclust.insert(tree, X[:30], X[30:], family)
    of_groups = bhclust.insert(tree, family.statistics(X[:30]), X[30:], family)
    assert np.array_equal(of_rows.children, of_groups.children)
