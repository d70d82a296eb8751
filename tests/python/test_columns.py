"""Tables whose columns have families of their own, by name or by number."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import bhclust
from bhclust.columns import ColumnCoder, naming

MIXED = {"age": bhclust.NormalInverseGamma(), "region": "categorical", "visits": "poisson"}
ROWS: dict[str, list[Any]] = {
    "age": [31.5, None, 70.0, 45.0],
    "region": ["north", "south", None, "north"],
    "visits": [0, 2, 1, 7],
    "comment": ["x", "y", "z", ""],
}
CELLS = [[31.5, 0, 0], [np.nan, 1, 2], [70, np.nan, 1], [45, 0, 7]]


def test_columns_come_in_the_order_of_the_families() -> None:
    coder = ColumnCoder(MIXED)
    table, family = coder.fit(ROWS)
    np.testing.assert_array_equal(table.arrays, CELLS)
    assert coder.columns == ["age", "region", "visits"]
    assert coder.levels == {"region": ["north", "south"]}
    assert [(f.name, columns) for f, columns in family.blocks] == [
        ("NormalInverseGamma", [0]),
        ("CategoricalDirichlet", [1]),
        ("PoissonGamma", [2]),
    ]
    again = coder.transform({"visits": [3], "region": ["south"], "age": [1.0]})
    np.testing.assert_array_equal(again.arrays, [[1, 1, 3]])


def test_arrays_and_lists_go_by_number() -> None:
    by_number = {0: MIXED["age"], 1: "categorical", 2: "poisson"}
    rows = [list(row) for row in zip(*ROWS.values(), strict=True)]
    for X in (rows, np.array(rows, dtype=object), tuple(map(tuple, rows))):
        table, _ = ColumnCoder(by_number).fit(X)
        np.testing.assert_array_equal(table.arrays, CELLS)
    numbers = np.array([[1.0, 0, 5], [2, 1, 6]])
    table, family = ColumnCoder({2: "poisson", np.int64(0): MIXED["age"]}).fit(numbers)
    np.testing.assert_array_equal(table.arrays, [[5, 1], [6, 2]])
    assert [columns for _, columns in family.blocks] == [[0], [1]]


def test_a_masked_array_has_missing_cells() -> None:
    X = np.ma.masked_array([[1, 0], [2, 1], [3, 1]], mask=[[0, 0], [1, 0], [0, 1]])
    table, _ = ColumnCoder({0: "poisson", 1: "categorical"}).fit(X)
    np.testing.assert_array_equal(table.arrays, [[1, 0], [np.nan, 1], [3, np.nan]])


def test_data_frames_go_by_name() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    kinds: dict[str, list[Any]] = {
        "region": ["object", "string", "category"],
        "visits": ["int64", "Int64", "float32", "Float64"],
        "age": ["float64", "Float64"],
    }
    for name, types in kinds.items():
        for kind in types:
            table, _ = ColumnCoder(MIXED).fit(frame.astype({name: kind}))
            np.testing.assert_array_equal(table.arrays, CELLS)


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["b", "a", None, "b"], ["a", "b"]),
        ([3, 1, 3, 2], [1, 2, 3]),
        ([True, False, None, True], [False, True]),
        ([2.0, float("nan"), 1.0, 2.0], [1.0, 2.0]),
        (["b", 1, "b", 1], [1, "b"]),
        ([("a", 1), ("b", 2), None, None], [("a", 1), ("b", 2)]),
        ([None, None, None, None], [0, 1]),
        (["only", "only", "only", "only"], ["only"]),
    ],
)
def test_levels_are_learned_in_sorted_order(values: list[Any], levels: list[Any]) -> None:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    coder = ColumnCoder({"c": "categorical"})
    table, _ = coder.fit({"c": column})
    assert coder.levels == {"c": levels}
    for value, code in zip(values, np.asarray(table.arrays)[:, 0], strict=True):
        assert np.isnan(code) if value not in levels else levels[int(code)] == value
    with pytest.raises(ValueError, match="row 0, column 'c' is 'new', a level that the fitted"):
        coder.transform({"c": np.array(["new"], dtype=object)})


def test_pandas_missing_values_are_no_levels() -> None:
    pd = pytest.importorskip("pandas")
    coder = ColumnCoder({"c": "categorical", "d": "categorical"})
    frame = pd.DataFrame(
        {
            "c": pd.Series(["a", pd.NA, None, np.nan], dtype=object),
            "d": pd.to_datetime(["2020-01-01", "2021-01-01", None, "2020-01-01"]),
        }
    )
    table, _ = coder.fit(frame)
    assert coder.levels["c"] == ["a"]
    assert len(coder.levels["d"]) == 2
    assert np.isnan(np.asarray(table.arrays)).sum(axis=0).tolist() == [3, 1]


def test_unused_categories_are_no_levels() -> None:
    pd = pytest.importorskip("pandas")
    column = pd.Categorical(["b", "a", "b"], categories=["c", "b", "a"], ordered=True)
    coder = ColumnCoder({"c": "categorical"})
    coder.fit(pd.DataFrame({"c": column}))
    assert coder.levels["c"] == ["a", "b"]


def test_codes_may_be_given_with_a_family_of_ones_own() -> None:
    family = bhclust.CategoricalDirichlet(levels=5)
    coder = ColumnCoder({"c": family})
    table, product = coder.fit({"c": [0, 4, 1]})
    assert coder.levels == {}
    np.testing.assert_array_equal(table.arrays, [[0], [4], [1]])
    assert product.blocks[0][0] == family


@pytest.mark.parametrize(
    ("choice", "X", "error", "message"),
    [
        ({}, ROWS, ValueError, "family names no column; give at least one"),
        (
            {"weight": "poisson"},
            ROWS,
            ValueError,
            r"names column 'weight', and X has \['age', 'region', 'visits', 'comment'\]",
        ),
        ({"age": "normal"}, ROWS, ValueError, "family is 'normal'; the names are bernoulli, "),
        ({"age": 3}, ROWS, TypeError, "family must be a Family, one of its classes or a name"),
        ({"comment": "poisson"}, ROWS, TypeError, "column 'comment' has dtype <U1.*level codes"),
        ({"region": "poisson"}, ROWS, TypeError, "row 0, column 'region' is 'north', which is"),
        ({"visits": "bernoulli"}, ROWS, ValueError, "row 1, column 'visits' is 2; BernoulliBeta"),
        ({"a": "poisson"}, {"a": [[1, 2]]}, ValueError, r"column 'a' has 2 dimension\(s\)"),
        (
            {"a": "poisson", "b": "poisson"},
            {"a": [1, 2], "b": [1]},
            ValueError,
            r"X has columns of lengths \[1, 2\]",
        ),
        ({5: "poisson"}, [[1, 2]], ValueError, "names column 5, and X has columns 0 to 1"),
        ({-1: "poisson"}, [[1, 2]], ValueError, "names column -1, and X has columns 0 to 1"),
        ({"a": "poisson"}, [[1, 2]], TypeError, "names column 'a'; X is an array, so columns go"),
        ({True: "poisson"}, [[1, 2]], TypeError, "names column True; X is an array"),
        ({0: "poisson"}, [1, 2], ValueError, r"X has 1 dimension\(s\); it must have two"),
        ({0: "poisson"}, [[1, 2], [3]], ValueError, r"X has 1 dimension\(s\).*equal length"),
        ({0: "poisson"}, None, ValueError, r"X has 0 dimension\(s\)"),
        ({0: "poisson"}, np.empty((0, 2)), ValueError, "X has no rows"),
    ],
)
def test_what_does_not_fit_is_refused(choice: Any, X: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        ColumnCoder(choice).fit(X)


def test_lists_are_no_levels() -> None:
    column = np.empty(2, dtype=object)
    column[:] = ["a", ["b"]]
    with pytest.raises(TypeError, match=r"row 1, column 'c' is \['b'\]; a level must be text"):
        ColumnCoder({"c": "categorical"}).fit({"c": column})
    coder = ColumnCoder({"c": "categorical"})
    coder.fit({"c": ["a", "b"]})
    with pytest.raises(ValueError, match=r"row 1, column 'c' is \['b'\], a level that"):
        coder.transform({"c": column})


def test_a_name_that_is_there_twice_is_refused() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(ValueError, match="names column 'a', and X has it 2 times"):
        ColumnCoder({"a": "poisson"}).fit(frame)


def test_sparse_tables_are_refused() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match=r"X is sparse; .* needs a dense table: X\.toarray\(\)"):
        ColumnCoder({0: "poisson"}).fit(sparse.csr_array((3, 2)))


@pytest.mark.parametrize(
    ("keys", "message", "told"),
    [
        (["a", "b"], "X: row 3, column 1 is 7; no", "X: row 3, column 'b' is 7; no"),
        ([1, 0], "X: row 3, column 1 is 7; no", "X: row 3, column 0 is 7; no"),
        (["a"] * 11 + ["b"], "column 11 has", "column 'b' has"),
        (["a", "b"], "column 2 has", "column 2 has"),
        (None, "column 0 has", "column 0 has"),
    ],
)
def test_messages_name_columns_by_their_keys(keys: Any, message: str, told: str) -> None:
    with pytest.raises(ValueError) as caught, naming(keys):  # noqa: PT011
        raise ValueError(message)
    assert str(caught.value) == told


def test_errors_of_other_types_pass() -> None:
    class OwnError(ValueError):
        pass

    error = OwnError("column 0 is mine")
    with pytest.raises(OwnError) as caught, naming(["a"]):
        raise error
    assert caught.value is error


class TestHurdles:
    """A column with a spike at zero in a mapping is what `bhclust.hurdle` makes of it."""

    @staticmethod
    def table() -> dict[str, np.ndarray]:
        rng = np.random.default_rng(3)
        group = rng.integers(0, 2, 40)
        rain = np.where(rng.random(40) < 0.2 + 0.6 * group, 0.0, rng.normal(5 + 3 * group, 1.0))
        rain[[4, 9]] = np.nan
        return {"wind": rng.normal(6.0 * group), "rain": rain}

    FAMILY: ClassVar = {"wind": "gaussian-diag", "rain": "hurdle"}

    def test_is_the_hurdle(self) -> None:
        table = self.table()
        cells, family = bhclust.hurdle(np.column_stack(list(table.values())), columns=[1])
        plain = bhclust.BHC(family, hyperparameters="data").fit(cells)
        est = bhclust.BHC(self.FAMILY, hyperparameters="data").fit(table)
        assert est.family_ == family
        assert est.log_evidence_ == plain.log_evidence_
        np.testing.assert_array_equal(est.score_samples(table), plain.score_samples(cells))
        assert est.n_features_in_ == 2

    def test_rows_come_back_as_they_went_in(self) -> None:
        table = self.table()
        est = bhclust.BHC(self.FAMILY).fit(table)
        for rows in (est.impute(), est.impute(table)):
            assert list(rows) == ["wind", "rain"]
            known = ~np.isnan(table["rain"])
            np.testing.assert_array_equal(rows["rain"][known], table["rain"][known])
            assert np.isfinite(rows["rain"]).all()
        # the expected value of a missing cell: the chance of rain times what it then is
        post = est.posterior_
        cells = post.impute()
        np.testing.assert_allclose(est.impute()["rain"][4], cells[4, 2] * cells[4, 1])
        modes = est.impute(statistic="mode")["rain"][[4, 9]]
        np.testing.assert_array_equal(
            modes, np.where(cells[[4, 9], 2] > 0.5, cells[[4, 9], 1], 0.0)
        )
        drawn, _ = est.sample(300, random_state=1)
        assert 0.2 < np.mean(drawn["rain"] == 0.0) < 0.8
        again = pickle.loads(pickle.dumps(est))
        np.testing.assert_array_equal(again.predict(table), est.predict(table))

    def test_of_arrays_by_number(self) -> None:
        table = self.table()
        X = np.column_stack(list(table.values()))
        est = bhclust.BHC({0: "gaussian-diag", 1: "hurdle"}).fit(X)
        np.testing.assert_array_equal(est.predict(X), bhclust.BHC(self.FAMILY).fit(table).labels_)
        assert est.impute(X).shape == X.shape

    def test_refusals_name_the_column(self) -> None:
        table = self.table()
        table["rain"][7] = np.inf
        with pytest.raises(ValueError, match=r"row 7, column 'rain' is inf"):
            bhclust.BHC(self.FAMILY).fit(table)
        table["rain"][7] = 1.0
        est = bhclust.BHC(self.FAMILY).fit(table)
        with pytest.raises(ValueError, match=r"the columns are \['wind', 'rain'\]"):
            est.impute_proba("snow")
        with pytest.raises(ValueError, match=r"family is 'hurdle', which is for columns"):
            bhclust.BHC("hurdle").fit(np.zeros((3, 1)))


def test_a_column_of_one_level_has_no_other() -> None:
    table = {"kind": ["x"] * 6, "size": [1.0, 1.1, 0.9, 7.0, 7.1, 6.9]}
    est = bhclust.BHC({"kind": "categorical", "size": "gaussian-diag"}).fit(table)
    assert list(est.impute_proba("kind")) == ["x"]
    np.testing.assert_array_equal(est.impute_proba("kind")["x"], 1.0)
    rows, _ = est.sample(50)
    assert set(rows["kind"]) == {"x"}
    alone = bhclust.BHC("gaussian-diag").fit(np.reshape(table["size"], (-1, 1)))
    assert est.log_evidence_ == pytest.approx(alone.log_evidence_, abs=1e-6)


def test_names_that_are_numbers_are_times() -> None:
    rng = np.random.default_rng(0)
    times = [0.0, 0.5, 4.0]
    X = rng.normal(size=(8, 3))
    table = {str(time): X[:, j] for j, time in enumerate(times)} | {"sex": rng.integers(0, 2, 8)}
    choice = dict.fromkeys(list(table)[:3], "time-series") | {"sex": "bernoulli"}
    est = bhclust.BHC(choice, hyperparameters="data").fit(table)
    (series, columns), _ = est.family_.blocks  # type: ignore[attr-defined]
    assert series == bhclust.GaussianProcess.from_data(X, times=times)
    assert columns == [0, 1, 2]
    named = {"a": "time-series", "sex": "bernoulli"}
    plain = bhclust.BHC(named, hyperparameters="data").fit(table | {"a": X[:, 0]})
    (series, _), _ = plain.family_.blocks  # type: ignore[attr-defined]
    assert series == bhclust.GaussianProcess.from_data(X[:, :1])
