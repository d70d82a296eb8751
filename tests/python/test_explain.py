"""Which columns make and split clusters: parts of the log odds, against the twin's marginals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust.table import as_table
from cases import NAMES, Case, close, make_family, random_case

INDEPENDENT = tuple(
    name
    for name in NAMES
    if name
    not in (
        "NormalInverseWishart",
        "GaussianProcess",
        "MultinomialDirichlet",
        "VonMisesFisher",
        "Product",
    )
)


def posterior_of(case: Case, n: int = 14) -> tuple[bhclust.Posterior, np.ndarray]:
    X = case.cells[:n]
    return bhclust.posterior(bhclust.bhc(X, case.family), X, case.family, alpha=0.7), X


def log_bayes_factor(family: Any, a: np.ndarray, b: np.ndarray) -> float:
    """Of two clusters against one."""
    both = np.vstack([a, b])
    return float(
        family._log_marginal(as_table(a))
        + family._log_marginal(as_table(b))
        - family._log_marginal(as_table(both))
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_sum_to_the_log_odds(name: str) -> None:
    post, X = posterior_of(random_case(name, 14, 0))
    for node in range(14, 27):
        found = post.explain(node)
        assert found.node == node
        assert found.columns.shape == (X.shape[1],)
        assert found.log_odds == post.log_odds[node]
        total = found.prior + found.children + found.columns.sum()
        assert close(total, post.log_odds[node], 1e-9)
        backwards = post.explain(node, order=np.arange(X.shape[1])[::-1])
        assert close(backwards.columns.sum(), found.columns.sum(), 1e-9)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_parts_of_independent_columns_are_their_own_bayes_factors(name: str) -> None:
    case = random_case(name, 14, 2)
    post, X = posterior_of(case)
    labels = (np.arange(14) % 3).astype(np.int64)
    found = post.separating_columns(0, 2, labels)
    for j in range(X.shape[1]):
        own = make_family(
            name, {key: value[j] if np.ndim(value) else value for key, value in case.hyper.items()}
        )
        column = np.ascontiguousarray(X[:, [j]])
        assert close(found[j], log_bayes_factor(own, column[labels == 0], column[labels == 2]))


def test_correlated_reals_follow_the_chain_rule() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 3))
    X[10:, 1] += 5
    family = bhclust.NormalInverseWishart(mean=[0.1, 0.2, 0.3], nu=6.0, psi=[1.0, 2.0, 3.0])
    post = bhclust.posterior(bhclust.bhc(X, family), X, family)
    labels = (np.arange(20) >= 10).astype(np.int64)
    order = [2, 0, 1]
    found = post.separating_columns(0, 1, labels, order=order)
    before = 0.0
    for j in range(3):
        kept = order[: j + 1]
        some = bhclust.NormalInverseWishart(
            mean=np.array([0.1, 0.2, 0.3])[kept],
            nu=6.0 - (3 - len(kept)),
            psi=np.array([1.0, 2.0, 3.0])[kept],
        )
        part = np.ascontiguousarray(X[:, kept])
        upto = log_bayes_factor(some, part[:10], part[10:])
        assert close(found[order[j]], upto - before)
        before = upto
    assert found.argmax() == 1


def test_series_follow_the_chain_rule_over_times_with_holes_or_without() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(12, 4))
    X[6:] += 2
    times, mean, order = (
        np.array([0.0, 1.0, 1.5, 4.0]),
        np.array([0.1, 0.2, 0.3, 0.4]),
        [2, 0, 3, 1],
    )
    labels = (np.arange(12) >= 6).astype(np.int64)
    for holes in (0, 9):
        X.flat[rng.permutation(X.size)[:holes]] = np.nan
        hyper = {"kernel": "matern52", "length_scale": 2.0, "noise": 0.3}
        family = bhclust.GaussianProcess(times=times, mean=mean, **hyper)
        post = bhclust.posterior(bhclust.bhc(X, family), X, family)
        found = post.separating_columns(0, 1, labels, order=order)
        before = 0.0
        for j in range(4):
            kept = order[: j + 1]
            some = bhclust.GaussianProcess(times=times[kept], mean=mean[kept], **hyper)
            part = np.ascontiguousarray(X[:, kept])
            upto = log_bayes_factor(some, part[:6], part[6:])
            assert close(found[order[j]], upto - before)
            before = upto


def test_the_column_that_differs_stands_out() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 4))
    X[:, 2] += 7 * group
    est = bhclust.BHC("gaussian-diag").fit(X)
    assert est.n_clusters_ == 2
    apart = est.posterior_.separating_columns(0, 1)
    assert apart.argmax() == 2
    assert apart[2] > 50
    root = est.posterior_.explain(est.tree_.n_nodes - 1)
    assert close(root.columns, -apart) or root.columns[2] < -50
    assert (apart == est.posterior_.separating_columns(0, 1, est.labels_)).all()
    assert close(apart, est.posterior_.separating_columns(1, 0))


def test_columns_in_no_block_have_no_part() -> None:
    X = np.array([[1.0, np.nan], [9.0, 5.0], [0.0, 1.0]])
    family = bhclust.Product([(bhclust.PoissonGamma(), [0])])
    post = bhclust.posterior(bhclust.bhc(X, family), X, family)
    assert post.explain(4).columns[1] == 0.0


def test_refusals() -> None:
    post, _ = posterior_of(random_case("PoissonGamma", 14, 0))
    for node in (0, 13, 27):
        with pytest.raises(ValueError, match=rf"node is {node}; merges are the nodes 14 to 26"):
            post.explain(node)
    with pytest.raises(TypeError, match="node must be a whole number, not 'root'"):
        post.explain("root")  # type: ignore[arg-type]
    for order in ([0, 1], [0.0, 1, 2, 3], "abcd"):
        with pytest.raises(ValueError, match=r"order is .*; it must name each of the columns 0 to"):
            post.explain(20, order=order)
    with pytest.raises(ValueError, match="order names column 1 twice; it must name each"):
        post.explain(20, order=[0, 1, 1, 3])
    labels = (np.arange(14) % 2).astype(np.int64)
    with pytest.raises(ValueError, match="b is 2; the labels are 0 to 1"):
        post.separating_columns(0, 2, labels)
    with pytest.raises(ValueError, match="a and b are both 1; name two clusters"):
        post.separating_columns(1, 1, labels)
    with pytest.raises(ValueError, match=r"labels has shape \(3,\)"):
        post.separating_columns(0, 1, labels[:3])
