"""New rows drawn from a posterior, in cells and in the caller's own tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import BHC, RBHC
from cases import NAMES, random_case
from test_imputation import FAMILY, people


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_of_the_families_domain(name: str) -> None:
    case = random_case(name, 20, 3)
    X, family = case.cells, case.family
    post = bhclust.posterior(bhclust.bhc(X, family), X, family)
    rows, nodes = post.sample(40, random_state=2)
    assert rows.shape == (40, X.shape[1])
    assert nodes.shape == (40,)
    assert ((nodes >= -1) & (nodes < post.tree.n_nodes)).all()
    assert np.isfinite(post.score_samples(rows)).all()
    again, _ = post.sample(40, random_state=2)
    assert again.tobytes() == rows.tobytes()
    other, _ = post.sample(40, random_state=3)
    assert other.tobytes() != rows.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_rows_come_from_the_density_of_score_samples(name: str) -> None:
    """Of rows drawn from p, q / p averages to one for every density q."""
    case = random_case(name, 24, 4)
    X, family = case.cells, case.family
    p = bhclust.posterior(bhclust.bhc(X, family), X, family)
    q = bhclust.posterior(p.tree, X, family, alpha=20.0)
    rows, _ = p.sample(2000, random_state=1)
    ratio = np.exp(q.score_samples(rows) - p.score_samples(rows))
    error = ratio.std() / math.sqrt(len(rows))
    assert abs(ratio.mean() - 1) < 4.5 * error + 1e-9


def test_groups_come_back() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(c, 0.5, (30, 2)) for c in [(0, 0), (9, 0), (0, 9)]])
    est = BHC(bhclust.NormalInverseWishart(mean=[3.0, 3.0], kappa=0.05, psi=0.3)).fit(X)
    rows, nodes = est.sample(600, random_state=4)
    joined = nodes >= 0
    assert (~joined).mean() < 0.05
    near = np.stack([np.hypot(*(rows - c).T) for c in ([0, 0], [9, 0], [0, 9])]).min(axis=0)
    assert (near[joined] < 4).mean() > 0.97
    shares = np.bincount(est.predict(rows[joined]), minlength=3) / joined.sum()
    assert (np.abs(shares - 1 / 3) < 0.1).all()


def test_moments_of_one_cluster_are_students() -> None:
    X = np.array([[1.0], [2.0], [4.0]])
    family = bhclust.NormalInverseGamma(mean=1.0, kappa=2.0, a=6.0, b=3.0)
    tree = bhclust.Tree.from_children(3, np.array([[0, 1], [2, 3]]))
    post = bhclust.posterior(tree, X, family, alpha=1e-9)
    rows, nodes = post.sample(20000, random_state=0)
    assert (nodes == 4).all()
    a = 6.0 + 1.5
    b = 3.0 + 0.5 * ((X - X.mean()) ** 2).sum() + 0.5 * 2 * 3 / 5 * (X.mean() - 1) ** 2
    variance = b / (a - 1) * (1 + 1 / 5)
    assert abs(rows.mean() - (2 * 1.0 + 7.0) / 5) < 4.5 * math.sqrt(variance / 20000)
    assert abs(rows.var() / variance - 1) < 0.06


def test_totals_of_multinomial_rows_are_the_tables() -> None:
    X = np.array([[3.0, 0.0], [1.0, 6.0], [0.0, 0.0]])
    for family in (bhclust.MultinomialDirichlet(), bhclust.MultinomialDirichlet(concentration=9.0)):
        post = bhclust.posterior(bhclust.bhc(X, family), X, family)
        totals = post.sample(300)[0].sum(axis=1)
        assert set(totals) == {0.0, 3.0, 7.0}


class TestTablesOfTheCaller:
    def test_mappings(self) -> None:
        est = BHC(FAMILY).fit(people())
        rows, nodes = est.sample(30, random_state=1)
        assert list(rows) == list(FAMILY)
        assert nodes.shape == (30,)
        assert set(rows["region"]) == {"n", "s"}
        assert set(rows["smoker"]) == {0.0, 1.0}
        assert np.isfinite(est.score_samples(rows)).all()

    def test_data_frames(self) -> None:
        pd = pytest.importorskip("pandas")
        est = BHC(FAMILY).fit(pd.DataFrame(people()))
        rows, _ = est.sample(30, random_state=1)
        assert isinstance(rows, pd.DataFrame)
        assert list(rows.columns) == list(FAMILY)
        assert set(rows["region"]) == {"n", "s"}
        assert (est.predict(rows) >= 0).all()
        plain = RBHC("gaussian-diag", n_clusters=2).fit(pd.DataFrame({"a": [1.0, 2, 3, 9]}))
        assert list(plain.sample(3)[0].columns) == ["a"]

    def test_arrays(self) -> None:
        X = random_case("NormalInverseGamma", 10, 0).cells
        rows, nodes = BHC("gaussian-diag").fit(X).sample()
        assert rows.shape == (1, X.shape[1])
        assert nodes.shape == (1,)

    def test_levels_of_numbers_and_truth_values_keep_their_type(self) -> None:
        X: dict[str, Any] = {"grade": [5, 7, 5, 7, 7], "ok": [True, False, True, True, False]}
        est = BHC({"grade": "categorical", "ok": "categorical"}).fit(X)
        rows, _ = est.sample(20)
        assert rows["grade"].dtype == np.int64
        assert set(rows["grade"].tolist()) <= {5, 7}
        assert rows["ok"].dtype == np.bool_


def test_refusals() -> None:
    X = [[1.0], [2.0]]
    post = bhclust.posterior(bhclust.bhc(X, "gaussian-diag"), X, "gaussian-diag")
    with pytest.raises(ValueError, match="n_samples is 0; it must be at least 1"):
        post.sample(0)
    with pytest.raises(ValueError, match=r"random_state is -1; it must be from 0 to 2\^64 - 1"):
        post.sample(random_state=-1)
    with pytest.raises(TypeError, match=r"n_samples must be a whole number, not 2\.0"):
        post.sample(2.0)  # type: ignore[arg-type]
