"""Rows that no one holds at once: a mixture of Gaussians by `bhclust.distributed` on local workers.

    python bench/reproduce/sharded.py --rows 10_000_000

Chunks are made by seeds where they are needed. Prints the wall time, the workers' peak memory, what
travelled, and how well the mixture was found.
"""

from __future__ import annotations

import argparse
import resource
from time import perf_counter
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import bhclust

CLUSTERS = 50


def count(text: str) -> int:
    return int(text.replace("_", ""))


def mixture(n: int, d: int, chunk: int, spread: float, dtype: str) -> tuple[Any, Any]:
    """Rows and their true clusters, in chunks."""
    places = np.random.default_rng(1).normal(0.0, spread, (CLUSTERS, d)).astype(dtype)

    def truth(i: int, size: int) -> Any:
        return np.random.default_rng([2, i]).integers(CLUSTERS, size=size)

    def rows(i: int, size: int) -> Any:
        noise = np.random.default_rng([3, i]).standard_normal((size, d), dtype=np.float32)
        return places[truth(i, size)] + noise.astype(dtype)

    sizes = [min(chunk, n - start) for start in range(0, n, chunk)]
    make, tell = dask.delayed(rows, pure=False), dask.delayed(truth, pure=False)
    X = [da.from_delayed(make(i, m), (m, d), dtype=dtype) for i, m in enumerate(sizes)]
    y = [da.from_delayed(tell(i, m), (m,), dtype=np.int64) for i, m in enumerate(sizes)]
    return da.concatenate(X), da.concatenate(y)


def peak() -> int:
    """Of this process, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def cpu() -> float:
    """Of this process, seconds."""
    return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])


def run(chosen: argparse.Namespace, client: Any) -> None:
    X, y = mixture(chosen.rows, chosen.columns, chosen.chunk, chosen.spread, chosen.dtype)
    family = bhclust.NormalKnownVariance(variance=1.0, prior_variance=chosen.spread**2)
    start = perf_counter()
    found = bhclust.distributed.bhc(
        X, family, method=chosen.method, groups=chosen.groups, fan_in=chosen.fan_in
    )
    grown = perf_counter() - start
    labels = found.labels.compute()
    labelled = perf_counter() - start
    score = bhclust.metrics.adjusted_rand_index(labels, y.compute())
    shards, nodes = found.shards, [task for task in found.tasks if task.level > 0]
    sent = sum(task.bytes_sent for task in shards), sum(task.bytes_sent for task in nodes)
    print(f"{found!r}")
    print(f"wall: {grown:.1f} s to the tree, {labelled:.1f} s to all labels")
    workers = [round(value) for value in client.run(cpu).values()]
    print(f"CPU: {workers} s of the workers, {cpu():.0f} s of this process")
    print(f"peak memory of the workers: {list(client.run(peak).values())} MB, of this: {peak()} MB")
    print(f"sent: {sent[0] / 1e6:.1f} MB by shards, {sent[1] / 1e6:.1f} MB by the reduction")
    print(
        f"the rows: {chosen.rows * chosen.columns * np.dtype(chosen.dtype).itemsize / 1e6:.0f} MB"
    )
    print(f"clusters: {labels.max() + 1} of {CLUSTERS}, adjusted Rand index {score:.4f}")
    print(f"log evidence bound: {found.posterior.log_evidence_bound():,.0f}")
    print(f"loss {found.loss()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=count, default=1_000_000)
    parser.add_argument("--columns", type=count, default=10)
    parser.add_argument("--chunk", type=count, default=100_000)
    parser.add_argument("--spread", type=float, default=2.0)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--method", choices=["rbhc", "bayes-kmeans"], default="rbhc")
    parser.add_argument("--groups", type=count, default=1000)
    parser.add_argument("--fan-in", type=count, default=8)
    parser.add_argument("--workers", type=count, default=2)
    parser.add_argument("--memory", default="2 GB", help="of each worker")
    chosen = parser.parse_args()
    with (
        LocalCluster(
            n_workers=chosen.workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            memory_limit=chosen.memory,
        ) as cluster,
        Client(cluster) as client,
    ):
        run(chosen, client)


if __name__ == "__main__":
    main()
