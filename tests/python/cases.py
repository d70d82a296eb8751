"""Small random tables of every family, with hyperparameters for the library and the twin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from reference import bhc as twin
from reference.families import FAMILIES, NormalInverseWishart

import bhclust
from bhclust.table import as_table

Hyper = dict[str, Any]
Rows = list[list[float]]
Draw = Any

NAN = math.nan
NAMES = tuple(FAMILIES)
SINGLE = tuple(name for name in NAMES if name != "Product")
TAKES_MISSING = frozenset(NAMES) - {
    "NormalInverseWishart",
    "MultinomialDirichlet",
    "VonMisesFisher",
}
TAKES_SPARSE = (
    "BernoulliBeta",
    "MultinomialDirichlet",
    "PoissonGamma",
    "GeometricBeta",
    "NegativeBinomialBeta",
    "VonMisesFisher",
)
LEVELS = 4
TIME_KERNELS = ("squared-exponential", "matern32", "matern52", "cubic-spline")


def bounded(examples: int) -> settings:
    """The same few examples in every run, without a clock."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def make_family(name: str, hyper: Hyper) -> Any:
    """The library's family from the keywords of the twins and of tests/vectors."""
    if name == "Product":
        return bhclust.Product(
            [(make_family(b["family"], b["hyper"]), b["columns"]) for b in hyper["blocks"]]
        )
    return getattr(bhclust, name)(**hyper)


def smoothing(name: str, hyper: Hyper, d: int) -> Hyper:
    """What keeps the twin's potentials of single rows finite, beyond the twin's defaults."""
    if name == "NormalInverseGamma":
        return {"smoothing": 0.01, "scale": np.divide(hyper["b"], hyper["a"])}
    if name == "NormalInverseWishart":
        psi = NormalInverseWishart.scale_matrix(hyper["psi"], d)
        return {"smoothing": 0.01 * np.array(psi.tolist(), dtype=float) / hyper["nu"]}
    return {}


def potential_keywords(name: str, hyper: Hyper, d: int) -> Hyper:
    if name != "Product":
        return hyper | smoothing(name, hyper, d)
    return {
        "blocks": [
            b | {"hyper": potential_keywords(b["family"], b["hyper"], len(b["columns"]))}
            for b in hyper["blocks"]
        ]
    }


@dataclass(frozen=True)
class Case:
    """A table and a family; NaN marks missing cells."""

    name: str
    rows: Rows
    hyper: Hyper

    @property
    def cells(self) -> np.ndarray:
        return np.array(self.rows, dtype=np.float64)

    @property
    def family(self) -> Any:
        return make_family(self.name, self.hyper)

    def log_marginal(self) -> twin.OnRows:
        """The twin's, of row numbers."""
        return twin.on_table(FAMILIES[self.name].log_marginal, self.rows, **self.hyper)

    def potential(self) -> twin.OnRows:
        keywords = potential_keywords(self.name, self.hyper, len(self.rows[0]))
        return twin.on_table(FAMILIES[self.name].potential, self.rows, **keywords)

    def own_log_marginal(self) -> twin.OnRows:
        """The library's, of row numbers: fast, for laws that are not about its value."""
        X, family = self.cells, self.family

        def of_rows(indices: list[int]) -> float:
            return float(family._log_marginal(as_table(X[sorted(indices)])))

        return of_rows


def pick(draw: Draw, *values: Any) -> Any:
    return draw(st.sampled_from(values))


def hyper_value(draw: Draw, d: int, *values: float) -> Any:
    """One of the values for all columns, or one a column."""
    if draw(st.booleans()):
        return pick(draw, *values)
    return [pick(draw, *values) for _ in range(d)]


SMALL = st.one_of(st.integers(-3, 3).map(float), st.floats(-3, 3, allow_subnormal=False))
COUNT = st.one_of(st.integers(0, 3), st.integers(0, 40)).map(float)


@dataclass(frozen=True)
class Setting:
    """The unit and the place of real data; hyperparameters follow them."""

    scale: float = 1.0
    offset: float = 0.0


def draw_setting(draw: Draw) -> Setting:
    return Setting(pick(draw, 1.0, 1.0, 1e-3, 1e-30, 1e30), pick(draw, 0.0, 0.0, -3.0, 1e3))


def draw_row(draw: Draw, name: str, d: int, setting: Setting) -> list[float]:
    if name.startswith("Normal") or name == "GaussianProcess":
        return [setting.scale * (setting.offset + draw(SMALL)) for _ in range(d)]
    if name == "BernoulliBeta":
        return [float(draw(st.booleans())) for _ in range(d)]
    if name == "CategoricalDirichlet":
        return [float(draw(st.integers(0, LEVELS - 1))) for _ in range(d)]
    if name == "ExponentialGamma":
        return [setting.scale * draw(st.floats(0.01, 9.0)) for _ in range(d)]
    if name == "VonMisesFisher":
        return draw_direction(draw, d)
    return [draw(COUNT) for _ in range(d)]


def draw_direction(draw: Draw, d: int) -> list[float]:
    row = [draw(SMALL) for _ in range(d)]
    length = math.hypot(*row)
    if length < 1e-3:
        row, length = [1.0] + [0.0] * (d - 1), 1.0
    return [x / length for x in row]


def draw_hyper(draw: Draw, name: str, d: int, setting: Setting) -> Hyper:
    unit, scale, offset = setting.scale**2, setting.scale, setting.offset

    def weights(keyword: str) -> Hyper:
        return {keyword: hyper_value(draw, d, 0.2, 1.0, 3.5)}

    means = [scale * (offset + m) for m in (-1.0, 0.0, 0.5)]
    spreads = [unit * v for v in (0.05, 1.0, 4.0)]
    match name:
        case "NormalInverseWishart":
            return {
                "mean": hyper_value(draw, d, *means),
                "kappa": pick(draw, 0.05, 1.0, 4.0),
                "nu": d - 1 + pick(draw, 0.5, 1.0, 5.0),
                "psi": draw_psi(draw, d, spreads),
            }
        case "NormalInverseGamma":
            return {
                "mean": hyper_value(draw, d, *means),
                "kappa": hyper_value(draw, d, 0.05, 1.0, 4.0),
                "a": hyper_value(draw, d, 0.5, 1.0, 4.0),
                "b": hyper_value(draw, d, *spreads),
            }
        case "NormalKnownVariance":
            return {
                "variance": hyper_value(draw, d, *spreads),
                "mean": hyper_value(draw, d, *means),
                "prior_variance": hyper_value(draw, d, *[9 * v for v in spreads]),
            }
        case "CategoricalDirichlet":
            levels = hyper_value(draw, d, float(LEVELS), LEVELS + 3.0)
            return weights("concentration") | {"levels": levels}
        case "MultinomialDirichlet":
            return weights("concentration")
        case "PoissonGamma":
            return weights("shape") | weights("rate")
        case "ExponentialGamma":
            rate = hyper_value(draw, d, *[scale * v for v in (0.3, 1.0, 5.0)])
            return weights("shape") | {"rate": rate}
        case "VonMisesFisher":
            return {
                "kappa": pick(draw, 0.3, 5.0, 80.0),
                "mean_direction": draw_direction(draw, d),
                "prior_kappa": pick(draw, 0.0, 0.7, 20.0),
            }
        case "GaussianProcess":
            return {
                "times": pick(draw, 1.0, [0.3 * j * j for j in range(d)], [0.0] * d),
                "kernel": pick(draw, *TIME_KERNELS),
                "length_scale": pick(draw, 0.4, 1.0, 20.0),
                "amplitude": 9 * pick(draw, *spreads),
                "noise": pick(draw, *spreads),
                "mean": hyper_value(draw, d, *means),
            }
        case "NegativeBinomialBeta":
            return weights("a") | weights("b") | {"r": hyper_value(draw, d, 0.5, 1.0, 6.5)}
    return weights("a") | weights("b")


def draw_psi(draw: Draw, d: int, spreads: list[float]) -> Any:
    psi = hyper_value(draw, d, *spreads)
    if not draw(st.booleans()):
        return psi
    root = np.sqrt(np.broadcast_to(psi, d))
    correlation = 0.5 * np.eye(d) + 0.5
    return (root[:, None] * correlation * root).tolist()


def draw_table(draw: Draw, name: str, n: int, d: int, setting: Setting) -> Rows:
    """Rows of one family: often repeated, at times with a constant column or with holes."""
    distinct = draw(st.integers(1, n)) if draw(st.booleans()) else n
    pool = [draw_row(draw, name, d, setting) for _ in range(distinct)]
    rows = pool + [list(pick(draw, *pool)) for _ in range(n - distinct)]
    if name != "VonMisesFisher" and pick(draw, False, False, True):
        column = draw(st.integers(0, d - 1))
        rows = [[*row[:column], rows[0][column], *row[column + 1 :]] for row in rows]
    if name in TAKES_MISSING and pick(draw, False, True):
        rows = [[NAN if pick(draw, False, False, True) else x for x in row] for row in rows]
    return rows


@st.composite
def cases(draw: Draw, name: str, *, least: int = 1, most: int = 7) -> Case:
    """A table of ``least`` to ``most`` rows and one to three columns a family."""
    n = draw(st.integers(least, most))
    parts = [name]
    if name == "Product":
        parts = draw(st.lists(st.sampled_from(SINGLE), min_size=1, max_size=3, unique=True))
    blocks, tables, first = [], [], 0
    for part in parts:
        d = draw(st.integers(1, 3 if name != "Product" else 2))
        setting = draw_setting(draw)
        tables.append(draw_table(draw, part, n, d, setting))
        hyper = draw_hyper(draw, part, d, setting)
        columns = list(range(first, first + d))
        blocks.append({"family": part, "columns": columns, "hyper": hyper})
        first += d
    if name != "Product":
        return Case(name, tables[0], blocks[0]["hyper"])
    rows = [[x for table in tables for x in table[i]] for i in range(n)]
    return shuffled(draw, rows, blocks)


def shuffled(draw: Draw, rows: Rows, blocks: list[dict[str, Any]]) -> Case:
    """The columns in another order, so that blocks are not neighbours."""
    place = draw(st.permutations(range(len(rows[0]))))
    moved = [{**b, "columns": [place.index(j) for j in b["columns"]]} for b in blocks]
    return Case("Product", [[row[j] for j in place] for row in rows], {"blocks": moved})


def random_case(name: str, n: int, seed: int) -> Case:
    """Three clusters in rows so different that no two pairs of them tie."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    place = rng.normal(size=(3, 4))
    real = 4 * place[rng.integers(3, size=n)] + rng.normal(size=(n, 4))
    counts = rng.poisson(np.exp(2.5 + place[rng.integers(3, size=n)])).astype(float)
    uneven = [0.7, 1.0, 1.3, 1.9]
    match name:
        case "NormalInverseWishart":
            return Case(name, real.tolist(), {"mean": 0.1, "kappa": 0.5, "nu": 6.0, "psi": uneven})
        case "NormalInverseGamma":
            hyper: Hyper = {"mean": 0.1, "kappa": 0.5, "a": 1.5, "b": uneven}
        case "NormalKnownVariance":
            hyper = {"variance": uneven, "mean": 0.1, "prior_variance": 9.0}
        case "GaussianProcess":
            hyper = {
                "times": [0.0, 1.0, 2.5, 3.0],
                "kernel": TIME_KERNELS[seed % 4],
                "length_scale": 1.2,
                "amplitude": 9.0,
                "noise": 1.3,
                "mean": 0.1,
            }
        case "BernoulliBeta":
            bits = np.repeat((real > 0).astype(float), 8, axis=1)
            flips = rng.random(bits.shape) < 0.2
            weights = rng.uniform(0.5, 2.0, 32).tolist()
            return Case(name, np.where(flips, 1 - bits, bits).tolist(), {"a": weights, "b": 0.9})
        case "CategoricalDirichlet":
            codes = np.clip(np.floor(real), -3, 2) + 3
            codes = np.hstack([codes, codes[:, ::-1], rng.integers(6, size=codes.shape)])
            weights = rng.uniform(0.5, 2.0, 12).tolist()
            return Case(name, codes.tolist(), {"concentration": weights, "levels": 6.0})
        case "MultinomialDirichlet":
            return Case(name, counts.tolist(), {"concentration": uneven})
        case "PoissonGamma":
            return Case(name, counts.tolist(), {"shape": uneven, "rate": 0.3})
        case "ExponentialGamma":
            return Case(name, np.exp(0.5 * real).tolist(), {"shape": uneven, "rate": 0.8})
        case "GeometricBeta":
            return Case(name, counts.tolist(), {"a": uneven, "b": 1.7})
        case "NegativeBinomialBeta":
            return Case(name, counts.tolist(), {"r": 2.5, "a": uneven, "b": 1.7})
        case "VonMisesFisher":
            rows = real / np.linalg.norm(real, axis=1, keepdims=True)
            direction = [0.5, 0.5, -0.5, 0.5]
            hyper = {"kappa": 6.0, "mean_direction": direction, "prior_kappa": 0.4}
            return Case(name, rows.tolist(), hyper)
        case _:
            return random_product(n, seed)
    real[rng.random(real.shape) < 0.1] = NAN
    return Case(name, real.tolist(), hyper)


def random_product(n: int, seed: int) -> Case:
    left, right = random_case("PoissonGamma", n, seed), random_case("NormalInverseGamma", n, seed)
    rows = [[*a, *b] for a, b in zip(left.rows, right.rows, strict=True)]
    blocks = [
        {"family": left.name, "columns": [0, 1, 2, 3], "hyper": left.hyper},
        {"family": right.name, "columns": [4, 5, 6, 7], "hyper": right.hyper},
    ]
    return Case("Product", rows, {"blocks": blocks})


def close(found: Any, wanted: Any, tolerance: float = 1e-9, scale: float = 1.0) -> bool:
    """Equal to a tolerance relative to the larger of ``scale`` and the values wanted."""
    found, wanted = np.asarray(found, dtype=float), np.asarray(wanted, dtype=float)
    if found.shape != wanted.shape:
        return False
    allowed = tolerance * np.maximum(scale, np.where(np.isfinite(wanted), np.abs(wanted), 0.0))
    with np.errstate(invalid="ignore"):
        return bool(np.all((found == wanted) | (np.abs(found - wanted) <= allowed)))


def magnitude(case: Case, on_rows: twin.OnRows) -> float:
    """Size of the numbers whose differences the algorithms compare."""
    n = len(case.rows)
    return 1.0 + abs(on_rows(list(range(n)))) + sum(abs(on_rows([i])) for i in range(n))
