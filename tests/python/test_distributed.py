"""Tables on many machines: what is kept of the whole, and what may not change the result."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bhclust
from bhclust import distributed
from bhclust._shards import pruned
from cases import NAMES, TAKES_SPARSE, random_case

FAMILY = bhclust.NormalKnownVariance(variance=1.0, prior_variance=40.0)


@pytest.fixture(autouse=True)
def in_one_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def blobs(n: int, *, spread: float = 7.0, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(5, size=n)
    return rng.normal(rng.normal(0, spread, (5, 3))[truth], 1.0), truth


def fingerprint(found: Any) -> list[Any]:
    tree, post = found.tree, found.posterior
    return [
        tree.children.tolist(),
        found.statistics.values.tobytes(),
        found.statistics.weights.tolist(),
        post.log_odds.tobytes(),
        found.labels.compute().tolist(),
        str(found.tasks),
    ]


def method_for(family: Any) -> str:
    return "rbhc" if family._relaxable else "bayes-kmeans"


def best_exact(X: Any, family: Any, method: str) -> Any:
    trees = [bhclust.bhc(X, family)]
    if method == "rbhc":
        trees.append(bhclust.rbhc(X, family))
    found = [bhclust.posterior(tree, X, family) for tree in trees]
    return max(found, key=lambda post: post.log_evidence)


@pytest.mark.parametrize("chunk", [40, 7])
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_all_groups_give_the_tree_of_the_table(name: str, chunk: int) -> None:
    case = random_case(name, 40, 1)
    method = method_for(case.family)
    X = da.from_array(case.cells, chunks=(chunk, -1))
    found = distributed.bhc(X, case.family, method=method, fan_in=2)
    wanted = best_exact(case.cells, case.family, method)
    assert found.labels.compute().tolist() == wanted.cut().tolist()
    assert math.isclose(found.posterior.log_evidence, wanted.log_evidence, rel_tol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_bound_is_below_the_evidence_of_all_rows(name: str) -> None:
    case = random_case(name, 11, 2)
    X = da.from_array(case.cells, chunks=(4, -1))
    found = distributed.bhc(X, case.family, method=method_for(case.family), groups=2)
    assert found.tree.n_leaves <= 2
    assert found.statistics.weights.sum() == 11
    exact = bhclust.exact_log_evidence(case.cells, case.family)
    assert found.posterior.log_evidence_bound() <= exact + 1e-9 * abs(exact)


@pytest.mark.parametrize("method", ["rbhc", "bayes-kmeans"])
def test_statistics_are_those_of_the_rows_of_the_groups(method: str) -> None:
    X, _ = blobs(500)
    table = da.from_array(X, chunks=(90, -1))
    found = distributed.bhc(table, FAMILY, method=method, groups=30, fan_in=3)
    groups = found.to_rows(np.arange(found.tree.n_leaves)).compute()
    assert groups.max() + 1 == found.tree.n_leaves == 30
    wanted = FAMILY.statistics(X, groups=groups)
    np.testing.assert_array_equal(found.statistics.weights, wanted.weights)
    np.testing.assert_allclose(found.statistics.values, wanted.values, rtol=1e-9, atol=1e-9)
    first = np.unique(groups, return_index=True)[1]
    assert (np.diff(first) > 0).all()


@pytest.mark.parametrize("method", ["rbhc", "bayes-kmeans"])
def test_clusters_far_apart_are_found_whatever_the_shards(method: str) -> None:
    X, truth = blobs(600, spread=40.0)
    found = distributed.bhc(
        da.from_array(X, chunks=(50, -1)), FAMILY, method=method, groups=40, fan_in=4
    )
    assert bhclust.metrics.adjusted_rand_index(found.labels.compute(), truth) == 1.0
    loss = found.loss()
    assert loss.n_rows == 600
    assert loss.adjusted_rand_index == 1.0
    assert "greedy BHC" in str(loss)


def test_forests_of_shards_far_apart_are_the_forest_of_the_table() -> None:
    rng = np.random.default_rng(5)
    lam = 20.0
    shards = [rng.normal([0, place], 2.0, (60, 2)) for place in (-100, 0, 100)]
    X = np.vstack(shards)
    found = distributed.bhc(da.from_array(X, chunks=(60, -1)), FAMILY, lam=lam)
    groups = found.to_rows(np.arange(found.tree.n_leaves)).compute()
    whole = bhclust.rbhc(X, FAMILY, lam=lam).cut(lam=lam)
    assert bhclust.metrics.adjusted_rand_index(groups, whole) == 1.0
    assert 3 < found.tree.n_leaves < 180
    assert max(task.largest_cost for task in found.tasks) < lam
    assert not any(task.merges_over_lam for task in found.tasks)


def test_merges_below_lambda_at_all_levels() -> None:
    X, _ = blobs(400)
    found = distributed.bhc(da.from_array(X, chunks=(60, -1)), FAMILY, lam=9.0, fan_in=2)
    levels = {task.level for task in found.tasks}
    assert levels == {0, 1, 2, 3}
    assert 0 < max(task.largest_cost for task in found.tasks) < 9.0
    assert all(task.groups < task.groups_in for task in found.shards)


def test_the_limit_of_groups_says_what_it_forced() -> None:
    X, _ = blobs(400)
    found = distributed.bhc(da.from_array(X, chunks=(100, -1)), FAMILY, lam=1e-3, groups=20)
    assert found.tree.n_leaves == 20
    assert all(task.groups <= 20 for task in found.tasks)
    assert sum(task.merges_over_lam for task in found.tasks) > 0
    assert max(task.largest_cost for task in found.tasks) > 1e-3


def test_reports_count_rows_groups_and_bytes() -> None:
    X, _ = blobs(300)
    chunks = ((50, 0, 120, 130), -1)
    found = distributed.bhc(da.from_array(X, chunks=chunks), FAMILY, groups=25, draw_rows=40)
    assert [shard.rows for shard in found.shards] == [50, 0, 120, 130]
    assert [shard.groups for shard in found.shards] == [25, 0, 25, 25]
    assert found.n_rows == 300
    assert found.bytes_sent == sum(task.bytes_sent for task in found.tasks)
    values = found.statistics.values
    assert found.shards[1].bytes_sent == 0
    assert found.shards[0].bytes_sent >= 25 * (values.itemsize * values.shape[1] + 8)
    assert found.labels.chunks == ((50, 0, 120, 130),)
    assert repr(found).startswith("<bhclust.distributed.ShardedClustering of 300 rows in 4 shards")


def test_more_shards_than_rows_and_one_row() -> None:
    frame = pd.DataFrame({"a": [0.0, 0.1, 9.0], "b": [1.0, 1.1, 7.0]})
    parts = [frame.iloc[i : i + 1] for i in range(3)]
    table = dd.from_map(lambda i: parts[i] if i < 3 else frame.iloc[:0], range(7))
    found = distributed.bhc(table, FAMILY)
    assert found.labels.compute().tolist() == best_exact(frame, FAMILY, "rbhc").cut().tolist()
    one = distributed.bhc(da.from_array(frame.to_numpy()[:1], chunks=(1, -1)), FAMILY)
    assert one.labels.compute().tolist() == [0]
    assert one.loss().loss_per_row == pytest.approx(0.0)


def test_frames_have_chunks_of_unknown_size() -> None:
    X, _ = blobs(200)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=4)
    some = frame[frame.a > 0]
    found = distributed.bhc(some, FAMILY, groups=20)
    kept = X[X[:, 0] > 0]
    assert found.n_rows == len(kept) == found.labels.shape[0]
    sizes = [len(part) for part in dask.compute(*some.to_delayed())]
    same = distributed.bhc(da.from_array(kept, chunks=(tuple(sizes), -1)), FAMILY, groups=20)
    assert fingerprint(found) == fingerprint(same)
    array = da.from_array(X, chunks=(50, -1))
    unknown = distributed.bhc(array[array[:, 0] > 0], FAMILY, groups=20)
    assert fingerprint(unknown) == fingerprint(same)
    np.testing.assert_array_equal(found.predict(some).compute(), found.predict(kept))


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_chunks_are_as_dense_ones(name: str) -> None:
    case = random_case(name, 60, 4)
    method = method_for(case.family)
    dense = da.from_array(case.cells, chunks=(25, -1))
    loose = dense.map_blocks(sparse.csr_array)
    found = [distributed.bhc(X, case.family, method=method, groups=10) for X in (dense, loose)]
    assert found[0].labels.compute().tolist() == found[1].labels.compute().tolist()
    assert math.isclose(found[0].loss().loss_per_row, found[1].loss().loss_per_row, abs_tol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_numbers_of_other_types(dtype: Any) -> None:
    X = (blobs(150)[0] * 3).astype(dtype)
    table = da.from_array(X, chunks=(40, -1))
    wide = da.from_array(X.astype(np.float64), chunks=(40, -1))
    found = [distributed.bhc(some, FAMILY, groups=15) for some in (table, wide)]
    assert fingerprint(found[0]) == fingerprint(found[1])


def test_missing_cells_are_taken_or_refused_with_their_place() -> None:
    X = blobs(90)[0]
    X[70, 1] = np.nan
    table = da.from_array(X, chunks=(40, -1))
    found = distributed.bhc(table, FAMILY, groups=100)
    wanted = best_exact(X, FAMILY, "rbhc")
    assert math.isclose(found.posterior.log_evidence, wanted.log_evidence, rel_tol=1e-9)
    with pytest.raises(ValueError, match=r"^shard 1: X: row 30, column 1 .*") as refused:
        distributed.bhc(table, bhclust.NormalInverseWishart(nu=4.0))
    assert "\n" not in str(refused.value)


def test_defaults_and_lambda_from_the_rows_drawn() -> None:
    X, _ = blobs(300)
    table = da.from_array(X, chunks=(70, -1))
    found = distributed.bhc(table, "gaussian-spherical", lam="auto", draw_rows=300)
    family = bhclust.families.resolve_family("gaussian-spherical", X)
    assert found.posterior.family == family
    assert found.lam == bhclust.lambda_heuristic(X, family)


def test_rows_are_drawn_evenly_from_all_shards() -> None:
    X = np.arange(4000.0).reshape(-1, 1)
    sizes = (10, 990, 1000, 1000, 1000)
    table = da.from_array(X, chunks=(sizes, -1))
    drawn = []
    for seed in range(5):
        found = distributed.bhc(table, FAMILY, groups=5, draw_rows=200, random_state=seed)
        rows = np.asarray(found._part.draw.table.arrays)[:, 0]
        assert len(np.unique(rows)) == 200
        assert (np.diff(rows) > 0).all()
        groups = found.to_rows(np.arange(5)).compute()
        np.testing.assert_array_equal(found._part.draw.groups, groups[rows.astype(int)])
        drawn.append(rows)
    assert (drawn[0] != drawn[1]).any()
    halves = np.concatenate(drawn) < 2000
    assert abs(halves.mean() - 0.5) < 0.06


def test_loss_by_one_shard_of_all_rows_is_none() -> None:
    X, _ = blobs(80)
    found = distributed.bhc(da.from_array(X, chunks=(80, -1)), FAMILY, method="bayes-kmeans")
    assert found.loss().loss_per_row == pytest.approx(0.0, abs=1e-9)
    few = distributed.bhc(da.from_array(X, chunks=(20, -1)), FAMILY, groups=2)
    assert few.loss().loss_per_row > 1.0


def test_new_rows_may_be_lists_and_frames_have_their_columns() -> None:
    X, _ = blobs(60)
    names = ["a", "b", "c"]
    found = distributed.bhc(dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=3), FAMILY)
    assert found.predict(X[:4].tolist()).tolist() == found.predict(X[:4]).tolist()
    assert found.predict_log_proba(pd.DataFrame(X[:4], columns=names)).shape[0] == 4
    turned = pd.DataFrame(X, columns=names)[["b", "a", "c"]]
    for wrong in (turned, dd.from_pandas(turned, npartitions=2)):
        with pytest.raises(ValueError, match=r"X_new has the columns \['b', 'a', 'c'\]; X had"):
            found.predict(wrong)


def test_trees_of_some_leaves() -> None:
    tree = bhclust.Tree.from_children(5, np.array([(0, 3), (1, 5), (2, 4), (6, 7)]))
    small = pruned(tree, np.array([0, 1, 4]))
    assert small.children.tolist() == [[1, 0], [3, 2]]
    assert pruned(tree, np.array([2])).n_merges == 0
    assert pruned(tree, np.arange(5)) == bhclust.Tree.from_children(5, tree.children)


def test_predictions_are_those_of_the_groups() -> None:
    X, _ = blobs(200)
    table = da.from_array(X, chunks=(50, -1))
    found = distributed.bhc(table, FAMILY, groups=30)
    fresh = X[:40] + 0.1
    labels = found.labels.compute()
    wanted = np.concatenate([found.predict(fresh[:7]), found.predict(fresh[7:])])
    lazy = found.predict(da.from_array(fresh, chunks=(9, -1)))
    assert isinstance(lazy, da.Array)
    assert lazy.compute().tolist() == wanted.tolist()
    assert (wanted == labels[:40]).mean() > 0.9
    logs = found.predict_log_proba(da.from_array(fresh, chunks=(9, -1))).compute()
    assert logs.shape == (40, labels.max() + 2)
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)


def refusals() -> dict[str, tuple[Callable[[Any], Any], type[Exception], str]]:
    def call(**options: Any) -> Callable[[Any], Any]:
        return lambda X: distributed.bhc(X, options.pop("family", FAMILY), **options)

    return {
        "array": (lambda X: call()(X.compute()), TypeError, "X is of type ndarray; .*from_array"),
        "one dimension": (lambda X: call()(X[:, 0]), ValueError, "X has 1 dimension"),
        "columns apart": (
            lambda X: call()(X.rechunk((10, 1))),
            ValueError,
            r"X has 3 chunks side by side; .*X\.rechunk",
        ),
        "no rows": (lambda X: call()(X[:0]), ValueError, "X has no rows"),
        "nothing to draw": (
            lambda X: call(family="gaussian")(X[:0]),
            ValueError,
            "X has no rows",
        ),
        "complex": (lambda X: call()(X + 1j), ValueError, r"shard \d: X has dtype complex128"),
        "text": (
            lambda _: call()(dd.from_pandas(pd.DataFrame({"t": ["x", "y"]}), npartitions=1)),
            TypeError,
            "shard 0: X: .*column 't'",
        ),
        "series": (
            lambda _: call()(dd.from_pandas(pd.Series([1.0]), npartitions=1)),
            TypeError,
            "X is of type Series",
        ),
        "method": (call(method="ward"), ValueError, "method is 'ward'"),
        "lam": (call(lam=0.0), ValueError, "lam is 0.0; it must be above 0"),
        "lam in vain": (call(lam=1.0, method="bayes-kmeans"), ValueError, "lam is 1.0, which only"),
        "lam word": (call(lam="best"), ValueError, "lam is 'best'"),
        "alpha": (call(alpha=-1.0), ValueError, "alpha is -1.0"),
        "groups": (call(groups=0), ValueError, "groups is 0; it must be at least 1"),
        "fan_in": (call(fan_in=1), ValueError, "fan_in is 1; it must be at least 2"),
        "family": (call(family="gausian"), ValueError, "family is 'gausian'"),
        "no draw": (
            call(family="gaussian", draw_rows=0),
            ValueError,
            "draw_rows is 0, and family='gaussian' needs",
        ),
        "no draw for lam": (call(lam="auto", draw_rows=0), ValueError, 'and lam="auto" needs'),
        "memory": (
            call(max_memory=1000, groups=5),
            ValueError,
            r"shard \d: rbhc of 10 rows and 3 columns takes .*max_memory is 1",
        ),
    }


@pytest.mark.parametrize("what", refusals())
def test_what_does_not_fit_is_refused_in_one_line(what: str) -> None:
    function, kind, message = refusals()[what]
    with pytest.raises(kind, match=message) as refused:
        function(da.from_array(blobs(30)[0], chunks=(10, -1)))
    assert "\n" not in str(refused.value)


def test_no_loss_without_rows_drawn() -> None:
    found = distributed.bhc(da.from_array(blobs(30)[0], chunks=(10, -1)), FAMILY, draw_rows=0)
    with pytest.raises(ValueError, match="draw_rows is 0: no rows"):
        found.loss()
    with pytest.raises(ValueError, match=r"values has shape \(3,\); it must have one entry"):
        found.to_rows(np.arange(3))


def test_dask_is_asked_for_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dask.array", None)
    with pytest.raises(ImportError, match=r'pip install "bhclust\[dask\]"'):
        distributed.bhc(None, FAMILY)


def table_of(flags: dict[int, str]) -> Any:
    """Nine chunks; a worker that makes one with a flag dies of it the first time."""

    def generated(seed: int, flag: str | None) -> Any:
        if flag is not None and not Path(flag).exists():
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        rng = np.random.default_rng(seed)
        centres = np.random.default_rng(99).normal(0, 7, (4, 3))
        return rng.normal(centres[rng.integers(4, size=80)], 1.0)

    make = dask.delayed(generated, pure=False)
    parts = [da.from_delayed(make(i, flags.get(i)), (80, 3), dtype=float) for i in range(9)]
    return da.concatenate(parts)


def clustered(table: Any, method: str = "rbhc") -> list[Any]:
    found = distributed.bhc(table, FAMILY, method=method, groups=12, fan_in=3, draw_rows=50)
    return fingerprint(found)


@contextmanager
def local_client(n_workers: int) -> Iterator[Any]:
    """So many workers, for five minutes at most."""
    from distributed import Client, LocalCluster

    def ended(*_: Any) -> None:
        raise TimeoutError("the cluster takes too long")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(300)
    with (
        dask.config.set(scheduler=None),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            memory_limit="1 GB",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as made,
    ):
        yield made
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def client() -> Iterator[Any]:
    with local_client(2) as made:
        yield made


def test_one_worker_and_two_give_the_same_to_the_last_bit() -> None:
    found = []
    for n_workers in (1, 2):
        with local_client(n_workers) as made:
            assert len(made.scheduler_info()["workers"]) == n_workers
            found.append([clustered(table_of({}), method) for method in ("rbhc", "bayes-kmeans")])
    assert found[0] == found[1]


def test_schedulers_give_the_same() -> None:
    table = table_of({})
    found = [clustered(table)]
    with dask.config.set(scheduler="threads", num_workers=3):
        found.append(clustered(table))
    assert found[0] == found[1]


def test_workers_that_die_change_nothing(client: Any, tmp_path: Path) -> None:
    with dask.config.set(scheduler="synchronous"):
        wanted = clustered(table_of({}))
    assert clustered(table_of({})) == wanted
    flag = tmp_path / "killed"
    table = table_of({4: str(flag)})
    found = distributed.bhc(table, FAMILY, groups=12, fan_in=3, draw_rows=50)
    assert flag.exists()
    assert fingerprint(found) == wanted
    # Workers keep the groups of their rows; one that dies takes them along.
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert found.labels.compute().tolist() == wanted[4]
