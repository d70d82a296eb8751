"""The tables that compare.py times on, and what it compares on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CLUSTERS = 20


@dataclass(frozen=True)
class Table:
    """Rows to draw: a mixture of clusters, or uniform; `bhc` and `rbhc` are bhclust's names."""

    name: str
    columns: int
    bhc: str = ""
    rbhc: str = ""
    clusters: int = CLUSTERS

    @property
    def title(self) -> str:
        many = "" if self.clusters == CLUSTERS else f", {self.clusters} clusters"
        return f"{self.name}, d = {self.columns}{many}"

    def file(self, rows: int) -> str:
        return f"{self.name.replace(' ', '-')}-{self.columns}-{self.clusters}-{rows}.npy"

    def draw(self, rows: int) -> Any:
        import numpy as np

        r = np.random.default_rng(20240229)
        shape = (self.clusters, self.columns)
        truth = r.integers(self.clusters, size=rows)
        if self.name == "Bernoulli":
            return (r.random((rows, self.columns)) < r.beta(0.5, 0.5, shape)[truth]) * 1.0
        if self.name == "Poisson":
            return r.poisson(r.gamma(1.0, 3.0, shape)[truth]) * 1.0
        if self.name == "multinomial":
            return r.poisson(r.gamma(0.5, 1.0, shape)[truth]) * 1.0
        if self.name == "uniform":
            return r.random((rows, self.columns))
        return r.normal(r.normal(0.0, 5.0, shape)[truth])


@dataclass(frozen=True)
class Match:
    """Which methods meet on so many rows of a table."""

    table: Table
    rows: int
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Aim:
    """How many times faster than a peer a method is to be on a table."""

    table: Table
    rows: int
    method: str
    peer: str
    times: float


BITS = Table("Bernoulli", 64, bhc="bernoulli")
COUNTS = Table("Poisson", 32, bhc="poisson")
WORDS = Table("multinomial", 100, bhc="multinomial")
PLANE = Table("Gaussian", 2, bhc="gaussian", rbhc="gaussian-spherical")
SPACE = Table("Gaussian", 8, bhc="gaussian")
DIAGONAL = Table("Gaussian", 16, bhc="gaussian-diag")
SPACE_DIAGONAL = Table("Gaussian", 8, bhc="gaussian-diag", rbhc="gaussian-spherical")
TEN = Table("Gaussian", 10, rbhc="gaussian-spherical")
HUNDRED = Table("Gaussian", 10, rbhc="gaussian-spherical", clusters=100)
WIDE = Table("Gaussian", 64, rbhc="gaussian-spherical")
WIDE_UNIFORM = Table("uniform", 64, rbhc="gaussian-spherical")

WARD = ("scipy", "fastcluster", "fastcluster vector", "sklearn", "genieclust")
SMALL = 2000

MATCHES = (
    *(Match(t, SMALL, ("bhc", "rbhc", *WARD)) for t in (BITS, PLANE)),
    *(Match(t, 20_000, ("bhc", "rbhc", "scipy", "fastcluster vector")) for t in (BITS, PLANE)),
    *(Match(t, 1000, ("bhc", "textbook")) for t in (BITS, COUNTS, WORDS, PLANE, SPACE, DIAGONAL)),
    Match(BITS, 1000, ("bhc", "plain Python")),
    Match(BITS, SMALL, ("bhc", "fastbaps")),
    Match(TEN, 20_000, ("rbhc", "scipy", "sklearn")),
    *(Match(t, 50_000, ("rbhc", "fastcluster vector")) for t in (PLANE, TEN)),
    *(Match(t, 10_000, ("rbhc", "fastcluster vector")) for t in (WIDE, WIDE_UNIFORM)),
    *(Match(t, 1_000_000, ("rbhc",)) for t in (PLANE, HUNDRED)),
    Match(SPACE_DIAGONAL, 1_000_000, ("posterior", "sort")),
)

AIMS = (
    Aim(BITS, 1000, "bhc", "textbook", 500),
    Aim(WORDS, 1000, "bhc", "textbook", 150),
    Aim(COUNTS, 1000, "bhc", "textbook", 100),
    Aim(PLANE, 1000, "bhc", "textbook", 100),
    Aim(SPACE, 1000, "bhc", "textbook", 60),
    Aim(DIAGONAL, 1000, "bhc", "textbook", 35),
    Aim(BITS, 1000, "bhc", "plain Python", 2500),
    Aim(BITS, SMALL, "bhc", "fastbaps", 200),
    *(Aim(t, 20_000, "bhc", "scipy", 10) for t in (BITS, PLANE)),
    *(Aim(t, 20_000, "bhc", "fastcluster vector", 1) for t in (BITS, PLANE)),
    *(Aim(t, 50_000, "rbhc", "fastcluster vector", 60) for t in (PLANE, TEN)),
    *(Aim(TEN, 20_000, "rbhc", peer, 30) for peer in ("scipy", "sklearn")),
    *(Aim(t, 10_000, "rbhc", "fastcluster vector", 20) for t in (WIDE, WIDE_UNIFORM)),
    Aim(SPACE_DIAGONAL, 1_000_000, "posterior", "sort", 1),
)
