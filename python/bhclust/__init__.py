"""Bayesian hierarchical clustering at native speed."""

from typing import TYPE_CHECKING

# First, so that the command can be interrupted while the rest is imported.
from bhclust import _interrupts as _interrupts

# Before anything imports the core.
from bhclust import _instruction_sets as _instruction_sets  # isort: skip

if TYPE_CHECKING:
    from bhclust import curves, datasets, distributed, export, io, metrics, plot
    from bhclust._build import BuildInfo, build_info
    from bhclust._core import Tree, __version__
    from bhclust._lambda import lambda_heuristic
    from bhclust._report import report
    from bhclust.algorithms import (
        bayes_kmeans_bhc,
        bhc,
        forget,
        insert,
        randomized_bhc,
        rbhc,
        refine,
    )
    from bhclust.approximation import ApproximationLoss, approximation_loss
    from bhclust.estimation import Estimate, estimate
    from bhclust.estimators import BHC, RBHC
    from bhclust.families import (
        BernoulliBeta,
        CategoricalDirichlet,
        ExponentialGamma,
        Family,
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
    from bhclust.hurdles import hurdle
    from bhclust.inference import Explanation, Posterior, exact_log_evidence, posterior
    from bhclust.learning import Learned, learn
    from bhclust.model_file import load, save
    from bhclust.statistics import Statistics

__all__ = [
    "BHC",
    "RBHC",
    "ApproximationLoss",
    "BernoulliBeta",
    "BuildInfo",
    "CategoricalDirichlet",
    "Estimate",
    "Explanation",
    "ExponentialGamma",
    "Family",
    "GaussianProcess",
    "GeometricBeta",
    "Learned",
    "MultinomialDirichlet",
    "NegativeBinomialBeta",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
    "PoissonGamma",
    "Posterior",
    "Product",
    "Statistics",
    "Tree",
    "VonMisesFisher",
    "__version__",
    "approximation_loss",
    "bayes_kmeans_bhc",
    "bhc",
    "build_info",
    "curves",
    "datasets",
    "distributed",
    "estimate",
    "exact_log_evidence",
    "export",
    "forget",
    "hurdle",
    "insert",
    "io",
    "lambda_heuristic",
    "learn",
    "load",
    "metrics",
    "plot",
    "posterior",
    "randomized_bhc",
    "rbhc",
    "refine",
    "report",
    "save",
]

#: Where the names are, so that nothing is loaded before it is asked for.
_PLACES = {
    "_build": (
        "BuildInfo",
        "build_info",
    ),
    "_core": (
        "Tree",
        "__version__",
    ),
    "algorithms": (
        "bayes_kmeans_bhc",
        "bhc",
        "forget",
        "insert",
        "randomized_bhc",
        "rbhc",
        "refine",
    ),
    "approximation": (
        "ApproximationLoss",
        "approximation_loss",
    ),
    "estimation": (
        "Estimate",
        "estimate",
    ),
    "estimators": (
        "BHC",
        "RBHC",
    ),
    "families": (
        "BernoulliBeta",
        "CategoricalDirichlet",
        "ExponentialGamma",
        "Family",
        "GaussianProcess",
        "GeometricBeta",
        "MultinomialDirichlet",
        "NegativeBinomialBeta",
        "NormalInverseGamma",
        "NormalInverseWishart",
        "NormalKnownVariance",
        "PoissonGamma",
        "Product",
        "VonMisesFisher",
    ),
    "hurdles": ("hurdle",),
    "inference": (
        "Explanation",
        "Posterior",
        "exact_log_evidence",
        "posterior",
    ),
    "_lambda": ("lambda_heuristic",),
    "learning": (
        "Learned",
        "learn",
    ),
    "model_file": (
        "load",
        "save",
    ),
    "_report": ("report",),
    "statistics": ("Statistics",),
}


def __getattr__(name: str) -> object:
    """Load names, and the modules of the package, when they are asked for."""
    import importlib
    import importlib.util

    for module, names in _PLACES.items():
        if name in names:
            value = getattr(importlib.import_module(f"bhclust.{module}"), name)
            globals()[name] = value
            return value
    if not name.startswith("__") and importlib.util.find_spec(f"bhclust.{name}") is not None:
        return importlib.import_module(f"bhclust.{name}")
    raise AttributeError(f"module 'bhclust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
