"""The families in Python: keywords, values, special cases, defaults from data."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from typing import Any

import numpy as np
import pytest
from reference.families import FAMILIES

import bhclust
from bhclust.families import aliases, from_parameters, product_of, resolve_family
from bhclust.table import as_table
from cases import NAMES, NAN, SINGLE, TAKES_MISSING, TAKES_SPARSE, make_family, random_case

KEYWORDS = {
    "NormalInverseWishart": ["mean", "kappa", "nu", "psi"],
    "NormalInverseGamma": ["mean", "kappa", "a", "b"],
    "NormalKnownVariance": ["variance", "mean", "prior_variance"],
    "BernoulliBeta": ["a", "b"],
    "CategoricalDirichlet": ["concentration", "levels"],
    "MultinomialDirichlet": ["concentration"],
    "PoissonGamma": ["shape", "rate"],
    "ExponentialGamma": ["shape", "rate"],
    "GeometricBeta": ["a", "b"],
    "NegativeBinomialBeta": ["r", "a", "b"],
    "VonMisesFisher": ["kappa", "mean_direction", "prior_kappa"],
    "GaussianProcess": ["times", "kernel", "length_scale", "amplitude", "noise", "mean"],
}


def log_marginal(family: Any, X: Any) -> float:
    return float(family._log_marginal(as_table(X)))


def test_every_family_of_the_twins_is_there() -> None:
    assert set(KEYWORDS) | {"Product"} == set(FAMILIES)
    assert set(aliases().values()) == {getattr(bhclust, name) for name in SINGLE}


@pytest.mark.parametrize("name", SINGLE)
def test_hyperparameters_are_keywords_and_properties(name: str) -> None:
    family = random_case(name, 3, 0).family
    values = family.parameters()
    assert list(values) == KEYWORDS[name]
    assert family.name == name
    for keyword, value in values.items():
        found = getattr(family, keyword)
        np.testing.assert_array_equal(found, value)
        if isinstance(found, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                found[0] = 1.0
        with pytest.raises(AttributeError):
            setattr(family, keyword, value)
    with pytest.raises(TypeError, match=rf"^{name}\(\) takes 0 positional argument\(s\), not"):
        getattr(bhclust, name)(*values.values())
    with pytest.raises(TypeError, match=rf"^{name}\(\) has no argument other; it has "):
        getattr(bhclust, name)(**values, other=1.0)


@pytest.mark.parametrize("name", SINGLE)
def test_documentation_names_every_hyperparameter(name: str) -> None:
    documentation = inspect.getdoc(getattr(bhclust, name)) or ""
    assert "Parameters\n----------" in documentation
    for keyword in KEYWORDS[name]:
        assert f"\n{keyword} : float or array" in documentation or (
            f"\n{keyword} : float\n" in documentation or f"\n{keyword} : str\n" in documentation
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_a_value(name: str) -> None:
    family = random_case(name, 3, 0).family
    other = random_case(name, 3, 1).family
    again = eval(repr(family), {n: getattr(bhclust, n) for n in NAMES})
    for same in (
        again,
        random_case(name, 3, 0).family,
        pickle.loads(pickle.dumps(family)),
        copy.copy(family),
        copy.deepcopy(family),
    ):
        assert same == family
        assert type(same) is type(family)
    assert family != "family"
    assert family != bhclust.PoissonGamma(shape=123.0)
    if repr(other) != repr(family):
        assert family != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(family)
    assert isinstance(family, bhclust.Family)


def test_each_hyperparameter_makes_a_difference_to_equality() -> None:
    for name in SINGLE:
        case = random_case(name, 3, 0)
        for keyword, value in case.family.parameters().items():
            other = "matern32" if keyword == "kernel" else np.multiply(value, 1.0) + 1.0
            changed = make_family(name, case.hyper | {keyword: other})
            assert changed != case.family


@pytest.mark.parametrize("name", SINGLE)
def test_a_scalar_stands_for_every_column(name: str) -> None:
    case = random_case(name, 9, 2)
    d = len(case.rows[0])
    scalars = {"NormalInverseWishart": ("kappa", "nu"), "VonMisesFisher": ("kappa", "prior_kappa")}
    scalars["GaussianProcess"] = ("kernel", "length_scale", "amplitude", "noise")
    kept = (*scalars.get(name, ()), "mean_direction", "times")
    one = {
        k: v if k in kept or np.ndim(v) == 0 else float(np.max(v)) for k, v in case.hyper.items()
    }
    each = {k: v if k in kept else np.full(d, v) for k, v in one.items()}
    assert log_marginal(make_family(name, one), case.cells) == log_marginal(
        make_family(name, each), case.cells
    )


@pytest.mark.parametrize("kind", [int, np.int32, np.float32, np.float64, np.array])
def test_hyperparameters_of_any_number_type(kind: Any) -> None:
    assert bhclust.PoissonGamma(shape=kind(2), rate=kind(3)) == bhclust.PoissonGamma(
        shape=2.0, rate=3.0
    )
    vector = np.array([1, 2, 3])
    assert bhclust.PoissonGamma(shape=vector[::-1]) == bhclust.PoissonGamma(shape=[3.0, 2.0, 1.0])
    assert bhclust.PoissonGamma(shape=(1, 2)) == bhclust.PoissonGamma(shape=vector[:2])


def test_psi_is_a_scalar_a_diagonal_or_a_matrix() -> None:
    X = random_case("NormalInverseWishart", 9, 3).cells[:, :2]

    def with_psi(psi: Any) -> float:
        return log_marginal(bhclust.NormalInverseWishart(nu=2.5, psi=psi), X)

    assert with_psi(2.0) == with_psi([2.0, 2.0]) == with_psi([[2.0, 0.0], [0.0, 2.0]])
    assert with_psi([[2.0, 1.0], [1.0, 2.0]]) != with_psi(2.0)
    fortran = np.asfortranarray([[2.0, 1.0], [1.0, 3.0]])
    assert with_psi(fortran) == with_psi([[2.0, 1.0], [1.0, 3.0]])


def test_special_cases_agree() -> None:
    rng = np.random.default_rng(0)
    real, counts = rng.normal(size=(12, 1)), rng.poisson(3.0, size=(12, 3)).astype(float)
    bits = (counts > 2).astype(float)
    wishart = bhclust.NormalInverseWishart(mean=0.3, kappa=0.7, nu=2.6, psi=1.8)
    gamma = bhclust.NormalInverseGamma(mean=0.3, kappa=0.7, a=1.3, b=0.9)
    assert math.isclose(log_marginal(wishart, real), log_marginal(gamma, real), rel_tol=1e-13)
    assert math.isclose(
        log_marginal(bhclust.GeometricBeta(a=0.7, b=2.0), counts),
        log_marginal(bhclust.NegativeBinomialBeta(r=1.0, a=0.7, b=2.0), counts),
        rel_tol=1e-13,
    )
    assert math.isclose(
        log_marginal(bhclust.BernoulliBeta(a=0.6, b=0.6), bits),
        log_marginal(bhclust.CategoricalDirichlet(concentration=0.6, levels=2), bits),
        rel_tol=1e-13,
    )


@pytest.mark.parametrize("name", SINGLE)
def test_a_product_of_one_family_is_that_family(name: str) -> None:
    case = random_case(name, 20, 4)
    X, family = case.cells, case.family
    product = bhclust.Product([(family, list(range(X.shape[1])))])
    assert log_marginal(product, X) == log_marginal(family, X)
    tree, own = bhclust.bhc(X, product), bhclust.bhc(X, family)
    assert tree.children.tolist() == own.children.tolist()
    np.testing.assert_allclose(tree.log_d, own.log_d, rtol=1e-11, atol=1e-11)


def test_a_product_adds_its_blocks_up() -> None:
    case = random_case("Product", 15, 0)
    X = case.cells
    parts = [log_marginal(family, X[:, columns]) for family, columns in case.family.blocks]
    assert math.isclose(log_marginal(case.family, X), sum(parts), rel_tol=1e-13)
    poisson = case.family.blocks[0]
    assert poisson[1] == [0, 1, 2, 3]
    assert isinstance(poisson[0], bhclust.PoissonGamma)


def test_columns_of_no_block_are_not_looked_at() -> None:
    X = np.array([[1.0, np.inf, 3.0], [0.0, np.nan, 5.0], [1.0, -1.0, 0.0]])
    product = bhclust.Product([(bhclust.PoissonGamma(), [2]), (bhclust.BernoulliBeta(), [0])])
    assert bhclust.bhc(X, product) == bhclust.bhc(np.where(np.isfinite(X), X, 7.0), product)


def test_product_of_groups_columns_by_family() -> None:
    X = random_case("PoissonGamma", 9, 5).cells
    shared = bhclust.PoissonGamma(rate=0.5)
    found = product_of({0: "geometric", 3: shared, 1: shared, 2: "geometric"}, X)
    columns = {family.name: place for family, place in found.blocks}
    assert columns == {"GeometricBeta": [0, 2], "PoissonGamma": [3, 1]}
    apart = product_of({0: bhclust.PoissonGamma(), 1: bhclust.PoissonGamma()}, X)
    assert len(apart.blocks) == 2


@pytest.mark.parametrize("alias", aliases())
def test_aliases_take_their_defaults_from_the_data(alias: str) -> None:
    cls = aliases()[alias]
    X = random_case(cls.__name__, 20, 6).cells
    wanted = cls.from_data(X)
    assert resolve_family(alias, X) == wanted
    assert resolve_family(cls, X) == wanted
    assert resolve_family(wanted, X) is wanted
    assert bhclust.bhc(X, alias) == bhclust.bhc(X, wanted)
    assert bhclust.rbhc(X, alias) == bhclust.rbhc(X, wanted)
    tree = bhclust.bhc(X, wanted)
    assert bhclust.posterior(tree, X, alias).family == wanted


def test_from_parameters_is_the_way_back() -> None:
    family = bhclust.NormalInverseWishart(mean=[1.0, 2.0], nu=4.0, psi=[[2.0, 0.5], [0.5, 1.0]])
    assert from_parameters("NormalInverseWishart", family.parameters()) == family


# Defaults from data


def unit(X: np.ndarray) -> np.ndarray:
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def table_for(name: str, n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng([n, d])
    real = rng.normal(size=(n, d)) + 3.0 * rng.integers(2, size=(n, 1))
    match name:
        case "BernoulliBeta":
            return (real > 1).astype(float)
        case "CategoricalDirichlet":
            return np.clip(np.floor(real), 0, 3)
        case "ExponentialGamma":
            return np.exp(real)
        case "VonMisesFisher":
            return unit(real)
        case _ if name.startswith("Normal") or name == "GaussianProcess":
            return real
    return np.floor(np.exp(real))


def check_defaults(name: str, X: Any) -> None:
    """They are valid, and everything that comes out with them is finite."""
    family = getattr(bhclust, name).from_data(X)
    assert repr(family) == repr(getattr(bhclust, name).from_data(X))
    tree = bhclust.bhc(X, family)
    found = bhclust.posterior(tree, X, family)
    assert np.isfinite(tree.log_d).all()
    assert math.isfinite(found.log_evidence)
    assert np.isfinite(found.score_samples(X)).all()
    assert np.isfinite(bhclust.rbhc(X, family).cost).all()
    for value in family.parameters().values():
        assert isinstance(value, str) or np.isfinite(value).all()


SHAPES = {
    "one row": (1, 3),
    "one cell": (1, 1),
    "two rows": (2, 4),
    "one column": (20, 1),
    "more columns than rows": (4, 25),
    "many rows": (120, 3),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SINGLE)
def test_defaults_for_every_shape(name: str, shape: str) -> None:
    check_defaults(name, table_for(name, *SHAPES[shape]))


@pytest.mark.parametrize("name", SINGLE)
def test_defaults_for_constant_columns_and_equal_rows(name: str) -> None:
    X = table_for(name, 12, 3)
    equal = np.repeat(X[:1], 12, axis=0)
    check_defaults(name, equal)
    if name != "VonMisesFisher":
        check_defaults(name, np.column_stack([X[:, :2], equal[:, 2]]))


@pytest.mark.parametrize("name", [n for n in SINGLE if n not in ("VonMisesFisher",)])
def test_defaults_for_rows_of_zeros(name: str) -> None:
    if name == "ExponentialGamma":
        with pytest.raises(ValueError, match="row 0, column 0 is 0; ExponentialGamma takes finite"):
            bhclust.ExponentialGamma.from_data(np.zeros((5, 2)))
        return
    check_defaults(name, np.zeros((5, 2)))
    check_defaults(name, np.vstack([np.zeros((5, 3)), table_for(name, 5, 3)]))


@pytest.mark.parametrize("name", sorted(TAKES_MISSING - {"Product"}))
def test_defaults_for_missing_cells(name: str) -> None:
    X = table_for(name, 12, 3)
    X[:, 1] = NAN
    X[4] = NAN
    X[5, 0] = NAN
    check_defaults(name, X)
    check_defaults(name, np.full((3, 2), NAN))


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
@pytest.mark.parametrize(
    "name",
    [
        "NormalInverseWishart",
        "NormalInverseGamma",
        "NormalKnownVariance",
        "ExponentialGamma",
        "GaussianProcess",
    ],
)
def test_defaults_follow_the_unit_of_the_data(name: str, scale: float) -> None:
    X = table_for(name, 40, 3)
    check_defaults(name, scale * X)
    cls = getattr(bhclust, name)
    plain = bhclust.bhc(X, cls.from_data(X))
    moved = bhclust.bhc(scale * X, cls.from_data(scale * X))
    assert moved.children.tolist() == plain.children.tolist()
    np.testing.assert_allclose(moved.log_d, plain.log_d, rtol=1e-6, atol=1e-6)
    relaxed = bhclust.rbhc(X, cls.from_data(X))
    np.testing.assert_allclose(
        bhclust.rbhc(scale * X, cls.from_data(scale * X)).cost, relaxed.cost, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    "name", ["NormalInverseWishart", "NormalInverseGamma", "NormalKnownVariance"]
)
def test_defaults_for_columns_of_very_different_units(name: str) -> None:
    check_defaults(name, table_for(name, 30, 3) * [1e-30, 1.0, 1e30])


def test_defaults_of_counts_as_large_as_they_come() -> None:
    X = np.array([[2.0**53, 0.0], [0.0, 2.0**53], [1.0, 1.0]])
    for name in ("MultinomialDirichlet", "PoissonGamma", "GeometricBeta", "NegativeBinomialBeta"):
        check_defaults(name, X)


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_defaults_of_sparse_tables_are_those_of_dense_ones(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = table_for(name, 30, 5)
    if name != "VonMisesFisher":
        X[:, 2] = 0
    dense = getattr(bhclust, name).from_data(X).parameters()
    found = getattr(bhclust, name).from_data(sparse.csr_array(X)).parameters()
    for keyword, value in dense.items():
        np.testing.assert_allclose(found[keyword], value, rtol=1e-12)


@pytest.mark.parametrize("name", SINGLE)
def test_defaults_do_not_depend_on_the_order_of_the_rows(name: str) -> None:
    X = table_for(name, 31, 3)
    there = getattr(bhclust, name).from_data(X).parameters()
    back = getattr(bhclust, name).from_data(X[::-1]).parameters()
    for keyword, value in there.items():
        if isinstance(value, str):
            assert back[keyword] == value
            continue
        np.testing.assert_allclose(back[keyword], value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SINGLE)
def test_defaults_are_not_given_for_what_the_family_does_not_take(name: str) -> None:
    bad = table_for(name, 5, 2)
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="row 3, column 1 is inf"):
        getattr(bhclust, name).from_data(bad)
    with pytest.raises(ValueError, match="X has no rows"):
        getattr(bhclust, name).from_data(np.empty((0, 2)))


def test_defaults_count_the_levels() -> None:
    X = np.array([[0.0, 2.0, NAN], [1.0, 5.0, NAN], [NAN, 2.0, NAN]])
    levels = bhclust.CategoricalDirichlet.from_data(X).levels
    assert levels[0] >= 2
    assert levels[1] >= 6
    assert levels[2] >= 1
