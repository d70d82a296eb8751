"""Curves of clusters of time series, and times from the names of columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from reference.families import GaussianProcess as Twin

import bhclust
from bhclust import GaussianProcess
from bhclust.curves import cluster_curves, curve
from bhclust.table import column_numbers
from cases import NAN, TIME_KERNELS, random_case

HYPER: dict[str, Any] = {
    "times": [0.0, 1.0, 2.5, 3.0],
    "length_scale": 1.2,
    "amplitude": 9.0,
    "noise": 1.3,
    "mean": [0.5, 0.0, -1.0, 0.25],
}
ROWS = [[1.5, 2.0, NAN, 0.5], [0.5, NAN, -1.0, NAN], [1.0, 2.5, 0.0, NAN]]


def posterior_at(rows: list[list[float]], new: list[float], **hyper: Any) -> tuple[Any, Any]:
    """Mean and variance of the curve, conditioned as a joint normal distribution is."""
    old = np.array(hyper["times"])
    cells = np.array(rows)
    row, column = np.nonzero(~np.isnan(cells))
    # the middle of the times must stay where it is, for the spline
    every = [*old, *new, old.min() + old.max() - min(new), old.min() + old.max() - max(new)]
    prior = Twin.covariance(len(every), **{**hyper, "times": every})
    k = np.array(prior, dtype=float)
    at, among = np.arange(len(old), len(old) + len(new)), np.ix_(column, column)
    joint = k[among] + hyper["noise"] * np.eye(len(row))
    cross = k[np.ix_(at, column)]
    mean = np.array(hyper["mean"])
    shift = cross @ np.linalg.solve(joint, cells[row, column] - mean[column])
    variance = np.diag(k[np.ix_(at, at)] - cross @ np.linalg.solve(joint, cross.T))
    return np.interp(new, old, mean) + shift, variance


@pytest.mark.parametrize("kernel", TIME_KERNELS)
def test_a_curve_is_the_conditional_mean_with_its_deviation(kernel: str) -> None:
    family = GaussianProcess(kernel=kernel, **HYPER)
    new = [-1.0, 0.0, 0.7, 2.5, 4.0]
    found = curve(ROWS, family, times=new)
    mean, variance = posterior_at(ROWS, new, kernel=kernel, **HYPER)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(found.sd, np.sqrt(variance), rtol=1e-10)
    assert found.times.tolist() == new
    assert found.noise == 1.3


def test_bands_hold_what_they_say() -> None:
    found = curve(ROWS, GaussianProcess(**HYPER))
    assert found.times.tolist() == HYPER["times"]
    lower, upper = found.band()
    np.testing.assert_allclose(upper - found.mean, 1.959963984540054 * found.sd)
    np.testing.assert_allclose(found.mean - lower, upper - found.mean)
    low, high = found.band(0.5, noise=True)
    np.testing.assert_allclose(high - low, 2 * 0.6744897501960817 * np.hypot(found.sd, 1.3**0.5))
    for level in (0.0, 1.0, NAN):
        with pytest.raises(ValueError, match=r"level is .*; it must be between 0 and 1"):
            found.band(level)


def test_without_a_value_a_curve_is_the_prior() -> None:
    found = curve([[NAN] * 4], GaussianProcess(**HYPER))
    np.testing.assert_allclose(found.mean, HYPER["mean"])
    np.testing.assert_allclose(found.sd, 3.0)


def test_the_curves_of_a_partition_are_those_of_its_clusters() -> None:
    case = random_case("GaussianProcess", 20, 1)
    labels = np.arange(20) % 3 + 5
    found = cluster_curves(case.cells, labels, case.family, times=[0.5, 9.0])
    assert list(found) == [5, 6, 7]
    for label, one in found.items():
        alone = curve(case.cells[labels == label], case.family, times=[0.5, 9.0])
        assert one.mean.tolist() == alone.mean.tolist()
        assert one.sd.tolist() == alone.sd.tolist()
    with pytest.raises(ValueError, match=r"labels has shape \(3,\).*each of the 20 rows"):
        cluster_curves(case.cells, [0, 1, 2], case.family)


def test_what_curves_refuse() -> None:
    family = GaussianProcess(**HYPER)
    with pytest.raises(TypeError, match="family is PoissonGamma; curves are those of Gauss"):
        curve(ROWS, bhclust.PoissonGamma())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"times has 4 value\(s\)"):
        curve([[1.0, 2.0]], family)
    with pytest.raises(ValueError, match=r"times hold -?nan; they must be finite"):
        curve(ROWS, family, times=[0.0, NAN])
    with pytest.raises(ValueError, match="times has 0 dimensions; it must have one"):
        curve(ROWS, family, times=1.0)


def test_equally_spaced_times_are_a_distance() -> None:
    X = random_case("GaussianProcess", 9, 0).cells
    spaced, listed = GaussianProcess(times=0.5), GaussianProcess(times=[0.0, 0.5, 1.0, 1.5])
    assert bhclust.bhc(X, spaced) == bhclust.bhc(X, listed)
    assert curve(X, spaced).times.tolist() == [0.0, 0.5, 1.0, 1.5]


def test_columns_with_numbers_for_names_are_times() -> None:
    pandas = pytest.importorskip("pandas")
    X = random_case("GaussianProcess", 30, 2).cells
    for names in ([0, 10, 20, 40], ["0", "10", "20", "4e1"], np.array([0.0, 10.0, 20.0, 40.0])):
        frame = pandas.DataFrame(X, columns=names)
        family = GaussianProcess.from_data(frame)
        assert family.times.tolist() == [0.0, 10.0, 20.0, 40.0]
        assert family == GaussianProcess.from_data(X, times=[0, 10, 20, 40])
        assert bhclust.bhc(frame, "time-series") == bhclust.bhc(X, family)
        assert bhclust.BHC("time-series", hyperparameters="data").fit(frame).family_ == family
    for names in (["a", "b", "c", "d"], ["0", "1", "x", "2"], [0.0, 1.0, math.nan, 3.0]):
        assert GaussianProcess.from_data(pandas.DataFrame(X, columns=names)).times == 1.0
    given = GaussianProcess.from_data(pandas.DataFrame(X), times=2.0, kernel="matern32")
    assert (given.times, given.kernel) == (2.0, "matern32")
    assert column_numbers(X) is None
    assert column_numbers(pandas.DataFrame({True: [1.0], 2: [2.0]})) is None


def test_defaults_refuse_times_of_other_columns() -> None:
    X = random_case("GaussianProcess", 9, 0).cells
    with pytest.raises(ValueError, match=r"times has 3 value\(s\).* or 4 values"):
        GaussianProcess.from_data(X, times=[0, 1, 2])
    with pytest.raises(ValueError, match="kernel is 'rbf'; it must be one of 'squared"):
        GaussianProcess.from_data(X, kernel="rbf")


@pytest.mark.parametrize("kernel", TIME_KERNELS)
def test_learning_finds_the_noise_and_the_curves(kernel: str) -> None:
    """Rows drawn from the model: what is learned has at least the evidence of the truth."""
    rng = np.random.default_rng(TIME_KERNELS.index(kernel))
    times = np.sort(rng.uniform(0, 10, 12))
    hyper = {"times": times, "kernel": kernel, "length_scale": 3.0, "amplitude": 4.0}
    prior = np.array(Twin.covariance(12, **hyper), dtype=float)
    curves = rng.multivariate_normal(np.zeros(12), prior, size=5)
    X = curves[rng.integers(5, size=60)] + 0.5 * rng.normal(size=(60, 12))
    X[rng.random(X.shape) < 0.1] = NAN
    truth = GaussianProcess(**hyper, noise=0.25)
    with_truth = bhclust.posterior(bhclust.bhc(X, truth), X, truth, alpha=1.0)
    start = GaussianProcess.from_data(X, times=times, kernel=kernel)
    learned = bhclust.learn(X, start, max_regrafts=0)
    assert learned.log_evidence > with_truth.log_evidence - 10.0
    assert 0.15 < float(learned.family.noise) < 0.4  # type: ignore[attr-defined,arg-type]
    assert learned.family.kernel == kernel  # type: ignore[attr-defined]
    assert learned.family.times.tolist() == times.tolist()  # type: ignore[attr-defined]


def test_learned_noise_is_not_below_the_resolution() -> None:
    """Rows recorded in steps of 1 that are equal within clusters have no less noise than 1/12."""
    X = np.repeat([[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]], 10, axis=0)
    learned = bhclust.learn(X, "time-series", max_regrafts=0)
    assert float(learned.family.noise) >= 1 / 12 - 1e-12  # type: ignore[attr-defined,arg-type]


def test_refusals_name_the_argument() -> None:
    X = [[0.1, 0.5, 0.9], [0.2, 0.4, 1.0]]
    family = GaussianProcess(times=[0.0, 1.0, 3.0], noise=0.01)
    found = curve(X, family)
    with pytest.raises(TypeError, match=r"level must be a number, not 'x'"):
        found.band("x")  # type: ignore[arg-type]
    for times in ("a", ["a"], [None]):
        with pytest.raises(TypeError, match=r"times must be numbers, not"):
            curve(X, family, times=times)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"times is ragged"):
        curve(X, family, times=[[1.0], [2.0, 3.0]])  # type: ignore[list-item]
    for labels in (["a", "b"], [0.2, 0.7]):
        with pytest.raises(TypeError, match=r"labels must be whole numbers"):
            cluster_curves(X, labels, family)
    missing = [[0.1, np.nan, 0.9]]
    for other in ("gaussian", bhclust.NormalInverseWishart):
        with pytest.raises(TypeError, match=r"curves are those of GaussianProcess"):
            curve(missing, other)  # type: ignore[arg-type]
    assert curve(X, family, times=[]).mean.shape == (0,)
