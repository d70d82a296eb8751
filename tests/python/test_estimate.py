"""What calls need is told before they start, and what needs too much is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bhclust
from bhclust import estimation
from bhclust._memory import ALGORITHMS, Shape, bytes_needed, memory_limit, shape_of
from bhclust.table import as_leaves

#: A process of its own, which sets its peak back before the call; see bench/memory.py.
MEASURE = """
import json
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from memory import measure
print(json.dumps(measure(*json.loads(sys.argv[2]))))
"""

CALLS = [
    ("bhc", "BernoulliBeta", "dense", 4000, 32),
    ("bhc", "PoissonGamma", "dense", 4000, 16),
    ("bhc", "PoissonGamma", "sparse", 1500, 400),
    ("bhc", "MultinomialDirichlet", "sparse", 3000, 600),
    ("bhc", "NormalInverseWishart", "dense", 5000, 8),
    ("bhc", "NormalInverseGamma", "dense", 5000, 16),
    ("bhc", "NormalInverseGamma", "missing", 4000, 16),
    ("rbhc", "NormalKnownVariance", "dense", 10000, 4),
    ("rbhc", "PoissonGamma", "dense", 3000, 16),
    ("rbhc", "CategoricalDirichlet", "dense", 1200, 32),
    ("bhc", "NormalInverseGamma", "noise", 100, 2000),
    ("bhc", "BernoulliBeta", "noise", 240, 3000),
    ("bhc", "NegativeBinomialBeta", "noise", 100, 1000),
    ("bhc", "GaussianProcess", "noise", 60, 200),
    ("randomized_bhc", "PoissonGamma", "noise", 300, 1000),
    ("rbhc", "NormalKnownVariance", "noise", 100, 3000),
    ("posterior", "NormalInverseGamma", "dense", 40000, 8),
    ("bounds", "BernoulliBeta", "dense", 40000, 4),
    ("coclustering", "NormalInverseGamma", "dense", 1500, 3),
    ("sample_partitions", "NormalInverseGamma", "dense", 20000, 3),
    ("predict", "NormalInverseGamma", "dense", 20000, 8),
    ("predict", "NormalInverseWishart", "dense", 10000, 8),
    ("refine", "NormalInverseGamma", "dense", 3000, 16),
    ("insert", "NormalInverseGamma", "dense", 2000, 16),
    ("learn", "PoissonGamma", "dense", 1200, 16),
    ("bayes_kmeans_bhc", "NormalInverseGamma", "dense", 20000, 8),
    ("bayes_kmeans_bhc", "BernoulliBeta", "dense", 10000, 32),
    ("bayes_kmeans_bhc", "MultinomialDirichlet", "noise", 2000, 32),
    ("bayes_kmeans_bhc", "PoissonGamma", "noise", 1000, 60),
    ("bayes_kmeans_bhc", "NormalInverseWishart", "noise", 1000, 60),
    ("bayes_kmeans_bhc", "NormalKnownVariance", "noise", 3000, 32),
    ("bayes_kmeans_bhc", "GeometricBeta", "pairs", 1000, 60),
    ("randomized_bhc", "NormalInverseGamma", "dense", 20000, 8),
    ("randomized_bhc", "PoissonGamma", "sparse noise", 600, 3000),
    ("bhc", "BernoulliBeta", "sparse noise", 1000, 600),
    ("bhc", "MultinomialDirichlet", "sparse noise", 600, 3000),
    ("rbhc", "BernoulliBeta", "sparse noise", 500, 400),
    ("bayes_kmeans_bhc", "BernoulliBeta", "sparse noise", 1000, 600),
    ("insert", "PoissonGamma", "sparse", 500, 400),
    ("bhc", "NormalInverseGamma", "groups", 1500, 16),
    ("bhc", "NormalKnownVariance", "heavy groups", 2100, 2),
    ("bhc", "NormalInverseWishart", "heavy groups", 2000, 3),
    ("bayes_kmeans_bhc", "NormalInverseGamma", "heavy groups", 2000, 3),
    ("rbhc", "NormalKnownVariance", "groups", 10000, 4),
    ("rbhc", "PoissonGamma", "groups", 1500, 16),
    ("bayes_kmeans_bhc", "PoissonGamma", "groups", 5000, 16),
    ("randomized_bhc", "NormalInverseGamma", "groups", 10000, 8),
    ("posterior", "NormalInverseGamma", "groups", 40000, 8),
    ("refine", "NormalInverseGamma", "groups", 3000, 16),
]


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="a peak can be set back on Linux only"
)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: "-".join(map(str, call)))
def test_what_is_measured_is_at_most_what_is_told(call: tuple[str, str, str, int, int]) -> None:
    pytest.importorskip("scipy")
    place, bench = str(Path(bhclust.__file__).parents[1]), Path(__file__).parents[2] / "bench"
    code = f"import sys; sys.path.insert(0, {place!r})\n{MEASURE}"
    done = subprocess.run(
        [sys.executable, "-c", code, str(bench), json.dumps(call)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    # threads that wait for each other need less at once
    assert 1.0 <= found["estimated"] / found["measured"] <= 5


def test_wide_tables_of_few_rows_are_told() -> None:
    for family in (bhclust.PoissonGamma(), bhclust.MultinomialDirichlet()):
        told = bytes_needed("bhc", family, Shape(2, 300_000, stored=20))
        assert told > 125e6  # measured of 2 rows of PoissonGamma


def test_every_algorithm_is_measured() -> None:
    assert {call[0] for call in CALLS} == set(ALGORITHMS)


def test_the_form_of_a_table_counts() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.random_array((50, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    assert shape_of(as_leaves(X)) == Shape(50, 40, stored=200, total=float(X.sum()))
    cells = np.ones((3, 2))
    assert shape_of(as_leaves(cells)) == Shape(3, 2)
    cells[1, 1] = np.nan
    assert shape_of(as_leaves(cells)) == Shape(3, 2, missing=True)
    assert shape_of(bhclust.PoissonGamma().statistics(np.ones((3, 2)))._table).grouped
    family = bhclust.MultinomialDirichlet()
    few, all_of_them = Shape(1000, 5000, stored=50_000), Shape(1000, 5000)
    told = [bytes_needed("bhc", family, shape) for shape in (few, all_of_them)]
    assert 5 * told[0] < told[1]
    counts = np.arange(6.0).reshape(2, 3)
    one, each = (bhclust.GeometricBeta(a=a, b=2.0) for a in (1.0, [1.0, 1.5, 3.0]))
    told = [bytes_needed("bhc", family, shape_of(as_leaves(counts))) for family in (one, each)]
    assert told[0] < told[1]  # a table of functions for each of the columns
    each = bhclust.PoissonGamma(shape=np.linspace(1.0, 2.0, 400), rate=1.0)
    small, large = (Shape(1000, 400, stored=9000, total=total) for total in (1e4, 1e9))
    assert 2 * bytes_needed("bhc", each, small) < bytes_needed("bhc", each, large)


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
        shape = Shape(1000, 2)
        return bytes_needed("sample_partitions", bhclust.PoissonGamma(), shape, **options)

    assert needed(n_samples=200) - needed(n_samples=100) == 100 * 8 * 1000
    few = bhclust.estimate((1000, 2), "poisson", algorithm="predict", n_new=10)
    many = bhclust.estimate((1000, 2), "poisson", algorithm="predict", n_new=10**6)
    assert many.bytes > 100e6 > few.bytes
    assert many.seconds[0] > few.seconds[1]


def test_seeds_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(**options: int) -> bhclust.Estimate:
        return bhclust.estimate((4000, 2), "gaussian", algorithm="bayes_kmeans_bhc", **options)

    # of 64 rows, with 8 seeds but where all rows have fewer or more than their root
    monkeypatch.setattr(estimation._Trial, "_time", lambda *_: 1.0)
    rows = 4000 / 64
    for seeds, more in ((63, 63 / 8), (2, 1.0), (10, 10 / 8), (2000, rows), (4000, rows)):
        middle = told(n_seeds=seeds).seconds[0] * estimation.DOUBT
        assert middle == pytest.approx(rows * more)
    assert told() == told(n_seeds=63)
    assert told(n_seeds=2000).bytes > told().bytes + 600_000
    assert bhclust.estimate((20, 2), "gaussian", n_seeds=21).bytes > 0
    with pytest.raises(ValueError, match=r"n_seeds is 4001; X has 4000 row\(s\)"):
        told(n_seeds=4001)
    with pytest.raises(ValueError, match="n_seeds is 0; it must be at least 1"):
        told(n_seeds=0)


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

    tight = {"max_memory": "800 kB", "progress": progress}
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
    for algorithm in sorted(set(ALGORITHMS) - {"predict", "insert"}):
        found = bhclust.estimate(S, algorithm=algorithm)
        assert found.bytes > 0
        assert found.seconds[1] > 0
    with pytest.raises(ValueError, match="'predict', which takes rows"):
        bhclust.estimate(S, algorithm="predict")
    with pytest.raises(ValueError, match=r"^bhc of 100 groups and 3 columns takes"):
        bhclust.bhc(S, max_memory="10 kB")
