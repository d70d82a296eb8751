"""The slow twins checked against what defines them: integrals, sums and enumeration."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf
from reference import bhc, make_vectors, special
from reference.families import (
    FAMILIES,
    BernoulliBeta,
    CategoricalDirichlet,
    ExponentialGamma,
    GaussianProcess,
    GeometricBeta,
    MultinomialDirichlet,
    NegativeBinomialBeta,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PoissonGamma,
    Product,
    VonMisesFisher,
)
from scipy.cluster.hierarchy import ward
from scipy.stats import multivariate_normal

NAN = math.nan


def close(got: Any, want: Any, tol: float = 1e-12) -> bool:
    return bool(abs(got - want) <= tol * max(1, abs(want)))


# Densities as they are defined; x is one value.


def beta_density(p: Any, a: Any, b: Any) -> Any:
    return p ** (a - 1) * (1 - p) ** (b - 1) / mpmath.beta(a, b)


def gamma_density(rate: Any, shape: Any, b: Any) -> Any:
    return b**shape * rate ** (shape - 1) * mpmath.exp(-b * rate) / mpmath.gamma(shape)


def normal_density(x: Any, mean: Any, variance: Any) -> Any:
    return mpmath.exp(-((x - mean) ** 2) / (2 * variance)) / mpmath.sqrt(2 * mp.pi * variance)


def poisson_mass(x: int, rate: Any) -> Any:
    return mpmath.exp(-rate) * rate**x / mpmath.factorial(x)


def negative_binomial_mass(x: int, p: Any, r: Any) -> Any:
    return mpmath.rf(r, x) / mpmath.factorial(x) * p**r * (1 - p) ** x


UNIT = [0, 0.5, 1]
HALF_LINE = [0, 0.5, 2, 8, mp.inf]

# family, hyperparameters, one column of data, likelihood(x, parameter), prior(parameter), range
INTEGRALS: list[tuple[Any, dict[str, Any], list[Any], Callable[..., Any], Any, list[Any]]] = [
    (
        NormalKnownVariance,
        {"variance": 0.7, "mean": 0.4, "prior_variance": 2.5},
        [1.5, -0.25, None, 0.75],
        lambda x, mu: normal_density(x, mu, mpf(0.7)),
        lambda mu: normal_density(mu, mpf(0.4), mpf(2.5)),
        [-20, -4, 0, 1, 4, 20],
    ),
    (
        BernoulliBeta,
        {"a": 1.5, "b": 2.25},
        [1.0, 0.0, 1.0, NAN, 1.0],
        lambda x, p: p if x else 1 - p,
        lambda p: beta_density(p, 1.5, 2.25),
        UNIT,
    ),
    (
        CategoricalDirichlet,
        {"concentration": 1.75, "levels": 2},
        [1.0, 0.0, None, 1.0],
        lambda x, p: p if x else 1 - p,
        lambda p: beta_density(p, 1.75, 1.75),
        UNIT,
    ),
    (
        PoissonGamma,
        {"shape": 2.5, "rate": 0.75},
        [3.0, 0.0, None, 5.0],
        lambda x, rate: poisson_mass(int(x), rate),
        lambda rate: gamma_density(rate, 2.5, 0.75),
        HALF_LINE,
    ),
    (
        ExponentialGamma,
        {"shape": 2.5, "rate": 0.75},
        [0.125, 2.5, None, 1.0],
        lambda x, rate: rate * mpmath.exp(-rate * x),
        lambda rate: gamma_density(rate, 2.5, 0.75),
        HALF_LINE,
    ),
    (
        GeometricBeta,
        {"a": 1.5, "b": 2.25},
        [0.0, 4.0, None, 1.0],
        lambda x, p: p * (1 - p) ** x,
        lambda p: beta_density(p, 1.5, 2.25),
        UNIT,
    ),
    (
        NegativeBinomialBeta,
        {"r": 2.5, "a": 1.5, "b": 2.25},
        [0.0, 4.0, None, 1.0],
        lambda x, p: negative_binomial_mass(int(x), p, 2.5),
        lambda p: beta_density(p, 1.5, 2.25),
        UNIT,
    ),
]


@pytest.mark.parametrize("case", INTEGRALS, ids=lambda case: case[0].__name__)
def test_log_marginal_is_the_integral_of_likelihood_times_prior(case: Any) -> None:
    family, hyper, column, likelihood, prior, span = case

    def integrand(parameter: Any) -> Any:
        observed = (x for x in column if x is not None and not math.isnan(x))
        return mpmath.fprod(likelihood(x, parameter) for x in observed) * prior(parameter)

    with mp.workdps(20):
        want = mpmath.log(mpmath.quad(integrand, span))
    assert close(family.log_marginal([[x] for x in column], **hyper), want)


def test_normal_inverse_gamma_is_its_double_integral() -> None:
    x = [1.5, -0.25, 0.75, 4.0]
    m, kappa, a, b = 0.5, 0.8, 2.25, 1.5
    t = np.linspace(-6.0, 14.0, 1200)[:, None]
    z = np.linspace(-14.0, 14.0, 800)[None, :]
    v = np.exp(t)
    mu = 1.4 + np.sqrt(v) * z

    def log_normal(value: Any, mean: Any, variance: Any) -> Any:
        return -0.5 * np.log(2 * np.pi * variance) - (value - mean) ** 2 / (2 * variance)

    log_prior = a * np.log(b) - math.lgamma(a) - (a + 1) * t - b / v + log_normal(mu, m, v / kappa)
    log_joint = log_prior + sum(log_normal(value, mu, v) for value in x)
    jacobian = v * np.sqrt(v)
    cell = (t[1, 0] - t[0, 0]) * (z[0, 1] - z[0, 0])
    want = math.log(float((np.exp(log_joint) * jacobian).sum()) * cell)
    got = NormalInverseGamma.log_marginal([[v] for v in x], mean=m, kappa=kappa, a=a, b=b)
    assert close(got, want, 1e-9)


def test_dirichlet_counts_are_the_integral_over_the_simplex() -> None:
    concentration, rows = [1.5, 2.0, 1.25], [[1, 0, 2], [0, 3, 1]]

    def integrand(p: Any, u: Any) -> Any:
        simplex = [p, (1 - p) * u, (1 - p) * (1 - u)]
        norm = mpmath.gamma(sum(concentration)) / mpmath.fprod(map(mpmath.gamma, concentration))
        prior = norm * mpmath.fprod(
            q ** (a - 1) for q, a in zip(simplex, concentration, strict=True)
        )
        mass = mpmath.fprod(
            mpmath.factorial(sum(row))
            * mpmath.fprod(q**x / mpmath.factorial(x) for q, x in zip(simplex, row, strict=True))
            for row in rows
        )
        return prior * mass * (1 - p)

    want = mpmath.log(mpmath.quad(integrand, [0, 1], [0, 1]))
    got = MultinomialDirichlet.log_marginal(rows, concentration=concentration)
    assert close(got, want, 1e-9)
    coded = CategoricalDirichlet.log_marginal([[0], [2], [2]], concentration=1.5, levels=3)
    single = [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert close(coded, MultinomialDirichlet.log_marginal(single, concentration=1.5), 1e-40)


def sphere_points(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights that integrate smooth functions over the unit circle or sphere."""
    angle = np.arange(200) * (2 * np.pi / 200)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    if d == 2:
        return circle, np.full(200, 2 * np.pi / 200)
    z, w = np.polynomial.legendre.leggauss(100)
    points = [np.append(math.sqrt(1 - h * h) * c, h) for h in z for c in circle]
    return np.array(points), np.repeat(w * 2 * np.pi / 200, 200)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("prior_kappa", [0.0, 1.5])
def test_von_mises_fisher_is_the_integral_over_the_mean_direction(
    d: int, prior_kappa: float
) -> None:
    kappa, direction = 4.0, make_vectors.unit([1.0, -2.0, 0.5][:d])
    points, weights = sphere_points(d)
    rows = [make_vectors.unit(row[:d]) for row in ([1.0, 0.2, 0.1], [0.3, -1.0, 2.0])]

    def density(x: Any, mu: Any, k: float) -> Any:
        norm = (weights * np.exp(k * points[:, 0])).sum()
        return np.exp(k * (mu @ np.asarray(x))) / norm

    prior = density(direction, points, prior_kappa)
    joint = prior * np.prod([density(row, points, kappa) for row in rows], axis=0)
    hyper = {"kappa": kappa, "mean_direction": direction, "prior_kappa": prior_kappa}
    assert close(
        VonMisesFisher.log_marginal(rows, **hyper), math.log(float((weights * joint).sum())), 1e-10
    )


def predictive(family: Any, rows: list[Any], new: list[Any], **hyper: Any) -> Any:
    together = family.log_marginal([*rows, new], **hyper)
    return mpmath.exp(together - family.log_marginal(rows, **hyper))


NORMALISED: list[tuple[Any, dict[str, Any], list[Any], list[Any]]] = [
    (
        NormalKnownVariance,
        {"variance": 0.7, "mean": 0.4, "prior_variance": 2.5},
        [[1.5], [0.5]],
        [-mp.inf, 0, 1, 3, mp.inf],
    ),
    (
        NormalInverseGamma,
        {"mean": 0.5, "kappa": 0.8, "a": 2.25, "b": 1.5},
        [[1.5], [0.5]],
        [-mp.inf, -2, 1, 4, mp.inf],
    ),
    (ExponentialGamma, {"shape": 2.5, "rate": 0.75}, [[0.125], [2.5]], [0, 1, 5, mp.inf]),
]


@pytest.mark.parametrize("case", NORMALISED, ids=lambda case: case[0].__name__)
def test_predictive_density_integrates_to_one(case: Any) -> None:
    family, hyper, rows, span = case
    total = mpmath.quad(lambda x: predictive(family, rows, [x], **hyper), span, maxdegree=7)
    assert close(total, 1, 1e-9)


MASSES: list[tuple[Any, dict[str, Any], list[Any], int, float]] = [
    (BernoulliBeta, {"a": 0.3, "b": 2.0}, [[1], [0], [0]], 2, 1e-14),
    (CategoricalDirichlet, {"concentration": 0.4, "levels": 5}, [[4], [1]], 5, 1e-14),
    (PoissonGamma, {"shape": 2.5, "rate": 20.0}, [[1], [0]], 60, 1e-14),
    (GeometricBeta, {"a": 60.0, "b": 1.0}, [[1], [0]], 400, 1e-14),
    (NegativeBinomialBeta, {"r": 2.5, "a": 60.0, "b": 1.0}, [[1], [0]], 400, 1e-14),
]


@pytest.mark.parametrize("case", MASSES, ids=lambda case: case[0].__name__)
def test_predictive_masses_sum_to_one(case: Any) -> None:
    family, hyper, rows, stop, tol = case
    total = mpmath.fsum(predictive(family, rows, [x], **hyper) for x in range(stop))
    assert close(total, 1, tol)


def test_multinomial_masses_of_a_given_total_sum_to_one() -> None:
    rows = [[1, 0, 2], [0, 0, 0]]
    cells = [c for c in itertools.product(range(5), repeat=3) if sum(c) == 4]
    total = mpmath.fsum(
        predictive(MultinomialDirichlet, rows, list(c), concentration=[0.5, 1.0, 3.0])
        for c in cells
    )
    assert close(total, 1, 1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_von_mises_fisher_predictive_integrates_to_one(d: int) -> None:
    hyper = {"kappa": 3.0, "mean_direction": [0.0] * (d - 1) + [1.0], "prior_kappa": 0.5}
    points, weights = sphere_points(d)
    # All is symmetric about the last axis, so on the sphere one meridian stands for the others.
    repeats = 1 if d == 2 else 200
    rows = [[0.0] * (d - 1) + [1.0]]
    total = sum(
        float(predictive(VonMisesFisher, rows, x.tolist(), **hyper)) * w * repeats
        for x, w in zip(points[::repeats], weights[::repeats], strict=True)
    )
    assert close(total, 1, 1e-12)


NIW = {"mean": [0.5, -1.0], "kappa": 0.6, "nu": 4.5, "psi": [[2.0, 0.7], [0.7, 1.5]]}


def test_normal_inverse_wishart_of_one_column_is_normal_inverse_gamma() -> None:
    rows = [[1.5], [-0.25], [7.0]]
    wishart = NormalInverseWishart.log_marginal(rows, mean=0.5, kappa=0.6, nu=4.5, psi=2.5)
    gamma = NormalInverseGamma.log_marginal(rows, mean=0.5, kappa=0.6, a=2.25, b=1.25)
    assert close(wishart, gamma, 1e-45)


def test_normal_inverse_wishart_with_a_column_integrated_out() -> None:
    """Both second coordinates of two rows, against the marginal prior of the first column."""
    first = [1.5, -0.25]

    def density(u: Any, v: Any) -> Any:
        rows = [[first[0], mpmath.tan(u)], [first[1], mpmath.tan(v)]]
        jacobian = (1 + mpmath.tan(u) ** 2) * (1 + mpmath.tan(v) ** 2)
        return mpmath.exp(NormalInverseWishart.log_marginal(rows, **NIW)) * jacobian

    nodes, weights = np.polynomial.legendre.leggauss(30)
    half = math.pi / 2
    total = mpmath.fsum(
        wu * wv * half**2 * density(half * u, half * v)
        for u, wu in zip(nodes, weights, strict=True)
        for v, wv in zip(nodes, weights, strict=True)
    )
    want = NormalInverseGamma.log_marginal(
        [[x] for x in first], mean=0.5, kappa=0.6, a=(4.5 - 1) / 2, b=1.0
    )
    assert close(mpmath.log(total), want, 1e-6)


def test_normal_inverse_wishart_follows_linear_maps() -> None:
    rows = np.array([[1.5, 0.25], [-2.0, 4.0], [0.5, 0.125]])
    stretch = np.array([[2.0, 0.5], [-0.25, 4.0]])
    mapped = {
        **NIW,
        "mean": (stretch @ NIW["mean"]).tolist(),
        "psi": (stretch @ NIW["psi"] @ stretch.T).tolist(),
    }
    plain = NormalInverseWishart.log_marginal(rows.tolist(), **NIW)
    moved = NormalInverseWishart.log_marginal((rows @ stretch.T).tolist(), **mapped)
    assert close(moved, plain - 3 * math.log(np.linalg.det(stretch)), 1e-13)


def test_scale_matrix_may_be_scalar_diagonal_or_full() -> None:
    rows = [[1.5, 0.25], [-2.0, 4.0]]
    rest = {"mean": 0.0, "kappa": 1.0, "nu": 3.0}
    values = [
        NormalInverseWishart.log_marginal(rows, psi=psi, **rest)
        for psi in (2.0, [2.0, 2.0], [[2.0, 0.0], [0.0, 2.0]])
    ]
    assert values[0] == values[1] == values[2]


def test_missing_values_leave_the_observed_ones() -> None:
    rows = [[1.0, None], [NAN, 2.0], [3.0, None], [None, None]]
    hyper = {"shape": [1.5, 0.5], "rate": [1.0, 2.0]}
    apart = PoissonGamma.log_marginal([[1], [3]], shape=1.5, rate=1.0)
    apart += PoissonGamma.log_marginal([[2]], shape=0.5, rate=2.0)
    assert close(PoissonGamma.log_marginal(rows, **hyper), apart, 1e-14)
    assert PoissonGamma.log_marginal([[None, None]], **hyper) == 0
    assert PoissonGamma.log_marginal([], **hyper) == 0


def test_product_is_the_sum_over_its_blocks() -> None:
    rows = [[1.0, 0.5, 0.0], [0.0, 2.5, 1.0]]
    blocks = [
        {"family": "BernoulliBeta", "columns": [2, 0], "hyper": {"a": [1.0, 2.0], "b": 0.5}},
        {"family": "ExponentialGamma", "columns": [1], "hyper": {"shape": 2.0, "rate": 1.0}},
    ]
    want = BernoulliBeta.log_marginal([[0, 1], [1, 0]], a=[1.0, 2.0], b=0.5)
    want += ExponentialGamma.log_marginal([[0.5], [2.5]], shape=2.0, rate=1.0)
    assert close(Product.log_marginal(rows, blocks=blocks), want, 1e-14)
    want = BernoulliBeta.potential([[0, 1], [1, 0]]) + ExponentialGamma.potential([[0.5], [2.5]])
    assert Product.potential(rows, blocks=blocks) == pytest.approx(want, rel=1e-14)


SERIES = [[0.5, -1.0, 2.0, 0.25], [1.5, NAN, 1.0, 0.0], [NAN, NAN, 0.75, NAN], [NAN] * 4]


@pytest.mark.parametrize("kernel", ["squared-exponential", "matern32", "matern52", "cubic-spline"])
@pytest.mark.parametrize("times", [0.7, [0.0, 1.0, 2.5, 3.0], [3.0, 1.0, 1.0, -2.0]])
def test_series_about_one_curve_are_jointly_normal(kernel: str, times: Any) -> None:
    """The cells of all rows: the curve's covariance, whatever the rows, and noise of their own."""
    at = np.asarray(times) if np.ndim(times) else np.arange(4) * times
    length, amplitude, noise = 1.3, 2.0, 0.4
    r = np.abs(at[:, None] - at) / length
    middle = (at.max() + at.min()) / 2
    covariance = {
        "squared-exponential": np.exp(-(r**2) / 2),
        "matern32": (1 + 3**0.5 * r) * np.exp(-(3**0.5) * r),
        "matern52": (1 + 5**0.5 * r + 5 * r**2 / 3) * np.exp(-(5**0.5) * r),
        "cubic-spline": spline_covariance((at - middle) / length),
    }[kernel]
    cells = np.array(SERIES)
    row, column = np.nonzero(~np.isnan(cells))
    own = (row[:, None] == row) & (column[:, None] == column)
    joint = amplitude * covariance[np.ix_(column, column)] + noise * own
    mean = np.array([0.1, 0.2, -0.3, 0.4])
    wanted = multivariate_normal.logpdf(cells[row, column], mean[column], joint)
    hyper = {"times": times, "kernel": kernel, "length_scale": length, "amplitude": amplitude}
    found = GaussianProcess.log_marginal(SERIES, **hyper, noise=noise, mean=mean)
    assert close(found, wanted, 1e-7)


def spline_covariance(u: np.ndarray) -> np.ndarray:
    """Level, slope and twice integrated white noise, by the trapezoidal rule.

    What white noise at w > 0 adds at a time u > w is u - w; left of 0 the same mirrored.
    """
    w = (np.arange(40000) + 0.5) * 1e-4
    right = np.maximum(u[:, None] - w, 0.0)
    left = np.maximum(-u[:, None] - w, 0.0)
    return 1 + np.outer(u, u) + 1e-4 * (right @ right.T + left @ left.T)


SMOOTHING: dict[str, Any] = {
    "NormalInverseWishart": {"smoothing": [[0.5, 0.1], [0.1, 0.25]]},
    "NormalInverseGamma": {"smoothing": 0.01, "scale": [1.0, 4.0]},
    "NormalKnownVariance": {"variance": [0.5, 2.0]},
    "BernoulliBeta": {},
    "CategoricalDirichlet": {"levels": [3, 4]},
    "MultinomialDirichlet": {},
    "PoissonGamma": {},
    "ExponentialGamma": {},
    "GeometricBeta": {},
    "NegativeBinomialBeta": {"r": [0.5, 3.0]},
    "VonMisesFisher": {"kappa": 5.0},
    "GaussianProcess": {"noise": 0.5},
}
ALLOWS_MISSING = sorted(
    set(SMOOTHING) - {"NormalInverseWishart", "MultinomialDirichlet", "VonMisesFisher"}
)


def small_table(name: str, n: int, source: random.Random) -> list[list[float]]:
    def row() -> list[float]:
        if name == "VonMisesFisher":
            return make_vectors.unit([source.gauss(0, 1) for _ in range(2)])
        if name.startswith("Normal") or name == "GaussianProcess":
            return [source.gauss(0, 1), source.gauss(3, 2)]
        if name == "ExponentialGamma":
            return [source.expovariate(1), source.expovariate(0.1)]
        top = 2 if name == "BernoulliBeta" else 3
        return [float(source.randrange(top)), float(source.randrange(top))]

    return [row() for _ in range(n)]


@pytest.mark.parametrize("name", sorted(SMOOTHING))
def test_merge_costs_are_not_negative_and_vanish_for_equal_means(name: str) -> None:
    source, potential = random.Random(name), FAMILIES[name].potential
    extra = SMOOTHING[name]
    some_positive = False
    for _ in range(40):
        left, right = (small_table(name, source.randrange(1, 5), source) for _ in range(2))
        if name in ALLOWS_MISSING and source.random() < 0.5:
            left[0][source.randrange(2)] = NAN
        apart = potential(left, **extra) + potential(right, **extra)
        cost = apart - potential(left + right, **extra)
        assert cost >= -1e-12
        some_positive |= cost > 1e-3
        twice = potential(left + left, **extra)
        assert twice == pytest.approx(2 * potential(left, **extra), rel=1e-12, abs=1e-12)
    assert some_positive


MAXIMUM: list[tuple[Any, dict[str, Any], list[Any], Callable[..., Any], float]] = [
    (BernoulliBeta, {"smoothing": 0.0}, [1, 0, 1, 1], lambda x, p: p if x else 1 - p, 0.75),
    (PoissonGamma, {"smoothing": 0.0}, [1, 4, 0], lambda x, m: mpmath.exp(-m) * m**x, 5 / 3),
    (ExponentialGamma, {}, [0.5, 4.0, 2.0], lambda x, m: mpmath.exp(-x / m) / m, 6.5 / 3),
    (
        GeometricBeta,
        {"smoothing": 0.0},
        [1, 4, 0],
        lambda x, m: (m / (1 + m)) ** x / (1 + m),
        5 / 3,
    ),
    (
        NegativeBinomialBeta,
        {"smoothing": 0.0, "r": 2.5},
        [1, 4, 0],
        lambda x, m: (m / (2.5 + m)) ** x * (2.5 / (2.5 + m)) ** 2.5,
        5 / 3,
    ),
    (
        NormalKnownVariance,
        {"variance": 0.7},
        [0.5, 4.0, -2.0],
        lambda x, m: mpmath.exp(x * m / 0.7 - m * m / 1.4),
        2.5 / 3,
    ),
]


@pytest.mark.parametrize("case", MAXIMUM, ids=lambda case: case[0].__name__)
def test_potential_is_the_greatest_log_likelihood_but_for_the_base_measure(case: Any) -> None:
    """The convex conjugate of the log partition function: its Legendre transform at the mean."""
    family, smoothing, column, likelihood, mean = case

    def log_likelihood(parameter: float) -> float:
        return float(mpmath.fsum(mpmath.log(likelihood(x, parameter)) for x in column))

    got = family.potential([[x] for x in column], **smoothing)
    assert got == pytest.approx(log_likelihood(mean), rel=1e-13)
    assert got > log_likelihood(mean * 0.99)
    assert got > log_likelihood(mean * 1.01)


def test_smoothed_potentials_at_known_values() -> None:
    log = math.log
    p = 0.99 * 0.75 + 0.005
    bernoulli = 4 * (p * log(p) + (1 - p) * log(1 - p))
    assert BernoulliBeta.potential([[1], [1], [0], [1]]) == pytest.approx(bernoulli, rel=1e-14)
    u = [0.9 * 3 + 0.1 * 4 / 2, 0.9 * 1 + 0.1 * 4 / 2]
    counts = sum(v * log(v / 4) for v in u)
    assert MultinomialDirichlet.potential([[3, 0], [0, 1]]) == pytest.approx(counts, rel=1e-14)
    codes = CategoricalDirichlet.potential([[0], [0], [1], [0]], levels=2)
    assert codes == pytest.approx(counts, rel=1e-14)
    poisson = 2 * (1.51 * log(1.51) - 1.51)
    assert PoissonGamma.potential([[3], [0]]) == pytest.approx(poisson, rel=1e-14)
    variance = NormalInverseGamma.potential([[1], [3]], smoothing=0.01, scale=4.0)
    assert variance == pytest.approx(-log(1.04), rel=1e-14)
    full = NormalInverseWishart.potential([[1, 0], [3, 0]], smoothing=np.diag([0.04, 0.5]))
    assert full == pytest.approx(-log(1.04 * 0.5), rel=1e-14)
    direction = VonMisesFisher.potential([[1, 0], [0, 1]], kappa=3.0)
    assert direction == pytest.approx(3 * math.sqrt(2), rel=1e-14)


@pytest.mark.parametrize(
    ("nu", "x"), [(0, 1001), (0.5, 1500), (31, 4000), (63.5, 2000), (511, 6e4)]
)
def test_series_and_hankel_expansion_agree(nu: float, x: float) -> None:
    difference = special.log_bessel_i_series(nu, x) - special.log_bessel_i_hankel(nu, x)
    assert abs(difference) < mpf(10) ** -80


@pytest.mark.parametrize(("nu", "x"), [(0, 0.5), (1.5, 30), (31, 1e-8), (511, 700), (15.5, 1e7)])
def test_log_bessel_agrees_with_mpmath(nu: float, x: float) -> None:
    assert close(special.log_bessel_i(nu, x), mpmath.log(mpmath.besseli(nu, x)), 1e-13)


def test_log_bessel_of_order_one_half_is_elementary() -> None:
    with mp.workdps(120):
        for x in (1e-8, 0.5, 30.0, 900.0, 1e7):
            want = mpmath.log(2 / (mp.pi * x)) / 2 + mpmath.log(mpmath.sinh(mpf(x)))
            assert close(special.log_bessel_i(0.5, x), want, 1e-45)


def test_vmf_normalizer_in_three_dimensions_and_its_limit() -> None:
    with mp.workdps(120):
        for kappa in (1e-6, 2.0, 500.0):
            want = mpmath.log(kappa / (4 * mp.pi * mpmath.sinh(mpf(kappa))))
            assert close(special.log_vmf_normalizer(3, kappa), want, 1e-45)
    assert close(special.log_vmf_normalizer(3, 0), -math.log(4 * math.pi), 1e-15)
    for d in (2, 5, 64):
        assert close(special.log_vmf_normalizer(d, 1e-20), special.log_vmf_normalizer(d, 0), 1e-35)


def test_gamma_functions_keep_their_recurrences() -> None:
    for a in (1e-8, 0.5, 3.25, 1e12):
        rising = mpmath.fsum(mpmath.log(mpf(a) + i) for i in range(20))
        assert close(special.log_gamma_ratio(a, 20), rising, 1e-14)
        assert close(special.digamma(mpf(a) + 1) - special.digamma(a), 1 / mpf(a), 1e-13)
    assert close(special.log_multigamma(2.5, 1), math.lgamma(2.5), 1e-15)
    integral = mpmath.log(mp.pi) / 2 + special.log_gamma(2.5) + special.log_gamma(2)
    assert close(special.log_multigamma(2.5, 2), integral, 1e-15)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_golden_values_hold(name: str) -> None:
    path = make_vectors.FOLDER / f"{make_vectors.snake_case(name)}.json"
    points = json.loads(path.read_text())
    assert len(points) >= 100
    for point in points[::12]:
        got = FAMILIES[name].log_marginal(point["rows"], **point["hyper"])
        with mp.workdps(50):
            assert close(got, mpf(point["log_marginal"]), 1e-29)
            magnitude = FAMILIES[name].magnitude(point["rows"], **point["hyper"])
            assert close(point["magnitude"], magnitude, 1e-14)


def test_golden_values_of_special_functions_hold() -> None:
    tables = json.loads((make_vectors.FOLDER / "special.json").read_text())
    assert set(tables) == set(make_vectors.special_arguments())
    for name, points in tables.items():
        assert len(points) >= 100
        for point in points[::17]:
            want = point.pop("value")
            got = getattr(special, name)(**point)
            with mp.workdps(50):
                assert abs(got - mpf(want)) <= abs(got) * mpf(10) ** -29


def test_golden_values_stay_small() -> None:
    sizes = [path.stat().st_size for path in make_vectors.FOLDER.glob("*.json")]
    assert len(sizes) == len(FAMILIES) + 1
    assert sum(sizes) < 3e6


def random_tree(n: int, source: random.Random, n_roots: int = 1) -> list[tuple[int, int]]:
    live, children = list(range(n)), []
    while len(live) > n_roots:
        left, right = sorted(source.sample(live, 2))
        live = [k for k in live if k not in (left, right)] + [n + len(children)]
        children.append((left, right))
    return children


def poisson_rows(n: int, source: random.Random) -> list[list[float]]:
    """Two groups of two columns of counts."""
    return [
        [float(source.randrange(3) + 6 * (i % 2)), float(source.randrange(4))] for i in range(n)
    ]


def poisson_marginal(rows: list[list[float]]) -> bhc.OnRows:
    return bhc.on_table(PoissonGamma.log_marginal, rows, shape=1.5, rate=0.5)


# seed, n, roots, alpha
TREES = [(0, 7, 1, 1.0), (1, 7, 1, 0.05), (2, 8, 1, 20.0), (3, 7, 3, 1.0), (4, 6, 6, 0.5)]


class Scene:
    """A random table with one row to spare, a random tree on it and the brute force of both."""

    def __init__(self, case: tuple[int, int, int, float]) -> None:
        seed, self.n, n_roots, self.alpha = case
        source = random.Random(seed)
        self.log_marginal = poisson_marginal(poisson_rows(self.n + 1, source))
        self.children = random_tree(self.n, source, n_roots)
        self.post = bhc.posterior(self.children, self.n, self.log_marginal, self.alpha)
        self.truth = bhc.Enumeration.of_tree(self.children, self.n, self.log_marginal, self.alpha)


@pytest.fixture(params=TREES, ids=lambda case: "n{1}-roots{2}-alpha{3}".format(*case))
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(request.param)


def test_partitions_are_counted_right() -> None:
    assert [len(bhc.set_partitions(n)) for n in range(1, 8)] == [1, 2, 5, 15, 52, 203, 877]
    chain = [(0, 1), (2, 4), (3, 5)]
    assert len(bhc.tree_partitions(chain, 4)) == 4
    assert len(bhc.tree_partitions([(0, 1), (2, 3), (4, 5)], 4)) == 5
    assert len(bhc.tree_partitions([(0, 1), (2, 3)], 4)) == 4
    canonical = {tuple(map(tuple, p)) for p in map(sorted, bhc.set_partitions(7))}
    assert len(canonical) == 877


def test_evidence_of_a_tree_is_the_sum_over_its_partitions(scene: Scene) -> None:
    assert scene.post.log_evidence_bound == pytest.approx(scene.truth.log_evidence(), rel=1e-12)


def test_evidence_of_a_tree_is_below_that_of_all_partitions(scene: Scene) -> None:
    exact = bhc.Enumeration.of_all(scene.n, scene.log_marginal, scene.alpha).log_evidence()
    assert scene.post.log_evidence_bound < exact


def test_the_bound_is_exact_for_two_rows() -> None:
    log_marginal = poisson_marginal([[1, 2], [4, 0]])
    exact = bhc.Enumeration.of_all(2, log_marginal, 0.7).log_evidence()
    bound = bhc.posterior([(0, 1)], 2, log_marginal, 0.7).log_evidence_bound
    assert bound == pytest.approx(exact, rel=1e-13)


def test_evidence_sums_to_one_over_the_data() -> None:
    """The process is a density of the data: all tables of three bits have total evidence one."""
    total = 0.0
    for bits in itertools.product([0, 1], repeat=3):
        rows = [[b] for b in bits]
        log_marginal = bhc.on_table(BernoulliBeta.log_marginal, rows, a=0.5, b=2.0)
        total += math.exp(bhc.Enumeration.of_all(3, log_marginal, 0.8).log_evidence())
    assert total == pytest.approx(1, rel=1e-12)


def test_omega_is_the_probability_of_a_cluster(scene: Scene) -> None:
    want = [scene.truth.block_probability(m) for m in scene.post.members]
    np.testing.assert_allclose(scene.post.omega, want, rtol=1e-11, atol=1e-15)
    assert scene.post.omega.sum() == pytest.approx(scene.truth.expected_clusters(), rel=1e-12)
    sizes = [len(m) for m in scene.post.members]
    assert np.dot(scene.post.omega, sizes) == pytest.approx(scene.n, rel=1e-12)


def test_heights_are_pair_probabilities(scene: Scene) -> None:
    want = scene.truth.pair_probabilities()
    np.testing.assert_allclose(bhc.coclustering(scene.post), want, rtol=1e-11, atol=1e-14)
    for k, parent in enumerate(bhc.parents_of(scene.children, scene.n)):
        assert parent < 0 or scene.post.height[k] <= scene.post.height[parent]


def test_log_odds_and_r_compare_a_node_with_its_split(scene: Scene) -> None:
    post = scene.post
    for k, (left, right) in enumerate(post.children, start=scene.n):
        ratio = math.exp(post.log_h[k] - post.log_t[left] - post.log_t[right])
        assert post.log_odds[k] == pytest.approx(math.log(ratio), rel=1e-9, abs=1e-12)
        assert post.r[k] == pytest.approx(ratio / (1 + ratio), rel=1e-9)
    assert np.all(post.r[: scene.n] == 1)
    assert np.all(post.log_odds[: scene.n] == math.inf)


def test_predictive_density_averages_the_urn(scene: Scene) -> None:
    got = bhc.log_predictive(scene.post, scene.log_marginal, scene.n)
    assert got == pytest.approx(scene.truth.log_predictive(scene.n), rel=1e-12)


def test_predictive_density_sums_to_one() -> None:
    source = random.Random(5)
    rows = [[float(source.randrange(3))] for _ in range(5)]
    children, total = random_tree(5, source), 0.0
    for x in range(60):
        log_marginal = bhc.on_table(PoissonGamma.log_marginal, [*rows, [x]], shape=4, rate=4)
        post = bhc.posterior(children, 5, log_marginal, 0.6)
        total += math.exp(bhc.log_predictive(post, log_marginal, 5))
    assert total == pytest.approx(1, rel=1e-12)


def test_most_probable_partition(scene: Scene) -> None:
    got = sorted(scene.post.members[k] for k in bhc.cut_map(scene.post))
    assert got == scene.truth.most_probable()


def test_most_probable_partition_need_not_be_the_cut_at_one_half() -> None:
    differ = 0
    for seed in range(30):
        scene = Scene((seed, 6, 1, 1.0))
        nodes = bhc.cut_map(scene.post)
        assert sorted(scene.post.members[k] for k in nodes) == scene.truth.most_probable()
        differ += nodes != bhc.cut_r(scene.post, 0.5)
    assert differ


def test_responsibilities_follow_bayes_given_the_flat_clusters(scene: Scene) -> None:
    nodes = bhc.cut_map(scene.post)
    got = bhc.responsibilities(scene.post, nodes, scene.log_marginal, scene.n)
    blocks = [scene.post.members[k] for k in nodes]
    joined = [[[*b, scene.n] if b is c else b for b in blocks] for c in blocks]
    enlarged = bhc.Enumeration([*joined, [*blocks, [scene.n]]], scene.log_marginal, scene.alpha)
    np.testing.assert_allclose(got, enlarged.probabilities, rtol=1e-11)


def test_cut_by_r_stops_at_the_first_node_that_holds(scene: Scene) -> None:
    parents = bhc.parents_of(scene.children, scene.n)
    for threshold in (0.0, 0.3, 0.5, 0.9, 1.1):
        nodes = bhc.cut_r(scene.post, threshold)
        assert sorted(i for k in nodes for i in scene.post.members[k]) == list(range(scene.n))
        for k in nodes:
            assert k < scene.n or scene.post.r[k] >= threshold
            while parents[k] >= 0:
                k = parents[k]
                assert scene.post.r[k] < threshold
    assert bhc.cut_r(scene.post, 0.0) == scene.post.roots
    assert bhc.cut_r(scene.post, 1.1) == list(range(scene.n))


def test_cut_by_number_splits_the_least_certain_node_first(scene: Scene) -> None:
    post = scene.post
    before = set(post.roots)
    for k in range(len(post.roots) + 1, scene.n + 1):
        nodes = set(bhc.cut_n_clusters(post, k))
        (split,) = before - nodes
        assert nodes - before == set(post.children[split - scene.n])
        assert post.log_odds[split] == min(post.log_odds[sorted(before)])
        before = nodes
    with pytest.raises(ValueError, match="clusters can be had"):
        bhc.cut_n_clusters(post, scene.n + 1)


def test_labels_count_from_the_largest_cluster() -> None:
    children = [(0, 2), (1, 3)]
    assert bhc.labels_of([4, 5], children, 4) == [0, 1, 0, 1]
    assert bhc.labels_of([5, 0, 2], children, 4) == [1, 0, 2, 0]
    assert bhc.labels_of([4, 5], children, 4, [0.0] * 5 + [1.0]) == [1, 0, 1, 0]
    assert bhc.labels_of([4, 5], children, 4, [0.0] * 5 + [1e-12]) == [0, 1, 0, 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_greedy_takes_the_least_log_d_at_every_step(seed: int, alpha: float) -> None:
    n, log_marginal = 8, poisson_marginal(poisson_rows(8, random.Random(seed)))
    children, log_d = bhc.greedy_bhc(n, log_marginal, alpha)
    members, live = bhc.members_of(children, n), list(range(n))

    below = bhc.partitions_below(children, n)

    def log_h(rows: list[int]) -> float:
        return math.log(alpha) + math.lgamma(len(rows)) + log_marginal(rows)

    def log_apart(node: int) -> float:
        weights = [sum(log_h(members[k]) for k in partition) for partition in below[node]]
        return float(np.logaddexp.reduce(weights))

    def brute_force(left: int, right: int) -> float:
        return log_apart(left) + log_apart(right) - log_h(members[left] + members[right])

    for t, pair in enumerate(children):
        costs = {p: brute_force(*p) for p in itertools.combinations(live, 2)}
        assert costs[pair] == pytest.approx(log_d[t], rel=1e-10, abs=1e-10)
        assert costs[pair] <= min(costs.values()) + 1e-10
        live = [k for k in live if k not in pair] + [n + t]
    assert bhc.replay_greedy(children, n, log_marginal, alpha, tol=0.0) == 0.0


def test_replay_finds_a_merge_that_is_not_the_least() -> None:
    n, log_marginal = 8, poisson_marginal(poisson_rows(8, random.Random(3)))
    children, log_d = bhc.greedy_bhc(n, log_marginal, 1.0)
    wrong = random_tree(n, random.Random(1))
    assert wrong[0] != children[0]
    scores = bhc.BhcScores(n, log_marginal, 1.0)
    excess = bhc.replay_greedy(wrong, n, log_marginal, 1.0)
    assert excess >= scores.cost(*wrong[0]) - log_d[0] > 0
    with pytest.raises(AssertionError, match="merge 0"):
        bhc.replay_greedy(wrong, n, log_marginal, 1.0, tol=1e-9)
    with pytest.raises(AssertionError, match="not two live nodes"):
        bhc.replay_greedy([(0, 1), (0, 2)], n, log_marginal, 1.0)
    assert bhc.replay_greedy(children[:-1], n, log_marginal, 1.0) == math.inf


def test_ties_go_to_the_older_newer_node_then_to_the_older_one() -> None:
    children, costs = bhc.greedy_rbhc(5, lambda _: 0.0)
    assert children == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert costs == [0.0] * 4
    children, costs = bhc.greedy_rbhc(4, ward_potential([[0.0], [10.0], [11.0], [1.0]]))
    assert children == [(1, 2), (0, 3), (4, 5)]
    assert costs[0] == costs[1]
    rows = [[50.0], [2.0], [2.0], [2.0]]
    children, _ = bhc.greedy_bhc(4, poisson_marginal(rows), 1.0)
    assert children[0] == (1, 2)


def test_the_chain_prefers_the_node_it_came_from() -> None:
    children, _ = bhc.nn_chain_rbhc(4, ward_potential([[0.0], [10.0], [4.0], [7.0]]))
    assert children[0] == (2, 3)


def test_a_cost_equal_to_lambda_keeps_trees_apart() -> None:
    for build in (bhc.greedy_rbhc, bhc.nn_chain_rbhc):
        assert build(4, lambda _: 0.0, 0.0) == ([], [])
        assert build(4, lambda _: 0.0, 1e-300)[1] == [0.0] * 3
    assert bhc.cut_at_cost([(0, 1)], [2.0], 2, 2.0) == [0, 1]


def ward_potential(rows: list[list[float]]) -> bhc.OnRows:
    return bhc.on_table(NormalKnownVariance.potential, rows, variance=0.5)


def normal_rows(n: int, seed: int) -> list[list[float]]:
    source = random.Random(seed)
    return [[source.gauss(0, 1), source.gauss(0, 3)] for _ in range(n)]


def test_relaxed_costs_of_known_variance_are_ward_s() -> None:
    rows = normal_rows(15, 8)
    _, costs = bhc.greedy_rbhc(15, ward_potential(rows))
    heights = ward(np.array(rows))[:, 2]
    np.testing.assert_allclose(costs, heights**2 / (4 * 0.5), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_chain_and_greedy_build_the_same_tree_where_costs_are_reducible(seed: int) -> None:
    n, potential = 14, ward_potential(normal_rows(14, seed))
    greedy_children, greedy_costs = bhc.greedy_rbhc(n, potential)
    children, costs = bhc.nn_chain_rbhc(n, potential)
    assert bhc.clades(children, n) == bhc.clades(greedy_children, n)
    np.testing.assert_allclose(sorted(costs), greedy_costs, rtol=1e-10)
    assert bhc.reciprocal_excess(children, n, potential, tol=1e-10) <= 1e-10
    assert bhc.replay_rbhc(greedy_children, n, potential, tol=0.0) == 0.0
    assert (bhc.replay_rbhc(children, n, potential) > 0) == (children != greedy_children)


@pytest.mark.parametrize("lam", [0.05, 0.8, 5.0, 1e9])
def test_a_forest_is_the_tree_cut_at_lambda(lam: float) -> None:
    n, potential = 14, ward_potential(normal_rows(14, 2))
    children, costs = bhc.greedy_rbhc(n, potential)
    members = bhc.members_of(children, n)
    cut = {frozenset(members[k]) for k in bhc.cut_at_cost(children, costs, n, lam)}
    for build in (bhc.greedy_rbhc, bhc.nn_chain_rbhc):
        forest, forest_costs = build(n, potential, lam)
        assert all(c < lam for c in forest_costs)
        below = bhc.members_of(forest, n)
        assert {frozenset(below[k]) for k in bhc.roots_of(forest, n)} == cut
    greedy_forest, _ = bhc.greedy_rbhc(n, potential, lam)
    assert bhc.replay_rbhc(greedy_forest, n, potential, lam, tol=0.0) == 0.0


def test_replay_finds_a_forest_that_stopped_at_the_wrong_cost() -> None:
    n, potential = 10, ward_potential(normal_rows(10, 6))
    children, costs = bhc.greedy_rbhc(n, potential)
    lam = (costs[5] + costs[6]) / 2
    assert bhc.replay_rbhc(children[:6], n, potential, lam) == 0.0
    assert bhc.replay_rbhc(children[:7], n, potential, lam) == pytest.approx(costs[6] - lam)
    assert bhc.replay_rbhc(children[:5], n, potential, lam) == pytest.approx(lam - costs[5])


def test_cut_uses_the_highest_cost_below_a_node() -> None:
    children, costs = [(0, 1), (2, 4), (3, 5)], [2.0, 1.0, 3.0]
    assert bhc.cut_at_cost(children, costs, 4, 1.5) == [0, 1, 2, 3]
    assert bhc.cut_at_cost(children, costs, 4, 2.5) == [3, 5]
    assert bhc.cut_at_cost(children, costs, 4, math.inf) == [6]


@pytest.mark.parametrize("name", sorted(SMOOTHING))
def test_chain_ends_for_every_family_and_for_equal_rows(name: str) -> None:
    """d* is not reducible for most of them, and equal rows make every cost a tie."""
    for seed in range(6):
        rows = small_table(name, 9, random.Random(seed))
        rows += rows[:3]
        potential = bhc.on_table(FAMILIES[name].potential, rows, **SMOOTHING[name])
        children, _ = bhc.nn_chain_rbhc(12, potential)
        assert len(children) == 11
        assert bhc.roots_of(children, 12) == [22]


@pytest.mark.parametrize("seed", range(20))
def test_chain_joins_reciprocal_neighbours_of_any_costs(seed: int) -> None:
    """Arbitrary small integers for the potential: far from reducible, and full of ties."""
    source, known = random.Random(seed), {}

    def potential(rows: list[int]) -> float:
        return known.setdefault(frozenset(rows), float(source.randrange(12)))

    children, _ = bhc.nn_chain_rbhc(10, potential)
    assert bhc.roots_of(children, 10) == [18]
    assert bhc.reciprocal_excess(children, 10, potential) == 0.0
