"""Bayesian hierarchical clustering at native speed."""

from typing import TYPE_CHECKING

# First, so that the command can be interrupted while the rest is imported.
from bhclust import _interrupts as _interrupts

# Before anything imports the core.
from bhclust import _instruction_sets as _instruction_sets  # isort: skip
from bhclust._build import BuildInfo, build_info
from bhclust._core import Tree, __version__
from bhclust.algorithms import bayes_kmeans_bhc, bhc, randomized_bhc, rbhc, refine
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
from bhclust.lambda_heuristic import lambda_heuristic
from bhclust.learning import Learned, learn
from bhclust.model_file import load, save

if TYPE_CHECKING:
    from bhclust import curves, datasets, export, io, metrics, plot
    from bhclust._report import report

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
    "Tree",
    "VonMisesFisher",
    "__version__",
    "approximation_loss",
    "bayes_kmeans_bhc",
    "bhc",
    "build_info",
    "curves",
    "datasets",
    "estimate",
    "exact_log_evidence",
    "export",
    "hurdle",
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


def __getattr__(name: str) -> object:
    """Modules that need more than NumPy are loaded when they are asked for."""
    if name in ("curves", "datasets", "export", "io", "metrics", "plot"):
        import importlib

        return importlib.import_module(f"bhclust.{name}")
    if name == "report":
        from bhclust._report import report

        return report
    raise AttributeError(f"module 'bhclust' has no attribute {name!r}")
