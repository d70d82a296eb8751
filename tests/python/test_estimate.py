"""What calls need is told before they start, and what needs too much is refused."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bhclust
from bhclust._memory import ALGORITHMS, OF_GROUPS, bytes_needed, memory_limit

N_SAMPLES = 50

#: A process of its own, whose peak is set back before the call: rows, columns, and bytes beyond.
MEASURE = """
import sys
import numpy as np
import bhclust
from bhclust.estimation import _balanced

algorithm, alias, n, d = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
grouped = algorithm.endswith(" of groups")
algorithm = algorithm.removesuffix(" of groups")

def table(n):
    random = np.random.default_rng(3)
    x = random.normal(random.normal(0, 5, (10, d))[random.integers(10, size=n)])
    if alias == "bernoulli":
        return (x > 0) * 1.0
    return np.floor(np.exp(0.4 * np.abs(x))) if alias == "poisson" else x

def prepared(X):
    if grouped:
        X = family.statistics(X)
    if algorithm in ("bhc", "rbhc", "learn", "bayes_kmeans_bhc", "randomized_bhc"):
        return lambda: getattr(bhclust, algorithm)(X, family)
    tree = _balanced(len(X))
    if algorithm == "posterior":
        return lambda: bhclust.posterior(tree, X, family)
    if algorithm == "refine":
        return lambda: bhclust.refine(tree, X, family, max_regrafts=10)
    if algorithm == "insert":
        return lambda: bhclust.insert(tree, X, X, family)
    found = bhclust.posterior(tree, X, family)
    if algorithm == "bounds":
        return lambda: found.log_evidence_bound("relocations")
    if algorithm == "sample_partitions":
        return lambda: found.sample_partitions(50)
    labels = np.arange(len(X)) % 20
    if algorithm == "predict":
        return lambda: found.predict_log_proba(X, labels)
    return found.coclustering

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)

X = table(n)
family = getattr(bhclust, {
    "bernoulli": "BernoulliBeta", "poisson": "PoissonGamma", "gaussian": "NormalInverseWishart",
    "gaussian-diag": "NormalInverseGamma", "gaussian-spherical": "NormalKnownVariance",
}[alias]).from_data(X)
prepared(X[:60].copy())()
call = prepared(X)
open("/proc/self/clear_refs", "w").write("5")
before = peak()
result = call()
print(1024 * (peak() - before))
"""

CALLS = [
    ("bhc", "bernoulli", 4000, 32),
    ("bhc", "poisson", 4000, 16),
    ("bhc", "gaussian", 5000, 8),
    ("bhc", "gaussian-diag", 5000, 16),
    ("rbhc", "gaussian-spherical", 10000, 4),
    ("rbhc", "poisson", 3000, 16),
    ("posterior", "gaussian-diag", 40000, 8),
    ("bounds", "bernoulli", 40000, 4),
    ("coclustering", "gaussian-diag", 1500, 3),
    ("sample_partitions", "gaussian-diag", 20000, 3),
    ("predict", "gaussian-diag", 20000, 8),
    ("predict", "gaussian", 10000, 8),
    ("refine", "gaussian-diag", 3000, 16),
    ("insert", "gaussian-diag", 2000, 16),
    ("learn", "bernoulli", 1200, 16),
    ("bayes_kmeans_bhc", "gaussian-diag", 10000, 8),
    ("bayes_kmeans_bhc", "bernoulli", 10000, 32),
    ("randomized_bhc", "gaussian-diag", 20000, 8),
    ("bhc of groups", "gaussian-diag", 1500, 16),
    ("rbhc of groups", "gaussian-spherical", 10000, 4),
    ("rbhc of groups", "poisson", 1500, 16),
    ("bayes_kmeans_bhc of groups", "poisson", 5000, 16),
    ("randomized_bhc of groups", "gaussian-diag", 10000, 8),
    ("posterior of groups", "gaussian-diag", 40000, 8),
    ("refine of groups", "gaussian-diag", 3000, 16),
]

FAMILIES = {
    "bernoulli": bhclust.BernoulliBeta(),
    "poisson": bhclust.PoissonGamma(),
    "gaussian": bhclust.NormalInverseWishart(mean=0.0, kappa=1.0, nu=20.0, psi=1.0),
    "gaussian-diag": bhclust.NormalInverseGamma(),
    "gaussian-spherical": bhclust.NormalKnownVariance(variance=1.0),
}


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="a peak can be set back on Linux only"
)
@pytest.mark.parametrize(("algorithm", "alias", "n", "d"), CALLS)
def test_memory_is_about_what_is_measured(algorithm: str, alias: str, n: int, d: int) -> None:
    place = str(Path(bhclust.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {place!r})\n{MEASURE}"
    measured = int(
        subprocess.run(
            [sys.executable, "-c", code, algorithm, alias, str(n), str(d)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    needed = bytes_needed(
        algorithm.removesuffix(" of groups"),
        FAMILIES[alias],
        n,
        d,
        grouped=algorithm.endswith(" of groups"),
        n_new=n,
        n_samples=N_SAMPLES,
        n_clusters=20,
    )
    assert 0.7 <= needed / measured <= 3


def test_every_algorithm_is_measured() -> None:
    measured = {call[0] for call in CALLS}
    assert measured == {
        *ALGORITHMS,
        *(f"{name} of groups" for name in OF_GROUPS),
    }


@pytest.mark.parametrize(
    "algorithm",
    [
        "bhc",
        "rbhc",
        "bayes_kmeans_bhc",
        "randomized_bhc",
        "posterior",
        "predict",
        "coclustering",
        "insert",
    ],
)
def test_estimates_of_tables_and_shapes(algorithm: str) -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    of_table = bhclust.estimate(X, "gaussian", algorithm=algorithm)
    of_shape = bhclust.estimate((300, 3), "gaussian", algorithm=algorithm)
    for found in (of_table, of_shape):
        assert found.algorithm == algorithm
        assert 0 < found.seconds[0] < found.seconds[1]
        assert re.fullmatch(rf"{algorithm}: [\d.]+ [kMG]B, \S+ to \S+ s", str(found))
    assert of_table.bytes == of_shape.bytes
    assert bhclust.estimate((600, 3), "gaussian", algorithm=algorithm).bytes > of_table.bytes


def test_estimates_of_every_family_by_its_shape() -> None:
    from bhclust.families import aliases

    for alias in aliases():
        assert bhclust.estimate((200, 4), alias).bytes > 0
    parts = [(bhclust.PoissonGamma(), [0, 2]), (bhclust.NormalInverseGamma(), [1])]
    assert bhclust.estimate((200, 3), bhclust.Product(parts)).bytes > 0


def test_wide_shapes_are_tried_on_few_made_up_rows() -> None:
    # 2 million columns of 4,096 rows would be 64 GB
    found = bhclust.estimate((100_000, 2_000_000), "bernoulli", algorithm="posterior")
    assert found.bytes > 1e12
    with pytest.raises(ValueError, match=r"X\[1\] is 10000000000; trials on made-up rows take"):
        bhclust.estimate((3, 10**10), "bernoulli")


def test_sizes_count() -> None:
    def needed(**options: int) -> int:
        return bytes_needed("sample_partitions", FAMILIES["poisson"], 1000, 2, **options)

    assert needed(n_samples=200) - needed(n_samples=100) == 100 * 8 * 1000
    few = bhclust.estimate((1000, 2), "poisson", algorithm="predict", n_new=10)
    many = bhclust.estimate((1000, 2), "poisson", algorithm="predict", n_new=10**6)
    assert many.bytes > 100e6 > few.bytes
    assert many.seconds[0] > few.seconds[1]


@pytest.mark.parametrize(
    ("text", "size"),
    [("2 GB", 2e9), ("500MB", 5e8), ("1.5 kb", 1500.0), (10**9, 1e9), (2.5e6, 2.5e6), ("7 B", 7.0)],
)
def test_limits_are_bytes_or_text(text: float | str, size: float) -> None:
    assert memory_limit(text) == size


@pytest.mark.parametrize("wrong", ["2", "GB", "2 bytes of it", "-1 GB", ""])
def test_limits_that_say_nothing(wrong: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"max_memory is {wrong!r}; give bytes or text")):
        memory_limit(wrong)
    with pytest.raises(ValueError, match="max_memory is -5; it must be above 0"):
        memory_limit(-5)
    with pytest.raises(TypeError, match="max_memory must be a number of bytes or text"):
        memory_limit([1])


def test_calls_beyond_the_limit_are_refused_before_they_start() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 2))
    started: list[int] = []

    def progress(done: int, _total: int) -> None:
        started.append(done)

    tight = {"max_memory": "600 kB", "progress": progress}
    tree = bhclust.rbhc(X, "gaussian-spherical")
    found = bhclust.posterior(tree, X, "gaussian-diag")
    for name, call in {
        "bhc": lambda: bhclust.bhc(X, "gaussian", **tight),
        "rbhc": lambda: bhclust.rbhc(X, "gaussian-spherical", **tight),
        "refine": lambda: bhclust.refine(tree, X, "gaussian-diag", **tight),
        "insert": lambda: bhclust.insert(tree, X, X[:9], "gaussian-diag", **tight),
        "posterior": lambda: bhclust.posterior(tree, X, "gaussian-diag", **tight),
        "bayes_kmeans_bhc": lambda: bhclust.bayes_kmeans_bhc(X, "gaussian-diag", **tight),
        "randomized_bhc": lambda: bhclust.randomized_bhc(X, "gaussian-diag", **tight),
        "learn": lambda: bhclust.learn(X, "gaussian-diag", **tight),
        "coclustering": lambda: found.coclustering(max_memory="1 MB"),
        "sample_partitions": lambda: found.sample_partitions(100, max_memory="1 MB"),
    }.items():
        with pytest.raises(
            ValueError, match=rf"^{name} of 3000 rows and 2 columns.* takes .*; max_"
        ):
            call()
    for estimator in (
        bhclust.BHC(hyperparameters="data", max_memory=10**6, progress=progress),
        bhclust.BHC(max_memory=10**6, progress=progress),
        bhclust.RBHC(n_clusters=2, max_memory=10**6, progress=progress),
    ):
        with pytest.raises(ValueError, match="max_memory is 1 MB"):
            estimator.fit(X)
    assert started == []


def test_a_limit_that_is_wide_enough_changes_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(50, 2))
    free, limited = bhclust.bhc(X, "gaussian"), bhclust.bhc(X, "gaussian", max_memory="1 GB")
    assert np.array_equal(free.children, limited.children)


def test_what_the_machine_does_not_hold_is_refused_without_a_limit() -> None:
    X = np.zeros((200_000, 1))
    X[::2] = 1.0
    found = bhclust.posterior(bhclust.estimation._balanced(len(X)), X, bhclust.NormalInverseGamma())
    with pytest.raises(
        ValueError, match=r"coclustering of 200000 rows .* 320 GB; this machine has"
    ):
        found.coclustering()


def test_estimates_of_statistics() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    S = bhclust.NormalInverseGamma().statistics(X, np.arange(300) % 100)
    for algorithm in ("bhc", "rbhc", "bayes_kmeans_bhc", "randomized_bhc", "posterior", "refine"):
        found = bhclust.estimate(S, algorithm=algorithm)
        assert found.bytes > 0
        assert found.seconds[1] > 0
    with pytest.raises(ValueError, match="'learn', which takes rows"):
        bhclust.estimate(S, algorithm="learn")
    with pytest.raises(ValueError, match=r"^bhc of 100 groups and 3 columns takes"):
        bhclust.bhc(S, max_memory="10 kB")
