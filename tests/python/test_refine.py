"""Local moves: the evidence never falls, and comes up to the best of all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.best_tree import best_log_tree

import bhclust
from cases import NAMES, Case, bounded, cases, random_case


def evidence(tree: bhclust.Tree, case: Case, alpha: float) -> float:
    return bhclust.posterior(tree, case.cells, case.family, alpha=alpha).log_evidence


def chain(n: int) -> bhclust.Tree:
    first = np.r_[0, np.arange(n, 2 * n - 2)]
    return bhclust.Tree.from_children(n, np.column_stack([first, np.arange(1, n)]))


@pytest.mark.parametrize("name", NAMES)
def test_evidence_never_falls_and_stays_below_the_best_tree(name: str) -> None:
    @bounded(6)
    @given(cases(name, least=3, most=7), st.sampled_from([0.3, 1.0, 3.0]))
    def check(case: Case, alpha: float) -> None:
        n = len(case.rows)
        best = best_log_tree(n, case.own_log_marginal(), alpha)
        best += math.lgamma(alpha) - math.lgamma(alpha + n)
        slack = 1e-8 * (1 + abs(best))
        for start in (bhclust.bhc(case.cells, case.family, alpha=alpha), chain(n)):
            values = [evidence(start, case, alpha)]
            for budget in (0, 1, None):
                refined = bhclust.refine(
                    start, case.cells, case.family, alpha=alpha, max_regrafts=budget
                )
                values.append(evidence(refined, case, alpha))
                assert refined.n_merges == n - 1
            assert np.all(np.array(values[1:]) >= values[0] - slack)
            assert max(values) <= best + slack

    check()


@pytest.mark.parametrize("name", ["NormalInverseGamma", "PoissonGamma", "BernoulliBeta"])
def test_chains_come_up_to_the_best_tree(name: str) -> None:
    case = random_case(name, 9, 0)
    best = best_log_tree(9, case.own_log_marginal(), 1.0) - math.lgamma(10)
    refined = bhclust.refine(chain(9), case.cells, case.family)
    assert evidence(chain(9), case, 1.0) < best - 0.1
    assert evidence(refined, case, 1.0) == pytest.approx(best, abs=0.05)


def test_forests_keep_their_roots_apart() -> None:
    case = random_case("NormalKnownVariance", 30, 1)
    forest = bhclust.rbhc(case.cells, case.family, n_clusters=3)
    refined = bhclust.refine(forest, case.cells, case.family)
    np.testing.assert_array_equal(
        np.equal.outer(*[roots_of(refined)] * 2), np.equal.outer(*[roots_of(forest)] * 2)
    )


def roots_of(forest: bhclust.Tree) -> np.ndarray:
    """The root above each leaf."""
    node = np.arange(forest.n_leaves)
    while np.any(inner := forest.parent[node] >= 0):
        node[inner] = forest.parent[node[inner]]
    return node


def test_a_long_chain_and_one_row() -> None:
    X = (np.arange(3000) % 2).astype(float).reshape(-1, 1)
    family = bhclust.BernoulliBeta()
    before = bhclust.posterior(chain(3000), X, family).log_evidence
    refined = bhclust.refine(chain(3000), X, family, max_regrafts=3)
    assert bhclust.posterior(refined, X, family).log_evidence >= before
    alone = bhclust.Tree.from_children(1, np.empty((0, 2), dtype=np.int64))
    assert bhclust.refine(alone, X[:1], family).n_nodes == 1


def leaf_sets(tree: bhclust.Tree) -> list[frozenset[int]]:
    """The rows of each merge."""
    rows = [frozenset([i]) for i in range(tree.n_leaves)]
    for left, right in tree.children:
        rows.append(rows[left] | rows[right])
    return rows[tree.n_leaves :]


def test_above_the_clusters_it_grows_as_greedy_does() -> None:
    """Far clusters joined in a silly order cost no evidence that a double could hold."""
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(6), 8)
    X = 40.0 * np.array([0.0, 1, 5, 6.5, 20, 23])[group, None] + rng.normal(size=(48, 1))
    family = bhclust.NormalKnownVariance(variance=1.0, mean=0.0, prior_variance=1e5)
    greedy = bhclust.bhc(X, family)
    below = [list(pair) for pair in greedy.children[:42]]
    silly = bhclust.Tree.from_children(48, below + silly_top(greedy))
    before = bhclust.posterior(silly, X, family).log_evidence
    refined = bhclust.refine(silly, X, family, max_regrafts=0)
    assert set(leaf_sets(refined)) >= set(leaf_sets(greedy)[42:])
    assert not set(leaf_sets(silly)) >= set(leaf_sets(greedy)[42:])
    assert bhclust.posterior(refined, X, family).log_evidence >= before - 1e-9
    np.testing.assert_array_equal(
        bhclust.posterior(refined, X, family).cut(n_clusters=3),
        bhclust.posterior(greedy, X, family).cut(n_clusters=3),
    )


def silly_top(greedy: bhclust.Tree) -> list[list[int]]:
    """The six clusters joined from the two ends inwards."""
    first = [min(leaf_sets(greedy)[i - 48]) for i in range(48, 90)]
    tops = [i for i in range(48, 90) if greedy.parent[i] >= 90]
    tops.sort(key=lambda i: first[i - 48])
    order = [tops[i] for i in (0, 5, 1, 4, 2, 3)]
    merges, last = [], order[0]
    for made, node in enumerate(order[1:], start=90):
        merges.append([last, node])
        last = made
    return merges


def test_refusals() -> None:
    case = random_case("PoissonGamma", 5, 0)
    with pytest.raises(ValueError, match=r"max_regrafts is -1"):
        bhclust.refine(chain(5), case.cells, case.family, max_regrafts=-1)
    with pytest.raises(ValueError, match=r"max_seconds is -1; it must be at least 0"):
        bhclust.refine(chain(5), case.cells, case.family, max_seconds=-1.0)
    with pytest.raises(ValueError, match=r"the tree has 4 leaves and X has 5 rows"):
        bhclust.refine(chain(4), case.cells, case.family)
