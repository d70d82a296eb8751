"""RBHC against its slow twin, against SciPy's Ward, and the laws of its lambda-forests."""

from __future__ import annotations

import math

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

# d* of codes depends on how many differ only, so that it ties in every table.
WITHOUT_TIES = [n for n in NAMES if n not in ("BernoulliBeta", "CategoricalDirichlet")]


def pairs(tree: bhclust.Tree) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in tree.children]


def tolerance_of(case: Case, potential: twin.OnRows) -> float:
    return 1e-10 + 1e-12 * magnitude(case, potential)


def costs_of(children: list[tuple[int, int]], n: int, potential: twin.OnRows) -> list[float]:
    scores, costs = twin.RbhcScores(n, potential), []
    for left, right in children:
        costs.append(scores.cost(left, right))
        scores.join(left, right)
    return costs


@pytest.mark.parametrize("name", NAMES)
def test_every_greedy_merge_has_the_least_divergence(name: str) -> None:
    @bounded(12)
    @given(cases(name, most=9), st.sampled_from([math.inf, 0.1, 1.0, 10.0]))
    def check(case: Case, lam: float) -> None:
        n, potential = len(case.rows), case.potential()
        tree = bhclust.rbhc(case.cells, case.family, lam=lam, method="greedy")
        tolerance = tolerance_of(case, potential)
        twin.replay_rbhc(pairs(tree), n, potential, lam, tol=tolerance)
        assert (tree.cost >= 0).all()
        assert close(tree.cost, costs_of(pairs(tree), n, potential), 1e-9, 1e3 * tolerance / 1e-9)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_the_chain_makes_one_tree_with_the_divergences_of_its_merges(name: str) -> None:
    @bounded(8)
    @given(cases(name, most=9))
    def check(case: Case) -> None:
        n, potential = len(case.rows), case.potential()
        tree = bhclust.rbhc(case.cells, case.family)
        tolerance = tolerance_of(case, potential)
        assert (tree.n_leaves, tree.n_merges) == (n, n - 1)
        assert close(tree.cost, costs_of(pairs(tree), n, potential), 1e-9, 1e3 * tolerance / 1e-9)
        twin.reciprocal_excess(pairs(tree), n, potential, tol=tolerance)

    check()


@pytest.mark.parametrize("method", ["greedy", "nn-chain"])
@pytest.mark.parametrize("name", WITHOUT_TIES)
def test_merges_are_the_twins_where_costs_are_well_apart(name: str, method: str) -> None:
    case = random_case(name, 14, 1)
    potential = case.potential()
    run = twin.greedy_rbhc if method == "greedy" else twin.nn_chain_rbhc
    wanted, costs = run(14, potential)
    tree = bhclust.rbhc(case.cells, case.family, method=method)
    assert pairs(tree) == wanted
    assert close(tree.cost, costs, 1e-9)
    lam = float(np.sort(costs)[-4] * (1 + 1e-9))
    forest = bhclust.rbhc(case.cells, case.family, method=method, lam=lam)
    assert (pairs(forest), list(forest.roots)) == (
        run(14, potential, lam)[0],
        twin.roots_of(pairs(forest), 14),
    )


def ward_heights(tree: bhclust.Tree, variance: float) -> np.ndarray:
    """SciPy's height of a merge is the root of twice the growth of the sum of squares."""
    return np.sort(np.sqrt(4 * variance * tree.cost))


@pytest.mark.parametrize("method", ["greedy", "nn-chain", "rounds"])
def test_known_variance_is_ward(method: str) -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    X = np.random.default_rng(5).normal(size=(800, 3)) * 2.5 + 1e3
    tree = bhclust.rbhc(X, bhclust.NormalKnownVariance(variance=1.7), method=method)
    Z = hierarchy.ward(X)
    assert close(ward_heights(tree, 1.7), Z[:, 2])
    wanted = hierarchy.fcluster(Z, 6, "maxclust")
    assert same_partition(tree.cut(n_clusters=6), wanted)


def test_rounds_are_chosen_where_they_can_be_had() -> None:
    X = np.random.default_rng(6).normal(size=(500, 4))
    family = bhclust.NormalKnownVariance(variance=[1.0, 4.0, 0.25, 9.0])
    rounds = bhclust.rbhc(X, family, method="rounds")
    assert bhclust.rbhc(X, family) == rounds
    assert (np.diff(rounds.cost) >= 0).all()
    assert close(rounds.cost, np.sort(bhclust.rbhc(X, family, method="greedy").cost), 1e-11)
    X[3, 1] = np.nan
    assert bhclust.rbhc(X, family) == bhclust.rbhc(X, family, method="nn-chain")
    for cells, other in ((X, family), (np.abs(np.nan_to_num(X)), bhclust.NormalInverseGamma())):
        with pytest.raises(ValueError, match="rounds need NormalKnownVariance"):
            bhclust.rbhc(cells, other, method="rounds")


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(((a[:, None] == a) == (b[:, None] == b)).all())


@given(cases("NormalKnownVariance", least=2, most=12), st.floats(1e-3, 30.0))
@bounded(40)
def test_a_cut_of_one_tree_is_the_run_with_that_lambda(case: Case, lam: float) -> None:
    tree = bhclust.rbhc(case.cells, case.family)
    if np.any(np.abs(tree.cost - lam) < 1e-9 * lam):
        lam *= 1.001
    run = bhclust.rbhc(case.cells, case.family, lam=lam)
    assert twin.clades(pairs(tree.forest(lam=lam)), tree.n_leaves) == twin.clades(
        pairs(run), tree.n_leaves
    )
    labels = twin.labels_of(list(run.roots), pairs(run), run.n_leaves)
    assert tree.cut(lam=lam).tolist() == labels


@pytest.mark.parametrize("name", NAMES)
def test_lambda_bounds_every_merge(name: str) -> None:
    case = random_case(name, 80, 2)
    whole = bhclust.rbhc(case.cells, case.family)
    lam = float(np.quantile(whole.cost, 0.9))
    forest = bhclust.rbhc(case.cells, case.family, lam=lam)
    assert 0 < forest.n_merges < 79
    assert (forest.cost < lam).all()
    assert len(forest.roots) == 80 - forest.n_merges


@pytest.mark.parametrize("name", NAMES)
def test_n_clusters_leaves_that_many_roots(name: str) -> None:
    case = random_case(name, 40, 3)
    whole = bhclust.rbhc(case.cells, case.family)
    for k in (1, 2, 7, 40):
        forest = bhclust.rbhc(case.cells, case.family, n_clusters=k)
        assert len(forest.roots) == k
        assert forest == whole.forest(n_clusters=k)


@pytest.mark.parametrize("method", ["greedy", "nn-chain"])
@pytest.mark.parametrize("name", NAMES)
def test_the_forest_does_not_depend_on_the_number_of_threads(name: str, method: str) -> None:
    case = random_case(name, 250, 4)
    one = bhclust.rbhc(case.cells, case.family, method=method, n_threads=1)
    for n_threads in (2, 3, None):
        other = bhclust.rbhc(case.cells, case.family, method=method, n_threads=n_threads)
        assert one == other
        assert one.cost.tobytes() == other.cost.tobytes()


@pytest.mark.parametrize("name", WITHOUT_TIES)
def test_the_tree_does_not_depend_on_the_order_of_the_rows(name: str) -> None:
    case = random_case(name, 60, 5)
    order = np.random.default_rng(1).permutation(60)
    tree = bhclust.rbhc(case.cells, case.family, method="greedy")
    moved = bhclust.rbhc(case.cells[order], case.family, method="greedy")
    renamed = {frozenset(int(order[i]) for i in clade) for clade in twin.clades(pairs(moved), 60)}
    assert renamed == twin.clades(pairs(tree), 60)


@pytest.mark.parametrize("name", [n for n in TAKES_SPARSE if n in WITHOUT_TIES])
def test_sparse_and_dense_rows_give_the_same_tree(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 60, 6)
    dense = bhclust.rbhc(case.cells, case.family)
    tree = bhclust.rbhc(sparse.csr_array(case.cells), case.family)
    assert pairs(tree) == pairs(dense)
    assert close(tree.cost, dense.cost, 1e-11)


@pytest.mark.parametrize("method", ["greedy", "nn-chain", "rounds"])
def test_equal_rows_cost_nothing_and_end(method: str) -> None:
    for X in (np.zeros((300, 2)), np.full((300, 2), 1e30), np.repeat([[1.0, 2.0]], 300, axis=0)):
        family = bhclust.NormalKnownVariance(variance=1e60 if X[0, 0] > 1e3 else 1.0)
        tree = bhclust.rbhc(X, family, method=method)
        assert tree.n_merges == 299
        assert (tree.cost == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_row_is_a_tree_without_merges(name: str) -> None:
    case = random_case(name, 1, 0)
    for tree in (
        bhclust.rbhc(case.cells, case.family),
        bhclust.rbhc(case.cells, case.family, method="greedy"),
        bhclust.rbhc(case.cells, case.family, n_clusters=1),
    ):
        assert (tree.n_leaves, tree.n_merges) == (1, 0)


@pytest.mark.parametrize("method", ["greedy", "nn-chain", "rounds"])
def test_progress_rises_to_its_total(method: str) -> None:
    case = random_case("NormalKnownVariance", 900, 0)
    seen: list[tuple[int, int]] = []
    cells = np.nan_to_num(case.cells)  # rounds take no missing cells
    bhclust.rbhc(cells, case.family, method=method, progress=lambda *w: seen.append(w))
    done = [d for d, _ in seen]
    assert done == sorted(done)
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("method", ["rounds", "nn-chain", "greedy"])
@pytest.mark.parametrize(("n", "d"), [(2, 4), (20, 4), (100, 8), (200, 20)])
def test_forests_of_rows_alone(method: str, n: int, d: int) -> None:
    X = np.random.default_rng(n).random((n, d))
    family = bhclust.NormalKnownVariance.from_data(X)
    forest = bhclust.rbhc(X, family, lam=1e-9, method=method)
    assert forest.roots.tolist() == list(range(n))
