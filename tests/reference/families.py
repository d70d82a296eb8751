"""The families of the library, written from their definitions.

``log_marginal(rows, **hyper)`` is the log marginal likelihood in mpmath, ``potential(rows, **hyper,
**smoothing)`` the Bregman potential n phi(mean statistic) in plain NumPy, whose merge cost is
``potential(c0) + potential(c1) - potential(c0 and c1) >= 0``.

``rows`` is a list of rows; None or NaN marks a missing value where the family allows it.
Hyperparameters bear the library's names; scalars hold for every column. A column with no observed
value adds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

from .special import (
    log_beta,
    log_gamma,
    log_multigamma,
    log_vmf_normalizer,
    precise,
)

Rows = Sequence[Sequence[Any]]
Terms = list[Any]


def is_missing(value: Any) -> bool:
    return value is None or math.isnan(value)


def observed_columns(rows: Rows) -> list[list[Any]]:
    """The observed values of every column, exactly."""
    return [[mpf(x) for x in column if not is_missing(x)] for column in zip(*rows, strict=True)]


def float_columns(rows: Rows) -> list[np.ndarray]:
    """The observed values of every column that has any, else an empty array."""
    return [np.array([float(x) for x in column]) for column in observed_columns(rows)]


def per_column(value: Any, d: int) -> list[Any]:
    """One exact hyperparameter a column from a scalar or a vector of length d."""
    values = list(value) if np.ndim(value) else [value] * d
    if len(values) != d:
        raise ValueError(f"{len(values)} hyperparameters for {d} columns")
    return [mpf(v) for v in values]


class Family:
    """What the families share: the log marginal likelihood is the sum of a formula's terms."""

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        raise NotImplementedError

    @classmethod
    @precise
    def log_marginal(cls, rows: Rows, **hyper: Any) -> Any:
        """Log marginal likelihood of the rows in one cluster, nats."""
        return mpmath.fsum(cls._terms(rows, **hyper)) if len(rows) else mpf(0)

    @classmethod
    @precise
    def magnitude(cls, rows: Rows, **hyper: Any) -> Any:
        """Sum of the terms' absolute values: times 1e-16, what their rounding alone may cost."""
        return mpmath.fsum(cls._terms(rows, **hyper), absolute=True) if len(rows) else mpf(0)

    @classmethod
    def potential(cls, rows: Rows, **hyper: Any) -> float:
        raise NotImplementedError


class ColumnFamily(Family):
    """Independent columns: the terms of each column are those of a one-column model."""

    names: tuple[str, ...] = ()

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        columns = observed_columns(rows)
        table = {name: per_column(hyper[name], len(columns)) for name in cls.names}
        return [
            term
            for j, x in enumerate(columns)
            if x
            for term in cls._column_terms(x, **{name: table[name][j] for name in cls.names})
        ]

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        raise NotImplementedError


def beta_terms(a: Any, b: Any, successes: Any, failures: Any) -> Terms:
    return [log_beta(a + successes, b + failures), -log_beta(a, b)]


class NormalInverseGamma(ColumnFamily):
    """x ~ N(mu, v), mu ~ N(mean, v / kappa), v ~ InverseGamma(a, b), each column on its own."""

    names = ("mean", "kappa", "a", "b")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        m, kappa, a, b = (hyper[name] for name in cls.names)
        n = len(x)
        centre = mpmath.fsum(x) / n
        scatter = mpmath.fsum((v - centre) ** 2 for v in x)
        a_n = a + mpf(n) / 2
        b_n = b + scatter / 2 + kappa * n / (kappa + n) * (centre - m) ** 2 / 2
        return [
            log_gamma(a_n),
            -log_gamma(a),
            a * mpmath.log(b),
            -a_n * mpmath.log(b_n),
            mpmath.log(kappa / (kappa + n)) / 2,
            -mpf(n) / 2 * mpmath.log(2 * mp.pi),
        ]

    @classmethod
    def potential(cls, rows: Rows, *, smoothing: float, scale: Any, **_hyper: Any) -> float:
        """-1/2 sum of n_j log(v_j + smoothing scale_j), v_j the variance about the mean."""
        columns = float_columns(rows)
        scales = np.broadcast_to(scale, len(columns))
        return sum(
            -0.5 * len(x) * math.log(float(np.var(x)) + smoothing * float(e))
            for x, e in zip(columns, scales, strict=True)
            if len(x)
        )


class NormalInverseWishart(Family):
    """x ~ N(mu, V), mu ~ N(mean, V / kappa), V ~ InverseWishart(nu, psi)."""

    @staticmethod
    def scale_matrix(psi: Any, d: int) -> Any:
        """psi as a matrix, from a scalar (times the identity), a diagonal or a matrix."""
        if np.ndim(psi) == 2:
            return mp.matrix([[mpf(v) for v in row] for row in psi])
        return mp.diag(per_column(psi, d))

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        x = [[mpf(v) for v in row] for row in rows]
        n, d = len(x), len(x[0])
        m, kappa, nu = per_column(hyper["mean"], d), mpf(hyper["kappa"]), mpf(hyper["nu"])
        psi = cls.scale_matrix(hyper["psi"], d)
        centre = [mpmath.fsum(column) / n for column in zip(*x, strict=True)]
        shrink = kappa * n / (kappa + n)
        psi_n = psi.copy()
        for i in range(d):
            for j in range(d):
                scatter = mpmath.fsum((r[i] - centre[i]) * (r[j] - centre[j]) for r in x)
                psi_n[i, j] += scatter + shrink * (centre[i] - m[i]) * (centre[j] - m[j])
        nu_n = nu + n
        return [
            -mpf(n * d) / 2 * mpmath.log(mp.pi),
            log_multigamma(nu_n / 2, d),
            -log_multigamma(nu / 2, d),
            nu / 2 * mpmath.log(mpmath.det(psi)),
            -nu_n / 2 * mpmath.log(mpmath.det(psi_n)),
            mpf(d) / 2 * mpmath.log(kappa / (kappa + n)),
        ]

    @classmethod
    def potential(cls, rows: Rows, *, smoothing: Any, **_hyper: Any) -> float:
        """-n/2 log det(covariance + smoothing), smoothing a matrix."""
        x = np.asarray(rows, dtype=float)
        centred = x - x.mean(axis=0)
        sign, logdet = np.linalg.slogdet(centred.T @ centred / len(x) + np.asarray(smoothing))
        if sign <= 0:
            raise ValueError("the smoothed covariance is not positive definite")
        return float(-0.5 * len(x) * logdet)


class NormalKnownVariance(ColumnFamily):
    """x ~ N(mu, variance), mu ~ N(mean, prior_variance), each column on its own."""

    names = ("variance", "mean", "prior_variance")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        variance, m, prior = (hyper[name] for name in cls.names)
        n = len(x)
        total = mpmath.fsum(v - m for v in x)
        squares = mpmath.fsum((v - m) ** 2 for v in x)
        return [
            -mpf(n) / 2 * mpmath.log(2 * mp.pi),
            -mpf(n - 1) / 2 * mpmath.log(variance),
            -mpmath.log(variance + n * prior) / 2,
            -squares / (2 * variance),
            prior * total**2 / (2 * variance * (variance + n * prior)),
        ]

    @classmethod
    def potential(cls, rows: Rows, *, variance: Any, **_hyper: Any) -> float:
        """Sum of n_j mean_j^2 / (2 variance_j), whose merge cost is Ward's."""
        columns = float_columns(rows)
        variances = np.broadcast_to(variance, len(columns))
        return sum(
            len(x) * float(np.mean(x)) ** 2 / (2 * float(v))
            for x, v in zip(columns, variances, strict=True)
            if len(x)
        )


class BernoulliBeta(ColumnFamily):
    """x in {0, 1}, P(x = 1) ~ Beta(a, b)."""

    names = ("a", "b")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        ones = mpmath.fsum(x)
        return beta_terms(hyper["a"], hyper["b"], ones, len(x) - ones)

    @classmethod
    def potential(cls, rows: Rows, *, smoothing: float = 0.01, **_hyper: Any) -> float:
        """Sum of n_j (p log p + q log q), p = (1 - smoothing) mean_j + smoothing / 2."""
        total = 0.0
        for x in float_columns(rows):
            if len(x):
                p = (1 - smoothing) * float(np.mean(x)) + smoothing / 2
                total += len(x) * (x_log_y(p, p) + x_log_y(1 - p, 1 - p))
        return total


def dirichlet_terms(concentration: Sequence[Any], counts: Sequence[Any]) -> Terms:
    total = mpmath.fsum(concentration)
    terms = [log_gamma(total), -log_gamma(total + mpmath.fsum(counts))]
    for a, m in zip(concentration, counts, strict=True):
        terms += [log_gamma(a + m), -log_gamma(a)]
    return terms


def smoothed_count_entropy(counts: np.ndarray, smoothing: float) -> float:
    """Sum of U log(U / M), U = (1 - smoothing) counts + smoothing M / K, M the total."""
    total = float(counts.sum())
    if total == 0:
        return 0.0
    smoothed = (1 - smoothing) * counts + smoothing * total / len(counts)
    return sum(x_log_y(float(u), float(u) / total) for u in smoothed)


def x_log_y(x: float, y: float) -> float:
    return x * math.log(y) if x > 0 else 0.0


class CategoricalDirichlet(Family):
    """Codes 0 ... levels_j - 1, their probabilities ~ Dirichlet(concentration_j, ...)."""

    @staticmethod
    def level_counts(column: Sequence[Any], levels: int) -> list[int]:
        counts = [0] * levels
        for x in column:
            counts[int(x)] += 1
        return counts

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        columns = observed_columns(rows)
        levels = per_column(hyper["levels"], len(columns))
        concentration = per_column(hyper["concentration"], len(columns))
        return [
            term
            for x, k, a in zip(columns, levels, concentration, strict=True)
            if x
            for term in dirichlet_terms([a] * int(k), cls.level_counts(x, int(k)))
        ]

    @classmethod
    def potential(cls, rows: Rows, *, levels: Any, smoothing: float = 0.1, **_hyper: Any) -> float:
        columns = float_columns(rows)
        return sum(
            smoothed_count_entropy(np.array(cls.level_counts(x.tolist(), int(k))), smoothing)
            for x, k in zip(columns, np.broadcast_to(levels, len(columns)), strict=True)
        )


class MultinomialDirichlet(Family):
    """Rows of counts given their totals, the probabilities ~ Dirichlet(concentration)."""

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        x = [[mpf(v) for v in row] for row in rows]
        concentration = per_column(hyper["concentration"], len(x[0]))
        terms = dirichlet_terms(concentration, [mpmath.fsum(c) for c in zip(*x, strict=True)])
        for row in x:
            terms.append(log_gamma(mpmath.fsum(row) + 1))
            terms += [-log_gamma(v + 1) for v in row]
        return terms

    @classmethod
    def potential(cls, rows: Rows, *, smoothing: float = 0.1, **_hyper: Any) -> float:
        return smoothed_count_entropy(np.asarray(rows, dtype=float).sum(axis=0), smoothing)


class PoissonGamma(ColumnFamily):
    """x = 0, 1, ..., the Poisson rate ~ Gamma(shape, rate)."""

    names = ("shape", "rate")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        a, b = hyper["shape"], hyper["rate"]
        s = mpmath.fsum(x)
        return [
            log_gamma(a + s),
            -log_gamma(a),
            a * mpmath.log(b),
            -(a + s) * mpmath.log(b + len(x)),
            -mpmath.fsum(log_gamma(v + 1) for v in x),
        ]

    @classmethod
    def potential(cls, rows: Rows, *, smoothing: float = 0.01, **_hyper: Any) -> float:
        """Sum of n_j (u log u - u), u = mean_j + smoothing."""
        total = 0.0
        for x in float_columns(rows):
            if len(x):
                u = float(np.mean(x)) + smoothing
                total += len(x) * (x_log_y(u, u) - u)
        return total


class ExponentialGamma(ColumnFamily):
    """x > 0 with density rate exp(-rate x), the rate ~ Gamma(shape, rate)."""

    names = ("shape", "rate")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        a, b = hyper["shape"], hyper["rate"]
        n = len(x)
        return [
            log_gamma(a + n),
            -log_gamma(a),
            a * mpmath.log(b),
            -(a + n) * mpmath.log(b + mpmath.fsum(x)),
        ]

    @classmethod
    def potential(cls, rows: Rows, **_hyper: Any) -> float:
        """Sum of n_j (-log mean_j - 1)."""
        return sum(
            len(x) * (-math.log(float(np.mean(x))) - 1) for x in float_columns(rows) if len(x)
        )


class GeometricBeta(ColumnFamily):
    """P(x) = p (1 - p)^x for x = 0, 1, ..., p ~ Beta(a, b)."""

    names = ("a", "b")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        return beta_terms(hyper["a"], hyper["b"], mpf(len(x)), mpmath.fsum(x))

    @classmethod
    def potential(cls, rows: Rows, *, smoothing: float = 0.01, **_hyper: Any) -> float:
        """Sum of n_j (u log(u / (1 + u)) - log(1 + u)), u = mean_j + smoothing."""
        return NegativeBinomialBeta.potential(rows, r=1.0, smoothing=smoothing)


class NegativeBinomialBeta(ColumnFamily):
    """P(x) = C(x + r - 1, x) p^r (1 - p)^x for x = 0, 1, ..., r > 0 known, p ~ Beta(a, b)."""

    names = ("r", "a", "b")

    @classmethod
    def _column_terms(cls, x: list[Any], **hyper: Any) -> Terms:
        r, a, b = (hyper[name] for name in cls.names)
        coefficients = mpmath.fsum(log_gamma(v + r) - log_gamma(r) - log_gamma(v + 1) for v in x)
        return [coefficients, *beta_terms(a, b, len(x) * r, mpmath.fsum(x))]

    @classmethod
    def potential(cls, rows: Rows, *, r: Any, smoothing: float = 0.01, **_hyper: Any) -> float:
        """Sum of n_j (u log(u / (r + u)) + r log(r / (r + u))), u = mean_j + smoothing."""
        total = 0.0
        columns = float_columns(rows)
        for x, value in zip(columns, np.broadcast_to(r, len(columns)), strict=True):
            if len(x):
                u, known = float(np.mean(x)) + smoothing, float(value)
                total += len(x) * (
                    x_log_y(u, u / (known + u)) + known * math.log(known / (known + u))
                )
        return total


class VonMisesFisher(Family):
    """Unit rows with density C_d(kappa) exp(kappa mu.x); mu ~ vMF(mean_direction, prior_kappa).

    prior_kappa = 0 is the uniform prior. The rows are taken as they are, not normalised again.
    """

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        n, d = len(rows), len(rows[0])
        kappa, prior = mpf(hyper["kappa"]), mpf(hyper["prior_kappa"])
        pull = [prior * mpf(m) for m in hyper["mean_direction"]] if prior else [mpf(0)] * d
        posterior = [
            p + kappa * mpmath.fsum(mpf(v) for v in column)
            for p, column in zip(pull, zip(*rows, strict=True), strict=True)
        ]
        length = mpmath.sqrt(mpmath.fsum(v * v for v in posterior))
        return [
            log_vmf_normalizer(d, prior),
            -log_vmf_normalizer(d, length),
            n * log_vmf_normalizer(d, kappa),
        ]

    @classmethod
    def potential(cls, rows: Rows, *, kappa: float, **_hyper: Any) -> float:
        """kappa times the length of the rows' sum."""
        return float(kappa * np.linalg.norm(np.asarray(rows, dtype=float).sum(axis=0)))


class GaussianProcess(Family):
    """x_t ~ N(f_t, noise), f ~ N(mean, amplitude kernel(times)), one f for all rows."""

    @staticmethod
    def time_of_columns(times: Any, d: int) -> list[Any]:
        """A scalar is the distance of neighbours."""
        return per_column(times, d) if np.ndim(times) else [j * mpf(times) for j in range(d)]

    @staticmethod
    def kernel_value(kernel: str, u: Any, v: Any) -> Any:
        """At two times counted from the middle of all, in units of the length scale."""
        r = abs(u - v)
        if kernel == "squared-exponential":
            return mpmath.exp(-r * r / 2)
        if kernel == "matern32":
            return (1 + mpmath.sqrt(3) * r) * mpmath.exp(-mpmath.sqrt(3) * r)
        if kernel == "matern52":
            root = mpmath.sqrt(5) * r
            return (1 + root + root**2 / 3) * mpmath.exp(-root)
        if kernel != "cubic-spline":
            raise ValueError(f"no kernel {kernel!r}")
        least, most = sorted((abs(u), abs(v)))
        bend = least**2 * (3 * most - least) / 6 if u * v > 0 else mpf(0)
        return 1 + u * v + bend

    @classmethod
    def covariance(cls, d: int, **hyper: Any) -> list[list[Any]]:
        """Of the curve at the times of the columns."""
        times = cls.time_of_columns(hyper["times"], d)
        middle = (min(times) + max(times)) / 2
        u = [(t - middle) / mpf(hyper["length_scale"]) for t in times]
        amplitude = mpf(hyper["amplitude"])
        return [[amplitude * cls.kernel_value(hyper["kernel"], a, b) for b in u] for a in u]

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        columns = observed_columns(rows)
        noise = mpf(hyper["noise"])
        m = per_column(hyper["mean"], len(columns))
        prior = cls.covariance(len(columns), **hyper)
        seen = [j for j, x in enumerate(columns) if x]
        terms: Terms = []
        for j in seen:
            x = columns[j]
            centre = mpmath.fsum(x) / len(x)
            scatter = mpmath.fsum((v - centre) ** 2 for v in x)
            terms += [
                -len(x) * mpmath.log(2 * mp.pi) / 2,
                -(len(x) - 1) * mpmath.log(noise) / 2,
                -mpmath.log(len(x)) / 2,
                -scatter / noise / 2,
            ]
        if seen:
            of_means = mp.matrix([[prior[i][j] for j in seen] for i in seen])
            offset = mp.matrix([mpmath.fsum(columns[j]) / len(columns[j]) - m[j] for j in seen])
            for k, j in enumerate(seen):
                of_means[k, k] += noise / len(columns[j])
            root = mpmath.cholesky(of_means)
            white = mpmath.lu_solve(root, offset)
            terms += [-mpmath.log(root[k, k]) for k in range(len(seen))]
            terms.append(-mpmath.fsum(w * w for w in white) / 2)
        return terms

    @classmethod
    def potential(cls, rows: Rows, *, noise: float, **_hyper: Any) -> float:
        """Sum of n_j mean_j^2 / (2 noise), whose merge cost is Ward's."""
        return NormalKnownVariance.potential(rows, variance=noise)


class Product(Family):
    """Different families for different columns.

    ``blocks`` is a list of mappings {"family": class name, "columns": [...], "hyper": {...}}; for
    the potential ``hyper`` also holds the block's smoothing.
    """

    @staticmethod
    def part(rows: Rows, block: Mapping[str, Any]) -> tuple[type[Family], Rows]:
        return FAMILIES[block["family"]], [[row[j] for j in block["columns"]] for row in rows]

    @classmethod
    def _terms(cls, rows: Rows, **hyper: Any) -> Terms:
        terms: Terms = []
        for block in hyper["blocks"]:
            family, part = cls.part(rows, block)
            terms += family._terms(part, **block["hyper"])
        return terms

    @classmethod
    def potential(cls, rows: Rows, **hyper: Any) -> float:
        total = 0.0
        for block in hyper["blocks"]:
            family, part = cls.part(rows, block)
            total += family.potential(part, **block["hyper"])
        return total


FAMILIES: dict[str, type[Family]] = {
    family.__name__: family
    for family in (
        NormalInverseWishart,
        NormalInverseGamma,
        NormalKnownVariance,
        BernoulliBeta,
        CategoricalDirichlet,
        MultinomialDirichlet,
        PoissonGamma,
        ExponentialGamma,
        GeometricBeta,
        NegativeBinomialBeta,
        VonMisesFisher,
        GaussianProcess,
        Product,
    )
}
