"""Missing cells against the mixture over enumerated partitions, and in the caller's own tables."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from reference import bhc as twin
from reference import predictive

import bhclust
from bhclust import BHC, RBHC
from cases import NAMES, TAKES_MISSING, bounded, close, random_case
from test_posterior import scored_trees, tree_of

NAN = math.nan


def check_cells(found: np.ndarray, rows: list[list[float]], wanted: list[list[Any]]) -> None:
    assert found.shape == (len(rows), len(rows[0]))
    for i, (row, means) in enumerate(zip(rows, wanted, strict=True)):
        for j, (x, mean) in enumerate(zip(row, means, strict=True)):
            if not math.isnan(x):
                assert found[i, j] == x
            elif np.ndim(mean):
                assert mean[int(found[i, j])] >= mean.max() - 1e-9
            else:
                assert close(found[i, j], mean, 1e-8), (i, j)


def any_infinite(rows: list[list[float]], wanted: list[list[Any]]) -> bool:
    return any(
        math.isnan(x) and np.ndim(mean) == 0 and math.isinf(mean)
        for row, means in zip(rows, wanted, strict=True)
        for x, mean in zip(row, means, strict=True)
    )


@pytest.mark.parametrize("name", sorted(TAKES_MISSING))
def test_imputed_cells_are_the_mixtures(name: str) -> None:
    @bounded(12)
    @given(scored_trees(name))
    def check(drawn: Any) -> None:
        case, n, children, alpha = drawn
        brute = twin.Enumeration.of_tree(children, n, case.log_marginal(), alpha)
        family = (case.name, case.hyper)
        X, rows = case.cells, case.rows
        post = bhclust.posterior(tree_of(n, children), X[:n], case.family, alpha=alpha)
        wanted = [predictive.impute(family, rows, brute, i, n) for i in range(len(rows))]
        for part, means, new in ((rows[:n], wanted[:n], None), (rows[n:], wanted[n:], X[n:])):
            if any_infinite(part, means):
                with pytest.raises(ValueError, match="its expected value is infinite under"):
                    post.impute(new)
            else:
                check_cells(post.impute(new), part, means)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_tables_without_holes_come_back(name: str) -> None:
    case = random_case(name, 12, 1)
    X = np.nan_to_num(case.cells, nan=0.5)
    post = bhclust.posterior(bhclust.bhc(X, case.family), X, case.family)
    assert post.impute().tobytes() == X.tobytes()
    assert post.impute(X[:3]).tobytes() == X[:3].tobytes()
    assert post.impute() is not post.impute()


def holed() -> np.ndarray:
    rng = np.random.default_rng(5)
    group = np.arange(40) % 2
    X = np.column_stack(
        [
            rng.random(40) < 0.1 + 0.8 * group,
            rng.integers(3, size=40) * (1 - group) + 2 * group,
            10.0 * group + rng.normal(size=40),
        ]
    ).astype(float)
    X[rng.random(X.shape) < 0.2] = NAN
    return X


def mixed() -> bhclust.Product:
    return bhclust.Product(
        [
            (bhclust.BernoulliBeta(), [0]),
            (bhclust.CategoricalDirichlet(levels=3.0), [1]),
            (bhclust.NormalInverseGamma(), [2]),
        ]
    )


class TestProbabilities:
    def test_of_levels_and_bits(self) -> None:
        X = holed()
        post = bhclust.posterior(bhclust.bhc(X, mixed()), X, mixed())
        new = X[::-1].copy()
        for rows, given_rows in ((X, None), (new, new)):
            mean, mode = post.impute(given_rows), post.impute(given_rows, statistic="mode")
            bits, levels = post.impute_proba(0, given_rows), post.impute_proba(1, given_rows)
            assert bits.shape == (40, 2)
            assert levels.shape == (40, 3)
            for proba in (bits, levels):
                assert close(proba.sum(axis=1), np.ones(40))
            assert (mean[:, 0] == bits[:, 1]).all()
            assert (mode[:, 0] == (bits[:, 1] > 0.5)).all()
            assert (mode[:, 1:] == mean[:, 1:]).all()
            assert (mean[:, 1] == levels.argmax(axis=1)).all()
            seen = ~np.isnan(rows[:, 1])
            assert (levels[seen, rows[seen, 1].astype(int)] == 1).all()
            gaps = np.isnan(rows[:, 0])
            assert ((mean[gaps, 0] > 0) & (mean[gaps, 0] < 1)).all()

    def test_nested_products_know_their_bits(self) -> None:
        inner = bhclust.Product([(bhclust.PoissonGamma(), [1]), (bhclust.BernoulliBeta(), [0])])
        family = bhclust.Product([(inner, [2, 0])])
        X = np.array([[3.0, NAN, 1.0], [NAN, 7.0, NAN], [4.0, 7.0, 1.0]])
        post = bhclust.posterior(bhclust.bhc(X, family), X, family)
        mode = post.impute(statistic="mode")
        assert mode[1, 2] == 1.0
        assert mode[1, 0] != np.floor(mode[1, 0])
        assert math.isnan(mode[0, 1])
        assert post.impute_proba(2).shape == (3, 2)

    def test_refusals(self) -> None:
        X = holed()
        post = bhclust.posterior(bhclust.bhc(X, mixed()), X, mixed())
        with pytest.raises(ValueError, match="column 2 holds numbers, which have no levels"):
            post.impute_proba(2)
        with pytest.raises(ValueError, match="column is 3; X has the columns 0 to 2"):
            post.impute_proba(3)
        with pytest.raises(TypeError, match=r"column must be a whole number, not 1\.0"):
            post.impute_proba(1.0)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="statistic is 'median'; it must be one of 'mean'"):
            post.impute(statistic="median")
        with pytest.raises(ValueError, match="X_new has 2 columns; the fitted X has 3"):
            post.impute(X[:, :2])
        bad = X.copy()
        bad[4, 1] = 3.0
        with pytest.raises(ValueError, match="X_new: row 4, column 1 is 3, but levels is 3"):
            post.impute(bad)


def test_infinite_means_are_refused_by_their_place() -> None:
    X = np.array([[1.0], [NAN]])
    post = bhclust.posterior(bhclust.bhc(X, bhclust.GeometricBeta()), X, bhclust.GeometricBeta())
    told = "row 1, column 0 is missing, and its expected value is infinite under GeometricBeta"
    with pytest.raises(ValueError, match=f"^X: {told}"):
        post.impute()
    with pytest.raises(ValueError, match=f"^X_new: {told}"):
        post.impute(X)


def test_families_without_missing_cells_refuse_them() -> None:
    case = random_case("NormalInverseWishart", 8, 0)
    est = BHC(case.family).fit(case.cells)
    bad = case.cells.copy()
    bad[3, 1] = NAN
    told = "X_new: row 3, column 1 is NaN; NormalInverseWishart takes no missing values"
    with pytest.raises(ValueError, match=told):
        est.impute(bad)


def test_sparse_tables_have_nothing_to_impute() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    post = bhclust.posterior(bhclust.bhc(X, "poisson"), X, "poisson")
    with pytest.raises(ValueError, match="the fitted X is sparse: it has no missing cells"):
        post.impute()
    with pytest.raises(ValueError, match="X_new is sparse: it has no missing cells"):
        post.impute(X)


def test_threads_and_progress() -> None:
    X = holed()
    post = bhclust.posterior(bhclust.bhc(X, mixed()), X, mixed())
    new = np.tile(X, (5, 1))
    one = post.impute(new, n_threads=1)
    assert post.impute(new, n_threads=3).tobytes() == one.tobytes()
    seen: list[tuple[int, int]] = []
    post.impute(new, progress=lambda *where: seen.append(where))
    assert seen[-1][0] == seen[-1][1]

    def stop(*_where: int) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        post.impute(new, progress=stop)


FAMILY: dict[Any, Any] = {
    "age": bhclust.NormalInverseGamma(mean=45.0, kappa=0.1, b=100.0),
    "smoker": "bernoulli",
    "region": "categorical",
    "visits": "poisson",
}


def people() -> dict[str, list[Any]]:
    return {
        "name": [f"p{i}" for i in range(12)],
        "age": [31.0, 29.0, NAN, 33.0, 30.0, 28.0, 66.0, 64.0, 67.0, NAN, 65.0, 63.0],
        "smoker": [0, 0, 0, None, 0, 0, 1, 1, 1, 1, None, 1],
        "region": ["n", "n", "n", "n", None, "n", "s", "s", None, "s", "s", "s"],
        "visits": [1, 0, 2, 1, 0, None, 9, 12, 11, 8, 10, None],
    }


def check_people(filled: Any, *, whole: bool, mode: bool) -> None:
    columns = {key: list(filled[key]) for key in FAMILY}
    assert 28 < columns["age"][2] < 33
    assert 63 < columns["age"][9] < 67
    assert columns["region"][4] == "n"
    assert columns["region"][8] == "s"
    assert 0.4 < columns["visits"][5] < 1.8
    assert 8.5 < columns["visits"][11] < 11
    if mode:
        assert (columns["smoker"][3], columns["smoker"][10]) == (0, 1)
    else:
        assert 0 < columns["smoker"][3] < 0.3
        assert 0.7 < columns["smoker"][10] < 1
    if whole:
        assert list(filled["name"]) == people()["name"]
    before = people()
    for key in FAMILY:
        for old, new in zip(before[key], columns[key], strict=True):
            assert old is None or old != old or old == new


class TestTablesOfTheCaller:
    @pytest.mark.parametrize("statistic", ["mean", "mode"])
    def test_mappings(self, statistic: str) -> None:
        X = people()
        est = BHC(FAMILY).fit(X)
        filled = est.impute(X, statistic=statistic)
        assert list(filled) == list(X)
        assert filled["name"] is X["name"]
        assert isinstance(filled["age"], list)
        check_people(filled, whole=True, mode=statistic == "mode")
        assert X["region"] == people()["region"]
        check_people(est.impute(statistic=statistic), whole=False, mode=statistic == "mode")

    @pytest.mark.parametrize("statistic", ["mean", "mode"])
    def test_data_frames(self, statistic: str) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(people(), index=[f"row {i}" for i in range(12)])
        est = BHC(FAMILY).fit(frame)
        filled = est.impute(frame, statistic=statistic)
        assert list(filled.columns) == list(frame.columns)
        assert list(filled.index) == list(frame.index)
        assert filled["name"].equals(frame["name"])
        check_people(filled, whole=True, mode=statistic == "mode")
        assert frame["region"].isna().sum() == 2
        fitted = est.impute(statistic=statistic)
        assert isinstance(fitted, pd.DataFrame)
        assert list(fitted.columns) == list(FAMILY)
        check_people(fitted, whole=False, mode=statistic == "mode")
        again = pickle.loads(pickle.dumps(est))
        assert again.impute(frame).equals(est.impute(frame))

    def test_types_stay_where_they_hold_the_values(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(people()).astype(
            {"region": "category", "smoker": "boolean", "visits": "Int64", "age": "float32"}
        )
        est = BHC(FAMILY).fit(frame)
        mode, mean = est.impute(frame, statistic="mode"), est.impute(frame)
        assert str(mode["region"].dtype) == "category"
        assert str(mode["smoker"].dtype) == "boolean"
        assert str(mean["smoker"].dtype) == "float64"
        assert str(mean["visits"].dtype) == "float64"
        assert str(mean["age"].dtype) == "float32"
        assert not mode.isna().any().any()

    def test_arrays_and_lists(self) -> None:
        X = holed()
        est = BHC("gaussian-diag").fit(X)
        filled = est.impute(X)
        assert filled.tobytes() == est.posterior_.impute(X).tobytes()
        assert est.impute().tobytes() == est.posterior_.impute().tobytes()
        choice = {2: "gaussian-diag", 1: "categorical"}
        some = BHC(choice).fit(X)
        cells = some.impute(X)
        assert cells.dtype == np.float64
        assert np.isnan(cells[:, 0]).sum() == np.isnan(X[:, 0]).sum()
        assert not np.isnan(cells[:, 1:]).any()
        fitted = some.impute()
        assert fitted.shape == X.shape
        assert np.isnan(fitted[:, 0]).all()
        rows = [[float(x), f"level {c}"] for c, x in X[:, 1:] if c == c and x == x]
        rows[3][1] = None  # type: ignore[call-overload]
        text = BHC({0: "gaussian-diag", 1: "categorical"}).fit(rows)
        assert text.impute(rows)[3, 1].startswith("level ")
        assert text.impute()[3, 1].startswith("level ")

    def test_probabilities_go_by_level(self) -> None:
        X = people()
        est = BHC(FAMILY).fit(X)
        for rows in (X, None):
            region, smoker = est.impute_proba("region", rows), est.impute_proba("smoker", rows)
            assert list(region) == ["n", "s"]
            assert list(smoker) == [0, 1]
            assert close(region["n"] + region["s"], np.ones(12))
            assert region["n"][0] == smoker[1][6] == 1.0
            assert 0.7 < region["n"][4] < 1
            assert 0.7 < region["s"][8] < 1
        with pytest.raises(ValueError, match="column 'age' holds numbers, which have no levels"):
            est.impute_proba("age")
        with pytest.raises(ValueError, match=r"column is 2; the columns are \['age', 'smoker'"):
            est.impute_proba(2)
        plain = BHC("bernoulli").fit([[0.0, 1.0], [1.0, NAN]])
        assert plain.impute_proba(1)[1].shape == (2,)

    def test_frames_without_a_mapping(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(holed(), columns=["a", "b", "c"])
        est = RBHC("gaussian-diag", n_clusters=2).fit(frame)
        filled = est.impute(frame)
        assert list(filled.columns) == ["a", "b", "c"]
        assert not filled.isna().any().any()
        assert list(est.impute().columns) == ["a", "b", "c"]
        twice = pd.DataFrame(holed(), columns=["a", "b", "a"])
        both = BHC("gaussian-diag").fit(twice)
        assert list(both.impute().columns) == ["a", "b", "a"]

    def test_messages_name_the_column(self) -> None:
        X = {"n": [1, None, 3]}
        est = BHC({"n": bhclust.GeometricBeta()}).fit(X)
        with pytest.raises(ValueError, match="X_new: row 1, column 'n' is missing, and its"):
            est.impute(X)
        with pytest.raises(ValueError, match="X: row 1, column 'n' is missing, and its"):
            est.impute()

    def test_what_is_not_fitted_says_so(self) -> None:
        for est in (BHC(), RBHC()):
            for call in (est.impute, est.sample, lambda e=est: e.impute([[1.0]])):
                with pytest.raises(ValueError, match="is not fitted"):
                    call()
