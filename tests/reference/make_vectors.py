"""Writes tests/vectors: ``python -m reference.make_vectors [name ...]`` from the folder tests.

The inputs come from a seeded generator that only uses ``random.random``, the one stream that Python
promises to keep, so another run writes the same files (but for the last digit of an input where the
platform's exp or cos rounds otherwise). Each value is computed from the exact doubles of the file,
twice, the second time with more digits; both must agree to 35 digits before 30 are written.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
from mpmath import mp

from . import special
from .families import FAMILIES

Hyper = dict[str, Any]
Table = list[list[Any]]
Point = tuple[int, Hyper, Table]

FOLDER = Path(__file__).resolve().parents[1] / "vectors"
SIZES = (0, 1, 1, 2, 2, 3, 4, 5, 7, 10, 16, 25, 40)


class Draw:
    """Random numbers, rounded to a few decimal digits where that keeps the files small."""

    def __init__(self, name: str) -> None:
        self.random = random.Random(f"bhclust vectors {name}").random

    def integer(self, low: int, high: int) -> int:
        """low <= integer < high."""
        return low + int(self.random() * (high - low))

    def choice(self, values: Any) -> Any:
        return values[self.integer(0, len(values))]

    def log_uniform(self, low: float, high: float, digits: int = 4) -> float:
        return rounded(math.exp(self.between(math.log(low), math.log(high))), digits)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def normal(self, scale: float = 1.0, digits: int = 6) -> float:
        radius = math.sqrt(-2 * math.log(1 - self.random()))
        return rounded(scale * radius * math.cos(2 * math.pi * self.random()), digits)

    def below(self, probability: float) -> bool:
        return self.random() < probability

    def extreme(self) -> float:
        """A hyperparameter: mostly ordinary, at times anywhere in 1e-6 ... 1e6."""
        return self.log_uniform(1e-6, 1e6) if self.below(0.3) else self.log_uniform(0.1, 10)

    def per_column(self, d: int, draw: Callable[[], float]) -> Any:
        """A scalar for all columns, or one value a column."""
        return [draw() for _ in range(d)] if self.below(0.4) else draw()

    def shape(self) -> tuple[int, int]:
        return self.choice(SIZES), self.integer(1, 7)


def rounded(x: float, digits: int) -> float:
    return float(f"{x:.{digits}g}")


def punch(draw: Draw, rows: Table) -> Table:
    """In a third of the tables makes some values missing, at times a whole column or row."""
    if not rows or not draw.below(0.35):
        return rows
    share = draw.choice((0.1, 0.3, 0.7))
    rows = [[None if draw.below(share) else x for x in row] for row in rows]
    if draw.below(0.2):
        column = draw.integer(0, len(rows[0]))
        rows = [[None if j == column else x for j, x in enumerate(row)] for row in rows]
    if draw.below(0.2):
        rows[draw.integer(0, len(rows))] = [None] * len(rows[0])
    return rows


def repeat_rows(draw: Draw, rows: Table) -> Table:
    """In a fifth of the tables every row is a copy of one of a few."""
    if not rows or not draw.below(0.2):
        return rows
    few = rows[: draw.integer(1, 4)]
    return [list(draw.choice(few)) for _ in rows]


def real_rows(draw: Draw, n: int, d: int, scale: float, offset: float) -> Table:
    """Normal columns about an offset in units of the scale; one in six columns is constant."""
    digits = draw.choice((3, 6, 17))
    constant = [draw.below(1 / 6) for _ in range(d)]
    level = [draw.normal(scale) for _ in range(d)]
    rows = [
        [
            offset * scale + (level[j] if constant[j] else draw.normal(scale, digits))
            for j in range(d)
        ]
        for _ in range(n)
    ]
    return repeat_rows(draw, rows)


def real_setting(draw: Draw) -> tuple[float, float, float]:
    """Scale and offset of the data, and what the hyperparameters take the scale for."""
    scale = draw.choice((1.0, 1.0, 1.0, 1e-3, 1e3, 1e-30, 1e30, 1e-10, 1e10))
    offset = draw.choice((0.0, 0.0, 3.0, -1e3, 1e6, 1e8))
    believed = scale * draw.choice((1.0, 1.0, 1.0, 0.1, 1e3, 1e-3))
    return scale, offset, believed


def prior_mean(draw: Draw, scale: float, offset: float) -> Callable[[], float]:
    centre = offset * scale if draw.below(0.6) else 0.0
    return lambda: centre + draw.normal(scale, 3)


def normal_inverse_gamma(draw: Draw) -> Point:
    n, d = draw.shape()
    scale, offset, believed = real_setting(draw)
    hyper = {
        "mean": draw.per_column(d, prior_mean(draw, scale, offset)),
        "kappa": draw.per_column(d, draw.extreme),
        "a": draw.per_column(d, draw.extreme),
        "b": draw.per_column(d, lambda: rounded(draw.log_uniform(0.1, 10) * believed**2, 4)),
    }
    return d, hyper, punch(draw, real_rows(draw, n, d, scale, offset))


def positive_definite(draw: Draw, d: int, scale: float) -> Table:
    """A full scale matrix, exactly symmetric and diagonally dominant."""
    psi = [[0.0] * d for _ in range(d)]
    for i in range(d):
        for j in range(i):
            psi[i][j] = psi[j][i] = rounded(draw.between(-1, 1) * scale**2, 4)
    for i in range(d):
        dominant = sum(abs(v) for v in psi[i])
        psi[i][i] = rounded(1.01 * dominant + draw.log_uniform(0.1, 10) * scale**2, 4)
    return psi


def normal_inverse_wishart(draw: Draw) -> Point:
    n, d = draw.shape()
    scale, offset, believed = real_setting(draw)
    variance: Callable[[], float] = lambda: rounded(draw.log_uniform(0.1, 10) * believed**2, 4)  # noqa: E731
    psi = draw.choice(
        (
            variance,
            lambda: [variance() for _ in range(d)],
            lambda: positive_definite(draw, d, believed),
        )
    )()
    hyper = {
        "mean": draw.per_column(d, prior_mean(draw, scale, offset)),
        "kappa": draw.extreme(),
        "nu": d - 1 + draw.extreme(),
        "psi": psi,
    }
    return d, hyper, real_rows(draw, n, d, scale, offset)


def normal_known_variance(draw: Draw) -> Point:
    n, d = draw.shape()
    scale, offset, believed = real_setting(draw)
    hyper = {
        "variance": draw.per_column(d, lambda: rounded(draw.log_uniform(0.1, 10) * believed**2, 4)),
        "mean": draw.per_column(d, prior_mean(draw, scale, offset)),
        "prior_variance": draw.per_column(d, lambda: rounded(draw.extreme() * believed**2, 4)),
    }
    return d, hyper, punch(draw, real_rows(draw, n, d, scale, offset))


def bernoulli_beta(draw: Draw) -> Point:
    n, d = draw.shape()
    hyper = {"a": draw.per_column(d, draw.extreme), "b": draw.per_column(d, draw.extreme)}
    odds = [draw.choice((0.0, 0.05, 0.5, 0.9, 1.0)) for _ in range(d)]
    rows = [[float(draw.below(p)) for p in odds] for _ in range(n)]
    return d, hyper, punch(draw, repeat_rows(draw, rows))


def categorical_dirichlet(draw: Draw) -> Point:
    n, d = draw.shape()
    levels = [draw.choice((2, 3, 4, 7, 20, 300)) for _ in range(d)]
    used = [draw.integer(1, k + 1) for k in levels]
    rows = [[float(draw.integer(0, k)) for k in used] for _ in range(n)]
    hyper = {
        "concentration": draw.per_column(d, draw.extreme),
        "levels": levels if draw.below(0.7) else max(levels),
    }
    return d, hyper, punch(draw, repeat_rows(draw, rows))


def count(draw: Draw, typical: float) -> float:
    """A count with an over-dispersed spread about the typical size; often zero when it is small."""
    return float(math.floor(-math.log(1 - draw.random()) * typical))


def count_rows(draw: Draw, n: int, d: int) -> Table:
    typical = [draw.choice((0.0, 0.5, 3.0, 50.0, 1e4, 1e6)) for _ in range(d)]
    rows = [[count(draw, t) for t in typical] for _ in range(n)]
    return repeat_rows(draw, rows)


def multinomial_dirichlet(draw: Draw) -> Point:
    n, d = draw.shape()
    d += draw.choice((1, 1, 1, 20))
    return d, {"concentration": draw.per_column(d, draw.extreme)}, count_rows(draw, n, d)


def poisson_gamma(draw: Draw) -> Point:
    n, d = draw.shape()
    hyper = {"shape": draw.per_column(d, draw.extreme), "rate": draw.per_column(d, draw.extreme)}
    return d, hyper, punch(draw, count_rows(draw, n, d))


def exponential_gamma(draw: Draw) -> Point:
    n, d = draw.shape()
    scale, _, believed = real_setting(draw)
    digits = draw.choice((3, 6, 17))
    rows = [
        [rounded((1e-9 - math.log(1 - draw.random())) * scale, digits) for _ in range(d)]
        for _ in range(n)
    ]
    hyper = {
        "shape": draw.per_column(d, draw.extreme),
        "rate": draw.per_column(d, lambda: rounded(draw.extreme() * believed, 4)),
    }
    return d, hyper, punch(draw, repeat_rows(draw, rows))


def geometric_beta(draw: Draw) -> Point:
    n, d = draw.shape()
    hyper = {"a": draw.per_column(d, draw.extreme), "b": draw.per_column(d, draw.extreme)}
    return d, hyper, punch(draw, count_rows(draw, n, d))


def negative_binomial_beta(draw: Draw) -> Point:
    n, d = draw.shape()
    hyper = {
        "r": draw.per_column(d, draw.extreme),
        "a": draw.per_column(d, draw.extreme),
        "b": draw.per_column(d, draw.extreme),
    }
    return d, hyper, punch(draw, count_rows(draw, n, d))


def unit(vector: list[float]) -> list[float]:
    length = math.hypot(*vector)
    return [x / length for x in vector]


def von_mises_fisher(draw: Draw) -> Point:
    n, d = draw.choice(SIZES), draw.choice((2, 2, 3, 3, 4, 5, 6, 10, 17, 64))
    n = min(n, 10) if d > 10 else n
    centre = unit([draw.normal() for _ in range(d)])
    kappa = draw.choice((1e-6, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5)) * draw.between(0.5, 1.0)
    spread = draw.choice((1.0 / math.sqrt(kappa), 0.0, 1.0, 100.0))
    rows = [unit([c + draw.normal(spread) for c in centre]) for _ in range(n)]
    hyper = {
        "kappa": rounded(kappa, 4),
        "mean_direction": unit([draw.normal() for _ in range(d)]),
        "prior_kappa": draw.choice((0.0, 0.0, draw.extreme(), rounded(kappa, 2))),
    }
    return d, hyper, repeat_rows(draw, rows)


TIME_KERNELS = ("squared-exponential", "matern32", "matern52", "cubic-spline")


def gaussian_process(draw: Draw) -> Point:
    """Curves from rough to nearly flat, as seen at any times, some of them twice."""
    n, d = draw.shape()
    d += draw.choice((0, 0, 0, 5))
    scale, offset, believed = real_setting(draw)
    unit = draw.choice((1.0, 1.0, 1e-20, 1e20))
    times: Any = rounded(unit * draw.log_uniform(0.1, 10), 4)
    if draw.below(0.7):
        times = [rounded(unit * draw.between(0, 10), 4) for _ in range(d)]
        if draw.below(0.7):
            times.sort()
        if draw.below(0.2):
            times[draw.integer(0, d)] = times[0]
    noise = draw.log_uniform(0.1, 10) * believed**2
    hyper = {
        "times": times,
        "kernel": draw.choice(TIME_KERNELS),
        "length_scale": rounded(unit * draw.choice((0.3, 2.0, 2.0, 30.0, 1e4)), 4),
        "amplitude": rounded(draw.choice((1e-3, 1.0, 1.0, 30.0, 1e3)) * noise, 4),
        "noise": rounded(noise, 4),
        "mean": draw.per_column(d, prior_mean(draw, scale, offset)),
    }
    return d, hyper, punch(draw, real_rows(draw, n, d, scale, offset))


MAKERS: dict[str, Callable[[Draw], Point]] = {
    "NormalInverseWishart": normal_inverse_wishart,
    "NormalInverseGamma": normal_inverse_gamma,
    "NormalKnownVariance": normal_known_variance,
    "BernoulliBeta": bernoulli_beta,
    "CategoricalDirichlet": categorical_dirichlet,
    "MultinomialDirichlet": multinomial_dirichlet,
    "PoissonGamma": poisson_gamma,
    "ExponentialGamma": exponential_gamma,
    "GeometricBeta": geometric_beta,
    "NegativeBinomialBeta": negative_binomial_beta,
    "VonMisesFisher": von_mises_fisher,
    "GaussianProcess": gaussian_process,
}


def product(draw: Draw) -> Point:
    """Two or three blocks of tables with the same number of rows, their columns shuffled."""
    n = draw.choice(SIZES)
    parts: list[tuple[str, int, Hyper, Table]] = []
    while len(parts) < 2 or (len(parts) < 3 and draw.below(0.5)):
        name = draw.choice([m for m in MAKERS if m not in ("VonMisesFisher", "GaussianProcess")])
        d, hyper, rows = MAKERS[name](draw)
        while len(rows) < n:
            d, hyper, rows = MAKERS[name](draw)
        parts.append((name, d, hyper, rows[:n]))
    total = sum(d for _, d, _, _ in parts)
    order = sorted(range(total), key=lambda _: draw.random())
    table: Table = [[None] * total for _ in range(n)]
    blocks, start = [], 0
    for name, d, hyper, rows in parts:
        columns = order[start : start + d]
        start += d
        blocks.append({"family": name, "columns": columns, "hyper": hyper})
        for target, row in zip(table, rows, strict=True):
            for j, x in zip(columns, row, strict=True):
                target[j] = x
    return total, {"blocks": blocks}, table


def checked(compute: Callable[[], Any]) -> Any:
    """The value, after a second computation with more digits agreed."""
    value = compute()
    with mp.workdps(special.DIGITS + special.GUARD + 30):
        again = compute()
        if abs(again - value) > mpmath.mpf(10) ** -35 * abs(again):
            raise ArithmeticError(f"not precise enough: {value} against {again}")
    return value


def digits(value: Any, count: int = 30) -> str:
    with mp.workdps(count + 20):
        return str(mpmath.nstr(value, count, strip_zeros=False))


def family_points(name: str, number: int = 120) -> Iterator[dict[str, Any]]:
    """Points of one family. ``columns`` tells the width of a table without rows."""
    draw = Draw(name)
    family = FAMILIES[name]
    for _ in range(number):
        columns, hyper, rows = (MAKERS.get(name) or product)(draw)
        value = checked(lambda: family.log_marginal(rows, **hyper))  # noqa: B023
        yield {
            "columns": columns,
            "hyper": hyper,
            "rows": rows,
            "log_marginal": digits(value),
            "magnitude": float(family.magnitude(rows, **hyper)),
        }


def log_grid(low: int, high: int, per_decade: int = 1) -> list[float]:
    """Powers of ten and values between them, rounded to four digits."""
    exponents = range(low * per_decade, high * per_decade + 1)
    return [rounded(10 ** (k / per_decade), 4) for k in exponents]


def near(x: float) -> list[float]:
    steps = [10.0**-k for k in range(1, 16)]
    return [x, *(x + h for h in steps), *(x - h for h in steps)]


def special_arguments() -> dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]]:
    """For each function the arguments at which it is tabulated."""
    draw = Draw("special")
    line = log_grid(-10, 15, 3)
    dims = [2, 3, 4, 5, 6, 7, 8, 10, 16, 17, 33, 64, 100, 127, 256, 512, 1000, 1024, 2048, 4096]
    ratio = [
        {"a": a, "m": m}
        for a in log_grid(-8, 12)
        for m in (0.0, 0.5, 1.0, 2.0, 7.5, 20.0, 1000.0, 54321.5, 1e6)
    ]
    multi = [
        {"a": rounded((d - 1) / 2 + excess, 12), "d": d}
        for d in (1, 2, 3, 4, 6, 10, 33, 100)
        for excess in (1e-8, 1e-4, 0.01, 0.5, 1.0, 3.25, 20.0, 1e3, 1e6, 1e10)
    ]
    wide = [
        {"nu": d / 2 - 1, "x": x}
        for d in dims
        for x in (1e-8, 1e-3, 0.7, 3.0, 20.0, 90.0, 700.0, 720.0, 5e3, 1e5, 1e7, 1e11)
    ]
    crossing = [
        {"nu": d / 2 - 1, "x": draw.log_uniform(0.05, 20) * (d / 2)} for d in dims for _ in range(4)
    ]
    vmf = [
        {"d": d, "kappa": kappa}
        for d in dims
        for kappa in (0.0, 1e-12, 1e-6, 0.01, 1.0, 10.0, 150.0, 1e3, 1e4, 1e5, 1e6, 1e9)
    ]
    return {
        "log_gamma": (special.log_gamma, [{"x": x} for x in [*line, *near(1.0), *near(2.0)]]),
        "log_gamma_ratio": (special.log_gamma_ratio, ratio),
        "digamma": (special.digamma, [{"x": x} for x in [*line, *near(1.4616321449683623)]]),
        "log_multigamma": (special.log_multigamma, multi + moderate_multigamma(draw)),
        "log_bessel_i": (special.log_bessel_i, wide + crossing),
        "log_vmf_normalizer": (special.log_vmf_normalizer, vmf),
    }


def moderate_multigamma(draw: Draw, number: int = 40) -> list[dict[str, Any]]:
    degrees = [draw.integer(1, 41) for _ in range(number)]
    return [{"a": (d - 1) / 2 + draw.log_uniform(1e-3, 1e3), "d": d} for d in degrees]


def special_points() -> dict[str, list[dict[str, Any]]]:
    tables = {}
    for name, (function, arguments) in special_arguments().items():
        tables[name] = [
            {**point, "value": digits(checked(lambda: function(**point)))}  # noqa: B023
            for point in arguments
        ]
    return tables


def snake_case(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


def lines(points: list[dict[str, Any]]) -> str:
    """A JSON list with one point a line."""
    return "[\n" + ",\n".join(json.dumps(p, separators=(",", ":")) for p in points) + "\n]"


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in FAMILIES:
        if not names or name in names:
            text = lines(list(family_points(name))) + "\n"
            (FOLDER / f"{snake_case(name)}.json").write_text(text)
    if not names or "special" in names:
        tables = [f"{json.dumps(key)}: {lines(value)}" for key, value in special_points().items()]
        (FOLDER / "special.json").write_text("{\n" + ",\n".join(tables) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
