"""Peak memory of every call beside what `bhclust.estimate` says of it.

Each line is a process of its own: it makes the table, warms the call up on 60 rows, gives freed
memory back, sets its peak back, and calls once. Counted is how far the peak of what is resident
rose: X, the interpreter and the libraries are not in it, the result is. Linux only, since no other
system sets a peak back.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse

import bhclust
from bhclust._memory import bytes_needed, shape_of
from bhclust.estimation import _balanced
from bhclust.table import as_leaves

SAMPLES = 50
CLUSTERS = 20
WARM_UP_ROWS = 60
SPARSE_SHARE = 0.03

COUNTS = ("PoissonGamma", "MultinomialDirichlet", "GeometricBeta", "NegativeBinomialBeta")
SPARSE = ("BernoulliBeta", "PoissonGamma", "MultinomialDirichlet", "GeometricBeta")
QUICK = (
    *SPARSE,
    "CategoricalDirichlet",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalKnownVariance",
)
SLOW = ("NegativeBinomialBeta", "ExponentialGamma", "VonMisesFisher", "GaussianProcess")
MISSING = ("BernoulliBeta", "PoissonGamma", "NormalInverseGamma", "NormalKnownVariance")
#: Rows and columns of what each call is measured on.
GREEDY = ("bhc",), ((4000, 32), (12000, 8))
LINEAR = (
    ("bayes_kmeans_bhc", "randomized_bhc", "posterior", "bounds", "predict", "sample_partitions"),
    ((8000, 32), (30000, 8)),
)
SMALL = ("rbhc", "refine", "insert", "learn", "coclustering"), ((1200, 32), (2000, 8))
SPARSE_SHAPES = {"bhc": (3000, 800), "learn": (400, 200), "refine": (500, 400)}

#: Calls that take groups otherwise than rows.
A_GROUP = 1900
"""Rows of each of the heavy groups."""
OF_GROUPS = ("bhc", "rbhc", "bayes_kmeans_bhc", "randomized_bhc", "posterior", "refine")
OF_GROUPS_FAMILIES = ("PoissonGamma", "NormalInverseGamma", "NormalKnownVariance")


def _table(family: str, form: str, n: int, d: int) -> Any:
    """Some 10 clusters, but for noise and for as many as pairs of rows would be."""
    random = np.random.default_rng(3)
    kinds = {"noise": n, "pairs": n // 2}.get(form, 10)
    place = random.normal(0.0, 5.0, (kinds, d))[random.integers(kinds, size=n)]
    x: Any = place + random.normal(size=(n, d))
    if form.startswith("sparse"):
        kinds = n if form == "sparse noise" else 10
        rates = np.abs(random.normal(0.0, 1.0, (kinds, d))) ** 4
        rates *= SPARSE_SHARE / rates.mean()
        counts = random.poisson(rates[random.integers(kinds, size=n)])
        counts = np.minimum(counts, 1) if family == "BernoulliBeta" else counts
        return scipy.sparse.csr_matrix(counts.astype(np.float64))
    if family == "BernoulliBeta":
        x = (x > 0) * 1.0
    elif family == "CategoricalDirichlet":
        x = np.clip(np.floor(np.abs(x)), 0, 3)
    elif family in COUNTS:
        x = np.floor(np.exp(0.4 * np.abs(x)))
    elif family == "ExponentialGamma":
        x = np.exp(0.3 * x)
    elif family == "VonMisesFisher":
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    if form == "missing":
        x[random.random((n, d)) < 0.1] = np.nan
    return x


def _call(algorithm: str, X: Any, family: bhclust.Family) -> Callable[[], object]:
    if algorithm in ("bhc", "rbhc", "learn", "bayes_kmeans_bhc", "randomized_bhc"):
        return lambda: getattr(bhclust, algorithm)(X, family)
    tree = _balanced(len(X) if isinstance(X, bhclust.Statistics) else X.shape[0])
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
        return lambda: found.sample_partitions(SAMPLES)
    if algorithm == "predict":
        labels = np.arange(X.shape[0]) % CLUSTERS
        return lambda: found.predict_log_proba(X, labels)
    return found.coclustering


def peak() -> int:
    """Bytes resident at most since the peak was set back."""
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if "VmHWM" in line)


def measure(algorithm: str, name: str, form: str, n: int, d: int) -> dict[str, Any]:
    X = _table(name, form, n, d)
    kind = getattr(bhclust, name)
    family = kind.from_data(X)
    few = X[:WARM_UP_ROWS].copy()
    if form.endswith("groups"):
        weights = np.full(n, A_GROUP if form == "heavy groups" else 1)
        X, few = family.statistics(X, weights=weights), family.statistics(few)
    _call(algorithm, few, family)()
    call = _call(algorithm, X, family)
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")
    before = peak()
    result = call()
    raised = peak() - before
    del result
    more = {"n_new": n, "n_samples": SAMPLES, "n_clusters": CLUSTERS}
    estimated = bytes_needed(algorithm, family, shape_of(as_leaves(X)), **more)
    return {"measured": raised, "estimated": estimated}


def cases() -> Iterator[tuple[str, str, str, int, int]]:
    """Algorithm, family, form of the table, rows, columns."""
    for algorithms, shapes in (GREEDY, LINEAR, SMALL):
        for algorithm in algorithms:
            for n, d in shapes:
                yield from ((algorithm, family, "dense", n, d) for family in QUICK)
            n, d = shapes[0]
            yield from ((algorithm, family, "missing", n, d) for family in MISSING)
            if "rbhc" not in algorithm:
                yield from ((algorithm, family, "dense", n // 4, 16) for family in SLOW)
            if algorithm != "coclustering":
                n, d = SPARSE_SHAPES.get(algorithm, (1000, 600))
                yield from ((algorithm, family, "sparse", n, d) for family in SPARSE)
    for algorithm in OF_GROUPS:
        yield from ((algorithm, family, "groups", 3000, 16) for family in OF_GROUPS_FAMILIES)
    for family in QUICK:
        yield "bhc", family, "noise", 3000, 32
        for n, d in ((3000, 32), (1000, 100), (20_000, 4)):
            yield "bayes_kmeans_bhc", family, "noise", n, d
        yield "bayes_kmeans_bhc", family, "pairs", 3000, 32
    for family in SPARSE:
        yield "bhc", family, "sparse noise", 1500, 400
        yield "bayes_kmeans_bhc", family, "sparse noise", 1000, 600


def run(case: Sequence[Any]) -> dict[str, Any]:
    """Measure in a fresh process; raises RuntimeError with the last line it said."""
    done = subprocess.run(
        [sys.executable, __file__, "--case", json.dumps(case)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["?"])[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer


def table(word: str) -> None:
    """Print the cases that have the word."""
    print("| call | family | table | rows | columns | measured, MB | estimated, MB | ratio |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for case in cases():
        if word not in " ".join(map(str, case)):
            continue
        try:
            found = run(case)
        except RuntimeError as error:
            print(f"{case}: {error}", file=sys.stderr)
            continue
        told = [f"{found[key] / 1e6:.2f}" for key in ("measured", "estimated")]
        ratio = found["estimated"] / max(found["measured"], 1)
        print("|", " | ".join([*map(str, case), *told, f"{ratio:.2f}"]), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Peak memory of every call beside its estimate.")
    parser.add_argument("--only", default="", help="cases that have this word, such as rbhc")
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.case is None:
        table(chosen.only)
    else:
        print(json.dumps(measure(*chosen.case)))


if __name__ == "__main__":
    main()
