"""A new leaf tried at every place of a tree."""

from __future__ import annotations

import math

from reference.bhc import Children, OnRows, posterior, roots_of

Pairs = list[tuple[int, int]]


def with_leaf(children: Children, n: int, place: int) -> Pairs:
    """The merges over n + 1 leaves when leaf n becomes the sibling of node ``place``."""
    name: dict[int, int] = {}
    pairs: Pairs = []

    def join(left: int, right: int) -> int:
        pairs.append((left, right))
        return n + len(pairs)

    for node in range(n + len(children)):
        made = node if node < n else join(*(name[child] for child in children[node - n]))
        name[node] = join(made, n) if node == place else made
    return pairs


def log_tree(children: Children, n: int, log_marginal: OnRows, alpha: float) -> float:
    """The sum of log p~_T over the roots."""
    found = posterior(children, n, log_marginal, alpha)
    return math.fsum(found.log_t[root] for root in roots_of(children, n))


def places(children: Children, n: int, log_marginal: OnRows, alpha: float) -> list[float]:
    """For every node log p~_T of the tree in which leaf n is its sibling."""
    return [
        log_tree(with_leaf(children, n, place), n + 1, log_marginal, alpha)
        for place in range(n + len(children))
    ]
