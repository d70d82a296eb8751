"""Groups of rows by their sufficient statistics: the same as rows, and the same as enumeration."""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import bhc as twin

import bhclust
from cases import NAMES, Case, bounded, cases, close, magnitude, random_case


def labels_of(n: int, groups: int, seed: int = 0) -> np.ndarray:
    """Random groups, none of them empty."""
    rng = np.random.default_rng(seed)
    return rng.permutation(
        np.concatenate([np.arange(groups), rng.integers(groups, size=n - groups)])
    )


@st.composite
def grouped_cases(draw: Any, name: str, most: int = 9) -> tuple[Case, list[int]]:
    case = draw(cases(name, least=1, most=most))
    n = len(case.rows)
    labels = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return case, np.unique(labels, return_inverse=True)[1].tolist()


def members(labels: list[int]) -> list[list[int]]:
    return [np.flatnonzero(np.array(labels) == g).tolist() for g in range(max(labels) + 1)]


def rows_of(groups: list[list[int]], chosen: list[int]) -> list[int]:
    return [i for g in chosen for i in groups[g]]


def on_groups(groups: list[list[int]], on_rows: twin.OnRows, *, sizes: bool = True) -> twin.OnRows:
    """A function of rows as one of groups, for the slow twins, which count groups.

    With ``sizes`` the prior's factorials of the numbers of rows come into the likelihood in place
    of the twins' own.
    """

    def of_groups(chosen: list[int]) -> float:
        rows = rows_of(groups, chosen)
        more = math.lgamma(len(rows)) - math.lgamma(len(chosen)) if sizes and chosen else 0.0
        return on_rows(rows) + more

    return of_groups


def pairs(tree: bhclust.Tree) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in tree.children]


def tolerance_of(case: Case) -> float:
    return 1e-9 + 1e-11 * magnitude(case, case.log_marginal())


@pytest.mark.parametrize("name", NAMES)
def test_the_evidence_of_groups_is_the_sum_over_their_partitions(name: str) -> None:
    @bounded(15)
    @given(grouped_cases(name, most=8), st.sampled_from([0.3, 1.0, 7.0]))
    def check(given_case: tuple[Case, list[int]], alpha: float) -> None:
        case, labels = given_case
        groups, n = members(labels), len(case.rows)
        S = case.family.statistics(case.cells, labels)
        own = on_groups(groups, case.log_marginal())
        weights = [
            sum(math.log(alpha) + math.lgamma(len(c)) + own(c) for c in partition)
            for partition in twin.set_partitions(len(groups))
        ]
        wanted = np.logaddexp.reduce(weights) + math.lgamma(alpha) - math.lgamma(alpha + n)
        found = bhclust.exact_log_evidence(S, alpha=alpha)
        assert close(found, wanted, 1e-9, tolerance_of(case) / 1e-9)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_the_posterior_of_groups_is_that_of_the_partitions_that_keep_them(name: str) -> None:
    @bounded(12)
    @given(grouped_cases(name, most=9), st.sampled_from([0.4, 3.0]))
    def check(given_case: tuple[Case, list[int]], alpha: float) -> None:
        case, labels = given_case
        groups, n = members(labels), len(case.rows)
        S = case.family.statistics(case.cells, labels)
        tree = bhclust.bhc(S, alpha=alpha)
        post = bhclust.posterior(tree, S, alpha=alpha)
        own = on_groups(groups, case.log_marginal())
        weight = {
            k: math.log(alpha) + math.lgamma(len(leaves)) + own(leaves)
            for k, leaves in enumerate(twin.members_of(pairs(tree), len(groups)))
        }
        below = twin.partitions_below(pairs(tree), len(groups))
        wanted = [np.logaddexp.reduce([sum(weight[k] for k in p) for p in ps]) for ps in below]
        tolerance = tolerance_of(case)
        assert close(post.log_tree, wanted, 1e-9, tolerance / 1e-9)
        normal = math.lgamma(alpha) - math.lgamma(alpha + n)
        assert close(post.log_evidence, wanted[-1] + normal, 1e-9, tolerance / 1e-9)
        slow = twin.posterior(pairs(tree), len(groups), own, alpha)
        assert close(post.omega, slow.omega, 1e-6, max(1.0, 1e6 * tolerance))
        assert post.log_evidence <= bhclust.exact_log_evidence(S, alpha=alpha) + tolerance

    check()


def expanded(tree: bhclust.Tree, groups: list[list[int]]) -> tuple[bhclust.Tree, list[int]]:
    """The tree over the rows with a chain below each group, and the node of each group's node."""
    n = sum(map(len, groups))
    children: list[tuple[int, int]] = []
    node_of: list[int] = []
    for rows in groups:
        node = rows[0]
        for row in rows[1:]:
            children.append((node, row))
            node = n + len(children) - 1
        node_of.append(node)
    for left, right in tree.children:
        children.append((node_of[left], node_of[right]))
        node_of.append(n + len(children) - 1)
    return bhclust.Tree.from_children(n, np.array(children).reshape(-1, 2)), node_of


@pytest.mark.parametrize("name", NAMES)
def test_marginal_likelihoods_are_those_of_the_tree_over_the_rows(name: str) -> None:
    case = random_case(name, 60, 4)
    labels = labels_of(60, 20)
    S = case.family.statistics(case.cells, labels)
    tree = bhclust.bhc(S)
    rows, node_of = expanded(tree, members(labels.tolist()))
    of_rows = bhclust.posterior(rows, case.cells, case.family)
    of_groups = bhclust.posterior(tree, S)
    assert np.allclose(of_groups.log_marginal, of_rows.log_marginal[node_of], rtol=1e-10)
    # Rows' trees allow more partitions, each with the same weight.
    assert of_groups.log_evidence <= of_rows.log_evidence


@pytest.mark.parametrize("name", NAMES)
def test_groups_of_one_row_are_the_rows(name: str) -> None:
    case = random_case(name, 70, 2)
    S = case.family.statistics(case.cells)
    assert S.n_groups == S.n_rows == 70
    assert (S.weights == 1).all()
    X, family = case.cells, case.family
    grow: dict[str, Any] = {
        "bhc": lambda X: bhclust.bhc(X, family, alpha=2.0),
        "bayes k-means": lambda X: bhclust.bayes_kmeans_bhc(X, family, alpha=2.0, random_state=1),
        "randomised": lambda X: bhclust.randomized_bhc(X, family, subset=20, random_state=1),
        "chain": lambda X: bhclust.rbhc(X, family, method="nn-chain"),
        "automatic": lambda X: bhclust.rbhc(X, family),
        "greedy rbhc": lambda X: bhclust.rbhc(X, family, method="greedy"),
        "refined": lambda X: bhclust.refine(bhclust.rbhc(case.cells, family), X, family),
    }
    for what, grown in grow.items():
        tree, of_groups = grown(X), grown(S)
        assert np.array_equal(tree.children, of_groups.children), what
        if "refined" not in what:
            kind = "cost" if "rbhc" in what or what in ("chain", "automatic") else "log_d"
            assert np.allclose(getattr(tree, kind), getattr(of_groups, kind), rtol=1e-8, atol=1e-8)
    post, of_groups = bhclust.posterior(tree, X, family), bhclust.posterior(tree, S)
    # Rows may be kept in another form than groups, which shows in the last bits.
    for what in (
        lambda p: p.log_tree,
        lambda p: p.log_evidence,
        lambda p: p.log_evidence_bound("joint"),
        lambda p: p.score_samples(X[:9]),
        lambda p: p.predict_log_proba(X[:9]),
        lambda p: p.explain(100).columns,
    ):
        np.testing.assert_allclose(what(of_groups), what(post), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_merge_of_groups_is_greedys(name: str) -> None:
    case = random_case(name, 40, 7)
    labels = labels_of(40, 12, 3)
    groups, alpha = members(labels.tolist()), 1.5
    S = case.family.statistics(case.cells, labels)
    tree = bhclust.bhc(S, alpha=alpha)
    own = on_groups(groups, case.log_marginal())
    twin.replay_greedy(pairs(tree), 12, own, alpha, tol=tolerance_of(case))
    slow = twin.posterior(pairs(tree), 12, own, alpha)
    assert np.allclose(tree.log_d, -slow.log_odds[12:], rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_the_costs_of_relaxed_trees_are_divergences_of_groups(name: str) -> None:
    case = random_case(name, 40, 8)
    labels = labels_of(40, 12, 5)
    S = case.family.statistics(case.cells, labels)
    potential = on_groups(members(labels.tolist()), case.potential(), sizes=False)
    tolerance = 1e-9 + 1e-11 * magnitude(case, case.potential())
    for method in ("auto", "nn-chain", "greedy"):
        tree = bhclust.rbhc(S, method=method)
        scores = twin.RbhcScores(12, potential)
        costs = []
        for left, right in pairs(tree):
            costs.append(scores.cost(left, right))
            scores.join(left, right)
        assert np.allclose(tree.cost, costs, rtol=1e-7, atol=tolerance)
    twin.replay_rbhc(pairs(tree), 12, potential, tol=tolerance)


def test_rounds_of_groups_are_greedys() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3)) + 6 * rng.integers(4, size=(900, 1))
    family = bhclust.NormalKnownVariance(variance=[1.0, 2.0, 0.5])
    labels = labels_of(900, 250, 1)
    S = family.statistics(X, labels)
    rounds = bhclust.rbhc(S, method="rounds")
    greedy = bhclust.rbhc(S, method="greedy")
    assert np.allclose(np.sort(rounds.cost), np.sort(greedy.cost), rtol=1e-9)
    a, b = (bhclust.posterior(t, S).log_evidence for t in (rounds, greedy))
    assert a == pytest.approx(b, rel=1e-12)
    forest = bhclust.rbhc(S, lam=float(np.sort(rounds.cost)[-5]))
    assert len(forest.roots) == 6


def test_equal_means_of_different_weights_are_joined_at_no_cost() -> None:
    family = bhclust.NormalKnownVariance()
    X = np.array([[0.0], [0.0], [0.0], [5.0], [5.0], [9.0]])
    S = family.statistics(X, [0, 1, 1, 2, 3, 4])
    tree = bhclust.rbhc(S, method="rounds")
    greedy = bhclust.rbhc(S, method="greedy")
    assert np.allclose(tree.cost, greedy.cost)
    assert (tree.cost[:2] == 0).all()


def test_rounds_need_a_mean_of_all_rows_in_every_column() -> None:
    X = np.array([[0.0, 1.0], [math.nan, 2.0], [3.0, 1.0]])
    S = bhclust.NormalKnownVariance().statistics(X, [0, 0, 1])
    with pytest.raises(ValueError, match="rounds need NormalKnownVariance"):
        bhclust.rbhc(S, method="rounds")
    assert bhclust.rbhc(S).n_leaves == 2


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_repeated_rows(name: str) -> None:
    case = random_case(name, 12, 5)
    weights = np.array([1, 2, 3, 1, 1, 7, 1, 20, 1, 1, 4, 1])
    repeated = np.repeat(np.arange(12), weights)
    S = case.family.statistics(case.cells, weights=weights)
    T = case.family.statistics(case.cells[repeated], repeated)
    assert np.array_equal(S.weights, T.weights)
    assert np.array_equal(S.weights, weights)
    assert np.allclose(S.values, T.values, rtol=1e-12, atol=1e-10)
    tree = bhclust.bhc(S)
    assert np.array_equal(tree.children, bhclust.bhc(T).children)
    assert bhclust.posterior(tree, S).log_evidence == pytest.approx(
        bhclust.posterior(tree, T).log_evidence, rel=1e-10
    )


@pytest.mark.parametrize("name", NAMES)
def test_merging_is_grouping(name: str) -> None:
    case = random_case(name, 30, 6)
    labels, above = labels_of(30, 10), labels_of(10, 4, 1)
    S = case.family.statistics(case.cells, labels).merge(above)
    T = case.family.statistics(case.cells, above[labels])
    assert np.array_equal(S.weights, T.weights)
    assert np.allclose(S.values, T.values, rtol=1e-10, atol=1e-8)


def test_new_rows_join_clusters_by_their_numbers_of_rows() -> None:
    case = random_case("PoissonGamma", 30, 9)
    labels = labels_of(30, 8)
    own = case.log_marginal()
    S = case.family.statistics(case.cells[:29], np.unique(labels[:29], return_inverse=True)[1])
    groups = members(np.unique(labels[:29], return_inverse=True)[1].tolist())
    alpha = 2.0
    tree = bhclust.bhc(S, alpha=alpha)
    post = bhclust.posterior(tree, S, alpha=alpha)
    terms = [math.log(alpha / (29 + alpha)) + own([29])]
    for node, leaves in enumerate(twin.members_of(pairs(tree), len(groups))):
        rows = rows_of(groups, leaves)
        weight = post.omega[node] * len(rows) / (29 + alpha)
        terms.append(math.log(max(weight, 1e-300)) + own([*rows, 29]) - own(rows))
    density = np.logaddexp.reduce(terms)
    assert post.score_samples(case.cells[29:]) == pytest.approx([density], rel=1e-9)
    flat = post.cut()
    log_proba = []
    for c in range(flat.max() + 1):
        rows = rows_of(groups, np.flatnonzero(flat == c).tolist())
        log_proba.append(math.log(len(rows)) + own([*rows, 29]) - own(rows))
    log_proba.append(math.log(alpha) + own([29]))
    wanted = np.array(log_proba) - np.logaddexp.reduce(log_proba)
    assert np.allclose(post.predict_log_proba(case.cells[29:])[0], wanted, atol=1e-8)


def test_clusters_are_numbered_by_their_rows() -> None:
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=2500.0)
    near = np.linspace(-0.5, 0.5, 5)[:, np.newaxis]
    X = np.concatenate([near, 80 + np.repeat(near, 4, axis=0)])
    S = family.statistics(X, groups=[0, 1, 2, 3, 4, *[5] * 20])
    post = bhclust.posterior(bhclust.bhc(S), S)
    assert post.cut().tolist() == [1, 1, 1, 1, 1, 0]
    assert post.sample_partitions(1).tolist() == [[1, 1, 1, 1, 1, 0]]
    assert bhclust.BHC().fit_statistics(S).labels_.tolist() == [1, 1, 1, 1, 1, 0]


def test_binder_counts_pairs_of_rows() -> None:
    case = random_case("NormalInverseGamma", 40, 1)
    labels = np.minimum(labels_of(40, 6, 2), 5)
    S = case.family.statistics(case.cells, labels)
    tree = bhclust.bhc(S, alpha=3.0)
    post = bhclust.posterior(tree, S, alpha=3.0)
    together, w = post.coclustering(), S.weights

    def loss(partition: list[list[int]]) -> float:
        where = {g: c for c, cluster in enumerate(partition) for g in cluster}
        return sum(
            w[a] * w[b] * ((1 - together[a, b]) if where[a] == where[b] else together[a, b])
            for a, b in itertools.combinations(range(6), 2)
        )

    leaves = twin.members_of(pairs(tree), 6)
    best = min(([leaves[k] for k in p] for p in twin.tree_partitions(pairs(tree), 6)), key=loss)
    cut = post.cut(rule="binder")
    found = [np.flatnonzero(cut == c).tolist() for c in range(cut.max() + 1)]
    assert loss(found) == pytest.approx(loss(best), abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_bounds_lie_between_the_trees_and_the_evidence(name: str) -> None:
    case = random_case(name, 30, 3)
    S = case.family.statistics(case.cells, labels_of(30, 7))
    post = bhclust.posterior(bhclust.bhc(S, alpha=2.0), S, alpha=2.0)
    kinds = ("tree", "relocations", "joint", "all_pairs")
    bounds = [post.log_evidence_bound(kind) for kind in kinds]
    bounds.append(bhclust.exact_log_evidence(S, alpha=2.0))
    assert all(a <= b + 1e-9 * abs(b) for a, b in itertools.pairwise(bounds))


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_the_log_odds_sum_to_them(name: str) -> None:
    case = random_case(name, 30, 3)
    S = case.family.statistics(case.cells, labels_of(30, 7))
    post = bhclust.posterior(bhclust.bhc(S), S)
    found = post.explain(12)
    total = found.columns.sum() + found.prior + found.children
    assert total == pytest.approx(found.log_odds, rel=1e-7, abs=1e-7)


def test_the_gradient_by_alpha_counts_rows() -> None:
    from bhclust import _core

    case = random_case("BernoulliBeta", 30, 3)
    S = case.family.statistics(case.cells, labels_of(30, 7))
    tree = bhclust.bhc(S)

    def bound(alpha: float) -> float:
        return bhclust.posterior(tree, S, alpha=alpha).log_evidence

    found = bhclust.posterior(tree, S, alpha=1.3)
    by_alpha, _ = _core.gradient_of_evidence(tree, found._found, S._table, S.family, None)
    assert by_alpha == pytest.approx((bound(1.3001) - bound(1.2999)) / 2e-4, rel=1e-5)


def test_refining_raises_the_evidence_of_groups() -> None:
    case = random_case("NormalInverseGamma", 60, 3)
    S = case.family.statistics(case.cells, labels_of(60, 15))
    tree = bhclust.Tree.from_children(15, [(0, 1), *((15 + t, t + 2) for t in range(13))])
    before = bhclust.posterior(tree, S).log_evidence
    after = bhclust.posterior(bhclust.refine(tree, S), S).log_evidence
    assert after > before
    assert after >= bhclust.posterior(bhclust.bhc(S), S).log_evidence - 1e-6


def test_approximate_trees_of_all_groups_at_once_are_greedys() -> None:
    case = random_case("BernoulliBeta", 80, 3)
    S = case.family.statistics(case.cells, labels_of(80, 25))
    exact = bhclust.bhc(S)
    alone = bhclust.bayes_kmeans_bhc(S, seeds=range(25), merge=False)
    assert np.array_equal(exact.children, alone.children)
    assert np.allclose(exact.log_d, alone.log_d, rtol=1e-9, atol=1e-9)
    assert np.array_equal(exact.children, bhclust.randomized_bhc(S, subset=25).children)


def test_assignments_of_groups_weigh_their_rows() -> None:
    """Of two seeds each group joins the one whose marginal likelihood rises more, by its rows."""
    case = random_case("NormalInverseGamma", 60, 11)
    labels = labels_of(60, 10)
    groups, own, alpha = members(labels.tolist()), case.log_marginal(), 0.7
    S = case.family.statistics(case.cells, labels)
    clusters = [[2], [5]]
    scored = [[2], [5]]  # as of when they had last grown by a quarter

    def log_h(cluster: list[int]) -> float:
        rows = rows_of(groups, cluster)
        return math.log(alpha) + math.lgamma(len(rows)) + own(rows)

    for g in set(range(10)) - {2, 5}:
        gains = [log_h([*c, g]) - log_h(c) for c in scored] + [log_h([g])]
        best = int(np.argmax(gains))
        if best == len(clusters):
            clusters.append([g])
            scored.append([g])
            continue
        clusters[best].append(g)
        before, now = (len(rows_of(groups, c)) for c in (scored[best], clusters[best]))
        if 4 * (now - before) >= before:
            scored[best] = list(clusters[best])
    tree = bhclust.bayes_kmeans_bhc(S, alpha=alpha, seeds=[2, 5], merge=False)
    found = {tuple(leaves) for leaves in twin.members_of(pairs(tree), 10)}
    assert {tuple(sorted(c)) for c in clusters} <= found


def test_estimators_take_statistics() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 9])
    labels = np.concatenate([labels_of(200, 20), 20 + labels_of(200, 20)])
    family = bhclust.NormalInverseGamma()
    S = family.statistics(X, labels)
    est = bhclust.BHC().fit_statistics(S)
    assert est.n_clusters_ == 2
    assert est.labels_.shape == (40,)
    assert (est.predict(X) == (X[:, 0] > 4.5)).all()
    assert est.predict_proba(X[:3]).shape == (3, 3)
    assert est.family_ == family
    assert est.n_features_in_ == 2
    assert est.score(X) == pytest.approx(est.posterior_.score_samples(X).mean())
    filled = est.impute(np.array([[9.0, math.nan]]))
    assert abs(filled[0, 1] - 9) < 1
    assert est.sample(4)[0].shape == (4, 2)
    with pytest.raises(ValueError, match="cells are not known"):
        est.impute()
    ward = bhclust.NormalKnownVariance().statistics(X, labels)
    forest = bhclust.RBHC(n_clusters=2).fit_statistics(ward)
    assert (forest.predict(X) == (X[:, 0] > 4.5)).all()
    assert forest.lam_ == math.inf
    again = pickle.loads(pickle.dumps(forest))
    assert np.array_equal(again.predict(X), forest.predict(X))


def test_saved_models_of_groups_are_read_again(tmp_path: Any) -> None:
    case = random_case("CategoricalDirichlet", 50, 3)
    S = case.family.statistics(case.cells, labels_of(50, 15))
    est = bhclust.BHC().fit_statistics(S)
    again = bhclust.load(bhclust.save(est, tmp_path / "groups.bhc"))
    assert np.array_equal(again.labels_, est.labels_)
    assert again.posterior_.log_evidence == est.posterior_.log_evidence
    assert np.array_equal(again.predict_proba(case.cells), est.predict_proba(case.cells))


def test_a_posterior_of_groups_is_pickled() -> None:
    case = random_case("PoissonGamma", 30, 3)
    S = case.family.statistics(case.cells, labels_of(30, 7))
    post = bhclust.posterior(bhclust.bhc(S), S)
    again = pickle.loads(pickle.dumps(post))
    assert np.array_equal(again.log_tree, post.log_tree)
    assert repr(again) == "<bhclust.Posterior of 7 groups of 30 rows, PoissonGamma>"


def test_statistics_are_values() -> None:
    case = random_case("NormalInverseWishart", 30, 3)
    S = case.family.statistics(case.cells, labels_of(30, 7))
    assert pickle.loads(pickle.dumps(S)) == S
    assert S.merge([0] * 7) != S
    assert S != 3
    assert repr(S) == (
        "<bhclust.Statistics of 7 groups of 30 rows and 4 columns, NormalInverseWishart>"
    )
    assert S.nbytes == S.values.nbytes + S.weights.nbytes == 7 * (S.values.shape[1] + 1) * 8
    for array in (S.values, S.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        S.values = S.values  # type: ignore[misc]
    with pytest.raises(TypeError, match="unhashable"):
        hash(S)
    own = np.array(S.values)
    T = bhclust.Statistics(S.family, 4, own, S.weights)
    own[:] = 0
    assert T == S


def test_statistics_are_put_together_and_taken_apart() -> None:
    case = random_case("GeometricBeta", 30, 3)
    S = case.family.statistics(case.cells, labels_of(30, 7))
    assert bhclust.Statistics.concatenate([S[:3], S[3:]]) == S
    assert bhclust.Statistics.concatenate([S[2], S[[1, 0]]]) == S[[2, 1, 0]]
    assert S[S.weights > 2].n_groups == (S.weights > 2).sum()
    assert len(S) == S.n_groups == 7
    assert S.n_rows == 30
    assert S.n_columns == 4
    assert S.merge(np.zeros(7, dtype=int)).n_rows == 30


def test_sparse_rows_are_observed_as_dense_ones() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case("MultinomialDirichlet", 20, 3)
    labels = labels_of(20, 5)
    dense = case.family.statistics(case.cells, labels)
    assert dense == case.family.statistics(sparse.csr_array(case.cells), labels)


def test_many_rows_a_group_take_no_more_memory_or_time() -> None:
    """Sizes of 10^12 rows: no table of sizes is made."""
    family = bhclust.NormalKnownVariance()
    X = 10 * np.arange(6.0).reshape(-1, 1)
    S = family.statistics(X, weights=np.full(6, 10**12))
    tree = bhclust.bhc(S)
    post = bhclust.posterior(tree, S)
    assert np.isfinite(post.log_tree).all()
    assert post.cut().max() == 5
    assert bhclust.bayes_kmeans_bhc(S).n_leaves == 6


def test_other_hyperparameters_may_be_tried_on_the_same_statistics() -> None:
    case = random_case("BernoulliBeta", 30, 3)
    labels = labels_of(30, 7)
    S = case.family.statistics(case.cells, labels)
    other = bhclust.BernoulliBeta(a=3.0, b=2.0)
    tree = bhclust.bhc(S, other)
    post = bhclust.posterior(tree, S, other)
    T = other.statistics(case.cells, labels)
    assert post.log_evidence == bhclust.posterior(tree, T).log_evidence
    with pytest.raises(ValueError, match="X holds statistics made by BernoulliBeta"):
        bhclust.bhc(S, bhclust.PoissonGamma())
    with pytest.raises(ValueError, match="X holds statistics made by"):
        bhclust.bhc(S, "bernoulli")
    levels = bhclust.CategoricalDirichlet(levels=3.0)
    with pytest.raises(ValueError, match="X holds statistics made by"):
        bhclust.bhc(levels.statistics([[0.0], [1.0]]), bhclust.CategoricalDirichlet(levels=2.0))


def test_bad_groups_are_refused() -> None:
    family = bhclust.PoissonGamma()
    X = [[1.0], [2.0], [3.0]]
    with pytest.raises(ValueError, match=r"groups\[1\] is -1; it must be at least 0"):
        family.statistics(X, [0, -1, 1])
    with pytest.raises(ValueError, match="groups has no 1 but goes up to 2; number the groups"):
        family.statistics(X, [0, 0, 2])
    with pytest.raises(ValueError, match=r"groups has shape \(2,\); it must be \(3,\)"):
        family.statistics(X, [0, 1])
    with pytest.raises(TypeError, match="groups must be whole numbers, not float64"):
        family.statistics(X, [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"weights\[2\] is 0; it must be at least 1"):
        family.statistics(X, weights=[1, 1, 0])
    with pytest.raises(ValueError, match="row 1, column 0 is -2"):
        family.statistics([[1.0], [-2.0]])
    S = family.statistics(X)
    with pytest.raises(ValueError, match=r"labels has shape \(2,\)"):
        S.merge([0, 1])
    with pytest.raises(ValueError, match="names no group"):
        S[[]]
    with pytest.raises(ValueError, match="nothing to concatenate"):
        bhclust.Statistics.concatenate([])
    with pytest.raises(ValueError, match=r"parts\[1\] is of 2 columns"):
        bhclust.Statistics.concatenate([S, family.statistics([[1.0, 2.0]])])
    with pytest.raises(ValueError, match="2 statistics a group; PoissonGamma of 1 columns has 3"):
        bhclust.Statistics(family, 1, [[1.0, 2.0]], [1])
    with pytest.raises(ValueError, match=r"weights\[0\] is 0; a group has at least one row"):
        bhclust.Statistics(family, 1, [[1.0, 2.0, 0.7]], [0])
    with pytest.raises(ValueError, match=r"values\[0, 1\] is nan; statistics are finite"):
        bhclust.Statistics(family, 1, [[1.0, math.nan, 0.7]], [1])


def test_what_needs_rows_says_so() -> None:
    case = random_case("MultinomialDirichlet", 20, 3)
    S = case.family.statistics(case.cells, labels_of(20, 5))
    with pytest.raises(TypeError, match="rows are needed here"):
        bhclust.BHC().fit(S)
    with pytest.raises(ValueError, match='tree is "ward"'):
        bhclust.learn(S, S.family, tree="ward")
    with pytest.raises(ValueError, match='tree is "ward"'):
        bhclust.BHC(tree="ward").fit_statistics(S)
    with pytest.raises(ValueError, match='lam is "auto"'):
        bhclust.RBHC().fit_statistics(S)
    with pytest.raises(TypeError, match="statistics must be a Statistics, not"):
        bhclust.BHC().fit_statistics(case.cells)
    post = bhclust.posterior(bhclust.bhc(S), S)
    with pytest.raises(TypeError, match=r"X_new is .*Statistics of 5 groups"):
        post.score_samples(S)
    with pytest.raises(ValueError, match="whose totals are not known"):
        post.sample()


def test_results_do_not_depend_on_the_threads() -> None:
    case = random_case("NormalInverseGamma", 300, 3)
    S = case.family.statistics(case.cells, labels_of(300, 150))
    for grow in (bhclust.bhc, bhclust.bayes_kmeans_bhc, bhclust.randomized_bhc, bhclust.rbhc):
        one, two = (grow(S, n_threads=threads) for threads in (1, 2))
        assert np.array_equal(one.children, two.children)


def test_numbers_too_large_are_refused() -> None:
    X, family = np.zeros((3, 2)), bhclust.NormalInverseGamma()
    for weights in ([2**62] * 3, [2**53, 1, 1]):
        with pytest.raises(ValueError, match=r"weights make .* rows in all"):
            family.statistics(X, weights=weights)
    halves = [family.statistics(X[:1], weights=[2**52]) for _ in range(3)]
    with pytest.raises(ValueError, match=r"weights make .* rows in all"):
        bhclust.Statistics.concatenate(halves)
    with pytest.raises(ValueError, match=r"groups has no 1 but goes up to 1000000000000"):
        family.statistics(X, groups=[0, 10**12, 0])
    with pytest.raises(ValueError, match=r"groups has no 0 but goes up to 1"):
        family.statistics(X, groups=[1, 1, 1])


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_no_rows_have_are_refused(name: str) -> None:
    case = random_case(name, 12, 1)
    S = case.family.statistics(case.cells, labels_of(12, 4))
    for spoilt in (-S.values - 1.0, np.full_like(S.values, -1e300)):
        with pytest.raises(ValueError, match=r"values\[0\] cannot be the statistics of \d+ row"):
            bhclust.Statistics(case.family, S.n_columns, spoilt, S.weights)


def test_more_values_than_rows_are_refused() -> None:
    def refused(family: Any, values: list[float], weight: int) -> None:
        with pytest.raises(ValueError, match=r"values\[0\] cannot be the statistics of"):
            bhclust.Statistics(family, 1, [values], [weight])

    bits = bhclust.BernoulliBeta()
    refused(bits, [1e18, 5.0], 3)  # as many values in the column
    refused(bits, [3.0, 4.0], 3)  # ones among them
    refused(bits, [2.5, 1.0], 3)
    refused(bhclust.CategoricalDirichlet(levels=2), [2.0, 2.0], 3)
    refused(bhclust.CategoricalDirichlet(levels=2), [4.0, -1.0], 3)
    refused(bhclust.NormalInverseGamma(), [2.0, 0.0, 0.0, -1e-3], 2)
    refused(bhclust.NormalInverseGamma(), [0.0, 0.0, 0.0, 1.0], 2)
    refused(bhclust.NormalInverseWishart(nu=3.0), [2.0, 0.0, 0.0, 1.0], 3)
    refused(bhclust.ExponentialGamma(), [2.0, 0.0], 2)
    refused(bhclust.VonMisesFisher(kappa=2.0), [2.0, 2.5], 2)
    assert bhclust.Statistics(bits, 1, [[2.0, 2.0]], [3]).n_rows == 3  # one row has none there


def test_a_scatter_that_is_none_is_refused() -> None:
    family = bhclust.NormalInverseWishart(nu=4.0)
    S = family.statistics(np.random.default_rng(0).normal(size=(6, 2)), np.zeros(6, dtype=int))
    spoilt = S.values.copy()
    spoilt[0, 6] = 1e3  # beyond its two variances
    with pytest.raises(ValueError, match="cannot be the statistics of 6 row"):
        bhclust.Statistics(family, 2, spoilt, S.weights)


def test_statistics_without_values_are_refused() -> None:
    product = bhclust.Product([(bhclust.PoissonGamma(), [0])])
    made = product.statistics([[1.0]])
    with pytest.raises(ValueError, match=r"n_columns is 1000000000000, .* takes 32 TB; this ma"):
        bhclust.Statistics(product, 10**12, made.values, made.weights)
    with pytest.raises(ValueError, match="n_columns is 2 and values has 0 numbers a group"):
        bhclust.Statistics(bhclust.BernoulliBeta(), 2, np.empty((3, 0)), [1, 1, 1])
    block = bhclust.Product([(bhclust.BernoulliBeta(), [0])])
    with pytest.raises(ValueError, match="X has 0 statistics a group; Product of 2 columns has 2"):
        bhclust.Statistics(block, 2, np.empty((3, 0)), [1, 1, 1])


def test_more_columns_than_values_are_refused_before_they_are_made_room_for() -> None:
    for name in ("BernoulliBeta", "NormalInverseWishart", "GaussianProcess"):
        with pytest.raises(ValueError, match="n_columns is 4611686018427387904 and values has 1"):
            bhclust.Statistics(getattr(bhclust, name)(), 2**62, [[1.0]], [1])


def test_values_that_are_no_plain_numbers_are_refused() -> None:
    family = bhclust.BernoulliBeta()
    masked = np.ma.masked_array([[1.0, 1.0]], mask=[[False, True]])
    with pytest.raises(ValueError, match="values is masked in places"):
        bhclust.Statistics(family, 1, masked, [1])
    with pytest.raises(TypeError, match="values has dtype complex128; it must hold real numbers"):
        bhclust.Statistics(family, 1, [[1.0 + 0j, 1.0]], [1])
    with pytest.raises(TypeError, match="values has dtype <U1"):
        bhclust.Statistics(family, 1, [["1", "1"]], [1])
    with pytest.raises(ValueError, match="values is ragged"):
        bhclust.Statistics(family, 1, [[1.0], [1.0, 1.0]], [1, 1])


def test_unsigned_numbers_do_not_wrap_round() -> None:
    X, huge = [[0.0], [1.0], [1.0]], np.array([2**64 - 1, 5, 1], dtype=np.uint64)
    with pytest.raises(ValueError, match=r"weights\[0\] is 18446744073709551615; it must be below"):
        bhclust.BernoulliBeta().statistics(X, groups=[0, 0, 1], weights=huge)
    with pytest.raises(ValueError, match=r"groups\[0\] is 18446744073709551615; it must be below"):
        bhclust.BernoulliBeta().statistics(X, groups=huge)


def test_statistics_do_not_change_with_the_array_under_a_read_only_view() -> None:
    family = bhclust.BernoulliBeta()
    values, weights = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([1, 1])
    views = [array.view() for array in (values, weights)]
    for view in views:
        view.flags.writeable = False
    S = bhclust.Statistics(family, 1, *views)
    values[:], weights[:] = -5.0, -5
    assert S.values.tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert S.weights.tolist() == [1, 1]


LEARNED = (
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "BernoulliBeta",
    "PoissonGamma",
    "MultinomialDirichlet",
    "ExponentialGamma",
)


@pytest.mark.parametrize("name", LEARNED)
def test_learning_of_groups_of_one_row_is_learning_of_rows(name: str) -> None:
    case = random_case(name, 40, 3)
    S = case.family.statistics(case.cells)
    of_rows = bhclust.learn(case.cells, case.family, tree="greedy", max_regrafts=0)
    of_groups = bhclust.learn(S, tree="greedy", max_regrafts=0)
    assert of_groups.log_evidence >= of_rows.log_evidence - 1.0
    again = bhclust.posterior(of_groups.tree, S, of_groups.family, alpha=of_groups.alpha)
    assert again.log_evidence == pytest.approx(of_groups.log_evidence)
    as_rows = bhclust.posterior(of_groups.tree, case.cells, of_groups.family, alpha=of_groups.alpha)
    assert as_rows.log_evidence == pytest.approx(of_groups.log_evidence, rel=1e-9)


def test_learning_of_groups_raises_the_evidence_and_draws_groups() -> None:
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(60) % 3, 5)
    X = rng.normal(4.0 * y[:, None], 0.5, (300, 2))
    S = bhclust.NormalInverseGamma().statistics(X, np.repeat(np.arange(60), 5))
    fixed = bhclust.posterior(bhclust.bhc(S), S)
    learned = bhclust.learn(S)
    assert learned.log_evidence > fixed.log_evidence + 10
    assert learned.posterior.cut().max() + 1 == 3
    fewer = bhclust.learn(S, max_rows=30)
    assert fewer.tree.n_leaves == 60
    assert any(step.what.endswith("of 30 rows") for step in fewer.steps)
    model = bhclust.BHC(hyperparameters="learn").fit_statistics(S)
    assert model.family_ != S.family
    assert len(set(model.labels_.tolist())) == 3
    assert len(set(model.predict(X).tolist())) == 3


def test_learning_of_groups_of_a_product_keeps_prior_means() -> None:
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=30), rng.integers(0, 2, 30)])
    family = bhclust.Product(
        [(bhclust.NormalInverseGamma(mean=0.5), [0]), (bhclust.BernoulliBeta(), [1])]
    )
    learned = bhclust.learn(family.statistics(X, np.arange(30) // 2), tree="greedy")
    assert isinstance(learned.family, bhclust.Product)
    assert learned.family.blocks[0][0].mean == 0.5
    assert learned.family.blocks[0][0].b != 1.0
