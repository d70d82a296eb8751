"""The peers that benchmarks time must do the same work: the same tree, the same evidence."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bhclust

BENCH = Path(__file__).parents[2] / "bench"
if not BENCH.exists():
    pytest.skip("source distributions come without bench/", allow_module_level=True)
sys.path.insert(0, str(BENCH))

from peers.plain_bhc import plain_bhc  # noqa: E402
from peers.textbook import LIBRARY, textbook_bhc  # noqa: E402


def table(kind, n=40, seed=0):
    r = np.random.default_rng(seed)
    group = r.integers(4, size=n)
    if kind == "bernoulli":
        return (r.random((n, 12)) < r.beta(0.5, 0.5, (4, 12))[group]) * 1.0, bhclust.BernoulliBeta
    if kind == "poisson":
        return r.poisson(r.gamma(1.0, 3.0, (4, 6))[group]) * 1.0, bhclust.PoissonGamma
    if kind == "multinomial":
        return r.poisson(r.gamma(0.5, 2.0, (4, 9))[group]) * 1.0, bhclust.MultinomialDirichlet
    family = bhclust.NormalInverseGamma if kind == "diagonal" else bhclust.NormalInverseWishart
    return r.normal(r.normal(0.0, 5.0, (4, 3))[group]), family


def ours(X, family):
    tree = bhclust.bhc(X, family)
    return np.sort(tree.children, axis=1), bhclust.posterior(tree, X, family).log_tree[-1]


@pytest.mark.parametrize("kind", ["bernoulli", "gaussian"])
def test_plain(kind):
    X, cls = table(kind)
    family = cls.from_data(X)
    merges, log_tree = plain_bhc(X, family)
    children, wanted = ours(X, family)
    assert np.array_equal(np.sort(merges, axis=1), children)
    assert log_tree == pytest.approx(wanted, rel=1e-11)


@pytest.mark.skipif(not LIBRARY.exists(), reason="`make bench` builds the textbook's library")
@pytest.mark.parametrize("kind", ["bernoulli", "poisson", "multinomial", "diagonal", "gaussian"])
def test_textbook(kind):
    X, cls = table(kind)
    family = cls.from_data(X)
    merges, log_tree = textbook_bhc(X, family)
    children, wanted = ours(X, family)
    assert np.array_equal(np.sort(merges, axis=1), children)
    if kind not in ("poisson", "multinomial"):
        assert log_tree == pytest.approx(wanted, rel=1e-11)
