"""Heller & Ghahramani (2005), table 1: dendrogram purity of linkages and of BHC, ten draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from tables import arguments, counts, draw_by_class, labelled, markdown

import bhclust
from bhclust.metrics import dendrogram_purity

DRAWS = 10
LINKAGES = ("single", "complete", "average")
Draw = Callable[[int], tuple[Any, Any]]


def tables(folder: Path) -> Iterator[tuple[str, str, Draw]]:
    """Name, family, and the rows and classes of a draw."""
    spam, of_spam = labelled(folder, "spambase")
    yield "spambase, 2 x 100, bits", "bernoulli", by_class((spam != 0) * 1.0, of_spam, 100)
    cedar, of_cedar = labelled(folder, "cedar_024_binary")
    yield "cedar_024, 3 x 20, bits", "bernoulli", by_class(cedar, of_cedar, 20)
    digits, of_digits = labelled(folder, "digits8x8")
    yield "digits8x8, 10 x 20, bits", "bernoulli", by_class((digits >= 8) * 1.0, of_digits, 20)
    yield "newsgroups, 4 x 30, 500 words", "multinomial", newsgroups(folder)
    glass, of_glass = labelled(folder, "glass")
    yield "glass, 80 %", "gaussian", share(glass, of_glass, 0.8)
    yield "glass, 80 %", "gaussian-diag", share(glass, of_glass, 0.8)


def by_class(X: Any, y: Any, each: int) -> Draw:
    def draw(seed: int) -> tuple[Any, Any]:
        rows = draw_by_class(y, each, seed)
        return X[rows], y[rows]

    return draw


def share(X: Any, y: Any, part: float) -> Draw:
    def draw(seed: int) -> tuple[Any, Any]:
        rows = np.sort(np.random.default_rng(seed).permutation(len(y))[: int(part * len(y))])
        return X[rows], y[rows]

    return draw


def newsgroups(folder: Path) -> Draw:
    """The 500 words that tell most of the groups (information gain), as in the paper."""
    X, f = counts(folder, "newsgroups4_counts")
    words = np.sort(np.argsort(-f["info_gain"], kind="stable")[:500])
    X, y = X[:, words].toarray(), f["y"]

    def draw(seed: int) -> tuple[Any, Any]:
        rows = draw_by_class(y, 30, seed)
        return X[rows], y[rows]

    return draw


def purities(X: Any, y: Any, family: str) -> list[float]:
    """Of the three linkages, of BHC with its defaults, of greedy BHC without learning."""
    trees = [bhclust.Tree.from_linkage(linkage(X, method)) for method in LINKAGES]
    trees.append(bhclust.BHC(family).fit(X).tree_)
    trees.append(bhclust.bhc(X, family))
    return [dendrogram_purity(tree, y) for tree in trees]


def main() -> None:
    folder = arguments(__doc__ or "").parse_args().data
    rows = [["table", "family", *LINKAGES, "BHC, defaults", "greedy BHC, prior of from_data"]]
    for name, family, draw in tables(folder):
        found = np.array([purities(*draw(seed), family) for seed in range(DRAWS)])
        error = found.std(axis=0, ddof=1) / np.sqrt(DRAWS)
        shown = [f"{m:.3f} ± {e:.3f}" for m, e in zip(found.mean(axis=0), error, strict=True)]
        rows.append([name, family, *shown])
        print(" ".join(rows[-1]), flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
