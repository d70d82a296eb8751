"""The ways to a tree that compare.py times: bhclust's, and its peers'."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from tables import Table


def family_of(X: Any, table: Table) -> Any:
    """The hyperparameters that bhclust takes from a table, for peers to use the same."""
    from bhclust.families import aliases

    return aliases()[table.bhc].from_data(X)


def bhc(X: Any, table: Table, threads: int) -> object:
    import bhclust

    return bhclust.bhc(X, table.bhc, n_threads=threads)


def rbhc(X: Any, table: Table, threads: int) -> object:
    import bhclust

    return bhclust.rbhc(X, table.rbhc, n_threads=threads)


def tree_and_family(X: Any, table: Table, threads: int) -> Any:
    """RBHC's tree of the rows, and the family."""
    return rbhc(X, table, threads), family_of(X, table)


def posterior(given: Any, _table: Table, threads: int) -> object:
    import bhclust

    X, (tree, family) = given
    return bhclust.posterior(tree, X, family, n_threads=threads)


def sort(X: Any, _table: Table, _threads: int) -> object:
    import numpy as np

    return np.sort(X, axis=0)


def textbook(X: Any, table: Table, _threads: int) -> object:
    from peers.textbook import textbook_bhc

    return textbook_bhc(X, family_of(X, table))


def plain(X: Any, table: Table, _threads: int) -> object:
    from peers.plain_bhc import plain_bhc

    return plain_bhc(X, family_of(X, table))


def fastbaps(X: Any, _table: Table, threads: int) -> object:
    from peers.fastbaps_exact import fastbaps_exact

    return fastbaps_exact(X, threads)


def scipy_ward(X: Any, _table: Table, _threads: int) -> object:
    from scipy.cluster.hierarchy import linkage

    return linkage(X, "ward")


def fastcluster_ward(X: Any, _table: Table, _threads: int) -> object:
    import fastcluster

    return fastcluster.linkage(X, "ward")


def fastcluster_vector_ward(X: Any, _table: Table, _threads: int) -> object:
    import fastcluster

    return fastcluster.linkage_vector(X, "ward")


def sklearn_ward(X: Any, _table: Table, _threads: int) -> object:
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(linkage="ward").fit(X)


def genie(X: Any, _table: Table, _threads: int) -> object:
    import genieclust

    return genieclust.Genie(n_clusters=20).fit(X)


@dataclass(frozen=True)
class Method:
    """One way to a tree, or from it.

    `pair_matrices` of 8 bytes a pair is what it needs beyond its input. `prepare`, which is not
    timed, makes of the rows what `call` takes beside them.
    """

    label: str
    module: str
    package: str
    call: Callable[[Any, Table, int], object]
    threaded: bool = False
    pair_matrices: int = 0
    warm_up_rows: int = 64
    prepare: Callable[[Any, Table, int], Any] | None = None

    def input(self, X: Any, table: Table, threads: int, kept: Path | None = None) -> Any:
        """What `call` takes; what was prepared is kept in a file, for other processes."""
        if self.prepare is None:
            return X
        if kept is not None and kept.exists():
            return X, pickle.loads(kept.read_bytes())
        made = self.prepare(X, table, threads)
        if kept is not None:
            part = kept.with_suffix(".part")
            part.write_bytes(pickle.dumps(made))
            part.replace(kept)
        return X, made

    def suits(self, table: Table) -> bool:
        needed = {bhc: [table.bhc], rbhc: [table.rbhc], posterior: [table.bhc, table.rbhc]}
        return all(needed.get(self.call, []))

    def bytes_needed(self, rows: int) -> int:
        return self.pair_matrices * 4 * rows * (rows - 1)

    def installed(self) -> bool:
        if self.module == "textbook":
            return TEXTBOOK.exists()
        return util.find_spec(self.module) is not None


TEXTBOOK = Path(__file__).parents[1] / "build" / "release" / "bench" / "libtextbook_bhc.so"

METHODS = {
    "bhc": Method("bhclust bhc", "bhclust", "bhclust", bhc, threaded=True),
    "rbhc": Method("bhclust rbhc", "bhclust", "bhclust", rbhc, threaded=True),
    "posterior": Method(
        "bhclust posterior of a tree",
        "bhclust",
        "bhclust",
        posterior,
        threaded=True,
        prepare=tree_and_family,
    ),
    "sort": Method("numpy.sort of each column", "numpy", "numpy", sort),
    "scipy": Method("scipy linkage(ward)", "scipy", "scipy", scipy_ward, pair_matrices=2),
    "fastcluster": Method(
        "fastcluster linkage(ward)", "fastcluster", "fastcluster", fastcluster_ward, pair_matrices=2
    ),
    "fastcluster vector": Method(
        "fastcluster linkage_vector(ward)", "fastcluster", "fastcluster", fastcluster_vector_ward
    ),
    "sklearn": Method(
        "sklearn Agglomerative(ward)", "sklearn", "scikit-learn", sklearn_ward, pair_matrices=2
    ),
    "genieclust": Method("genieclust Genie (single linkage)", "genieclust", "genieclust", genie),
    "textbook": Method("textbook BHC in C++", "textbook", "bhclust", textbook, pair_matrices=6),
    "plain Python": Method(
        "plain BHC in NumPy", "scipy", "scipy", plain, pair_matrices=25, warm_up_rows=8
    ),
    "fastbaps": Method("fastbaps, k_init = n", "fastbaps", "fastbaps", fastbaps, pair_matrices=2),
}
REFERENCE = "scipy"
