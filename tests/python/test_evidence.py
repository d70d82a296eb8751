"""Bounds of the evidence, and what the posterior says of partitions, against enumeration."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import bhc as twin

import bhclust
from cases import NAMES, Case, bounded, cases, random_case

BOUNDS = ("tree", "relocations-two", "relocations", "joint", "all_pairs")


def fit(case: Case, alpha: float) -> bhclust.Posterior:
    tree = bhclust.bhc(case.cells, case.family, alpha=alpha)
    return bhclust.posterior(tree, case.cells, case.family, alpha=alpha)


def tree_enumeration(case: Case, post: bhclust.Posterior) -> twin.Enumeration:
    children = [tuple(pair) for pair in post.tree.children.tolist()]
    return twin.Enumeration.of_tree(children, len(case.rows), case.own_log_marginal(), post.alpha)


def labels_of(partition: list[list[int]], n: int) -> list[int]:
    labels = [0] * n
    for label, block in enumerate(sorted(partition)):
        for i in block:
            labels[i] = label
    return labels


@pytest.mark.parametrize("name", NAMES)
def test_bounds_rise_to_the_evidence(name: str) -> None:
    @bounded(8)
    @given(cases(name, most=7), st.sampled_from([0.2, 1.0, 4.0]))
    def check(case: Case, alpha: float) -> None:
        post = fit(case, alpha)
        exact = bhclust.exact_log_evidence(case.cells, case.family, alpha=alpha)
        values = [post.log_evidence_bound(kind) for kind in BOUNDS] + [exact]
        slack = 1e-9 * (1 + np.abs(values).max())
        assert np.all(np.diff(values) >= -slack)
        if len(case.rows) <= 3:
            np.testing.assert_allclose(values[1:], exact, atol=slack)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_exact_evidence_is_the_sum_over_partitions(name: str) -> None:
    case = random_case(name, 6, 0)
    enumeration = twin.Enumeration.of_all(6, case.own_log_marginal(), 1.3)
    exact = bhclust.exact_log_evidence(case.cells, case.family, alpha=1.3)
    assert exact == pytest.approx(enumeration.log_evidence(), rel=1e-11)


@pytest.mark.parametrize("kind", BOUNDS[1:4])
def test_bound_is_the_sum_over_the_partitions_it_names(kind: str) -> None:
    """Each partition is counted once: the bound is the sum over all distinct ones it reaches."""
    case = random_case("PoissonGamma", 7, 3)
    post = fit(case, 0.8)
    reached = {frozenset(frozenset(b) for b in p) for p in tree_enumeration(case, post).partitions}
    if kind != "joint":
        for _, tree in relocated(post, kind):
            children = [tuple(pair) for pair in tree.children.tolist()]
            moved = twin.Enumeration.of_tree(children, 7, case.own_log_marginal(), 0.8)
            reached |= {frozenset(frozenset(b) for b in p) for p in moved.partitions}
        partitions = [[sorted(b) for b in p] for p in reached]
        total = twin.Enumeration(partitions, case.own_log_marginal(), 0.8).log_evidence()
        assert post.log_evidence_bound(kind) == pytest.approx(total, rel=1e-10)
    else:
        assert post.log_evidence_bound(kind) >= post.log_evidence_bound("relocations") - 1e-9


def relocated(post: bhclust.Posterior, kind: str) -> list[tuple[float, bhclust.Tree]]:
    alternatives = post.alternative_trees(100)
    if kind == "relocations":
        return alternatives
    two = post.log_evidence_bound("relocations-two") - post.log_evidence_bound("tree")
    chosen = [(gain, tree) for gain, tree in alternatives if opens_the_larger(post.tree, tree)]
    assert np.logaddexp.reduce([0.0] + [gain for gain, _ in chosen]) == pytest.approx(two, rel=1e-9)
    return chosen


def opens_the_larger(old: bhclust.Tree, new: bhclust.Tree) -> bool:
    """Whether the node that the relocation dissolved was the larger child, of equals the left."""
    n = old.n_leaves
    olds = twin.members_of([tuple(c) for c in old.children.tolist()], n)
    news = {frozenset(m) for m in twin.members_of([tuple(c) for c in new.children.tolist()], n)}
    gone = next(k for k in range(n, old.n_nodes) if frozenset(olds[k]) not in news)
    left, right = old.children[old.parent[gone] - n]
    larger = left if old.size[left] >= old.size[right] else right
    return bool(gone == larger)


def test_gains_are_what_the_alternative_trees_add() -> None:
    case = random_case("NormalInverseGamma", 9, 1)
    post = fit(case, 1.0)
    gains = post.relocation_gains()
    assert gains.shape == (8,)
    total = np.logaddexp.reduce(np.concatenate([[0.0], gains]))
    bound = post.log_evidence_bound("relocations") - post.log_evidence_bound("tree")
    assert bound == pytest.approx(total, rel=1e-9)
    listed = post.alternative_trees(100)
    assert [gain for gain, _ in listed] == sorted((gain for gain, _ in listed), reverse=True)
    assert np.logaddexp.reduce([gain for gain, _ in listed]) == pytest.approx(
        np.logaddexp.reduce(gains), rel=1e-9
    )
    assert len(post.alternative_trees(2)) == 2


@pytest.mark.parametrize("name", NAMES)
def test_partitions_against_enumeration(name: str) -> None:
    @bounded(5)
    @given(cases(name, least=2, most=7), st.sampled_from([0.3, 1.0, 3.0]))
    def check(case: Case, alpha: float) -> None:
        n = len(case.rows)
        post = fit(case, alpha)
        every = tree_enumeration(case, post)
        sizes = np.array([len(p) for p in every.partitions])
        expected = [every.probabilities[sizes == m].sum() for m in range(1, n + 1)]
        np.testing.assert_allclose(post.n_clusters_distribution(), expected, atol=1e-9)
        np.testing.assert_allclose(post.expected_n_clusters(), every.expected_clusters(), rtol=1e-8)
        np.testing.assert_allclose(post.coclustering(), every.pair_probabilities(), atol=1e-9)
        check_best_of_each_number(post, every, sizes)
        check_binder(post, every)
        check_entropy(post)

    check()


def check_best_of_each_number(
    post: bhclust.Posterior, every: twin.Enumeration, sizes: np.ndarray[Any, Any]
) -> None:
    weights = np.array(every.log_weights)
    for count in range(1, every.n + 1):
        labels = post.cut(rule="map", n_clusters=count)
        found = [np.flatnonzero(labels == c).tolist() for c in range(count)]
        assert labels.max() + 1 == count
        assert every.log_weight(found) >= weights[sizes == count].max() - 1e-8 * (
            1 + np.abs(weights).max()
        )


def check_binder(post: bhclust.Posterior, every: twin.Enumeration) -> None:
    together = every.pair_probabilities()

    def loss(labels: Any) -> float:
        same = np.equal.outer(labels, labels)
        return float(np.triu(np.where(same, 1 - together, together), 1).sum())

    least = min(loss(np.array(labels_of(p, every.n))) for p in every.partitions)
    assert loss(post.cut(rule="binder")) == pytest.approx(least, abs=1e-8)


def check_entropy(post: bhclust.Posterior) -> None:
    for i, entropy in enumerate(post.path_entropy()):
        path, node = [], i
        while node >= 0:
            path.append(post.omega[node])
            node = int(post.tree.parent[node])
        assert sum(path) == pytest.approx(1.0, abs=1e-9)
        positive = np.array([w for w in path if w > 0])
        assert entropy == pytest.approx(float(-(positive * np.log(positive)).sum()), abs=1e-9)


def test_samples_have_the_posterior_frequencies() -> None:
    case = random_case("NormalInverseGamma", 6, 5)
    post = fit(case, 2.0)
    every = tree_enumeration(case, post)
    draws = 20_000
    samples = post.sample_partitions(draws, random_state=7)
    np.testing.assert_array_equal(samples, post.sample_partitions(draws, random_state=7))
    counts = Counter(tuple(np.unique(labels, return_index=True)[1][labels]) for labels in samples)
    for q, partition in zip(every.probabilities, every.partitions, strict=True):
        expected = float(q) * draws
        first = {i: min(block) for block in partition for i in block}
        found = counts.pop(tuple(first[i] for i in range(6)), 0)
        assert abs(found - expected) <= 5 * np.sqrt(expected) + 5
    assert not counts


def test_forests() -> None:
    case = random_case("NormalKnownVariance", 12, 2)
    forest = bhclust.rbhc(case.cells, case.family, n_clusters=3)
    post = bhclust.posterior(forest, case.cells, case.family)
    roots = forest.cut(n_clusters=3)
    together = post.coclustering()
    assert np.all(together[np.not_equal.outer(roots, roots)] == 0)
    counts = post.n_clusters_distribution()
    assert counts[:2].tolist() == [0, 0]
    assert counts.sum() == pytest.approx(1.0)
    for kind in BOUNDS:
        assert np.isfinite(post.log_evidence_bound(kind))
    assert post.cut(rule="map", n_clusters=4).max() == 3
    with pytest.raises(ValueError, match=r"max_clusters is 2; the forest has 3 root"):
        post.n_clusters_distribution(2)


def test_coclustering_of_pairs_and_blocks() -> None:
    case = random_case("PoissonGamma", 20, 4)
    post = fit(case, 1.0)
    full = post.coclustering()
    i, j = np.array([0, 3, 7]), np.array([5, 3, 2])
    np.testing.assert_array_equal(post.coclustering(i, j), full[i, j])
    np.testing.assert_array_equal(post.coclustering(i), full[np.ix_(i, i)])
    assert post.coclustering(4, 9) == full[4, 9]
    with pytest.raises(ValueError, match=r"i must be from 0 to 19"):
        post.coclustering(20, 0)
    with pytest.raises(TypeError, match=r"j must be a row number"):
        post.coclustering(0, 0.5)


def test_refusals() -> None:
    case = random_case("PoissonGamma", 16, 6)
    post = fit(case, 1.0)
    with pytest.raises(ValueError, match=r"X has 16 rows.*at most 15"):
        bhclust.exact_log_evidence(case.cells, case.family)
    with pytest.raises(ValueError, match=r"kind is 'tight'"):
        post.log_evidence_bound("tight")
    with pytest.raises(ValueError, match=r"rule=\"binder\" chooses the number"):
        post.cut(rule="binder", n_clusters=3)
    with pytest.raises(ValueError, match=r"random_state is -1"):
        post.sample_partitions(random_state=-1)
    with pytest.raises(ValueError, match=r"n_clusters is 17"):
        post.cut(rule="map", n_clusters=17)


def test_a_chain_of_a_million_leaves() -> None:
    n = 1_000_000
    children = np.empty((n - 1, 2), dtype=np.int64)
    children[0] = 0, 1
    children[1:, 0] = np.arange(n, 2 * n - 2)
    children[1:, 1] = np.arange(2, n)
    tree = bhclust.Tree.from_children(n, children)
    X = (np.arange(n) % 3 == 0).astype(float).reshape(-1, 1)
    post = bhclust.posterior(tree, X, bhclust.BernoulliBeta())
    assert post.log_evidence_bound("joint") >= post.log_evidence_bound("relocations")
    assert post.n_clusters_distribution(5).shape == (5,)
    assert post.cut(rule="binder").shape == post.cut(rule="map", n_clusters=4).shape == (n,)
    assert post.sample_partitions(1).shape == (1, n)
    assert 0 <= post.coclustering(0, n - 1) <= post.coclustering(0, 1) <= 1
    assert post.path_entropy().min() >= 0
