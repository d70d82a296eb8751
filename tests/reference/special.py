"""Special functions in mpmath, at the precision of the caller's context plus a guard.

Every argument is taken as the exact value of the double that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import mpmath
from mpmath import mp, mpf

DIGITS = 50
GUARD = 60

Result = TypeVar("Result")


def precise(function: Callable[..., Result]) -> Callable[..., Result]:
    """Run a function with DIGITS + GUARD digits, or with those of the caller where he asks more.

    The guard covers the cancellation of terms such as log C_d(kappa) with kappa = 1e5 or of
    scatter matrices whose entries span 120 orders of magnitude.
    """

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Result:
        with mp.workdps(max(DIGITS + GUARD, mp.dps)):
            return function(*args, **kwargs)

    return wrapper


@precise
def log_gamma(x: Any) -> Any:
    """ln Gamma(x), x > 0."""
    return mpmath.loggamma(mpf(x))


@precise
def log_gamma_ratio(a: Any, m: Any) -> Any:
    """ln Gamma(a + m) - ln Gamma(a), a > 0, m >= 0; the sum a + m is exact."""
    return mpmath.loggamma(mpf(a) + mpf(m)) - mpmath.loggamma(mpf(a))


@precise
def log_beta(a: Any, b: Any) -> Any:
    """ln B(a, b)."""
    return log_gamma(a) + log_gamma(b) - log_gamma(mpf(a) + mpf(b))


@precise
def digamma(x: Any) -> Any:
    """Derivative of ln Gamma(x), x > 0."""
    return mpmath.digamma(mpf(x))


@precise
def log_multigamma(a: Any, d: int) -> Any:
    """Logarithm of the d-variate gamma function, a > (d - 1) / 2."""
    product = mpmath.fsum(log_gamma(mpf(a) - mpf(j) / 2) for j in range(d))
    return mpf(d * (d - 1)) / 4 * mpmath.log(mp.pi) + product


@precise
def log_bessel_i(nu: Any, x: Any) -> Any:
    """Logarithm of the modified Bessel function I_nu(x), nu >= 0, x > 0.

    Large x goes through Hankel's expansion, everything else through the power series.
    """
    nu, x = mpf(nu), mpf(x)
    if x > 1000 and x > nu * nu / 50:
        return log_bessel_i_hankel(nu, x)
    return log_bessel_i_series(nu, x)


@precise
def log_bessel_i_series(nu: Any, x: Any) -> Any:
    """The power series: all terms are positive, so nothing cancels; about x terms are needed."""
    nu, x = mpf(nu), mpf(x)
    quarter = x * x / 4
    term = total = mpf(1)
    k = 0
    while term > total * mp.eps or quarter > k * (nu + k):
        k += 1
        term *= quarter / (k * (nu + k))
        total += term
    return nu * mpmath.log(x / 2) - log_gamma(nu + 1) + mpmath.log(total)


@precise
def log_bessel_i_hankel(nu: Any, x: Any) -> Any:
    """e^x / sqrt(2 pi x) times an asymptotic series, whose remainder is of the order e^(-2x)."""
    nu, x = mpf(nu), mpf(x)
    term = total = mpf(1)
    k = 0
    while abs(term) > mp.eps:
        k += 1
        if k > 2 * x:
            raise ValueError(f"Hankel's expansion does not reach the precision at {nu=}, {x=}")
        term *= -(4 * nu * nu - (2 * k - 1) ** 2) / (8 * k * x)
        total += term
    return x - mpmath.log(2 * mp.pi * x) / 2 + mpmath.log(total)


@precise
def log_sphere_area(d: int) -> Any:
    """Logarithm of the area of the unit sphere in d dimensions."""
    half = mpf(d) / 2
    return mpmath.log(2) + half * mpmath.log(mp.pi) - log_gamma(half)


@precise
def log_vmf_normalizer(d: int, kappa: Any) -> Any:
    """log C_d(kappa) of the density C_d(kappa) exp(kappa mu.x) on the unit sphere, d >= 2."""
    kappa = mpf(kappa)
    if kappa == 0:
        return -log_sphere_area(d)
    half = mpf(d) / 2
    logs = (half - 1) * mpmath.log(kappa) - half * mpmath.log(2 * mp.pi)
    return logs - log_bessel_i(half - 1, kappa)
