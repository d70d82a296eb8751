"""The partitions that a tree allows: which are probable, and one to go by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust import _core
from bhclust._memory import check_memory
from bhclust._posterior_arrays import PosteriorArrays
from bhclust.options import check_count, check_cut_options, check_seed, shown

__all__ = ["PosteriorPartitions"]


class PosteriorPartitions(PosteriorArrays):
    """Pairs, counts, cuts and samples."""

    def coclustering(
        self, i: Any = None, j: Any = None, *, max_memory: float | str | None = None
    ) -> Any:
        """Probability that rows are in one cluster.

        Parameters
        ----------
        i, j : int or array of int, optional
            Two numbers give one probability; two arrays of one length give one for each pair; an
            array ``i`` alone gives the block of all its pairs; none gives the full matrix, which is
            n_rows² numbers.
        max_memory : int or str, optional
            Bytes, or text such as ``"2 GB"``, that the full matrix may take.

        Returns
        -------
        float or array
        """
        if i is None:
            if j is not None:
                raise ValueError("j is given without i; coclustering(i, j) takes pairs of rows")
            self._check_memory(max_memory, "coclustering")
            rows = np.arange(self.tree.n_leaves)
            return _core.coclustering(self.tree, self._found, rows, rows)
        first = self._rows("i", i)
        if j is None:
            block = _core.coclustering(self.tree, self._found, first.ravel(), first.ravel())
            return float(block[0, 0]) if first.ndim == 0 else block
        second = self._rows("j", j)
        if first.ndim and second.ndim and first.shape != second.shape:
            raise ValueError(
                f"i has shape {first.shape} and j has {second.shape}; they must be pairs: give "
                "them one length, or i alone for the block of all its pairs"
            )
        first, second = np.broadcast_arrays(first, second)
        flat = _core.coclustering_pairs(
            self.tree, self._found, first.ravel(), second.ravel()
        ).reshape(first.shape)
        return float(flat) if flat.ndim == 0 else flat

    def _check_memory(self, max_memory: Any, work: str, **more: int) -> None:
        check_memory(max_memory, work, self.family, self._table, **more)

    def _rows(self, name: str, value: Any) -> NDArray[np.int64]:
        try:
            rows = np.asarray(value)
        except ValueError:
            raise ValueError(f"{name} is ragged: its rows have different lengths") from None
        if rows.size and rows.dtype.kind not in "iu":
            raise TypeError(f"{name} must be a row number or an array of them, not {shown(value)}")
        if rows.size and not (rows.min() >= 0 and rows.max() < self.tree.n_leaves):
            raise ValueError(f"{name} must be from 0 to {self.tree.n_leaves - 1}, the tree's rows")
        return rows.astype(np.int64)

    def expected_n_clusters(self) -> float:
        """Expected number of clusters, at least 1."""
        return float(self.omega.sum())

    def n_clusters_distribution(self, max_clusters: int = 100) -> NDArray[np.float64]:
        """Posterior of the number of clusters: entry m - 1 is P(m clusters).

        Exact, up to ``max_clusters``: what is missing to one lies above. O(n · max_clusters).
        """
        return np.exp(
            _core.log_cluster_count(
                self.tree, self._found, check_count("max_clusters", max_clusters)
            )
        )

    def cut_nodes(
        self,
        *,
        rule: str | None = None,
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> NDArray[np.int64]:
        """The nodes that `cut` makes clusters of, ascending."""
        check_cut_options(rule, threshold, n_clusters)
        if n_clusters is not None:
            return self._nodes_at_count(rule, n_clusters)
        if rule is None or rule == "map":
            return _core.map_nodes(self.tree, self._found)
        if rule == "binder":
            return _core.binder_nodes(self.tree, self._found, 1.0)
        return _core.nodes_by_probability(
            self.tree, self._found, 0.5 if threshold is None else threshold
        )

    def _nodes_at_count(self, rule: str | None, count: int) -> NDArray[np.int64]:
        if rule == "map":
            return _core.best_nodes_at_count(self.tree, self._found, count)
        return _core.nodes_at_count(self.tree, self._found, count)

    def cut(
        self,
        *,
        rule: str | None = None,
        threshold: float | None = None,
        n_clusters: int | None = None,
    ) -> NDArray[np.int64]:
        """Flat clusters.

        Parameters
        ----------
        rule : {"map", "r", "binder"}, optional
            ``"map"``, without ``n_clusters`` the default: the most probable partition that the tree
            allows. ``"r"``: from the root down the first nodes with r >= threshold. ``"binder"``:
            the least expected number of pairs wrongly together or apart.
        threshold : float, optional
            A probability, for ``"r"`` without ``n_clusters``, where None is 0.5; given with others,
            an error.
        n_clusters : int, optional
            This many clusters: the node with the largest log d is split first; with ``rule="map"``
            the most probable partition into so many, O(n_rows · n_clusters).

        Returns
        -------
        array of int, shape (n_rows,)
            Labels 0 … k - 1, numbered from the largest cluster to the smallest; of equal sizes the
            one with the larger log marginal likelihood comes first, so labels do not depend on the
            order of the rows; only where that is equal as well the first row decides. The clusters
            of `Statistics` are as large as they have rows.
        """
        return self._labels_of(
            self.cut_nodes(rule=rule, threshold=threshold, n_clusters=n_clusters)
        )

    def _labels_of(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        return _core.labels_by_posterior(self.tree, nodes, self._found)

    def sample_partitions(
        self,
        n_samples: int = 1,
        *,
        random_state: int = 0,
        max_memory: float | str | None = None,
    ) -> NDArray[np.int64]:
        """Independent exact samples from the posterior over the tree's partitions.

        ``max_memory``: bytes, or text such as "2 GB", beyond which it is refused.

        Returns
        -------
        array of int, shape (n_samples, n_rows)
            Labels as of `cut`; the same for a seed on every platform.
        """
        count, seed = check_count("n_samples", n_samples), check_seed("random_state", random_state)
        self._check_memory(max_memory, "sample_partitions", n_samples=count)
        return _core.sample_partitions(self.tree, self._found, count, seed)

    def path_entropy(self) -> NDArray[np.float64]:
        """How unsure each row's cluster is: entropy over the nodes above it, in nats, (n_rows,)."""
        return _core.path_entropy(self.tree, self._found)

    def certainty(self) -> NDArray[np.float64]:
        """For each row the probability of exactly its cluster in `cut()`, shape (n_rows,)."""
        cluster = _core.cluster_of_nodes(self.tree, self.cut_nodes())[: self.tree.n_leaves]
        return np.minimum(self.omega[cluster], 1.0)
