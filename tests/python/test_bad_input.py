"""Bad input: a refusal that names the argument or the cell and the remedy, or the right answer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import Tree
from cases import NAMES, NAN, SINGLE, TAKES_MISSING, TAKES_SPARSE, close, random_case

INF = math.inf

GOOD: dict[str, list[list[float]]] = {
    "NormalInverseWishart": [[0.5, -1.0], [2.0, 3.5], [0.0, 0.25]],
    "NormalInverseGamma": [[0.5, -1.0], [2.0, 3.5], [0.0, 0.25]],
    "NormalKnownVariance": [[0.5, -1.0], [2.0, 3.5], [0.0, 0.25]],
    "BernoulliBeta": [[0, 1], [1, 1], [0, 0]],
    "CategoricalDirichlet": [[0, 2], [1, 1], [2, 0]],
    "MultinomialDirichlet": [[0, 3], [1, 12], [7, 0]],
    "PoissonGamma": [[0, 3], [1, 12], [7, 0]],
    "ExponentialGamma": [[0.5, 3.0], [1e-6, 12.5], [7.0, 1.0]],
    "GeometricBeta": [[0, 3], [1, 12], [7, 0]],
    "NegativeBinomialBeta": [[0, 3], [1, 12], [7, 0]],
    "VonMisesFisher": [[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]],
    "GaussianProcess": [[0.5, -1.0], [2.0, 3.5], [0.0, 0.25]],
}
WANTS = {
    "NormalInverseWishart": "finite numbers below 1e150 in magnitude",
    "NormalInverseGamma": "finite numbers below 1e150 in magnitude",
    "NormalKnownVariance": "finite numbers below 1e150 in magnitude",
    "BernoulliBeta": "0 or 1",
    "CategoricalDirichlet": "level codes 0, 1, 2, ...",
    "MultinomialDirichlet": "whole numbers 0, 1, 2, ... up to 2^53",
    "PoissonGamma": "whole numbers 0, 1, 2, ... up to 2^53",
    "ExponentialGamma": "finite numbers above 0 and below 1e300",
    "GeometricBeta": "whole numbers 0, 1, 2, ... up to 2^53",
    "NegativeBinomialBeta": "whole numbers 0, 1, 2, ... up to 2^53",
    "VonMisesFisher": "finite numbers below 1e150 in magnitude",
    "GaussianProcess": "finite numbers below 1e150 in magnitude",
}
COUNTS = ("MultinomialDirichlet", "PoissonGamma", "GeometricBeta", "NegativeBinomialBeta")
REALS = ("NormalInverseWishart", "NormalInverseGamma", "NormalKnownVariance", "GaussianProcess")


def family_of(name: str) -> Any:
    if name == "CategoricalDirichlet":
        return bhclust.CategoricalDirichlet(levels=3)
    if name == "ExponentialGamma":
        return bhclust.ExponentialGamma(rate=2.0)
    return getattr(bhclust, name)()


def spoilt(name: str, value: float, row: int = 1, column: int = 1) -> np.ndarray:
    X = np.array(GOOD[name], dtype=float)
    X[row, column] = value
    return X


def everyone_refuses(X: Any, family: Any, message: str, error: Any = ValueError) -> None:
    """Each way in says the same."""
    good = GOOD[family.name]
    tree = bhclust.bhc(good, family)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    here = tree if n == 3 else Tree.from_children(max(n, 1), [])
    ways: list[tuple[str, Callable[[], Any]]] = [
        ("X", lambda: bhclust.bhc(X, family)),
        ("X", lambda: bhclust.rbhc(X, family)),
        ("X", lambda: bhclust.rbhc(X, family, method="greedy")),
        ("X", lambda: bhclust.posterior(here, X, family)),
        ("X", lambda: bhclust.BHC(family).fit(X)),
        ("X", lambda: bhclust.RBHC(family, lam=1.0).fit(X)),
        ("X_new", lambda: bhclust.posterior(tree, good, family).score_samples(X)),
        ("X_new", lambda: bhclust.posterior(tree, good, family).predict_log_proba(X)),
        ("X_new", lambda: bhclust.BHC(family).fit(good).predict(X)),
    ]
    for argument, way in ways:
        with pytest.raises(error, match=message.replace("X", argument, 1)):
            way()


def everything_is_right(X: Any, family: Any) -> None:
    """A tree over all rows, and no NaN comes out of it."""
    tree = bhclust.bhc(X, family)
    n = tree.n_leaves
    assert tree.n_merges == n - 1
    found = bhclust.posterior(tree, X, family)
    relaxed = bhclust.rbhc(X, family)
    assert relaxed.n_merges == n - 1
    assert np.isfinite(relaxed.cost).all()
    assert np.isfinite(tree.log_d).all()
    assert math.isfinite(found.log_evidence)
    for values in (found.r, found.omega, found.height, found.log_tree):
        assert not np.isnan(values).any()
    assert np.isfinite(found.score_samples(X)).all()
    log_proba = found.predict_log_proba(X)
    assert not np.isnan(log_proba).any()
    assert close(np.exp(log_proba).sum(axis=1), np.ones(n))
    assert sorted(set(found.cut().tolist())) == list(range(int(found.cut().max()) + 1))


class TestCells:
    @pytest.mark.parametrize("value", [INF, -INF])
    @pytest.mark.parametrize("name", SINGLE)
    def test_infinite(self, name: str, value: float) -> None:
        shown = "inf" if value > 0 else "-inf"
        message = rf"X: row 1, column 1 is {shown}; {name} takes {re.escape(WANTS[name])}"
        everyone_refuses(spoilt(name, value), family_of(name), message)

    @pytest.mark.parametrize("name", SINGLE)
    def test_not_a_number(self, name: str) -> None:
        X, family = spoilt(name, NAN), family_of(name)
        if name in TAKES_MISSING:
            everything_is_right(X, family)
            everything_is_right([[None if math.isnan(x) else x for x in row] for row in X], family)
            return
        message = f"X: row 1, column 1 is NaN; {name} takes no missing values: drop or impute"
        everyone_refuses(X, family, message)

    @pytest.mark.parametrize("name", SINGLE)
    def test_a_row_without_values(self, name: str) -> None:
        X = np.array(GOOD[name], dtype=float)
        X[1] = NAN
        if name in TAKES_MISSING:
            everything_is_right(X, family_of(name))
        else:
            everyone_refuses(X, family_of(name), "X: row 1, column 0 is NaN")

    @pytest.mark.parametrize("name", SINGLE)
    def test_a_column_without_values(self, name: str) -> None:
        X = np.array(GOOD[name], dtype=float)
        X[:, 1] = NAN
        if name not in TAKES_MISSING:
            everyone_refuses(X, family_of(name), "X: row 0, column 1 is NaN")
            return
        everything_is_right(X, family_of(name))
        tree, without = bhclust.bhc(X, family_of(name)), bhclust.bhc(X[:, :1], family_of(name))
        assert tree.children.tolist() == without.children.tolist()
        assert close(tree.log_d, without.log_d, 1e-12)

    @pytest.mark.parametrize("name", sorted(TAKES_MISSING - {"Product"}))
    def test_a_table_without_values(self, name: str) -> None:
        X = np.full((4, 2), NAN)
        everything_is_right(X, family_of(name))
        assert (bhclust.rbhc(X, family_of(name)).cost == 0).all()

    @pytest.mark.parametrize("value", [2, -1, 0.5, 1e30])
    def test_bits(self, value: float) -> None:
        shown = re.escape(f"{value:.17g}")
        message = rf"X: row 1, column 1 is {shown}; BernoulliBeta takes 0 or 1 \(recode"
        everyone_refuses(spoilt("BernoulliBeta", value), family_of("BernoulliBeta"), message)

    @pytest.mark.parametrize("value", [-1, 1.5, -0.5, 2.0**54])
    @pytest.mark.parametrize("name", COUNTS)
    def test_counts(self, name: str, value: float) -> None:
        wanted = re.escape("whole numbers 0, 1, 2, ... up to 2^53 (round")
        message = f"X: row 1, column 1 is {value:.17g}; {name} takes {wanted}"
        everyone_refuses(spoilt(name, value), family_of(name), message)

    @pytest.mark.parametrize("value", [0.0, -1.0, -1e-300, 1e300])
    def test_positive_numbers(self, value: float) -> None:
        message = (
            r"X: row 1, column 1 is .*; ExponentialGamma takes finite numbers above 0 and below "
            r"1e300 \(shift"
        )
        everyone_refuses(spoilt("ExponentialGamma", value), family_of("ExponentialGamma"), message)

    @pytest.mark.parametrize("value", [-1, 0.5])
    def test_codes_that_are_none(self, value: float) -> None:
        message = f"X: row 1, column 1 is {value:.17g}; CategoricalDirichlet takes level codes"
        family = family_of("CategoricalDirichlet")
        everyone_refuses(spoilt("CategoricalDirichlet", value), family, message)

    @pytest.mark.parametrize("value", [3, 1e9, 2.0**53])
    def test_codes_beyond_the_levels(self, value: float) -> None:
        message = r"X: row 1, column 1 is \d+, but levels is 3 there: raise levels, or renumber"
        family = family_of("CategoricalDirichlet")
        everyone_refuses(spoilt("CategoricalDirichlet", value), family, message)

    def test_codes_with_gaps(self) -> None:
        X = [[0, 5], [5, 0], [0, 0]]
        everything_is_right(X, bhclust.CategoricalDirichlet(levels=6))
        everything_is_right(X, bhclust.CategoricalDirichlet.from_data(X))

    def test_an_identifier_is_no_category(self) -> None:
        with pytest.raises(ValueError, match=r"column 0 .*4096.*identifier"):
            bhclust.bhc([[1e9], [2.0]], "categorical")

    def test_continuous_data_are_no_categories(self) -> None:
        with pytest.raises(ValueError, match=r"row 0, column 0 is 0\.5; CategoricalDirichlet"):
            bhclust.bhc(GOOD["NormalInverseGamma"], "categorical")

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ([0.0, 0.0], "X: row 1 has length 0; VonMisesFisher .* a zero row has no direction"),
            ([3.0, 4.0], "X: row 1 has length 5; VonMisesFisher .* divide each row by its length"),
            ([1.0, 1e-2], "X: row 1 has length 1.0000.*divide each row by its length"),
        ],
    )
    def test_rows_that_are_no_directions(self, row: list[float], message: str) -> None:
        X = [GOOD["VonMisesFisher"][0], row, GOOD["VonMisesFisher"][2]]
        everyone_refuses(X, family_of("VonMisesFisher"), message)

    @pytest.mark.parametrize("value", [1e150, -1e200])
    @pytest.mark.parametrize("name", REALS)
    def test_numbers_whose_squares_overflow(self, name: str, value: float) -> None:
        message = r"X: row 1, column 1 is .*magnitude \(rescale larger ones\)"
        everyone_refuses(spoilt(name, value), family_of(name), message)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_block_of_a_product_names_the_column_of_the_table(self, name: str) -> None:
        if name == "Product":
            nested = bhclust.Product([(family_of("PoissonGamma"), [0])])
            product = bhclust.Product([(family_of("NormalInverseGamma"), [0]), (nested, [2])])
            with pytest.raises(ValueError, match="X: row 0, column 2 is -1; PoissonGamma"):
                bhclust.bhc([[1.0, 1.0, -1.0]], product)
            return
        X = spoilt(name, INF)
        wide = np.column_stack([X[:, 1], np.zeros(3), X[:, 0]])
        product = bhclust.Product([(family_of(name), [2, 0])])
        with pytest.raises(ValueError, match=f"X: row 1, column 0 is inf; {name} takes"):
            bhclust.bhc(wide, product)


class TestShapes:
    @pytest.mark.parametrize("name", SINGLE)
    def test_no_rows(self, name: str) -> None:
        for X in (np.empty((0, 2)), np.empty((0, 2), dtype=object), np.empty((0, 2), dtype=int)):
            everyone_refuses(X, family_of(name), "X has no rows; at least one is needed")

    @pytest.mark.parametrize("name", SINGLE)
    def test_no_columns(self, name: str) -> None:
        for X in (np.empty((3, 0)), [[], [], []]):
            everyone_refuses(X, family_of(name), "X has no columns")

    @pytest.mark.parametrize("name", SINGLE)
    def test_no_table(self, name: str) -> None:
        family = family_of(name)
        everyone_refuses([], family, "X has one dimension")
        everyone_refuses([1.0, 0.0, 1.0], family, r"X has one dimension .* reshape\(-1, 1\)")
        everyone_refuses(np.zeros((3, 2, 2)), family, "X has 3 dimensions")
        everyone_refuses([[1, 0], [1], [0, 0]], family, "X is ragged: rows have different lengths")

    @pytest.mark.parametrize("name", SINGLE)
    def test_one_row(self, name: str) -> None:
        everything_is_right(GOOD[name][:1], family_of(name))

    @pytest.mark.parametrize("name", [n for n in SINGLE if n != "VonMisesFisher"])
    def test_one_column(self, name: str) -> None:
        everything_is_right([[row[1]] for row in GOOD[name]], family_of(name))

    def test_one_column_of_directions(self) -> None:
        everything_is_right([[1.0], [-1.0], [1.0]], family_of("VonMisesFisher"))

    @pytest.mark.parametrize("name", SINGLE)
    def test_one_cell(self, name: str) -> None:
        everything_is_right([[1.0]], family_of(name))

    @pytest.mark.parametrize("name", SINGLE)
    def test_equal_rows(self, name: str) -> None:
        X = [GOOD[name][0]] * 40
        everything_is_right(X, family_of(name))
        assert (bhclust.rbhc(X, family_of(name)).cost <= 1e-12).all()
        assert bhclust.BHC(family_of(name)).fit(X).n_clusters_ == 1

    @pytest.mark.parametrize("name", [n for n in SINGLE if n != "VonMisesFisher"])
    def test_constant_columns(self, name: str) -> None:
        X = [[row[0], GOOD[name][0][1]] for row in GOOD[name]]
        everything_is_right(X, family_of(name))

    @pytest.mark.parametrize("name", [n for n in SINGLE if n not in ("VonMisesFisher",)])
    def test_rows_of_zeros(self, name: str) -> None:
        X = np.vstack([GOOD[name], np.zeros((2, 2))])
        if name == "ExponentialGamma":
            message = "X: row 3, column 0 is 0; ExponentialGamma takes finite numbers above 0"
            everyone_refuses(X, family_of(name), message)
            return
        everything_is_right(X, family_of(name))
        everything_is_right(np.zeros((5, 2)), family_of(name))

    @pytest.mark.parametrize("name", SINGLE)
    def test_more_columns_than_rows(self, name: str) -> None:
        X = np.tile(GOOD[name], (1, 30))
        if name == "VonMisesFisher":
            X /= math.sqrt(30)
        family = family_of(name)
        if name == "NormalInverseWishart":
            with pytest.raises(ValueError, match="nu is 3; for 60 columns it must be above 59"):
                bhclust.bhc(X, family)
            family = bhclust.NormalInverseWishart(nu=62.0)
        everything_is_right(X, family)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    @pytest.mark.parametrize("name", [*REALS, "ExponentialGamma"])
    def test_very_small_and_very_large_numbers(self, name: str, scale: float) -> None:
        X = scale * np.array(GOOD[name])
        everything_is_right(X, family_of(name))
        everything_is_right(X, getattr(bhclust, name).from_data(X))

    @pytest.mark.parametrize("name", SINGLE)
    def test_new_rows_of_another_width(self, name: str) -> None:
        good, family = GOOD[name], family_of(name)
        found = bhclust.posterior(bhclust.bhc(good, family), good, family)
        for X in ([[1.0]], [[1.0, 0.0, 0.0]]):
            message = f"X_new has {len(X[0])} columns; the fitted X has 2"
            for way in (found.score_samples, found.predict_log_proba):
                with pytest.raises(ValueError, match=message):
                    way(X)


class TestKinds:
    """What test_table does not say: the kind of cell decides before the family does."""

    @pytest.mark.parametrize("name", SINGLE)
    def test_text_dates_and_complex_numbers(self, name: str) -> None:
        family = family_of(name)
        text = np.array(GOOD[name]).astype(str)
        everyone_refuses(text, family, "X has dtype <U.*: encode text as level codes", TypeError)
        mixed = np.array(GOOD[name]).astype(object)
        mixed[2, 0] = "two"
        everyone_refuses(mixed, family, "X: row 2, column 0 is 'two', which is not a", TypeError)
        dates = np.full((3, 2), np.datetime64("2020-01-01"))
        everyone_refuses(dates, family, "X has dtype datetime64", TypeError)
        complex_ = np.array(GOOD[name]).astype(complex)
        everyone_refuses(complex_, family, "X has dtype complex128. Complex data not supported")

    def test_masked_cells_are_missing(self) -> None:
        X = np.ma.masked_array(GOOD["PoissonGamma"], mask=[[0, 0], [1, 0], [0, 0]])
        missing = spoilt("PoissonGamma", NAN, 1, 0)
        assert bhclust.bhc(X, "poisson") == bhclust.bhc(missing, "poisson")
        with pytest.raises(ValueError, match="X: row 1, column 0 is NaN; MultinomialDirichlet"):
            bhclust.bhc(X, "multinomial")


class TestSparse:
    @pytest.fixture
    def sp(self) -> Any:
        return pytest.importorskip("scipy.sparse")

    @pytest.mark.parametrize("name", [n for n in SINGLE if n not in TAKES_SPARSE])
    def test_families_of_dense_tables(self, sp: Any, name: str) -> None:
        X = sp.csr_matrix(np.array(GOOD[name], dtype=float))
        message = rf"X is sparse; {name} takes dense tables: convert it \(X.toarray\(\)\)"
        everyone_refuses(X, family_of(name), message)

    @pytest.mark.parametrize("name", TAKES_SPARSE)
    def test_cells_that_are_not_taken(self, sp: Any, name: str) -> None:
        for value, shown in ((INF, "inf"), (-INF, "-inf")):
            X = sp.csr_matrix(spoilt(name, value))
            everyone_refuses(X, family_of(name), f"X: row 1, column 1 is {shown}; {name} takes")
        who = "sparse tables take" if name in TAKES_MISSING else f"{name} takes"
        missing = sp.csr_matrix(spoilt(name, NAN))
        everyone_refuses(
            missing, family_of(name), f"X: row 1, column 1 is NaN; {who} no missing values"
        )
        if name != "VonMisesFisher":
            X = sp.csr_matrix(spoilt(name, -1.0))
            everyone_refuses(X, family_of(name), f"X: row 1, column 1 is -1; {name} takes")

    @pytest.mark.parametrize("name", [n for n in TAKES_SPARSE if n != "VonMisesFisher"])
    def test_tables_without_entries(self, sp: Any, name: str) -> None:
        everything_is_right(sp.csr_matrix((4, 2)), family_of(name))
        everyone_refuses(sp.csr_matrix((0, 2)), family_of(name), "X has no rows")

    def test_repeated_entries_are_added_before_they_are_looked_at(self, sp: Any) -> None:
        X = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
        with pytest.raises(ValueError, match="X: row 0, column 1 is 2; BernoulliBeta takes 0 or 1"):
            bhclust.bhc(X, bhclust.BernoulliBeta())
        everything_is_right(X, bhclust.PoissonGamma())


class TestOptions:
    X = GOOD["PoissonGamma"]

    @pytest.mark.parametrize(
        ("alpha", "error", "message"),
        [
            (0, ValueError, "alpha is 0; the concentration must be a finite number above 0"),
            (-1.0, ValueError, "alpha is -1.0; the concentration must be a finite number above 0"),
            (NAN, ValueError, "alpha is nan; the concentration must be"),
            (INF, ValueError, "alpha is inf; the concentration must be"),
            (10**400, ValueError, r"alpha is 10*\.\.\.; the concentration must be"),
            (True, TypeError, "alpha must be a number, not True"),
            ("1", TypeError, "alpha must be a number, not '1'"),
            (1j, TypeError, "alpha must be a number, not 1j"),
            ([1.0], TypeError, r"alpha must be a number, not \[1.0\]"),
        ],
    )
    def test_alpha(self, alpha: Any, error: Any, message: str) -> None:
        family = family_of("PoissonGamma")
        tree = bhclust.bhc(self.X, family)
        for way in (
            lambda: bhclust.bhc(self.X, family, alpha=alpha),
            lambda: bhclust.posterior(tree, self.X, family, alpha=alpha),
            lambda: bhclust.BHC(family, alpha=alpha).fit(self.X),
            lambda: bhclust.RBHC(family, lam=1.0, alpha=alpha).fit(self.X),
        ):
            with pytest.raises(error, match=message):
                way()

    def test_no_alpha(self) -> None:
        """None lets an estimator learn it; the functional core has a value for it."""
        with pytest.raises(TypeError, match="alpha must be a number, not None"):
            bhclust.bhc(self.X, "poisson", alpha=None)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="alpha must be a number, not None"):
            bhclust.RBHC("poisson", lam=1.0, alpha=None).fit(self.X)  # type: ignore[arg-type]

    @pytest.mark.parametrize("alpha", [1e-300, 1e-30, 1e30, 1e300, np.float32(0.5), 2])
    def test_alpha_of_any_size(self, alpha: Any) -> None:
        tree = bhclust.bhc(self.X, "poisson", alpha=alpha)
        found = bhclust.posterior(tree, self.X, "poisson", alpha=alpha)
        assert math.isfinite(found.log_evidence)
        assert np.isfinite(found.score_samples(self.X)).all()

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"lam": 0}, ValueError, r"lam is 0; it must be above 0 \(\+inf gives one tree"),
            ({"lam": -2.0}, ValueError, "lam is -2; it must be above 0"),
            ({"lam": NAN}, ValueError, "lam is -?nan; it must be above 0"),
            ({"lam": "1"}, TypeError, "lam must be a number, not '1'"),
            ({"lam": True}, TypeError, "lam must be a number, not True"),
            ({"lam": None}, TypeError, "lam must be a number, not None"),
            ({"n_clusters": 0}, ValueError, "n_clusters is 0; it must be at least 1"),
            ({"n_clusters": 4}, ValueError, "n_clusters is 4; X has 3 rows, so it must be between"),
            ({"n_clusters": 10**30}, ValueError, r"n_clusters is 10*; it must be below 2\^63"),
            ({"n_clusters": 1.0}, TypeError, "n_clusters must be a whole number, not 1.0"),
            ({"n_clusters": True}, TypeError, "n_clusters must be a whole number, not True"),
            ({"n_clusters": 2, "lam": 3.0}, ValueError, "lam and n_clusters exclude each other"),
            ({"method": "ward"}, ValueError, "method is 'ward'; it must be one of 'auto', "),
            ({"n_threads": 0}, ValueError, "n_threads is 0; it must be at least 1"),
            ({"n_threads": 10**6}, ValueError, "n_threads is 1000000; it must be at most 1024"),
            ({"n_threads": 1.5}, TypeError, "n_threads must be a whole number, not 1.5"),
        ],
    )
    def test_rbhc(self, options: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            bhclust.rbhc(self.X, family_of("PoissonGamma"), **options)

    @pytest.mark.parametrize(
        ("family", "error", "message"),
        [
            ("normal", ValueError, "family is 'normal'; the names are bernoulli, categorical, "),
            ("", ValueError, "family is ''; the names are"),
            (None, TypeError, "family must be a Family, one of its classes or a name"),
            (3, TypeError, "family must be a Family, one of its classes or a name"),
            (dict, TypeError, "family must be a Family, one of its classes or a name"),
            (bhclust.Family, TypeError, "family must be a Family, one of its classes or a name"),
            (bhclust.Product, TypeError, "family must be a Family, one of its classes or a name"),
        ],
    )
    def test_family(self, family: Any, error: Any, message: str) -> None:
        tree = bhclust.bhc(self.X, "poisson")
        for way in (
            lambda: bhclust.bhc(self.X, family),
            lambda: bhclust.rbhc(self.X, family),
            lambda: bhclust.posterior(tree, self.X, family),
            lambda: bhclust.BHC(family).fit(self.X),
        ):
            with pytest.raises(error, match=message):
                way()

    def test_options_are_keywords(self) -> None:
        family: Any = family_of("PoissonGamma")
        with pytest.raises(TypeError, match="positional argument"):
            bhclust.bhc(self.X, family, 1.0)  # type: ignore[misc]
        with pytest.raises(TypeError, match="positional argument"):
            bhclust.rbhc(self.X, family, 1.0)  # type: ignore[misc]


class TestPosterior:
    X = GOOD["PoissonGamma"]
    found = bhclust.posterior(bhclust.bhc(X, "poisson"), X, "poisson")

    def test_the_tree_must_be_of_the_rows(self) -> None:
        tree = bhclust.bhc([*self.X, [1, 1]], "poisson")
        for form in (tree, tree.to_linkage(), tree.to_newick()):
            with pytest.raises(ValueError, match="the tree has 4 leaves and X has 3 rows; they"):
                bhclust.posterior(form, self.X, "poisson")

    @pytest.mark.parametrize(
        ("tree", "error", "message"),
        [
            (None, TypeError, r"tree must be a Tree, a linkage matrix .* not None"),
            (np.zeros((2, 3)), TypeError, r"tree must be .* of shape \(n - 1, 4\) .* not array"),
            ("(0,1,2);", ValueError, "the tree must be binary"),
            ("tree.nwk", ValueError, "Newick"),
        ],
    )
    def test_what_is_no_tree(self, tree: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            bhclust.posterior(tree, self.X, "poisson")

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"rule": "best"}, ValueError, "rule is 'best'; it must be one of 'map', 'r'"),
            ({"rule": "r", "threshold": -0.1}, ValueError, "threshold is -0.1.*it is a probabil"),
            (
                {"rule": "r", "threshold": NAN},
                ValueError,
                "threshold is -?nan; it is a prob",
            ),
            ({"rule": "r", "threshold": "a"}, TypeError, "threshold must be a number, not 'a'"),
            ({"threshold": 0.5}, ValueError, "threshold is 0.5, but a cut by rule=None has none"),
            (
                {"rule": "map", "threshold": 0.9},
                ValueError,
                "threshold is 0.9, but a cut by rule='map' has none; say rule=\"r\" without",
            ),
            ({"rule": "binder", "threshold": 0.9}, ValueError, "a cut by rule='binder' has none"),
            (
                {"rule": "r", "threshold": 0.9, "n_clusters": 2},
                ValueError,
                "a cut by n_clusters=2 has none; .* or leave threshold out",
            ),
            ({"rule": np.zeros(2)}, ValueError, r"rule is array\(\[0., 0.\]\); it must be one of"),
            ({"n_clusters": 2, "rule": "binder"}, ValueError, 'rule="binder" chooses the number'),
            ({"n_clusters": 0}, ValueError, "n_clusters is 0; it must be at least 1"),
            ({"n_clusters": 4}, ValueError, r"n_clusters is 4; this tree has 1 root\(s\) and 3"),
            ({"n_clusters": 1.5}, TypeError, "n_clusters must be a whole number, not 1.5"),
        ],
    )
    def test_cuts(self, options: Any, error: Any, message: str) -> None:
        for way in (self.found.cut, self.found.cut_nodes):
            with pytest.raises(error, match=message):
                way(**options)

    @pytest.mark.parametrize(
        ("labels", "error", "message"),
        [
            ([0, 1], ValueError, r"labels has shape \(2,\); it must be \(3,\): one label a row"),
            ([[0, 1, 0]], ValueError, r"labels has shape \(1, 3\)"),
            ([0, 1, -1], ValueError, r"labels\[2\] is -1; number the clusters from 0, below 3"),
            ([0, 3, 1], ValueError, r"labels\[1\] is 3; number the clusters from 0, below 3"),
            ([0, 10**12, 1], ValueError, r"labels\[1\] is 1000000000000; number the clusters"),
            ([0.0, 1.0, 0.0], TypeError, "labels must be whole numbers, not float64"),
            (["a", "b", "a"], TypeError, "labels must be whole numbers"),
            ([True, False, True], TypeError, "labels must be whole numbers, not bool"),
        ],
    )
    def test_labels(self, labels: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            self.found.predict_log_proba(self.X, labels)

    def test_the_threshold_of_a_cut_is_a_half_by_default(self) -> None:
        nodes = self.found.cut_nodes(rule="r").tolist()
        assert nodes == self.found.cut_nodes(rule="r", threshold=0.5).tolist()

    @pytest.mark.parametrize(
        ("i", "j", "error", "message"),
        [
            (
                [0, 1],
                [0, 1, 2],
                ValueError,
                r"i has shape \(2,\) and j has \(3,\); they must be pair",
            ),
            ([[0, 1]], [0, 1], ValueError, r"i has shape \(1, 2\) and j has \(2,\)"),
            (None, [0, 1], ValueError, r"j is given without i; coclustering\(i, j\) takes pairs"),
            (0, 3, ValueError, "j must be from 0 to 2, the tree's rows"),
            (-1, 0, ValueError, "i must be from 0 to 2, the tree's rows"),
            ([0.5], 0, TypeError, r"i must be a row number or an array of them, not \[0.5\]"),
            ([[0], [1, 2]], 0, ValueError, "i is ragged: its rows have different lengths"),
        ],
    )
    def test_pairs(self, i: Any, j: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            self.found.coclustering(i, j)

    def test_a_row_with_several_and_no_pairs_at_all(self) -> None:
        assert self.found.coclustering(0, [0, 1]).tolist() == [1.0, self.found.coclustering(0, 1)]
        assert self.found.coclustering([]).shape == (0, 0)
        assert self.found.coclustering([], []).shape == (0,)

    def test_it_is_not_made_by_hand(self) -> None:
        with pytest.raises(TypeError, match=r"a Posterior is made by bhclust\.posterior"):
            bhclust.Posterior(self.found.tree, 1, 2, 3)  # type: ignore[arg-type]

    def test_threads(self) -> None:
        for way in (self.found.score_samples, self.found.predict_log_proba):
            with pytest.raises(ValueError, match="n_threads is 0; it must be at least 1"):
                way(self.X, n_threads=0)

    def test_names(self) -> None:
        with pytest.raises(ValueError, match="names has 1 entries for 3 leaves"):
            self.found.to_newick(names=["a"])


class TestTrees:
    """Where a tree is taken, so are linkage matrices and Newick text; nothing else is."""

    X = GOOD["PoissonGamma"]
    family = family_of("PoissonGamma")
    tree = bhclust.rbhc(X, family)

    def ways(self, tree: Any) -> dict[str, Any]:
        X, family = self.X, self.family
        return {
            "posterior": lambda: bhclust.posterior(tree, X, family).log_evidence,
            "refine": lambda: bhclust.refine(tree, X, family),
            "learn": lambda: bhclust.learn(X, family, tree=tree).log_evidence,
            "purity": lambda: bhclust.metrics.dendrogram_purity(tree, [0, 0, 1]),
            "levels": lambda: bhclust.metrics.level_labels(tree, 1).tolist(),
        }

    def test_forms(self) -> None:
        pytest.importorskip("scipy")
        wanted = {name: way() for name, way in self.ways(self.tree).items()}
        for form in (
            self.tree.to_linkage(),
            self.tree.to_linkage().tolist(),
            self.tree.to_newick(),
        ):
            assert {name: way() for name, way in self.ways(form).items()} == wanted

    @pytest.mark.parametrize("wrong", [3, np.zeros((2, 3)), [["a"] * 4], b"(0,1);", {}, len])
    def test_no_trees(self, wrong: Any) -> None:
        for way in self.ways(wrong).values():
            with pytest.raises(TypeError, match="tree must be a Tree, a linkage matrix of numbers"):
                way()

    def test_names_may_be_numbers(self) -> None:
        text = self.tree.to_newick(names=[10, np.int64(20), "x"])  # type: ignore[list-item]
        assert sorted(re.findall(r"\w+", text)) == ["10", "20", "x"]
        with pytest.raises(TypeError, match=r"names\[1\] must be a string, not None"):
            self.tree.to_newick(names=["a", None, "b"])  # type: ignore[list-item]

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (["a", "b", "a"], r"names\[0\] and names\[2\] are both 'a'; names must differ"),
            (["a", "", "b"], r"names\[1\] is empty; every leaf needs a name in Newick text"),
            (["a", "\ud800", "b"], r"names\[1\] is '\\ud800'; it has half of a surrogate pair"),
        ],
    )
    def test_names_that_could_not_be_read_back(self, names: Any, message: str) -> None:
        found = bhclust.posterior(self.tree, self.X, self.family)
        for write in (self.tree.to_newick, found.to_newick):
            with pytest.raises(ValueError, match=message):
                write(names=names)

    @pytest.mark.parametrize(
        ("top", "message"),
        [
            (NAN, r"heights\[4\] is -?nan; it must be a finite number"),
            (INF, r"heights\[4\] is inf; it must be a finite number"),
            (-1.0, r"heights\[3\] is 0, above its parent's: heights\[4\] is -1"),
        ],
    )
    def test_heights(self, top: float, message: str) -> None:
        for write in (self.tree.to_newick, self.tree.to_linkage):
            with pytest.raises(ValueError, match=message):
                write(heights=[0.0, 0.0, 0.0, 0.0, top])

    @pytest.mark.parametrize("costs", [[NAN, 1.0], [1.0, INF]])
    def test_costs(self, costs: Any) -> None:
        with pytest.raises(ValueError, match=r"costs\[\d\] is -?(nan|inf); costs must be finite"):
            Tree.from_children(3, self.tree.children, costs=costs, kind="divergence")


def test_more_than_the_memory_holds_is_refused_with_its_size() -> None:
    X = GOOD["PoissonGamma"]
    found = bhclust.posterior(bhclust.bhc(X, "poisson"), X, "poisson")
    with pytest.raises(ValueError, match=r"n_samples 10000000000000 takes 240 TB; this mach"):
        found.sample_partitions(10**13)
    with pytest.raises(ValueError, match=r"takes 221 EB; this machine has"):
        found.sample_partitions(2**63 - 1)
    text = found.tree.to_json().replace('"n_leaves": 3', f'"n_leaves": {10**14}')
    assert str(10**14) in text
    message = r"trees of 100000000000000 leaves take 3.2 PB; this machine has .* of memory"
    with pytest.raises(ValueError, match=message):
        Tree.from_json(text)
    with pytest.raises(ValueError, match=message):
        Tree.from_children(10**14, [])


@pytest.mark.parametrize("progress", [3, "bar", [len]])
def test_progress_must_be_callable(progress: Any) -> None:
    X, family = GOOD["PoissonGamma"], family_of("PoissonGamma")
    tree = bhclust.bhc(X, family)
    found = bhclust.posterior(tree, X, family)
    for way in (
        lambda: bhclust.bhc(X, family, progress=progress),
        lambda: bhclust.rbhc(X, family, progress=progress),
        lambda: bhclust.refine(tree, X, family, progress=progress),
        lambda: bhclust.learn(X, family, tree=tree, progress=progress),
        lambda: bhclust.posterior(tree, X, family, progress=progress),
        lambda: bhclust.exact_log_evidence(X, family, progress=progress),
        lambda: found.log_evidence_bound("joint", progress=progress),
        lambda: found.score_samples(X, progress=progress),
        lambda: found.predict_log_proba(X, progress=progress),
        lambda: bhclust.BHC(family, progress=progress).fit(X),
        lambda: bhclust.RBHC(family, n_clusters=2, progress=progress).fit(X),
    ):
        with pytest.raises(TypeError, match="progress must be callable or None, not "):
            way()


class TestRandomState:
    X = GOOD["PoissonGamma"]

    @pytest.mark.parametrize(
        ("seed", "error", "message"),
        [
            (-1, ValueError, r"random_state is -1; it must be from 0 to 2\^32 - 1"),
            (2**32, ValueError, r"random_state is 4294967296; it must be from 0 to 2\^32 - 1"),
            (0.5, TypeError, "random_state must be a whole number, not 0.5"),
            (None, TypeError, "random_state must be a whole number, not None"),
        ],
    )
    def test_of_k_means(self, seed: Any, error: Any, message: str) -> None:
        family = family_of("PoissonGamma")
        with pytest.raises(error, match=message):
            bhclust.lambda_heuristic(self.X, family, random_state=seed)
        with pytest.raises(error, match=message):
            bhclust.RBHC(family, random_state=seed).fit(self.X)


def test_budgets_of_learning_are_looked_at_before_it_begins() -> None:
    X = np.full((3, 2), -1.0)  # which would be refused next
    for options, message in (
        ({"max_rounds": -1}, "max_rounds is -1; it must be at least 0"),
        ({"max_rows": 0}, "max_rows is 0; it must be at least 1"),
        ({"random_state": -1}, "random_state is -1; it must be from 0"),
        ({"max_regrafts": -1}, "max_regrafts is -1; it must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            bhclust.learn(X, "poisson", **options)  # type: ignore[arg-type]


class TestMetrics:
    tree = Tree.from_children(4, [[0, 1], [2, 3], [4, 5]])
    flat = ("purity", "f_measure", "adjusted_rand_index", "normalized_mutual_information")

    def ways(self, y: Any) -> list[Callable[[], Any]]:
        labels = [0, 0, 1, 1]
        flat = [getattr(bhclust.metrics, name) for name in self.flat]
        return [
            *(lambda metric=metric: metric(labels, y) for metric in flat),
            lambda: bhclust.metrics.dendrogram_purity(self.tree, y),
        ]

    @pytest.mark.parametrize(
        ("y", "error", "message"),
        [
            ([0.0, 0.0, NAN, 1.0], ValueError, r"y\[2\] is nan; every row needs a class: leave"),
            (["a", None, "b", "b"], ValueError, r"y\[1\] is None; every row needs a class"),
            (np.array(["a", "b", NAN, "b"], dtype=object), ValueError, r"y\[2\] is nan; every"),
            (
                np.array(["2020", "NaT", "2020", "2021"], "M8[Y]"),
                ValueError,
                r"y\[1\] is NaT; every",
            ),
            ([1j, 1j, 0j, 0j], TypeError, "y has dtype complex128; classes are numbers or text"),
            ([[0], [0], [1], [1]], ValueError, r"y must have one entry a row, not shape \(4, 1\)"),
            ([[0], [0, 1], [1], [1]], ValueError, "y is ragged"),
            ([], ValueError, r"y must have one entry a row, not shape \(0,\)"),
            (None, ValueError, r"y must have one entry a row, not shape \(\)"),
            (np.array([{}, {}, 1, 1]), TypeError, r"y holds \{\}; classes are numbers or text"),
            ([0, 1, 1], ValueError, r"y has 3( entries|; they must be of the same rows)"),
        ],
    )
    def test_classes(self, y: Any, error: Any, message: str) -> None:
        for way in self.ways(y):
            with pytest.raises(error, match=message):
                way()

    def test_classes_of_mixed_types(self) -> None:
        for way in self.ways(np.array(["a", "a", 1, 1], dtype=object)):
            assert way() == pytest.approx(1.0)

    def test_a_level_below_all_leaves_ends(self) -> None:
        assert bhclust.metrics.level_labels(self.tree, 10**12).tolist() == [0, 1, 2, 3]


HYPERPARAMETERS = [
    ("NormalInverseWishart", {"kappa": 0.0}, ValueError, "kappa is 0; it must be finite and above"),
    ("NormalInverseWishart", {"nu": 1.0}, ValueError, "nu is 1; for 2 columns it must be above 1"),
    ("NormalInverseWishart", {"nu": [3.0, 3.0]}, ValueError, r"nu has 2 value\(s\).* a scalar"),
    ("NormalInverseWishart", {"mean": [0.0] * 3}, ValueError, r"mean has 3 value\(s\) in 1 dim"),
    ("NormalInverseWishart", {"mean": NAN}, ValueError, "mean is -?nan; it must be finite"),
    ("NormalInverseWishart", {"psi": -1.0}, ValueError, "psi is -1; it must be finite and above 0"),
    ("NormalInverseWishart", {"psi": [1.0] * 3}, ValueError, r"psi has 3 value\(s\)"),
    ("NormalInverseWishart", {"psi": np.eye(3)}, ValueError, r"psi has 9 value\(s\) in 2 dim"),
    (
        "NormalInverseWishart",
        {"psi": np.ones((1, 4))},
        ValueError,
        r"psi has shape \(1, 4\); a ",
    ),
    (
        "NormalInverseWishart",
        {"psi": [[1.0, 2.0], [2.0, 1.0]]},
        ValueError,
        "psi is not positive definite: its leading 2 x 2 block .* add to its diagonal",
    ),
    (
        "NormalInverseWishart",
        {"psi": [[1.0, 0.5], [0.2, 1.0]]},
        ValueError,
        r"psi\[1\]\[0\] is 0\.2.* but psi\[0\]\[1\] is 0\.5; psi must be symmetric",
    ),
    (
        "NormalInverseWishart",
        {"psi": [[0.0, 0.0], [0.0, 1.0]]},
        ValueError,
        r"psi\[0\]\[0\] is 0; psi must be positive definite",
    ),
    ("NormalInverseWishart", {"psi": [[1.0], [1.0, 2.0]]}, ValueError, "psi is ragged"),
    ("NormalInverseGamma", {"a": -1.0}, ValueError, "a is -1; it must be finite and above 0"),
    ("NormalInverseGamma", {"b": INF}, ValueError, "b is inf; it must be finite and above 0"),
    ("NormalInverseGamma", {"a": [1.0, 0.0]}, ValueError, r"a\[1\] is 0; it must be finite and ab"),
    ("NormalInverseGamma", {"mean": INF}, ValueError, "mean is inf; it must be finite"),
    ("NormalInverseGamma", {"kappa": [1.0]}, ValueError, r"kappa has 1 value\(s\).* 2 values"),
    ("NormalInverseGamma", {"b": np.eye(2)}, ValueError, r"b has 4 value\(s\) in 2 dimension"),
    ("NormalKnownVariance", {"variance": 0.0}, ValueError, "variance is 0; it must be finite and"),
    (
        "NormalKnownVariance",
        {"prior_variance": NAN},
        ValueError,
        "prior_variance is -?nan; it",
    ),
    ("BernoulliBeta", {"a": 0.0}, ValueError, "a is 0; it must be finite and above 0"),
    ("BernoulliBeta", {"b": [1.0, 2.0, 3.0]}, ValueError, r"b has 3 value\(s\).* 2 column\(s\)"),
    (
        "CategoricalDirichlet",
        {},
        ValueError,
        "levels is 0; it must be a whole number of at least",
    ),
    ("CategoricalDirichlet", {"levels": 2.5}, ValueError, "levels is 2.5; it must be a whole numb"),
    ("CategoricalDirichlet", {"levels": 10**6}, ValueError, "levels is 1000000; .* at most 4096"),
    (
        "CategoricalDirichlet",
        {"levels": 3, "concentration": 0.0},
        ValueError,
        "concentration is 0; it must be finite and above 0",
    ),
    (
        "MultinomialDirichlet",
        {"concentration": [1.0]},
        ValueError,
        r"concentration has 1 value",
    ),
    ("PoissonGamma", {"shape": -2.0}, ValueError, "shape is -2; it must be finite and above 0"),
    ("PoissonGamma", {"rate": NAN}, ValueError, "rate is -?nan; it must be finite and above 0"),
    ("PoissonGamma", {"rate": []}, ValueError, r"rate has 0 value\(s\)"),
    ("PoissonGamma", {"rate": True}, TypeError, "rate must be a number or an array .* not True"),
    ("PoissonGamma", {"rate": "1"}, TypeError, "rate must be a number or an array .* not '1'"),
    ("PoissonGamma", {"rate": None}, TypeError, "rate must be a number or an array .* not None"),
    ("PoissonGamma", {"rate": 1j}, TypeError, "rate must be a number or an array .* not 1j"),
    ("PoissonGamma", {"rate": [[[1.0]]]}, TypeError, "rate must be .* at most two dimensions"),
    ("PoissonGamma", {"rate": 10**400}, TypeError, "rate must be a number or an array"),
    ("ExponentialGamma", {"shape": 0.0}, ValueError, "shape is 0; it must be finite and above 0"),
    ("GeometricBeta", {"a": [1.0, -1.0]}, ValueError, r"a\[1\] is -1; it must be finite and above"),
    ("NegativeBinomialBeta", {"r": 0.0}, ValueError, "r is 0; it must be finite and above 0"),
    ("VonMisesFisher", {"kappa": 0.0}, ValueError, "kappa is 0; it must be finite and above 0"),
    ("VonMisesFisher", {"kappa": [1.0, 1.0]}, ValueError, r"kappa has 2 value\(s\).* a scalar"),
    (
        "VonMisesFisher",
        {"prior_kappa": -1.0},
        ValueError,
        "prior_kappa is -1; it must be finite",
    ),
    (
        "VonMisesFisher",
        {"prior_kappa": 1.0},
        ValueError,
        "mean_direction is not given, but prior",
    ),
    ("VonMisesFisher", {"mean_direction": [1.0]}, ValueError, r"mean_direction has 1 value\(s\)"),
    (
        "VonMisesFisher",
        {"mean_direction": [1.0, 1.0], "prior_kappa": 1.0},
        ValueError,
        "mean_direction has length 1.41.* divide it by its length",
    ),
    ("GaussianProcess", {"noise": 0.0}, ValueError, "noise is 0; it must be finite and above 0"),
    ("GaussianProcess", {"times": [1.0]}, ValueError, r"times has 1 value\(s\).* or 2 values"),
    (
        "GaussianProcess",
        {"times": [0.0, NAN]},
        ValueError,
        r"times\[1\] is -?nan; it must be finite",
    ),
    (
        "GaussianProcess",
        {"kernel": "rbf"},
        ValueError,
        "kernel is 'rbf'; it must be one of 'squared-exponential', 'matern32', 'matern52', 'cubic",
    ),
    ("GaussianProcess", {"kernel": 1}, TypeError, "kernel must be one of 'squared.*, not 1"),
    (
        "GaussianProcess",
        {"kernel": "cubic-spline", "length_scale": 1e-290},
        ValueError,
        "length_scale is too short for a cubic spline over these times",
    ),
]


@pytest.mark.parametrize(
    ("name", "hyper", "error", "message"),
    HYPERPARAMETERS,
    ids=[f"{name}({hyper})" for name, hyper, _, _ in HYPERPARAMETERS],
)
def test_hyperparameters(name: str, hyper: Any, error: Any, message: str) -> None:
    """Refused where they are given, or, when they do not fit the columns, with the table."""
    with pytest.raises(error, match=message):
        bhclust.bhc(GOOD[name], getattr(bhclust, name)(**hyper))
    with pytest.raises(error, match=message):
        bhclust.rbhc(GOOD[name], getattr(bhclust, name)(**hyper))
    with pytest.raises(error, match=message):
        bhclust.BHC(getattr(bhclust, name)(**hyper)).fit(GOOD[name])


@pytest.mark.parametrize(
    ("blocks", "error", "message"),
    [
        ([], ValueError, r"Product has no blocks; give at least one \(family, columns\) pair"),
        ([("poisson", [0])], TypeError, r"blocks\[0\] must be a \(Family, columns\) pair"),
        ([(bhclust.PoissonGamma(), [])], ValueError, "a block of PoissonGamma has no columns"),
        ([(bhclust.PoissonGamma(), [2])], ValueError, "column 2 is not in X, which has 2 columns"),
        ([(bhclust.PoissonGamma(), [-1])], ValueError, "column -1 is not in X, which has 2 col"),
        ([(bhclust.PoissonGamma(), [0, 0])], ValueError, "column 0 is in two blocks"),
        (
            [(bhclust.PoissonGamma(), [0]), (bhclust.GeometricBeta(), [1, 0])],
            ValueError,
            "column 0 is in two blocks",
        ),
        (
            [(bhclust.PoissonGamma(), 0)],
            TypeError,
            r"the columns of blocks\[0\] must be a .* not 0",
        ),
        ([bhclust.PoissonGamma()], TypeError, r"blocks\[0\] must be a \(Family, columns\) pair"),
        ([(bhclust.PoissonGamma(), [0.5])], TypeError, r"a column of blocks\[0\] must be a whole"),
        (
            [(bhclust.PoissonGamma(rate=[1.0, 2.0]), [0])],
            ValueError,
            r"rate has 2 value\(s\) in 1 dimension\(s\); for 1 column",
        ),
    ],
)
def test_blocks_of_a_product(blocks: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        bhclust.bhc(GOOD["PoissonGamma"], bhclust.Product(blocks))


def test_a_product_takes_dense_tables() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    product = bhclust.Product([(bhclust.PoissonGamma(), [0])])
    with pytest.raises(ValueError, match="X is sparse; Product takes dense tables: convert it"):
        bhclust.bhc(sparse.csr_array(np.array(GOOD["PoissonGamma"])), product)


def test_the_first_bad_cell_is_named() -> None:
    X = np.ones((2000, 3))
    X[1234, 2] = X[1999, 0] = -1
    with pytest.raises(ValueError, match="row 1234, column 2 is -1"):
        bhclust.bhc(X, "poisson")


def test_no_nan_comes_out_of_good_input() -> None:
    for name in NAMES:
        case = random_case(name, 25, 0)
        everything_is_right(case.cells, case.family)
