"""Bounds of the evidence, and the trees beside the tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._core import Tree
from bhclust._posterior_arrays import PosteriorArrays
from bhclust.options import Progress, check_choice, check_count, check_threads

__all__ = ["PosteriorEvidence"]


class PosteriorEvidence(PosteriorArrays):
    """Bounds and relocations."""

    def log_evidence_bound(
        self,
        kind: str = "tree",
        *,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> float:
        """A lower bound of the log evidence of the Dirichlet process mixture, in nats.

        Parameters
        ----------
        kind : {"tree", "relocations-two", "relocations", "joint", "all_pairs"}
            ``"tree"``: the partitions that the tree allows (Heller & Ghahramani 2005, corollary 1).
            ``"relocations-two"`` and ``"relocations"``: these and one relocation at a time, two or
            four a node (Xu et al. 2009, theorem 1). ``"joint"``: relocations in disjoint subtrees
            combine. ``"all_pairs"``: clusters across any two subtrees. Each is at least as tight as
            the one before; O(n) but the last, which is O(n²).
        n_threads : int, optional
            None: all cores, but for the last. The result does not depend on it.
        progress : callable, optional
            Called with (done, total).
        """
        check_choice("kind", kind, ("tree", "relocations-two", "relocations", "joint", "all_pairs"))
        threads = check_threads(n_threads)
        if kind == "tree":
            return self._found.log_evidence_bound
        if kind.startswith("relocations"):
            return self._relocate(kind == "relocations", progress, threads).log_evidence_bound
        return _core.log_evidence_bound(
            self.tree, self._found, self._table, self.family, kind, progress, threads
        )

    def _relocate(self, four: bool, progress: Progress | None, threads: int) -> _core.Relocations:
        return _core.relocate(
            self.tree, self._found, self._table, self.family, four, progress, threads
        )

    def relocation_gains(
        self, *, n_threads: int | None = None, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """How uncertain each split is: log of the weight its relocations add, shape (n_merges,).

        Relative to the weight of all partitions that the tree allows, in nats: above 0 the
        alternatives outweigh the tree. -inf at merges of two rows, which have no alternative. O(n).
        """
        return self._relocate(True, progress, check_threads(n_threads)).log_gain_of_merge

    def alternative_trees(
        self, n_trees: int = 1, *, n_threads: int | None = None
    ) -> list[tuple[float, Tree]]:
        """The relocations with the largest gains, as trees.

        Parameters
        ----------
        n_trees : int
            At most this many; a tree of n rows has at most 4 (n - 2).
        n_threads : int, optional
            None: all cores. The result does not depend on it.

        Returns
        -------
        list of (float, Tree)
            The gain as in `relocation_gains`, and the tree with the relocation done; largest first.
        """
        count = check_count("n_trees", n_trees)
        gains = self._relocate(True, None, check_threads(n_threads)).log_gain
        order = np.argsort(-gains, axis=None, kind="stable")[:count]
        trees = []
        for place in order[np.isfinite(gains.ravel()[order])]:
            merge, move = divmod(int(place), 4)
            node = self.tree.n_leaves + merge
            trees.append((float(gains[merge, move]), _core.relocated_tree(self.tree, node, move)))
        return trees
