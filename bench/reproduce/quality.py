"""Clusters found without knobs, beside Ward's method told k: `bhclust.learn` on real tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from tables import archive, arguments, labelled, markdown

import bhclust
from bhclust.metrics import adjusted_rand_index, dendrogram_purity


@dataclass(frozen=True)
class Case:
    name: str
    X: Any
    y: Any
    families: tuple[str, ...]


def cases(folder: Path) -> list[Case]:
    reals = ("gaussian", "gaussian-diag")
    digits, of_digits = labelled(folder, "digits8x8")
    drawn = np.random.default_rng(0).permutation(len(digits))[:1000]
    spam, of_spam = labelled(folder, "spambase")
    some = np.random.default_rng(0).permutation(len(spam))[:1000]
    mnist = archive(folder, "mnist0379")
    pixels = np.random.default_rng(0).permutation(len(mnist["y"]))[:500]
    glass = labelled(folder, "glass")
    return [
        Case("aggregation", *labelled(folder, "aggregation"), reals),
        Case("wine", *labelled(folder, "wine"), reals),
        Case("iris", *labelled(folder, "iris"), reals),
        Case("yeast_galactose", *labelled(folder, "yeast_galactose"), ("gaussian-diag",)),
        Case("glass", *glass, ("gaussian-diag", "hurdle")),
        Case(
            "MNIST 0379, 7 x 7",
            mnist["X7"][pixels].astype(float),
            mnist["y"][pixels],
            ("gaussian-diag", "hurdle"),
        ),
        Case("cedar_024", *labelled(folder, "cedar_024_binary"), ("bernoulli",)),
        Case("digits8x8 >= 8", (digits[drawn] >= 8) * 1.0, of_digits[drawn], ("bernoulli",)),
        Case("spambase != 0", (spam[some] != 0) * 1.0, of_spam[some], ("bernoulli",)),
    ]


def learned(case: Case, family: str) -> list[str]:
    start = perf_counter()
    if family == "hurdle":
        found = bhclust.learn(*bhclust.hurdle(case.X))
    else:
        found = bhclust.learn(case.X, family)
    seconds = perf_counter() - start
    classes = len(set(case.y.tolist()))
    labels = found.posterior.cut()
    told = found.posterior.cut(n_clusters=classes)
    return [
        str(int(labels.max()) + 1),
        f"{adjusted_rand_index(labels, case.y):.2f}",
        f"{adjusted_rand_index(told, case.y):.2f}",
        f"{dendrogram_purity(found.tree, case.y):.2f}",
        f"{found.log_evidence:,.1f}",
        f"{seconds:.1f}",
    ]


def ward(case: Case) -> list[str]:
    spread = case.X.std(axis=0)
    agreements, purities = [], []
    for X in (case.X, (case.X - case.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)):
        Z = linkage(X, "ward")
        labels = fcluster(Z, len(set(case.y.tolist())), "maxclust")
        agreements.append(f"{adjusted_rand_index(labels, case.y):.2f}")
        purities.append(f"{dendrogram_purity(bhclust.Tree.from_linkage(Z), case.y):.2f}")
    return [" / ".join(agreements), " / ".join(purities)]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", nargs="*", help="first words of the tables to take")
    chosen = parser.parse_args()
    head = ["table", "rows x columns, classes", "family", "k", "ARI", "ARI told k", "purity"]
    rows = [[*head, "log evidence", "s", "Ward ARI told k, raw / standardised", "Ward purity"]]
    for case in cases(chosen.data):
        if chosen.only and case.name.split()[0].rstrip(",") not in chosen.only:
            continue
        size = f"{case.X.shape[0]} x {case.X.shape[1]}, {len(set(case.y.tolist()))}"
        peer = ward(case)
        for family in case.families:
            rows.append([case.name, size, family, *learned(case, family), *peer])
            print(" ".join(rows[-1]), flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
