"""The posterior of a tree against its slow twin and against enumeration; cuts and predictions."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import bhc as twin

import bhclust
from cases import (
    NAMES,
    TAKES_SPARSE,
    Case,
    bounded,
    cases,
    close,
    magnitude,
    random_case,
)

COLUMNS = ("log_marginal", "log_tree", "log_odds", "r", "omega", "height")


def random_children(draw: Any, n: int, merges: int) -> list[tuple[int, int]]:
    """Any forest, not only what an algorithm would build."""
    live, children = list(range(n)), []
    for t in range(merges):
        pair = sorted(live.pop(draw(st.integers(0, len(live) - 1))) for _ in range(2))
        children.append((pair[0], pair[1]))
        live.append(n + t)
    return children


@st.composite
def scored_trees(draw: Any, name: str) -> tuple[Case, int, list[tuple[int, int]], float]:
    """A table, how many of its rows are in the tree (the rest is new), a forest, alpha."""
    case = draw(cases(name, least=2, most=8))
    n = draw(st.integers(1, len(case.rows) - 1))
    merges = n - 1 if draw(st.booleans()) else draw(st.integers(0, n - 1))
    return case, n, random_children(draw, n, merges), draw(st.sampled_from([1e-3, 0.4, 1.0, 30.0]))


def tree_of(n: int, children: list[tuple[int, int]]) -> bhclust.Tree:
    return bhclust.Tree.from_children(n, np.array(children, dtype=np.int64).reshape(-1, 2))


def check_columns(found: bhclust.Posterior, wanted: twin.Posterior, scale: float) -> None:
    assert close(found.log_marginal + math.log(wanted.alpha), wanted.log_h - sizes(wanted))
    assert close(found.log_tree, wanted.log_t)
    assert close(found.log_odds, wanted.log_odds, 1e-9, 1e-3 * scale)
    for column in ("r", "omega", "height"):
        assert close(getattr(found, column), getattr(wanted, column), 1e-9, 1e-3 * scale), column
    assert close(found.log_evidence, wanted.log_evidence_bound)


def sizes(wanted: twin.Posterior) -> np.ndarray:
    return np.array([math.lgamma(len(members)) for members in wanted.members])


def check_cuts(found: bhclust.Posterior, wanted: twin.Posterior) -> None:
    """Where no choice hangs on rounding, the nodes are the twin's."""
    inner = wanted.log_odds[wanted.n :]
    best = map_margin(wanted)
    if best > 1e-6:
        assert found.cut_nodes().tolist() == twin.cut_map(wanted)
    for threshold in (0.0, 0.1, 0.5, 0.99):
        if threshold == 0 or np.all(np.abs(inner - math.log(threshold / (1 - threshold))) > 1e-6):
            nodes = found.cut_nodes(rule="r", threshold=threshold)
            assert nodes.tolist() == twin.cut_r(wanted, threshold)
    if len(inner) < 2 or np.diff(np.sort(inner)).min() > 1e-6:
        for k in range(len(wanted.roots), wanted.n + 1):
            nodes = found.cut_nodes(n_clusters=k).tolist()
            assert nodes == twin.cut_n_clusters(wanted, k)
            labels = found.cut(n_clusters=k).tolist()
            values = found.log_marginal
            assert labels == twin.labels_of(nodes, wanted.children, wanted.n, values)


def map_margin(post: twin.Posterior) -> float:
    best, margin = list(post.log_h), math.inf
    for k, (left, right) in enumerate(post.children, start=post.n):
        apart = best[left] + best[right]
        margin = min(margin, abs(post.log_h[k] - apart))
        best[k] = max(post.log_h[k], apart)
    return margin


@pytest.mark.parametrize("name", NAMES)
def test_posterior_is_the_twins(name: str) -> None:
    @bounded(8)
    @given(scored_trees(name))
    def check(drawn: Any) -> None:
        case, n, children, alpha = drawn
        on_rows = case.log_marginal()
        wanted = twin.posterior(children, n, on_rows, alpha)
        X, family = case.cells, case.family
        found = bhclust.posterior(tree_of(n, children), X[:n], family, alpha=alpha)
        check_columns(found, wanted, magnitude(case, on_rows))
        check_cuts(found, wanted)
        check_predictions(found, wanted, X[n:], on_rows)

    check()


def check_predictions(
    found: bhclust.Posterior, wanted: twin.Posterior, X_new: np.ndarray, on_rows: twin.OnRows
) -> None:
    new = range(wanted.n, wanted.n + len(X_new))
    density = [twin.log_predictive(wanted, on_rows, i) for i in new]
    assert close(found.score_samples(X_new), density)
    nodes = found.cut_nodes().tolist()
    labels = found.cut()
    order = sorted(nodes, key=lambda k: int(labels[wanted.members[k][0]]))
    with np.errstate(divide="ignore"):
        proba = [np.log(twin.responsibilities(wanted, order, on_rows, i)) for i in new]
    kept = np.array(proba) > -300
    log_proba = found.predict_log_proba(X_new)
    assert close(np.where(kept, log_proba, 0.0), np.where(kept, proba, 0.0))
    assert close(np.exp(log_proba).sum(axis=1), np.ones(len(X_new)))


@pytest.mark.parametrize("name", NAMES)
def test_posterior_of_larger_trees_is_the_twins(name: str) -> None:
    case = random_case(name, 30, 0)
    on_rows = case.own_log_marginal()
    X, family = case.cells, case.family
    tree = bhclust.bhc(X[:26], family, alpha=0.6)
    children = [(int(a), int(b)) for a, b in tree.children]
    wanted = twin.posterior(children, 26, on_rows, 0.6)
    found = bhclust.posterior(tree, X[:26], family, alpha=0.6)
    check_columns(found, wanted, 1.0)
    assert map_margin(wanted) > 1e-6
    check_cuts(found, wanted)
    check_predictions(found, wanted, X[26:], on_rows)


@given(cases("NormalInverseGamma", least=2, most=6), st.data())
@bounded(10)
def test_posterior_is_the_enumeration_of_the_partitions(case: Case, data: Any) -> None:
    n = len(case.rows)
    children = random_children(data.draw, n, n - 1)
    on_rows = case.own_log_marginal()
    all_of_tree = twin.Enumeration.of_tree(children, n, on_rows, 0.8)
    found = bhclust.posterior(tree_of(n, children), case.cells, case.family, alpha=0.8)
    assert close(found.log_evidence, all_of_tree.log_evidence())
    assert close(found.omega.sum(), all_of_tree.expected_clusters())
    blocks = [all_of_tree.block_probability(m) for m in twin.members_of(children, n)]
    assert close(found.omega, blocks)
    together = all_of_tree.pair_probabilities()
    root = 2 * n - 2
    everyone = min(together[i, j] for i in range(n) for j in range(n))
    assert close(1 - found.height[root], everyone)
    assert found.log_evidence <= twin.Enumeration.of_all(n, on_rows, 0.8).log_evidence() + 1e-9


def test_score_samples_is_a_density() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(12, 3)).astype(float)
    everything = np.array([[i >> j & 1 for j in range(3)] for i in range(8)], dtype=float)
    family = bhclust.BernoulliBeta(a=0.4, b=0.8)
    found = bhclust.posterior(bhclust.bhc(bits, family), bits, family)
    assert close(np.exp(found.score_samples(everything)).sum(), 1.0, 1e-12)
    X = rng.normal(size=(15, 1))
    normal = bhclust.NormalInverseGamma(a=3.0)
    found = bhclust.posterior(bhclust.bhc(X, normal), X, normal)
    grid = np.linspace(-60, 60, 60001)
    density = np.exp(found.score_samples(grid[:, None], n_threads=1))
    assert close(density.sum() * (grid[1] - grid[0]), 1.0, 1e-4)


@pytest.fixture
def fitted() -> tuple[Case, bhclust.Tree, bhclust.Posterior]:
    case = random_case("NormalInverseGamma", 40, 7)
    tree = bhclust.bhc(case.cells, case.family)
    return case, tree, bhclust.posterior(tree, case.cells, case.family)


def test_any_form_of_the_tree_gives_the_same_posterior(fitted: Any) -> None:
    case, tree, wanted = fitted
    names = [f"row {i}; it's" for i in range(40)]
    forms: list[tuple[Any, dict[str, Any]]] = [
        (tree.to_linkage(), {}),
        (tree.to_linkage().tolist(), {}),
        (tree.to_newick(), {}),
        (tree.to_newick(names=names), {"names": names}),
        (bhclust.Tree.from_json(tree.to_json()), {}),
    ]
    for form, keywords in forms:
        found = bhclust.posterior(form, case.cells, case.family, **keywords)
        assert close(found.log_evidence, wanted.log_evidence, 1e-12)
        assert found.cut().tolist() == wanted.cut().tolist()


def test_posterior_of_wards_tree_is_a_bound_too(fitted: Any) -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    case, _, wanted = fitted
    family = bhclust.NormalInverseGamma(mean=0.1, kappa=0.5, a=1.5, b=1.0)
    X = np.nan_to_num(case.cells)
    own = bhclust.posterior(bhclust.bhc(X, family), X, family)
    ward = bhclust.posterior(hierarchy.ward(X), X, family)
    assert math.isfinite(ward.log_evidence)
    assert ward.log_evidence < own.log_evidence + 5.0
    assert wanted.tree.n_leaves == ward.tree.n_leaves


def test_columns_are_read_only_and_outlive_the_posterior(fitted: Any) -> None:
    case, tree, wanted = fitted
    kept = bhclust.posterior(tree, case.cells, case.family).log_odds
    assert kept.tobytes() == wanted.log_odds.tobytes()
    for column in ("log_marginal", "log_tree", "log_odds", "omega", "height"):
        values = getattr(wanted, column)
        assert values.shape == (tree.n_nodes,)
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1.0


def test_leaves_are_whole_and_heights_monotone(fitted: Any) -> None:
    _, tree, wanted = fitted
    assert np.isposinf(wanted.log_odds[:40]).all()
    assert (wanted.r[:40] == 1).all()
    assert (wanted.height[:40] == 0).all()
    below = tree.parent >= 0
    assert (wanted.height[below] <= wanted.height[tree.parent[below]]).all()
    assert ((wanted.height >= 0) & (wanted.height <= 1)).all()


def test_r_keeps_the_digits_of_small_probabilities() -> None:
    X = np.array([[0.0], [45.0]])
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=1e4)
    found = bhclust.posterior(bhclust.bhc(X, family), X, family)
    assert close(np.log(found.r[2]), found.log_odds[2], 1e-9)
    assert -1000 < found.log_odds[2] < -300


def test_linkage_cut_at_log_two_is_the_cut_by_r() -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    for seed in range(12):
        case = random_case("BernoulliBeta", 50, seed)
        tree = bhclust.bhc(case.cells, case.family, alpha=2.0)
        found = bhclust.posterior(tree, case.cells, case.family, alpha=2.0)
        Z = found.to_linkage()
        assert hierarchy.is_valid_linkage(Z)
        assert hierarchy.is_monotonic(Z)
        flat = hierarchy.fcluster(Z, math.log(2), "distance")
        ours = found.cut(rule="r", threshold=0.5)
        assert ((flat[:, None] == flat) == (ours[:, None] == ours)).all()


def test_newick_lengths_are_differences_of_height(fitted: Any) -> None:
    _, tree, wanted = fitted
    names = [f"r{i}" for i in range(40)]
    text = wanted.to_newick(names=names)
    assert bhclust.Tree.from_newick(text, names=names).n_merges == 39
    lengths = sum(float(part.split(")")[0].split(",")[0]) for part in text.split(":")[1:])
    below = tree.parent >= 0
    total = float((wanted.height[tree.parent[below]] - wanted.height[below]).sum())
    assert close(lengths, total)


def test_certainty_is_the_probability_of_the_rows_own_cluster(fitted: Any) -> None:
    _, _, wanted = fitted
    nodes, labels = wanted.cut_nodes(), wanted.cut()
    sure = wanted.certainty()
    assert ((sure > 0) & (sure <= 1)).all()
    for node in nodes:
        rows = np.flatnonzero(np.isclose(sure, min(wanted.omega[node], 1.0), rtol=1e-12))
        assert rows.size >= 1
    assert all(np.ptp(sure[labels == label]) == 0 for label in set(labels.tolist()))


@pytest.mark.parametrize("name", NAMES)
def test_predictions_do_not_depend_on_the_number_of_threads(name: str) -> None:
    case = random_case(name, 200, 8)
    X, family = case.cells, case.family
    found = bhclust.posterior(bhclust.bhc(X[:40], family), X[:40], family)
    density = found.score_samples(X[40:], n_threads=1).tobytes()
    proba = found.predict_log_proba(X[40:], n_threads=1).tobytes()
    for n_threads in (2, 3, None):
        assert found.score_samples(X[40:], n_threads=n_threads).tobytes() == density
        assert found.predict_log_proba(X[40:], n_threads=n_threads).tobytes() == proba


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_and_dense_tables_predict_the_same(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 40, 9)
    X, family = case.cells, case.family
    tree = bhclust.bhc(X[:30], family)
    dense = bhclust.posterior(tree, X[:30], family)
    found = bhclust.posterior(tree, sparse.csr_array(X[:30]), family)
    assert close(found.log_odds, dense.log_odds, 1e-10)
    for X_new in (X[30:], sparse.csr_matrix(X[30:])):
        assert close(found.score_samples(X_new), dense.score_samples(X[30:]), 1e-10)
        assert close(found.predict_log_proba(X_new), dense.predict_log_proba(X[30:]), 1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_posterior_is_the_same(name: str) -> None:
    case = random_case(name, 30, 10)
    tree = bhclust.bhc(case.cells, case.family)
    found = bhclust.posterior(tree, case.cells, case.family, alpha=0.3)
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert again.tree == found.tree
        assert again.family == found.family
        assert again.alpha == found.alpha
        for column in COLUMNS:
            assert getattr(again, column).tobytes() == getattr(found, column).tobytes()
        assert (
            again.score_samples(case.cells).tobytes() == found.score_samples(case.cells).tobytes()
        )


def test_a_saved_posterior_of_sparse_rows_is_the_same() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case("PoissonGamma", 20, 11)
    X = sparse.csr_array(case.cells)
    found = bhclust.posterior(bhclust.bhc(X, case.family), X, case.family)
    again = pickle.loads(pickle.dumps(found))
    assert again.score_samples(X).tobytes() == found.score_samples(X).tobytes()


def test_the_table_may_change_after_the_posterior_was_made() -> None:
    """Predictions come from the rows that were scored, whatever their owner does with the array."""
    case = random_case("NormalInverseWishart", 20, 12)
    X = case.cells
    found = bhclust.posterior(bhclust.bhc(X, case.family), X, case.family)
    wanted = found.score_samples(case.cells)
    X += 100.0
    assert found.score_samples(case.cells).tobytes() == wanted.tobytes()


def test_labels_of_ones_own_may_be_given() -> None:
    X = np.array([[0.0], [0.5], [10.0]])
    family = bhclust.NormalKnownVariance(prior_variance=100.0)
    found = bhclust.posterior(bhclust.bhc(X, family), X, family)
    for labels in ([0, 0, 1], np.array([0, 0, 1], dtype=np.uint8)):
        log_proba = found.predict_log_proba([[0.2], [9.0]], labels)
        assert log_proba.shape == (2, 3)
        assert np.argmax(log_proba, axis=1).tolist() == [0, 1]


def test_one_row_is_one_cluster() -> None:
    family = bhclust.PoissonGamma()
    found = bhclust.posterior(bhclust.bhc([[3.0, 1.0]], family), [[3.0, 1.0]], family, alpha=2.0)
    assert found.cut().tolist() == [0]
    assert close(found.log_evidence, found.log_marginal[0], 1e-12)
    assert found.predict_log_proba([[3.0, 1.0]]).shape == (1, 2)
    assert found.to_linkage().shape == (0, 4)
    assert repr(found) == "<bhclust.Posterior of 1 rows, PoissonGamma>"


def test_the_evidence_of_tight_clusters_far_apart_does_not_cancel() -> None:
    """The root as one cluster is 1e18 nats worse than its parts, whose sum the evidence then is."""
    rng = np.random.default_rng(0)
    X = rng.normal(0, 1e9, (3, 2)).repeat(10, 0) + rng.normal(0, 1, (30, 2))
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=1e18)
    post = bhclust.posterior(bhclust.bhc(X, family), X, family)
    parts = post.cut_nodes()
    best = post.log_tree[parts].sum() - math.lgamma(31)
    assert len(parts) == 3
    assert post.log_evidence == pytest.approx(best, abs=1e-6)


def test_an_unrooted_newick_text_is_resolved_on_request() -> None:
    X = np.array([[0.0], [1.0], [5.0]])
    family = bhclust.NormalKnownVariance()
    with pytest.raises(ValueError, match="resolve=True"):
        bhclust.posterior("(0,1,2);", X, family)
    assert bhclust.posterior("(0,1,2);", X, family, resolve=True).tree.n_merges == 2


def test_names_and_resolve_are_for_newick_text_alone() -> None:
    X = [[0.0], [1.0], [5.0]]
    family = bhclust.NormalInverseGamma.from_data(X)
    tree = bhclust.bhc(X, family)
    for other in (tree, tree.to_linkage()):
        with pytest.raises(ValueError, match=r"names is given, which is for Newick text alone"):
            bhclust.posterior(other, X, family, names=["a", "b", "c"])
        with pytest.raises(ValueError, match=r"resolve is given, which is for Newick text alone"):
            bhclust.posterior(other, X, family, resolve=True)
    text = tree.to_newick(names=["a", "b", "c"])
    assert bhclust.posterior(text, X, family, names=["a", "b", "c"]).tree.n_leaves == 3
