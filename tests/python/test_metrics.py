"""Agreement with classes, against definitions written out."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import metrics


def random_tree(rng: np.random.Generator, n: int) -> bhclust.Tree:
    alive, children = list(range(n)), []
    for t in range(n - 1):
        a, b = rng.choice(len(alive), 2, replace=False)
        children.append((alive[a], alive[b]))
        alive = [x for i, x in enumerate(alive) if i not in (a, b)] + [n + t]
    return bhclust.Tree.from_children(n, np.array(children))


def written_out(tree: bhclust.Tree, y: Any, weights: str) -> float:
    n = tree.n_leaves
    members: list[set[int]] = [{i} for i in range(n)]
    for a, b in tree.children:
        members.append(members[a] | members[b])
    shares, totals = 0.0, 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i and y[j] == y[i]]
        for j in others:
            smallest = min((m for m in members if {i, j} <= m), key=len)
            weight = 1 / len(others) if weights == "rows" else 1.0
            shares += weight * np.mean([y[k] == y[i] for k in smallest])
            totals += weight
    return float(shares / totals)


@pytest.mark.parametrize("weights", ["rows", "pairs"])
@pytest.mark.parametrize("seed", range(8))
def test_dendrogram_purity(seed: int, weights: str) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    tree, y = random_tree(rng, n), rng.integers(0, 3, n)
    y[:2] = 0
    names = np.array(["ape", "bee", "cow"])[y]
    found = metrics.dendrogram_purity(tree, names, weights=weights)
    assert found == pytest.approx(written_out(tree, y, weights), rel=1e-12)


def test_dendrogram_purity_of_a_perfect_tree_and_a_long_chain() -> None:
    tree = bhclust.Tree.from_children(4, np.array([(0, 1), (2, 3), (4, 5)]))
    assert metrics.dendrogram_purity(tree, [0, 0, 1, 1]) == 1.0
    n = 300_000
    children = np.column_stack([np.r_[0, np.arange(n, 2 * n - 2)], np.arange(1, n)])
    chain = bhclust.Tree.from_children(n, children)
    assert metrics.dendrogram_purity(chain, np.repeat([0, 1], n // 2)) == pytest.approx(
        0.5 * (1.0 + written_share(n)), rel=1e-9
    )


def written_share(n: int) -> float:
    """The second half's mean share: its rows meet at sizes n/2 + j, holding j of their class."""
    j = np.arange(2, n // 2 + 1, dtype=float)
    pairs = j - 1
    return float((pairs * j / (n / 2 + j)).sum() / pairs.sum())


def test_flat_metrics() -> None:
    labels, y = [0, 0, 0, 1, 1], ["a", "a", "b", "b", "b"]
    assert metrics.purity(labels, y) == pytest.approx(4 / 5)
    assert metrics.f_measure(labels, y) == pytest.approx((2 * 0.8 + 3 * 0.8) / 5)
    assert metrics.adjusted_rand_index(labels, labels) == 1.0
    assert metrics.normalized_mutual_information(y, y) == pytest.approx(1.0)


def test_level_labels() -> None:
    tree = bhclust.Tree.from_children(5, np.array([(0, 1), (2, 3), (5, 6), (7, 4)]))
    assert metrics.level_labels(tree, 1).tolist() == [0, 0, 0, 0, 1]
    assert metrics.level_labels(tree, 2).tolist() == [0, 0, 1, 1, 2]
    assert metrics.level_labels(tree, 9).tolist() == [0, 1, 2, 3, 4]


def test_refusals() -> None:
    tree = bhclust.Tree.from_children(3, np.array([(0, 1), (2, 3)]))
    with pytest.raises(ValueError, match=r"y has 2 entries for 3 leaves"):
        metrics.dendrogram_purity(tree, [0, 0])
    with pytest.raises(ValueError, match=r"no class in y has two rows"):
        metrics.dendrogram_purity(tree, [0, 1, 2])
    with pytest.raises(ValueError, match=r"forest has 2 roots"):
        metrics.dendrogram_purity(bhclust.Tree.from_children(3, np.array([(0, 1)])), [0, 0, 1])
    with pytest.raises(ValueError, match=r"labels has 2 entries and y has 3"):
        metrics.purity([0, 1], [0, 1, 1])


class TestAdjustedRand:
    def test_same_and_single(self):
        assert metrics.adjusted_rand_index(np.array([0, 0, 1]), ["a", "a", "b"]) == 1.0
        assert metrics.adjusted_rand_index(np.array([0, 0, 0]), ["a", "a", "a"]) == 1.0
        assert metrics.adjusted_rand_index(np.array([0]), ["a"]) == 1.0

    def test_against_all_pairs(self):
        rng = np.random.default_rng(5)
        labels, classes = rng.integers(0, 4, 40), [str(c) for c in rng.integers(0, 3, 40)]
        pairs = Counter(
            (labels[i] == labels[j], classes[i] == classes[j])
            for i, j in combinations(range(40), 2)
        )
        both, only_labels = pairs[True, True], pairs[True, False]
        only_classes, every = pairs[False, True], sum(pairs.values())
        first, second = both + only_labels, both + only_classes
        chance = first * second / every
        expected = (both - chance) / ((first + second) / 2 - chance)
        assert metrics.adjusted_rand_index(labels, classes) == pytest.approx(expected)
