"""What the examples share: where tables come from, where pictures go, and some sentences.

    python docs/examples/wine.py [--data DIR] [--out DIR]

``--data`` names a folder that holds the table's file. Without it a small table of the same shape is
generated, so that the code can be run anywhere; what it then says of "spam" means nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import bhclust
from bhclust.metrics import adjusted_rand_index, dendrogram_purity, purity

COLOURS = np.array(["#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07800", "#3D8FBF", "#8a949e"])
MOST_BARS = 15
_STYLE = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
}


@dataclass
class Stage:
    """One run of an example."""

    name: str
    data: Path | None
    out: Path

    def file(self, name: str, generate: Callable[[Path], object]) -> Path:
        """The table's file: the real one, or one that ``generate`` writes."""
        if self.data is not None:
            return self.data / name
        path = self.out / name
        generate(path)
        return path

    def picture(self, name: str) -> Path:
        """Where a picture goes."""
        return self.out / f"{self.name}-{name}.png"

    def save(self, figure: Figure, name: str) -> None:
        """Write a figure."""
        figure.savefig(self.picture(name), dpi=100, metadata={"Software": None})


def run(tell: Callable[[Stage], None], name: str, data: Path | None, out: Path) -> str:
    """Run an example; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), mpl.rc_context(_STYLE):
        tell(Stage(name, data, out))
    plt.close("all")
    for picture in out.glob(f"{name}-*.png"):
        _shrink(picture)
    return printed.getvalue()


def _shrink(picture: Path) -> None:
    """A palette is enough, at a fraction of the size."""
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


def main(tell: Callable[[Stage], None]) -> None:
    """Run an example as its command line says."""
    name = Path(tell.__code__.co_filename).stem
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(run(tell, name, options.data, options.out or Path(folder)), end="")


def say_how_many(post: bhclust.Posterior, labels: np.ndarray, most: int = 200) -> None:
    """How many clusters, how sure, and which rows are in doubt."""
    chance = post.n_clusters_distribution(most)
    likely = np.flatnonzero(np.cumsum(chance) > 0.05)[0] + 1
    least = np.flatnonzero(np.cumsum(chance) > 0.95)
    reach = f"{likely} to {least[0] + 1}" if least.size else f"{likely} or more"
    sizes = np.sort(np.bincount(labels))[::-1]
    print(f"clusters: {labels.max() + 1}; nine chances in ten that there are {reach}")
    print("sizes:", " ".join(map(str, sizes[:12])), "…" if sizes.size > 12 else "")
    certainty = post.certainty()
    print(f"rows whose cluster is exactly right with P > 0.9: {np.mean(certainty > 0.9):.0%}")
    print("most doubtful rows:", *np.argsort(certainty, kind="stable")[:5])


def say_agreement(what: str, tree: object, cuts: dict[str, np.ndarray], y: np.ndarray) -> None:
    """How well a tree and cuts of it agree with known classes."""
    print(f"{what}: dendrogram purity {dendrogram_purity(tree, y):.2f}")
    for cut, labels in cuts.items():
        ari, pure = adjusted_rand_index(labels, y), purity(labels, y)
        print(f"  {cut}: ARI {ari:.2f}, purity {pure:.2f}")


def say_ward(features: np.ndarray, y: np.ndarray, k: int, what: str = "Ward") -> None:
    """The same of Ward's method, which is told the number of clusters."""
    from scipy.cluster.hierarchy import fcluster, linkage

    tree = linkage(features, "ward")
    labels = fcluster(tree, k, "maxclust")
    say_agreement(what, tree, {f"told {k}": labels}, y)


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and spread 1."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def shares(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Rows of each class (columns) in each cluster (rows), largest clusters first."""
    table = np.zeros((labels.max() + 1, y.max() + 1), dtype=int)
    np.add.at(table, (labels, y), 1)
    return table


def stacked(ax: object, table: np.ndarray, names: list[str]) -> None:
    """Bars of the clusters, largest first, by class; the smallest together in one."""
    order = np.argsort(-table.sum(axis=1), kind="stable")
    bars, labels = table[order], [str(cluster) for cluster in order]
    if len(bars) > MOST_BARS + 1:
        rest = f"{len(bars) - MOST_BARS}\nmore"
        bars = np.vstack([bars[:MOST_BARS], bars[MOST_BARS:].sum(axis=0)])
        labels = [*labels[:MOST_BARS], rest]
    base = np.zeros(len(bars))
    for j, name in enumerate(names):
        ax.bar(range(len(bars)), bars[:, j], bottom=base, color=COLOURS[j], label=name)
        base += bars[:, j]
    ax.set_xticks(range(len(bars)), labels, fontsize=8)
    ax.set(xlabel="cluster", ylabel="rows")
    ax.legend(frameon=False, fontsize=8)
