"""Slow twins of the algorithms and of the posterior of a tree, for any family.

A family comes in as a function of a list of row indices: its log marginal likelihood, or its
Bregman potential. Leaves are the nodes 0 ... n-1, merge t makes the node n + t, and a merge is the
pair (smaller id, larger id), that is (older, newer). Trees may have several roots; the roots' trees
are then independent: their log p~_T add up.

Everything is written for clarity at a few dozen rows and iterates over nodes, children first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Protocol

import numpy as np

OnRows = Callable[[list[int]], float]
Children = Sequence[tuple[int, int]]
Merges = tuple[list[tuple[int, int]], list[float]]


def on_table(function: Callable[..., Any], rows: Sequence[Any], **hyper: Any) -> OnRows:
    """A family's log_marginal or potential as a function of row indices, each set computed once."""
    known: dict[tuple[int, ...], float] = {}

    def of_rows(indices: list[int]) -> float:
        key = tuple(sorted(indices))
        if key not in known:
            known[key] = float(function([rows[i] for i in key], **hyper))
        return known[key]

    return of_rows


def members_of(children: Children, n: int) -> list[list[int]]:
    """The sorted leaves below every node."""
    members = [[i] for i in range(n)]
    for left, right in children:
        members.append(sorted(members[left] + members[right]))
    return members


def roots_of(children: Children, n: int) -> list[int]:
    """The nodes that have no parent, in increasing order."""
    joined = {node for pair in children for node in pair}
    return [node for node in range(n + len(children)) if node not in joined]


def parents_of(children: Children, n: int) -> list[int]:
    """The parent of every node, -1 at a root."""
    parents = [-1] * (n + len(children))
    for t, pair in enumerate(children):
        for node in pair:
            parents[node] = n + t
    return parents


def clades(children: Children, n: int) -> set[frozenset[int]]:
    """The leaf sets of the merges: equal for trees that differ in the order of merges only."""
    return {frozenset(m) for m in members_of(children, n)[n:]}


def labels_of(
    nodes: Sequence[int],
    children: Children,
    n: int,
    log_marginal: Sequence[float] | np.ndarray | None = None,
) -> list[int]:
    """Labels of the flat clusters, the largest first.

    Of equal sizes that with the larger log marginal likelihood (one a node) comes first; where
    neighbours in that order are equal but for rounding, the smaller first row decides.
    """
    members = members_of(children, n)
    value = [0.0] * len(members) if log_marginal is None else log_marginal
    content = sorted(nodes, key=lambda k: (-len(members[k]), -value[k]))
    rank, ranks = 0, {content[0]: 0}
    for before, node in itertools.pairwise(content):
        are_equal = math.isclose(value[before], value[node], rel_tol=1e-9, abs_tol=1e-9)
        rank += len(members[before]) != len(members[node]) or not are_equal
        ranks[node] = rank
    labels = [-1] * n
    for label, node in enumerate(sorted(nodes, key=lambda k: (ranks[k], members[k][0]))):
        for i in members[node]:
            labels[i] = label
    return labels


class Scores(Protocol):
    """Costs of the pairs of nodes of a growing tree."""

    def cost(self, a: int, b: int) -> float: ...

    def join(self, a: int, b: int) -> int: ...


class BhcScores:
    """log d of BHC: log p~_T(a) + log p~_T(b) - log p~_H(a and b)."""

    def __init__(self, n: int, log_marginal: OnRows, alpha: float) -> None:
        self.log_marginal, self.log_alpha = log_marginal, math.log(alpha)
        self.members = [[i] for i in range(n)]
        self.log_t = [self.log_h(m) for m in self.members]

    def log_h(self, members: list[int]) -> float:
        return self.log_alpha + math.lgamma(len(members)) + self.log_marginal(members)

    def cost(self, a: int, b: int) -> float:
        together = self.log_h(self.members[a] + self.members[b])
        return self.log_t[a] + self.log_t[b] - together

    def join(self, a: int, b: int) -> int:
        members = sorted(self.members[a] + self.members[b])
        apart = self.log_t[a] + self.log_t[b]
        self.members.append(members)
        self.log_t.append(float(np.logaddexp(self.log_h(members), apart)))
        return len(self.members) - 1


class RbhcScores:
    """d* of RBHC: f(a) + f(b) - f(a and b), f the Bregman potential."""

    def __init__(self, n: int, potential: OnRows) -> None:
        self.potential = potential
        self.members = [[i] for i in range(n)]

    def cost(self, a: int, b: int) -> float:
        members = self.members
        together = self.potential(members[a] + members[b])
        return self.potential(members[a]) + self.potential(members[b]) - together

    def join(self, a: int, b: int) -> int:
        self.members.append(sorted(self.members[a] + self.members[b]))
        return len(self.members) - 1


class Pairs:
    """The costs of all pairs of live nodes."""

    def __init__(self, n: int, scores: Scores) -> None:
        self.scores = scores
        self.live = list(range(n))
        self.costs = {pair: scores.cost(*pair) for pair in combinations(self.live, 2)}

    def best(self) -> tuple[int, int]:
        """The pair of least cost; of equal ones that with the older newer node, then older one."""
        return min(self.costs, key=lambda pair: (self.costs[pair], pair[1], pair[0]))

    def join(self, pair: tuple[int, int]) -> None:
        self.live = [node for node in self.live if node not in pair]
        self.costs = {p: c for p, c in self.costs.items() if not set(p) & set(pair)}
        new = self.scores.join(*pair)
        self.costs |= {(node, new): self.scores.cost(node, new) for node in self.live}
        self.live.append(new)


def greedy(n: int, scores: Scores, limit: float = math.inf) -> Merges:
    """Merges the pair of least cost until one node is left or no cost is below the limit."""
    pairs = Pairs(n, scores)
    children: list[tuple[int, int]] = []
    costs: list[float] = []
    while pairs.costs:
        best = pairs.best()
        cost = pairs.costs[best]
        if cost >= limit:
            break
        children.append(best)
        costs.append(cost)
        pairs.join(best)
    return children, costs


def greedy_excess(
    children: Children, n: int, scores: Scores, limit: float = math.inf, tol: float = math.inf
) -> float:
    """How far a given list of merges is from greedy: the largest excess over the least cost.

    A merge at or above the limit, or a pair left apart below it, counts with its distance from it.
    Raises AssertionError, naming the step, where an excess is above ``tol``.
    """
    pairs = Pairs(n, scores)
    worst = 0.0
    for t, (left, right) in enumerate(children):
        chosen = (min(left, right), max(left, right))
        if chosen not in pairs.costs:
            raise AssertionError(f"merge {t} joins {chosen}, which are not two live nodes")
        cost = pairs.costs[chosen]
        best = pairs.best()
        excess = max(cost - pairs.costs[best], cost - limit)
        if excess > tol:
            raise AssertionError(f"merge {t} joins {chosen} at {cost}, {excess} above {best}")
        worst = max(worst, excess)
        pairs.join(chosen)
    left_apart = max((limit - cost for cost in pairs.costs.values()), default=0.0)
    if left_apart > tol:
        raise AssertionError(f"the pair {pairs.best()} was left apart, {left_apart} below {limit}")
    return max(worst, left_apart)


def greedy_bhc(n: int, log_marginal: OnRows, alpha: float) -> Merges:
    """Greedy BHC: the merges and the log d of each."""
    return greedy(n, BhcScores(n, log_marginal, alpha))


def replay_greedy(
    children: Children, n: int, log_marginal: OnRows, alpha: float, tol: float = math.inf
) -> float:
    """Largest excess of the log d of a given merge over the least one among the live pairs."""
    return greedy_excess(children, n, BhcScores(n, log_marginal, alpha), tol=tol)


def greedy_rbhc(n: int, potential: OnRows, lam: float = math.inf) -> Merges:
    """Greedy RBHC, a lambda-forest: the merges and the d* of each."""
    return greedy(n, RbhcScores(n, potential), lam)


def replay_rbhc(
    children: Children, n: int, potential: OnRows, lam: float = math.inf, tol: float = math.inf
) -> float:
    """As replay_greedy, for RBHC."""
    return greedy_excess(children, n, RbhcScores(n, potential), lam, tol)


def nn_chain_rbhc(n: int, potential: OnRows, lam: float = math.inf) -> Merges:
    """RBHC by the nearest-neighbour chain; merges in the order in which the chain finds them.

    A chain starts at the live node with the smallest id. Of equally near nodes the chain's last
    but one is taken, then the smallest id. A reciprocal pair at or above lam is two finished
    trees. Two steps matter only where d* is not reducible, so that a merge may bring a node near
    to earlier parts of the chain: a nearest node further down in the chain cuts it back to there,
    and a tip that its predecessor no longer prefers is dropped. All merges are thus reciprocal.
    """
    scores = RbhcScores(n, potential)
    live, chain = list(range(n)), [0]
    children: list[tuple[int, int]] = []
    costs: list[float] = []
    while len(live) > 1:
        chain = chain or [live[0]]
        tip, before = chain[-1], chain[-2] if len(chain) > 1 else -1
        distance = {k: scores.cost(tip, k) for k in live if k != tip}
        nearest = min(distance, key=lambda k: (distance[k], k != before, k))
        if nearest != before:
            place = chain.index(nearest) if nearest in chain else len(chain)
            chain = [*chain[:place], nearest]
            continue
        if any(scores.cost(before, k) < distance[before] for k in live if k != before):
            chain = chain[:-1]
            continue
        chain = chain[:-2]
        live = [k for k in live if k not in (tip, before)]
        if distance[before] < lam:
            children.append((min(tip, before), max(tip, before)))
            costs.append(distance[before])
            live.append(scores.join(tip, before))
    return children, costs


def reciprocal_excess(
    children: Children, n: int, potential: OnRows, tol: float = math.inf
) -> float:
    """How far the merges are from joining reciprocal nearest neighbours, in the order given."""
    pairs = Pairs(n, RbhcScores(n, potential))
    worst = 0.0
    for t, (left, right) in enumerate(children):
        chosen = (min(left, right), max(left, right))
        if chosen not in pairs.costs:
            raise AssertionError(f"merge {t} joins {chosen}, which are not two live nodes")
        nearest = min(cost for pair, cost in pairs.costs.items() if set(pair) & set(chosen))
        excess = pairs.costs[chosen] - nearest
        if excess > tol:
            raise AssertionError(f"merge {t} joins {chosen}, {excess} above the nearest")
        worst = max(worst, excess)
        pairs.join(chosen)
    return worst


def cut_at_cost(children: Children, cost: Sequence[float], n: int, lam: float) -> list[int]:
    """The roots left when every merge is undone whose cost, or one below it, reaches lam."""
    highest = [-math.inf] * n
    for (left, right), c in zip(children, cost, strict=True):
        highest.append(max(c, highest[left], highest[right]))
    parents = parents_of(children, n)
    return [
        k
        for k in range(len(highest))
        if highest[k] < lam and (parents[k] < 0 or highest[parents[k]] >= lam)
    ]


@dataclass(frozen=True)
class Posterior:
    """What a tree says; one entry a node.

    ``log_odds`` is log r / (1 - r) = -log d, infinite at a leaf; ``omega`` the probability that
    exactly the leaves of a node form a cluster; ``height`` 1 - P(its leaves lie in one cluster).
    """

    n: int
    alpha: float
    children: list[tuple[int, int]]
    roots: list[int]
    members: list[list[int]] = field(repr=False)
    log_h: np.ndarray
    log_t: np.ndarray
    log_odds: np.ndarray
    r: np.ndarray
    omega: np.ndarray
    height: np.ndarray
    log_evidence_bound: float


def posterior(children: Children, n: int, log_marginal: OnRows, alpha: float) -> Posterior:
    """The BHC recursion on any binary tree or forest."""
    scores = BhcScores(n, log_marginal, alpha)
    odds = [math.inf] * n
    for left, right in children:
        odds.append(-scores.cost(left, right))
        scores.join(left, right)
    log_odds, log_t = np.array(odds), np.array(scores.log_t)
    log_r, log_not_r = -np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds)
    parents, roots = parents_of(children, n), roots_of(children, n)
    log_above = np.zeros(len(odds))
    for k in reversed(range(len(odds))):
        if parents[k] >= 0:
            log_above[k] = log_above[parents[k]] + log_not_r[parents[k]]
    return Posterior(
        n=n,
        alpha=alpha,
        children=[(int(a), int(b)) for a, b in children],
        roots=roots,
        members=scores.members,
        log_h=np.array([scores.log_h(m) for m in scores.members]),
        log_t=log_t,
        log_odds=log_odds,
        r=np.exp(log_r),
        omega=np.exp(log_r + log_above),
        height=np.exp(log_not_r + log_above),
        log_evidence_bound=float(log_t[roots].sum()) + math.lgamma(alpha) - math.lgamma(alpha + n),
    )


def descend(post: Posterior, stop: Callable[[int], bool]) -> list[int]:
    """From the roots down to the first nodes at which to stop, in increasing order."""
    found, open_nodes = [], list(post.roots)
    while open_nodes:
        k = open_nodes.pop()
        if k < post.n or stop(k):
            found.append(k)
        else:
            open_nodes += post.children[k - post.n]
    return sorted(found)


def cut_map(post: Posterior) -> list[int]:
    """The nodes of the most probable tree-consistent partition; ties keep a node whole."""
    best = list(post.log_h)
    whole = [True] * len(best)
    for t, (left, right) in enumerate(post.children):
        k, apart = post.n + t, best[left] + best[right]
        whole[k] = bool(post.log_h[k] >= apart)
        best[k] = max(post.log_h[k], apart)
    return descend(post, lambda k: whole[k])


def cut_r(post: Posterior, threshold: float = 0.5) -> list[int]:
    """Top down, the first nodes with r >= threshold."""
    return descend(post, lambda k: bool(post.r[k] >= threshold))


def cut_n_clusters(post: Posterior, n_clusters: int) -> list[int]:
    """From the roots down splits the node with the largest log d; of equal ones the newest."""
    nodes = list(post.roots)
    if not len(nodes) <= n_clusters <= post.n:
        raise ValueError(f"between {len(nodes)} and {post.n} clusters can be had")
    while len(nodes) < n_clusters:
        split = max((k for k in nodes if k >= post.n), key=lambda k: (-post.log_odds[k], k))
        nodes.remove(split)
        nodes += post.children[split - post.n]
    return sorted(nodes)


def coclustering(post: Posterior) -> np.ndarray:
    """P(i and j in one cluster): one minus the height of their lowest common ancestor."""
    together = np.eye(post.n)
    for k, (left, right) in enumerate(post.children, start=post.n):
        for i in post.members[left]:
            for j in post.members[right]:
                together[i, j] = together[j, i] = 1 - post.height[k]
    return together


def log_predictive_of(members: list[int], log_marginal: OnRows, new: int) -> float:
    """log p(row new | rows members)."""
    return log_marginal([*members, new]) - (log_marginal(members) if members else 0.0)


def log_predictive(post: Posterior, log_marginal: OnRows, new: int) -> float:
    """Log density of the row with index ``new``, not of the tree, given the tree's rows."""
    terms = [math.log(post.alpha) + log_predictive_of([], log_marginal, new)]
    for omega, members in zip(post.omega, post.members, strict=True):
        if omega > 0:
            weight = math.log(omega) + math.log(len(members))
            terms.append(weight + log_predictive_of(members, log_marginal, new))
    return float(np.logaddexp.reduce(terms)) - math.log(post.n + post.alpha)


def responsibilities(
    post: Posterior, nodes: Sequence[int], log_marginal: OnRows, new: int
) -> np.ndarray:
    """Probabilities that the row ``new`` belongs to each flat cluster, at last to a new one."""
    terms = [
        math.log(len(post.members[k])) + log_predictive_of(post.members[k], log_marginal, new)
        for k in nodes
    ]
    terms.append(math.log(post.alpha) + log_predictive_of([], log_marginal, new))
    return np.array(np.exp(np.array(terms) - np.logaddexp.reduce(terms)))


def partitions_below(children: Children, n: int) -> list[list[list[int]]]:
    """For every node all partitions of its leaves into nodes of the tree."""
    below = [[[i]] for i in range(n)]
    for t, (left, right) in enumerate(children):
        below.append([[n + t], *([*a, *b] for a in below[left] for b in below[right])])
    return below


def tree_partitions(children: Children, n: int) -> list[list[int]]:
    """All partitions into nodes of the tree, each a list of node ids."""
    below = partitions_below(children, n)
    partitions: list[list[int]] = [[]]
    for root in roots_of(children, n):
        partitions = [[*a, *b] for a in partitions for b in below[root]]
    return partitions


def set_partitions(n: int) -> list[list[list[int]]]:
    """All partitions of 0 ... n-1 into blocks, n <= 9."""
    partitions: list[list[list[int]]] = [[]]
    for i in range(n):
        joined = [
            [[*block, i] if block is chosen else block for block in p]
            for p in partitions
            for chosen in p
        ]
        partitions = joined + [[*p, [i]] for p in partitions]
    return partitions


class Enumeration:
    """The Dirichlet process mixture restricted to the partitions given, by brute force."""

    def __init__(
        self, partitions: Sequence[Sequence[Sequence[int]]], log_marginal: OnRows, alpha: float
    ) -> None:
        self.partitions = [[sorted(block) for block in p] for p in partitions]
        self.log_marginal, self.alpha = log_marginal, alpha
        self.n = sum(len(block) for block in self.partitions[0])
        self.log_weights = [self.log_weight(p) for p in self.partitions]
        self.log_total = float(np.logaddexp.reduce(self.log_weights))
        self.probabilities = np.exp(np.array(self.log_weights) - self.log_total)

    @classmethod
    def of_tree(cls, children: Children, n: int, log_marginal: OnRows, alpha: float) -> Enumeration:
        members = members_of(children, n)
        blocks = [[members[k] for k in p] for p in tree_partitions(children, n)]
        return cls(blocks, log_marginal, alpha)

    @classmethod
    def of_all(cls, n: int, log_marginal: OnRows, alpha: float) -> Enumeration:
        return cls(set_partitions(n), log_marginal, alpha)

    def log_weight(self, partition: Sequence[list[int]]) -> float:
        """Log of the product of alpha Gamma(|c|) p(X_c) over the clusters."""
        return sum(
            math.log(self.alpha) + math.lgamma(len(c)) + self.log_marginal(c) for c in partition
        )

    def log_evidence(self) -> float:
        """Log of the sum over the partitions of P(partition) p(X | partition)."""
        return self.log_total + math.lgamma(self.alpha) - math.lgamma(self.alpha + self.n)

    def block_probability(self, block: Sequence[int]) -> float:
        """Probability that exactly these rows form a cluster."""
        wanted = sorted(block)
        return sum(
            float(q)
            for q, p in zip(self.probabilities, self.partitions, strict=True)
            if wanted in p
        )

    def pair_probabilities(self) -> np.ndarray:
        together = np.zeros((self.n, self.n))
        for q, p in zip(self.probabilities, self.partitions, strict=True):
            for block in p:
                together[np.ix_(block, block)] += q
        return together

    def expected_clusters(self) -> float:
        return sum(
            float(q) * len(p) for q, p in zip(self.probabilities, self.partitions, strict=True)
        )

    def most_probable(self) -> list[list[int]]:
        return sorted(self.partitions[int(np.argmax(self.log_weights))])

    def log_predictive(self, new: int) -> float:
        """Log density of the row ``new``: the urn's next draw, averaged over the partitions."""
        terms = []
        for q, p in zip(self.probabilities, self.partitions, strict=True):
            urn: list[tuple[float, list[int]]] = [(len(block), block) for block in p] + [
                (self.alpha, [])
            ]
            for size, block in urn:
                density = math.exp(log_predictive_of(list(block), self.log_marginal, new))
                terms.append(float(q) * size / (self.n + self.alpha) * density)
        return math.log(math.fsum(terms))
