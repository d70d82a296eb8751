"""family="auto": what columns are taken for, in tables as in files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import BHC, RBHC
from bhclust.io import read_table
from cases import close


def table(n: int = 80) -> dict[str, list[Any]]:
    rng = np.random.default_rng(7)
    ill = np.arange(n) % 2 == 0
    rain = np.where(rng.random(n) < 0.4, 0.0, rng.normal(np.where(ill, 8.0, 3.0)))
    wait = rng.exponential(np.where(ill, 60.0, 2.0)) + 1e-3
    return {
        "patient_id": [f"p{i:03d}" for i in range(n)],
        "bit": rng.integers(0, 2, n).tolist(),
        "smoker": np.where(rng.random(n) < np.where(ill, 0.9, 0.1), "yes", "no").tolist(),
        "region": np.where(ill, "north", "south").tolist(),
        "stage": rng.choice([1, 2, 4], n).tolist(),
        "visits": rng.poisson(np.where(ill, 14, 2)).tolist(),
        "age": (np.where(ill, 70.0, 30.0) + 4 * rng.normal(size=n)).tolist(),
        "rain": rain.tolist(),
        "wait": wait.tolist(),
        "constant": [3] * n,
        "note": [f"free text {i}" for i in range(n)],
        "class": np.where(ill, "ill", "well").tolist(),
    }


FAMILIES = {
    "patient_id": None,
    "bit": "bernoulli",
    "smoker": "bernoulli",
    "region": "categorical",
    "stage": "categorical",
    "visits": "poisson",
    "age": "gaussian-diag",
    "rain": "hurdle",
    "wait": "exponential",
    "constant": None,
    "note": None,
    "class": None,
}


def choices(est: Any) -> dict[Any, str | None]:
    return {key: found.family for key, found in est.column_choices_.items()}


def test_every_kind_of_column() -> None:
    est = BHC("auto", hyperparameters="data").fit(table())
    assert choices(est) == FAMILIES
    why = {key: found.why for key, found in est.column_choices_.items()}
    assert why["patient_id"] == "names of the rows"
    assert why["constant"] == "the same value in every row: 3"
    assert "by the name known classes" in why["class"]
    assert "exactly 0, which is modelled apart" in why["rain"]
    assert "exponential beats gaussian-diag by" in why["wait"]
    assert est.n_features_in_ == 8
    assert est.predict_proba(table()).shape == (80, est.n_clusters_ + 1)
    again = pickle.loads(pickle.dumps(est))
    assert (again.predict(table()) == est.predict(table())).all()
    RBHC("auto", n_clusters=2).fit(table())


def test_a_file_and_a_table_are_the_same(tmp_path: Path) -> None:
    columns = table()
    text = ",".join(columns) + "\n"
    text += "".join(",".join(map(str, row)) + "\n" for row in zip(*columns.values(), strict=True))
    (tmp_path / "a.csv").write_text(text)
    found = read_table(tmp_path / "a.csv")
    assert {key: column.family for key, column in found.columns.items()} == {
        key: family for key, family in FAMILIES.items() if family is not None
    }
    assert found.target == columns["class"]
    options: dict[str, Any] = {"hyperparameters": "data"}
    from_file = BHC(found.family, **options).fit(found.data)
    from_table = BHC("auto", **options).fit(columns)
    assert from_file.tree_ == from_table.tree_
    assert close(from_file.log_evidence_, from_table.log_evidence_, 1e-12)


def test_text_of_numbers_and_what_is_missing() -> None:
    pd = pytest.importorskip("pandas")
    plain = {"a": [1.5, 2.5, None, 9.0, 8.5, 2.0], "b": ["x", "y", None, "x", "y", "x"]}
    wanted = BHC("auto", hyperparameters="data").fit(plain)
    assert choices(wanted) == {"a": "gaussian-diag", "b": "categorical"}
    for gap in ("", " ", None, float("nan"), pd.NA, "NA"):
        told = {
            "a": np.array(["1.5", "2.5", gap, "9.0", "8.5", "2"], dtype=object),
            "b": np.array(["x", " y", gap, "x", "y", "x"], dtype=object),
        }
        for X in (told, pd.DataFrame(told)):
            found = BHC("auto", hyperparameters="data").fit(X)
            assert choices(found) == choices(wanted)
            assert found.log_evidence_ == wanted.log_evidence_
            assert found.predict_proba(X).tobytes() == wanted.predict_proba(plain).tobytes()
    with pytest.raises(ValueError, match="row 0, column 'a' is 'many'; it must be a number"):
        found.predict({"a": np.array(["many"], dtype=object), "b": ["x"]})


def test_empty_text_is_missing_where_families_are_given() -> None:
    families = {"b": "categorical"}
    one = BHC(families, hyperparameters="data").fit({"b": ["x", "y", "", "x"]})
    other = BHC(families, hyperparameters="data").fit({"b": ["x", "y", None, "x"]})
    assert one.log_evidence_ == other.log_evidence_


def test_arrays_and_single_columns() -> None:
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, 2, 40), rng.normal(size=40), np.ones(40)])
    est = BHC("auto", hyperparameters="data").fit(cells)
    assert choices(est) == {0: "bernoulli", 1: "gaussian-diag", 2: None}
    some = BHC({0: "bernoulli", 1: "auto"}, hyperparameters="data").fit(cells)
    assert choices(some) == {1: "gaussian-diag"}
    assert some.log_evidence_ == est.log_evidence_
    assert not hasattr(some.set_params(family={1: "gaussian"}).fit(cells), "column_choices_")
    with pytest.raises(ValueError, match='no column that family="auto" can cluster on'):
        BHC("auto").fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"X: row 1, column 0: 'inf' is not a finite number"):
        BHC("auto").fit([[1.5], [np.inf], [2.5]])


@pytest.mark.parametrize("family", ["auto", {"a": "gaussian-diag"}, {"a": "poisson"}])
def test_a_whole_number_beyond_the_doubles_is_refused_by_its_place(family: Any) -> None:
    table = {"a": np.array([1, 10**400, 2], dtype=object)}
    with pytest.raises(ValueError, match=r"row 1, column '?a'?:? (is inf|'inf' is not a finite)"):
        BHC(family, hyperparameters="data").fit(table)


def test_correlated_columns_are_one_block() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=200)
    X = base[:, None] + 0.1 * rng.normal(size=(200, 3))
    est = BHC("auto", hyperparameters="data").fit(X)
    assert choices(est) == dict.fromkeys(range(3), "gaussian")
    assert "correlations of 3 columns are worth" in est.column_choices_[0].why
    X[5, 1] = np.nan
    assert choices(BHC("auto", hyperparameters="data").fit(X))[1] == "gaussian-diag"


class TestHurdle:
    def test_it_is_the_split_table(self) -> None:
        rng = np.random.default_rng(1)
        X = np.where(rng.random((50, 1)) < 0.5, 0.0, rng.normal(9.0, 1.0, (50, 1)))
        est = BHC({0: "hurdle"}, hyperparameters="data", tree="greedy").fit(X)
        split, family = bhclust.hurdle(X)
        assert est.tree_ == bhclust.bhc(split, est.family_)
        assert {part.name for part, _ in est.family_.blocks} == {
            part.name for part, _ in family.blocks
        }
        assert est.n_features_in_ == 1

    def test_missing_cells_come_back_in_one_column(self) -> None:
        rng = np.random.default_rng(1)
        group = np.arange(60) % 2
        rain = np.where(group, 0.0, rng.normal(50.0, 1.0, 60))
        columns = {"rain": rain.copy(), "x": 90.0 * group + rng.normal(size=60)}
        columns["rain"][[0, 1]] = np.nan
        est = BHC({"rain": "hurdle", "x": "gaussian-diag"}).fit(columns)
        filled = est.impute()
        assert list(filled) == ["rain", "x"]
        assert abs(filled["rain"][0] - 50.0) < 5
        assert abs(filled["rain"][1]) < 5
        assert (filled["rain"][2:] == columns["rain"][2:]).all()
        again = est.impute(columns, statistic="mode")
        assert again["rain"][1] == 0.0
        drawn = est.sample(200)[0]["rain"]
        assert 0.2 < np.mean(drawn == 0.0) < 0.8
        assert np.isfinite(est.score_samples(columns)).all()
