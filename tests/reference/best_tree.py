"""The tree with the largest evidence of all binary trees, by subset dynamic programming."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def best_log_tree(n: int, log_marginal: Callable[[list[int]], float], alpha: float) -> float:
    """The largest log p̃_T of any binary tree over n rows; O(3^n), meant for n <= 12.

    log p̃_T(S) rises with that of both children, so the best tree over S joins best trees over a
    split of S.
    """
    best = np.full(1 << n, -math.inf)
    for subset in range(1, 1 << n):
        members = [i for i in range(n) if subset >> i & 1]
        whole = math.log(alpha) + math.lgamma(len(members)) + log_marginal(members)
        split = -math.inf
        part = (subset - 1) & subset
        while part > subset ^ part:
            split = max(split, best[part] + best[subset ^ part])
            part = (part - 1) & subset
        best[subset] = np.logaddexp(whole, split)
    return float(best[-1])
