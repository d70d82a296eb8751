"""Greedy BHC against its slow twin, and the laws that its tree keeps."""

from __future__ import annotations

import math
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

ALPHAS = (1e-3, 0.3, 1.0, 20.0)


def pairs(tree: bhclust.Tree) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in tree.children]


def check_greedy(case: Case, alpha: float, on_rows: twin.OnRows) -> None:
    n = len(case.rows)
    tree = bhclust.bhc(case.cells, case.family, alpha=alpha)
    assert (tree.n_leaves, tree.n_merges, list(tree.roots)) == (n, n - 1, [2 * n - 2])
    tolerance = 1e-10 + 1e-12 * magnitude(case, on_rows)
    twin.replay_greedy(pairs(tree), n, on_rows, alpha, tol=tolerance)
    wanted = -twin.posterior(pairs(tree), n, on_rows, alpha).log_odds[n:]
    assert close(tree.log_d, wanted, 1e-10, magnitude(case, on_rows))


@pytest.mark.parametrize("name", NAMES)
def test_every_merge_has_the_least_log_d(name: str) -> None:
    @bounded(10)
    @given(cases(name), st.sampled_from(ALPHAS))
    def check(case: Case, alpha: float) -> None:
        check_greedy(case, alpha, case.log_marginal())

    check()


@pytest.mark.parametrize("name", NAMES)
def test_every_merge_of_larger_tables_has_the_least_log_d(name: str) -> None:
    """The family's own log marginal likelihood is the judge, so that more tables can be had."""

    @bounded(12)
    @given(cases(name, least=6, most=16), st.sampled_from(ALPHAS))
    def check(case: Case, alpha: float) -> None:
        check_greedy(case, alpha, case.own_log_marginal())

    check()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_merges_are_the_twins_where_costs_are_well_apart(name: str, seed: int) -> None:
    case = random_case(name, 20, seed)
    wanted, costs = twin.greedy_bhc(20, case.own_log_marginal(), 0.7)
    tree = bhclust.bhc(case.cells, case.family, alpha=0.7)
    assert pairs(tree) == wanted
    assert close(tree.log_d, costs, 1e-9)


def test_alpha_enters_log_d_as_minus_its_logarithm() -> None:
    case = random_case("NormalInverseGamma", 2, 0)
    few = bhclust.bhc(case.cells, case.family, alpha=0.01)
    many = bhclust.bhc(case.cells, case.family, alpha=100.0)
    assert close(many.log_d - few.log_d, [math.log(1e4)])


@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
def test_ties_go_to_the_older_clusters(n: int) -> None:
    """Equal rows tie exactly, in the library and in its twin."""
    case = Case("PoissonGamma", [[2.0, 0.0, 5.0]] * n, {"shape": 1.0, "rate": 0.5})
    wanted, _ = twin.greedy_bhc(n, case.log_marginal(), 1.0)
    assert wanted[0] == (0, 1)
    assert pairs(bhclust.bhc(case.cells, case.family)) == wanted


def test_ties_between_two_pairs_go_to_the_pair_whose_newer_row_is_older() -> None:
    rows = [[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    tree = bhclust.bhc(rows, bhclust.BernoulliBeta(a=0.5, b=0.5))
    assert pairs(tree) == [(1, 2), (0, 3), (4, 5)]


def test_collapse_merges_equal_rows_first() -> None:
    kinds = np.array([[0, 0, 1, 1, 0.0], [1, 1, 0, 0, 1], [1, 0, 1, 0, 0]])
    rows = kinds[[0, 1, 0, 2, 1, 0, 0, 2, 1]]
    family = bhclust.BernoulliBeta(a=0.3, b=0.4)
    tree = bhclust.bhc(rows, family, collapse=True)
    assert pairs(tree)[:6] == [(0, 2), (5, 9), (6, 10), (1, 4), (8, 12), (3, 7)]
    found = bhclust.posterior(tree, rows, family)
    assert close(tree.log_d, -found.log_odds[9:], 1e-10)
    once = bhclust.bhc(kinds, family)
    assert pairs(bhclust.bhc(kinds, family, collapse=True)) == pairs(once)


def test_collapse_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="collapse must be True or False, not 'yes'"):
        bhclust.bhc([[0.0], [1.0]], "bernoulli", collapse="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_one_row_is_a_tree_without_merges(name: str) -> None:
    case = random_case(name, 1, 0)
    tree = bhclust.bhc(case.cells, case.family)
    assert (tree.n_leaves, tree.n_merges, tree.n_nodes) == (1, 0, 1)
    assert tree.children.shape == (0, 2)
    assert tree.log_d.shape == (0,)


@pytest.mark.parametrize("name", NAMES)
def test_the_tree_does_not_depend_on_the_number_of_threads(name: str) -> None:
    case = random_case(name, 300, 1)
    one = bhclust.bhc(case.cells, case.family, n_threads=1)
    for n_threads in (2, 3, None):
        other = bhclust.bhc(case.cells, case.family, n_threads=n_threads)
        assert one == other
        assert one.log_d.tobytes() == other.log_d.tobytes()


@pytest.mark.parametrize("name", [n for n in NAMES if n != "CategoricalDirichlet"])
def test_the_tree_does_not_depend_on_the_order_of_the_rows(name: str) -> None:
    """Where no pairs tie: those of codes do whenever they agree in the same columns."""
    case = random_case(name, 60, 3)
    order = np.random.default_rng(0).permutation(60)
    tree = bhclust.bhc(case.cells, case.family, n_threads=1)
    moved = bhclust.bhc(case.cells[order], case.family, n_threads=1)
    renamed = {frozenset(int(order[i]) for i in clade) for clade in twin.clades(pairs(moved), 60)}
    assert renamed == twin.clades(pairs(tree), 60)
    assert close(np.sort(moved.log_d), np.sort(tree.log_d))


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_and_dense_rows_give_the_same_tree(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 60, 4)
    X = np.where(np.abs(case.cells) < np.median(np.abs(case.cells)), 0.0, case.cells)
    if name == "VonMisesFisher":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = np.nan_to_num(X)
    dense = bhclust.bhc(X, case.family)
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        tree = bhclust.bhc(form(X), case.family)
        assert pairs(tree) == pairs(dense)
        assert close(tree.log_d, dense.log_d, 1e-11)


def test_equal_rows_merge_without_end_or_overflow() -> None:
    tree = bhclust.bhc(np.ones((500, 3)), bhclust.NormalInverseWishart(nu=4.0, psi=1e-30))
    assert tree.n_merges == 499
    assert np.isfinite(tree.log_d).all()


def test_progress_is_told_how_far_the_work_is() -> None:
    case = random_case("NormalKnownVariance", 900, 0)
    seen: list[tuple[int, int]] = []
    tree = bhclust.bhc(case.cells, case.family, progress=lambda *where: seen.append(where))
    assert tree == bhclust.bhc(case.cells, case.family)
    done = [d for d, _ in seen]
    totals: set[Any] = {total for _, total in seen}
    assert done == sorted(done)
    assert len(totals) == 1
    assert done[-1] == totals.pop()
