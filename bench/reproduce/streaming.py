"""Rows that come later: the second half of a table inserted, against growing the tree anew."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from figure8 import abalone, made
from tables import arguments, counts, labelled, markdown

import bhclust
from bhclust.metrics import adjusted_rand_index, dendrogram_purity

Result = TypeVar("Result")

MOST_EVERYWHERE = 2000


@dataclass(frozen=True)
class Case:
    name: str
    X: Any
    y: Any
    family: str


def cases(folder: Path) -> list[Case]:
    wine = labelled(folder, "wine")
    digits, of_digits = labelled(folder, "digits8x8")
    news, archive = counts(folder, "newsgroups4_counts")
    words = np.argsort(-archive["info_gain"])[:200]
    groups, of_groups, _ = made("gaussian", 10_000)
    spam, of_spam = labelled(folder, "spambase")
    return [
        Case("wine", *wine, "gaussian"),
        Case("wine", *wine, "gaussian-diag"),
        Case("digits8x8 >= 8", (digits >= 8) * 1.0, of_digits, "bernoulli"),
        Case("digits8x8", digits, of_digits, "gaussian-diag"),
        Case("spambase != 0", (spam != 0) * 1.0, of_spam, "bernoulli"),
        Case("abalone", abalone(folder), None, "gaussian"),
        Case("abalone", abalone(folder), None, "gaussian-diag"),
        Case("newsgroups4, 200 words", news[:, words], archive["y"], "multinomial"),
        Case("30 groups", groups, of_groups, "gaussian-diag"),
    ]


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What the work gives, and its user CPU seconds."""
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    given = work()
    return given, resource.getrusage(resource.RUSAGE_SELF).ru_utime - start


def compared(case: Case) -> list[list[str]]:
    order = np.random.default_rng(0).permutation(case.X.shape[0])
    X, y = case.X[order], None if case.y is None else case.y[order]
    half = X.shape[0] // 2
    family = bhclust.families.resolve_family(case.family, X[:half])
    early = bhclust.bhc(X[:half], family, n_threads=1)
    refit, refit_s = timed(lambda: bhclust.bhc(X, family, n_threads=1))
    whole = bhclust.posterior(refit, X, family).log_evidence
    size = f"{X.shape[0]} x {X.shape[1]}"
    rows = [
        [case.name, size, case.family, "refit", *told(refit, X, y, family), "", f"{refit_s:.3f}"]
    ]
    for how, begin, options in ways(X.shape[0]):
        tree = early if begin == half else bhclust.bhc(X[:begin], family, n_threads=1)
        put_in = partial(bhclust.insert, tree, X[:begin], X[begin:], family, n_threads=1)
        grown, s = timed(partial(put_in, **options))
        lost = bhclust.posterior(grown, X, family).log_evidence - whole
        found = [*told(grown, X, y, family), f"{lost:+,.1f}", f"{s:.3f}"]
        rows.append([case.name, size, case.family, how, *found])
    return rows


def ways(n: int) -> list[tuple[str, int, dict[str, bool]]]:
    """Name, rows of the early tree, and options; looking everywhere takes the rows squared."""
    half = n // 2
    found: list[tuple[str, int, dict[str, bool]]] = [
        ("half inserted", half, {}),
        ("half, no interchanges", half, {"rotate": False}),
        ("half, everywhere", half, {"everywhere": True}),
        ("last 50 inserted", n - 50, {}),
    ]
    return [way for way in found if n <= MOST_EVERYWHERE or "everywhere" not in way[0]]


def told(tree: Any, X: Any, y: Any, family: Any) -> list[str]:
    post = bhclust.posterior(tree, X, family)
    labels = post.cut()
    agreement = purity = ""
    if y is not None:
        agreement = f"{adjusted_rand_index(labels, y):.2f}"
        purity = f"{dendrogram_purity(tree, y):.2f}"
    return [f"{post.log_evidence:,.1f}", str(int(labels.max()) + 1), agreement, purity]


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--only", nargs="*", help="first words of the tables to take")
    chosen = parser.parse_args()
    head = ["table", "rows x columns", "family", "tree", "log evidence", "k", "ARI", "purity"]
    rows = [[*head, "above refit", "user s"]]
    for case in cases(chosen.data):
        if chosen.only and case.name.split()[0].rstrip(",") not in chosen.only:
            continue
        found = compared(case)
        rows += found
        print(markdown([rows[0], *found]), flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
