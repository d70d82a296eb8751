"""Long work can be watched and stopped, and lets other threads run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bhclust
from cases import random_case

# Each would run for many seconds without a look at signals; the other thread prints only if it gets
# to run meanwhile.
CHILD = """
import threading, time
import numpy as np
import bhclust

rng = np.random.default_rng(0)
normal = bhclust.NormalInverseWishart(nu=12.0)
known = bhclust.NormalKnownVariance()

def balanced(n):
    return bhclust.Tree.from_children(n, np.arange(2 * n - 2).reshape(-1, 2))

def found_on(n):
    return bhclust.posterior(balanced(n), rng.normal(size=(n, 1)), known)

def tell():
    time.sleep(0.3)
    print("running", flush=True)

{before}
threading.Thread(target=tell, daemon=True).start()
try:
    {work}
except KeyboardInterrupt:
    print("stopped", flush=True)
else:
    print("finished", flush=True)
"""
LONG = "X = rng.normal(size=(60_000, 10))"
WIDE = """
X = rng.normal(size=(30, 4000))
wide = bhclust.NormalInverseWishart(nu=4003.0)
"""
WORKS = {
    "bhc": (LONG, "bhclust.bhc(X, normal)"),
    "one thread": (LONG, "bhclust.bhc(X, normal, n_threads=1)"),
    "chain": (LONG, "bhclust.rbhc(X, known, method='nn-chain')"),
    "rounds": ("X = rng.normal(size=(200_000, 40))", "bhclust.rbhc(X, known)"),
    "rbhc": (LONG, "bhclust.rbhc(X, bhclust.NormalInverseGamma(), method='greedy')"),
    "fit": (LONG, "bhclust.BHC(dict.fromkeys(range(10), normal)).fit(X)"),
    "score_samples": (
        """
X = rng.normal(size=(2000, 10))
found = bhclust.posterior(bhclust.rbhc(X, known), X, normal)
new = rng.normal(size=(1_000_000, 10))
""",
        "found.score_samples(new)",
    ),
    "wide rows": (WIDE, "bhclust.bhc(X, wide)"),
    "wide rows, posterior": (WIDE, "bhclust.posterior(balanced(30), X, wide)"),
    "wide rows, refine": (WIDE, "bhclust.refine(balanced(30), X, wide)"),
    "wide rows, new ones": (
        """
X = rng.normal(size=(4, 700))
wide = bhclust.NormalInverseWishart(nu=703.0)
found = bhclust.posterior(balanced(4), X, wide)
new = rng.normal(size=(200, 700))
""",
        "found.predict_log_proba(new, [0, 0, 1, 1])",
    ),
    "coding": (
        "X = rng.integers(0, 10**9, size=(4_000_000, 6)).astype(float)",
        "bhclust.bhc(X, bhclust.PoissonGamma())",
    ),
    "defaults": ("X = rng.normal(size=(4_000_000, 8))", "bhclust.NormalInverseGamma.from_data(X)"),
    "coclustering": ("found = found_on(2**14)", "found.coclustering()"),
    "sample_partitions": (
        "found = found_on(2**8)",
        "found.sample_partitions(1_000_000)",
    ),
    "n_clusters_distribution": (
        "found = found_on(2**16)",
        "found.n_clusters_distribution(2**16)",
    ),
    "cut": ("found = found_on(2**17)", "found.cut_nodes(rule='map', n_clusters=2**16)"),
    "dendrogram_purity": (
        "tree = balanced(2**16)",
        "bhclust.metrics.dendrogram_purity(tree, np.arange(2**16) // 2)",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a child on Windows")
@pytest.mark.parametrize("name", WORKS)
def test_an_interrupt_stops_the_work(name: str) -> None:
    before, work = WORKS[name]
    with subprocess.Popen(
        [sys.executable, "-c", CHILD.format(before=before, work=work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "running\n"
            child.send_signal(signal.SIGINT)
            told, errors = child.communicate(timeout=5)
        finally:
            child.kill()
    assert (told, errors) == ("stopped\n", "")


def long_runs() -> dict[str, Callable[..., Any]]:
    case = random_case("NormalInverseWishart", 400, 0)
    X, family = case.cells, case.family
    found = bhclust.posterior(bhclust.rbhc(X, family), X, family)
    new = np.tile(X[:100], (3, 1))
    return {
        "bhc": lambda **options: bhclust.bhc(X, family, **options),
        "nn-chain": lambda **options: bhclust.rbhc(X, family, **options),
        "greedy": lambda **options: bhclust.rbhc(X, family, method="greedy", **options),
        "score_samples": lambda **options: found.score_samples(new, **options),
        "predict_log_proba": lambda **options: found.predict_log_proba(new, **options),
    }


RUNS = long_runs()


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", RUNS)
def test_other_threads_run_meanwhile(name: str, n_threads: int) -> None:
    def work() -> None:
        while not enough.is_set():
            RUNS[name](n_threads=n_threads)

    enough = threading.Event()
    worker = threading.Thread(target=work)
    ticks, inside = 0, 0
    worker.start()
    try:
        while inside < 50 and worker.is_alive():
            ticks += 1
            frame = sys._current_frames().get(worker.ident or 0)
            inside += frame is not None and "bhclust" in frame.f_code.co_filename
            time.sleep(0)
    finally:
        enough.set()
        worker.join()
    assert inside == 50


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", RUNS)
def test_progress_rises_to_its_total(name: str, n_threads: int) -> None:
    seen: list[tuple[int, int]] = []

    def progress(*where: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.append((where[0], where[1]))

    wanted = RUNS[name](n_threads=n_threads)
    found = RUNS[name](n_threads=n_threads, progress=progress)
    assert np.array_equal(found, wanted) if isinstance(found, np.ndarray) else found == wanted
    done, totals = [d for d, _ in seen], {total for _, total in seen}
    assert done == sorted(done)
    assert totals == {done[-1]}
    assert all(isinstance(d, int) for d in done)


class Stop(Exception):  # noqa: N818
    pass


class Exit(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [Stop("enough"), ValueError("column 7 is mine"), KeyboardInterrupt(), Exit()], ids=repr
)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("name", RUNS)
def test_an_error_in_the_callback_comes_out_unchanged(
    name: str, n_threads: int, error: BaseException
) -> None:
    calls = 0

    def progress(done: int, total: int) -> None:  # noqa: ARG001
        nonlocal calls
        calls += 1
        raise error

    with pytest.raises(type(error)) as caught:
        RUNS[name](n_threads=n_threads, progress=progress)
    assert caught.value is error
    assert calls == 1


def test_an_error_in_the_callback_passes_the_estimators() -> None:
    error = ValueError("my own affair")

    def progress(done: int, total: int) -> None:  # noqa: ARG001
        raise error

    X = random_case("PoissonGamma", 50, 0).cells
    for est in (
        bhclust.BHC({0: "poisson", 2: "poisson"}, progress=progress),
        bhclust.RBHC({0: "poisson"}, n_clusters=2, progress=progress),
        bhclust.BHC("poisson", progress=progress),
    ):
        with pytest.raises(ValueError, match="my own affair") as caught:
            est.fit(X)
        assert caught.value is error


def test_posterior_reports_and_stops_too() -> None:
    case = random_case("NormalInverseWishart", 300, 1)
    tree = bhclust.rbhc(case.cells, case.family)
    seen: list[tuple[int, int]] = []
    bhclust.posterior(tree, case.cells, case.family, progress=lambda *where: seen.append(where))
    assert seen[-1] == (tree.n_nodes, tree.n_nodes)
    error = Stop()

    def progress(done: int, total: int) -> None:  # noqa: ARG001
        raise error

    with pytest.raises(Stop) as caught:
        bhclust.posterior(tree, case.cells, case.family, progress=progress)
    assert caught.value is error


@pytest.mark.parametrize("progress", [3, "bar", object()])
def test_a_callback_that_cannot_be_called_is_a_type_error(progress: Any) -> None:
    with pytest.raises(TypeError, match="callable"):
        RUNS["bhc"](progress=progress)
