"""Learning: gradients against differences, and evidence that only rises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import _core, growth
from bhclust.growth import growths
from bhclust.hyperparameters import HyperparameterVector
from bhclust.learning import _Run, _Settings
from bhclust.table import as_table
from cases import NAMES, random_case


def objective_of(name: str, seed: int) -> tuple[HyperparameterVector, object]:
    case = random_case(name, 25, seed)
    table = as_table(case.cells)
    tree = bhclust.bhc(table, case.family)
    run = _Run(table, _Settings(case.family, None, (), False, 1, None))
    return run.vector, run._objective_on(tree)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_by_differences(name: str, seed: int) -> None:
    vector, objective = objective_of(name, seed)
    rng = np.random.default_rng(seed)
    x = vector.start + rng.normal(scale=0.3, size=vector.size)
    value, gradient = objective(x)  # type: ignore[operator]
    assert np.isfinite(value)
    for i in range(vector.size):
        step = np.zeros(vector.size)
        step[i] = 1e-5
        numeric = (objective(x + step)[0] - objective(x - step)[0]) / 2e-5  # type: ignore[operator]
        assert gradient[i] == pytest.approx(numeric, rel=2e-5, abs=2e-5), i


def test_gradient_by_a_full_psi_and_by_means() -> None:
    case = random_case("NormalInverseWishart", 20, 3)
    psi = np.diag([1.0, 2.0, 0.5, 1.5]) + 0.1
    mean = np.array([0.1, -0.2, 0.3, 0.0])

    def bound(mean: np.ndarray, psi: np.ndarray) -> float:
        family = bhclust.NormalInverseWishart(mean=mean, kappa=0.5, nu=6.0, psi=psi)
        return bhclust.posterior(tree, case.cells, family).log_evidence

    family = bhclust.NormalInverseWishart(mean=mean, kappa=0.5, nu=6.0, psi=psi)
    table = as_table(case.cells)
    tree = bhclust.bhc(table, family)
    found = _core.posterior(tree, table, family, 1.0, None)
    _, gradient = _core.gradient_of_evidence(tree, found, table, family, None)
    for i in range(4):
        step = 1e-5 * np.eye(4)[i]
        numeric = (bound(mean + step, psi) - bound(mean - step, psi)) / 2e-5
        assert gradient[i] == pytest.approx(numeric, rel=1e-5, abs=1e-5)
        for j in range(4):
            change = np.zeros((4, 4))
            change[i, j] += 0.5e-5
            change[j, i] += 0.5e-5
            numeric = (bound(mean, psi + change) - bound(mean, psi - change)) / 2e-5
            assert gradient[6 + 4 * i + j] == pytest.approx(numeric, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_evidence_rises_from_the_start(name: str) -> None:
    case = random_case(name, 30, 0)
    start = bhclust.posterior(
        bhclust.bhc(case.cells, case.family), case.cells, case.family
    ).log_evidence
    found = bhclust.learn(case.cells, case.family, max_rounds=2, max_regrafts=5)
    assert found.log_evidence >= start - 1e-6
    assert found.log_evidence == pytest.approx(
        bhclust.posterior(found.tree, case.cells, found.family, alpha=found.alpha).log_evidence
    )
    assert len(found.steps) >= 3
    assert all(np.isfinite(step.log_evidence) for step in found.steps)
    again = bhclust.learn(case.cells, case.family, max_rounds=2, max_regrafts=5, n_threads=1)
    assert again.log_evidence == found.log_evidence


def test_a_given_tree_stays() -> None:
    case = random_case("NormalInverseGamma", 30, 0)
    tree = bhclust.rbhc(case.cells, case.family)
    found = bhclust.learn(case.cells, case.family, tree=tree, alpha=0.7)
    assert found.tree == tree
    assert found.alpha == 0.7
    before = bhclust.posterior(tree, case.cells, case.family, alpha=0.7).log_evidence
    assert found.log_evidence > before


def test_scales_stay_above_the_resolution() -> None:
    """Many equal values beside spread ones would buy evidence with a variance of nought."""
    rng = np.random.default_rng(0)
    X = np.round(np.concatenate([np.zeros(40), rng.normal(5, 1, 40)]), 2).reshape(-1, 1)
    found = bhclust.learn(X, "gaussian-diag", max_rounds=2, max_regrafts=0)
    b = np.asarray(found.family.parameters()["b"])  # type: ignore[attr-defined]
    assert np.all(b >= 0.01**2 / 12 * (1 - 1e-9))


def test_compact_groups_are_found() -> None:
    """Greedy BHC under a vague prior merges them; learning starts from Ward's tree too."""
    rng = np.random.default_rng(1)
    centres = np.array([(0, 0), (8, 0), (0, 9), (9, 9), (18, 2), (18, 10), (9, 18)])
    truth = np.repeat(np.arange(7), 20 + 10 * np.arange(7))
    X = centres[truth] + rng.normal(size=(truth.size, 2))
    found = bhclust.learn(X, "gaussian", max_rounds=3, max_regrafts=0).posterior
    assert 7 <= found.cut().max() + 1 <= 9
    np.testing.assert_array_equal(found.cut(n_clusters=7), 6 - truth)


def test_the_estimator_learns_unless_it_is_given_a_family() -> None:
    case = random_case("NormalInverseGamma", 40, 0)
    family = case.family
    plain = bhclust.BHC(family).fit(case.cells)
    learned = bhclust.BHC(family, hyperparameters="learn").fit(case.cells)
    assert learned.log_evidence_ > plain.log_evidence_
    assert learned.family_ != family
    assert plain.family_ == family
    assert plain.posterior_.alpha == 1.0
    named = bhclust.BHC("gaussian-diag").fit(case.cells)
    found = bhclust.learn(case.cells, "gaussian-diag")
    assert named.family_ == found.family
    assert named.tree_ == found.tree
    assert named.posterior_.alpha == found.alpha
    start = bhclust.NormalInverseGamma.from_data(case.cells)
    assert bhclust.BHC("gaussian-diag", hyperparameters="data").fit(case.cells).family_ == start
    assert bhclust.BHC("gaussian-diag", alpha=2.5).fit(case.cells).posterior_.alpha == 2.5
    with pytest.raises(ValueError, match=r"hyperparameters is .guess."):
        bhclust.BHC(family, hyperparameters="guess").fit(case.cells)


def test_a_family_in_a_mapping_keeps_its_hyperparameters() -> None:
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=40), "b": (rng.random(40) < 0.3) * 1.0}
    kept = bhclust.BernoulliBeta(a=0.7, b=0.9)
    est = bhclust.BHC({"a": "gaussian-diag", "b": kept}).fit(table)
    (learned, _), (fixed, _) = est.family_.blocks  # type: ignore[attr-defined]
    assert fixed == kept
    assert learned != bhclust.NormalInverseGamma.from_data(table["a"].reshape(-1, 1))


@pytest.mark.parametrize("kind", ["greedy", "rbhc", "ward"])
def test_one_way_to_grow(kind: str) -> None:
    case = random_case("NormalInverseGamma", 40, 1)
    found = bhclust.learn(case.cells, case.family, tree=kind, max_rounds=1)
    words = {"greedy": "greedy tree", "rbhc": "RBHC tree", "ward": "Ward tree"}
    assert all(step.what.startswith((words[kind], "few", "refined")) for step in found.steps)
    both = bhclust.learn(case.cells, case.family, max_rounds=1)
    assert both.log_evidence >= found.log_evidence - 0.5
    est = bhclust.BHC(case.family, tree=kind).fit(case.cells)
    best = max(
        bhclust.posterior(way.grow(case.family, 1.0), case.cells, case.family).log_evidence
        for way in growths(kind, as_table(case.cells), case.family)
    )
    assert est.log_evidence_ == best


def test_a_vast_table_is_learned_by_what_heeds_its_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(2).poisson(0.4, size=(40, 12))
    start = bhclust.MultinomialDirichlet.from_data(X)
    assert any(step.what.startswith("Ward") for step in bhclust.learn(X, start).steps)
    monkeypatch.setattr(growth, "_WIDE_COLUMNS", 11)
    monkeypatch.setattr(growth, "_VAST_SCORES", 40 * 40 * 12 - 1)
    found = bhclust.learn(X, start)
    assert not any(step.what.startswith(("Ward", "refined")) for step in found.steps)
    factors = np.asarray(found.family.concentration) / np.asarray(start.concentration)
    assert factors == pytest.approx(factors[0])
    run = _Run(as_table(X), _Settings(start, None, (), 1, None))
    assert run.vector.size == 2
    objective = run._objective_on(found.tree)
    step = np.array([0.0, 1e-5])
    numeric = (objective(run.x + step)[0] - objective(run.x - step)[0]) / 2e-5
    assert objective(run.x)[1][1] == pytest.approx(numeric, rel=2e-5)


def test_the_best_tree_of_all_ways_is_kept() -> None:
    case = random_case("NormalInverseGamma", 60, 2)
    single = [
        bhclust.BHC(case.family, tree=kind).fit(case.cells).log_evidence_
        for kind in ("greedy", "rbhc", "ward")
    ]
    assert bhclust.BHC(case.family).fit(case.cells).log_evidence_ == max(single)


@pytest.mark.parametrize("name", NAMES)
def test_ward_trees_of_every_family_have_no_scale(name: str) -> None:
    case = random_case(name, 20, 3)
    for way in growths("ward", as_table(case.cells), case.family):
        tree = way.grow(case.family, 1.0)
        assert tree.n_leaves == 20
        assert tree.n_merges == 19
        assert not way.follows


def test_ward_trees_of_numbers_at_the_ends_of_their_range() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    family = bhclust.NormalInverseGamma.from_data(X)
    for scale in (1e-290, 1e290):
        for plain, scaled in zip(
            growths("ward", as_table(X), family),
            growths("ward", as_table(X * scale), family),
            strict=True,
        ):
            before = plain.grow(family, 1.0).children
            np.testing.assert_array_equal(scaled.grow(family, 1.0).children, before)


def test_many_rows_are_learned_from_some() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2)) + 9.0 * rng.integers(3, size=(300, 1))
    found = bhclust.learn(X, "gaussian-diag", max_rows=100, max_rounds=1)
    words = [step.what for step in found.steps]
    assert words[0] == "greedy tree of 100 rows"
    assert "greedy tree" in words
    assert found.tree.n_leaves == 300
    whole = bhclust.learn(X, "gaussian-diag", max_rounds=1)
    assert found.log_evidence == pytest.approx(whole.log_evidence, abs=5.0)
    other = bhclust.learn(X, "gaussian-diag", max_rows=100, max_rounds=1, random_state=1)
    assert other.steps[0].log_evidence != found.steps[0].log_evidence


def test_some_rows_of_a_sparse_table() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    counts = np.random.default_rng(0).poisson(0.3, size=(80, 5)).astype(float)
    dense = bhclust.learn(counts, "poisson", max_rows=30, max_rounds=0, max_regrafts=0)
    found = bhclust.learn(
        sparse.csr_matrix(counts), "poisson", max_rows=30, max_rounds=0, max_regrafts=0
    )
    assert found.log_evidence == pytest.approx(dense.log_evidence, rel=1e-6)


def test_needs_scipy_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"learning needs SciPy"):
        bhclust.learn(np.zeros((4, 1)), bhclust.BernoulliBeta())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("family", "shape"),
    [("gaussian-spherical", (60, 5)), ("gaussian-spherical", (30, 2)), ("gaussian", (12, 3))],
)
def test_noise_is_one_cluster_and_not_as_many_as_rows(
    family: str, shape: tuple[int, int], seed: int
) -> None:
    X = np.random.default_rng(seed).normal(size=shape)
    found = bhclust.learn(X, family, n_threads=1)
    assert found.posterior.cut().max() == 0
    assert found.alpha < 1


def test_the_concentration_stays_below_a_quarter_of_the_rows() -> None:
    # Two rows each far from the others: as many clusters as there may be.
    X = np.repeat(np.random.default_rng(0).normal(scale=1e3, size=(20, 2)), 2, axis=0)
    X += np.random.default_rng(1).normal(size=X.shape)
    found = bhclust.learn(X, "gaussian-spherical", n_threads=1)
    assert found.posterior.cut().max() == 19
    assert 1 < found.alpha < 10.001
    few = HyperparameterVector(found.family, 3.0, as_table(X[:4]), learn_alpha=True)
    assert few.upper[0] == few.start[0]


@pytest.mark.parametrize(
    ("fixed", "error", "message"),
    [
        (3, TypeError, "fixed must be a list of column numbers, not 3"),
        ("ab", TypeError, r"fixed\[0\] must be a whole number, not 'a'"),
        ([0, 0.5], TypeError, r"fixed\[1\] must be a whole number, not 0.5"),
        ([-1], ValueError, r"fixed\[0\] is -1; it must be at least 0"),
        ([1, 2], ValueError, r"fixed\[1\] is 2; the columns are 0 to 1"),
    ],
)
def test_columns_that_are_not_there_cannot_be_fixed(fixed: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        bhclust.learn(np.ones((5, 2)), "gaussian-diag", fixed=fixed)
