"""What the answers of a tree cost beside scoring it, as ratios of one run."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from tables import markdown

import bhclust
from bhclust import _core
from bhclust.table import as_table


def chain(n: int) -> bhclust.Tree:
    first = np.r_[0, np.arange(n, 2 * n - 2)]
    return bhclust.Tree.from_children(n, np.column_stack([first, np.arange(1, n)]))


def seconds(call: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        start = perf_counter()
        call()
        taken.append(perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--leaves", type=int, default=1_000_000)
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=6.0, size=(20, 8))
    rows = [["family", "rows", "score, s", "relocations", "joint", "gradient", "tree"]]
    X = centres[rng.integers(20, size=chosen.rows)] + rng.normal(size=(chosen.rows, 8))
    tables = {
        "gaussian-diag": X,
        "gaussian": X,
        "gaussian-spherical": X,
        "bernoulli": (X > 0) * 1.0,
        "poisson": np.floor(np.abs(X)),
    }
    grown = bhclust.rbhc(X, "gaussian-spherical")
    for alias, cells in tables.items():
        for what, tree in (("Ward", grown), ("chain", chain(chosen.rows))):
            score, ratios = beside_the_score(tree, cells, alias)
            shown = [f"{value:.2f} x" for value in ratios]
            rows.append([alias, f"{chosen.rows:,}", f"{score:.3f}", *shown, what])
    print(markdown(rows))
    many_leaves(rng.normal(size=(chosen.leaves, 8)))


def beside_the_score(tree: bhclust.Tree, cells: Any, alias: str) -> tuple[float, list[float]]:
    """Seconds of scoring a tree; relocations, joint bound and gradient as ratios to it."""
    table = as_table(cells)
    family = bhclust.families.resolve_family(alias, table)
    post = bhclust.posterior(tree, table, family)
    found = post._found
    score = seconds(lambda: bhclust.posterior(tree, table, family), 5)
    calls: list[Callable[[], object]] = [
        lambda: post.log_evidence_bound("relocations"),
        lambda: post.log_evidence_bound("joint"),
        lambda: _core.gradient_of_evidence(tree, found, table, family, None),
    ]
    return score, [seconds(call, 5) / score for call in calls]


def many_leaves(X: Any) -> None:
    n = len(X)
    table = as_table(X)
    family = bhclust.families.resolve_family("gaussian-diag", table)
    for what, build in (("chain", chain), ("balanced tree", balanced)):
        start = perf_counter()
        tree = build(n)
        built = perf_counter() - start
        score = seconds(partial(bhclust.posterior, tree, table, family), 3)
        print(
            f"posterior of a {what} of {n:,} leaves, 8 columns, gaussian-diag: "
            f"{score:.2f} s (Tree.from_children: {built:.2f} s)"
        )
    print(f"numpy.sort of its table: {seconds(lambda: np.sort(X, axis=0), 3):.2f} s")


def balanced(n: int) -> bhclust.Tree:
    """Pairs of neighbours, level by level."""
    level, merges, made = list(range(n)), [], n
    while len(level) > 1:
        above = level[len(level) - len(level) % 2 :]
        for a, b in zip(level[::2], level[1::2], strict=False):
            merges.append((a, b))
            above.append(made)
            made += 1
        level = above
    return bhclust.Tree.from_children(n, np.array(merges))


if __name__ == "__main__":
    main()
