"""Pictures: what they say, that it fits, and that no tree is too deep or too large for them."""

import io
import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from bhclust import plot
from bhclust.plot import odds_in_words


@pytest.fixture(autouse=True)
def _no_display():
    from matplotlib import pyplot as plt

    with mpl.rc_context():
        plt.switch_backend("agg")
        yield
        plt.close("all")


def make_post(children, n, log_odds):
    """A posterior as far as pictures read it; r, height and the cut follow from the odds."""
    children = np.asarray(children, dtype=np.int64).reshape(-1, 2)
    n_nodes = n + len(children)
    parent = np.full(n_nodes, -1, dtype=np.int64)
    size = np.ones(n_nodes, dtype=np.int64)
    for node, (a, b) in enumerate(children, n):
        parent[[a, b]] = node
        size[node] = size[a] + size[b]
    tree = SimpleNamespace(
        n_leaves=n,
        n_nodes=n_nodes,
        children=children,
        parent=parent,
        size=size,
        roots=np.flatnonzero(parent < 0),
    )
    odds = np.concatenate([np.full(n, np.inf), np.asarray(log_odds, dtype=float)])
    r = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    together, apart, label = np.zeros(n_nodes), np.ones(n_nodes), np.full(n_nodes, -1)
    for node in range(n_nodes - 1, -1, -1):
        up = parent[node]
        above = apart[up] * (1 - r[up]) if up >= 0 else 1.0
        together[node] = (together[up] if up >= 0 else 0.0) + above * r[node]
        apart[node] = above
        if up >= 0 and label[up] >= 0:
            label[node] = label[up]
        elif r[node] >= 0.5:
            label[node] = node
    turn = {value: place for place, value in enumerate(dict.fromkeys(label[:n].tolist()))}
    labels = np.array([turn[value] for value in label[:n].tolist()], dtype=np.int64)
    return SimpleNamespace(
        tree=tree, log_odds=odds, height=np.clip(1 - together, 0, 1), cut=lambda: labels
    )


@pytest.fixture
def small():
    """Rows 0 1 2 | 3 4 | 5, in three clusters: ((0 1) 2) and (3 4) apart from each other and 5."""
    children = [(0, 1), (6, 2), (3, 4), (7, 8), (9, 5)]
    return make_post(children, 6, [4.0, 3.0, 2.0, -np.log(1200), -40.0])


NAMES = ["ant", "bee", "cow", "dog", "elk", "fox"]


def chain(n, clusters):
    """Leaf k + 1 joins the tree of leaves 0 … k; the last joins are splits."""
    children = [(0, 1), *((n + k - 2, k) for k in range(2, n))]
    log_odds = np.full(n - 1, 5.0)
    log_odds[n - clusters :] = -5.0
    return make_post(children, n, log_odds)


def balanced(n, seed=0):
    rng = np.random.default_rng(seed)
    live, children = list(range(n)), []
    while len(live) > 1:
        pair = [live.pop(rng.integers(len(live))) for _ in range(2)]
        live.append(n + len(children))
        children.append(pair)
    return children


def words(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax):
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return canvas.get_renderer()


def elbows(ax):
    """The lines of a dendrogram's forks: child, fork, fork, child."""
    return next(
        item
        for item in ax.collections
        if isinstance(item, LineCollection) and len(item.get_segments()[0]) == 4
    )


@pytest.mark.parametrize(
    ("log_odds", "said"),
    [
        (0.0, "1 : 1"),
        (-np.log(2.5), "2.5 : 1"),
        (-np.log(3), "3 : 1"),
        (-np.log(9.96), "10 : 1"),
        (-np.log(99.6), "100 : 1"),
        (-np.log(1234), "1,200 : 1"),
        (-np.log(999_999), "1,000,000 : 1"),
        (-np.log(1e6), "1,000,000 : 1"),
        (-np.log(1.1e6), "> 1 million : 1"),
        (-1e308, "> 1 million : 1"),
        (-np.inf, "> 1 million : 1"),
        (np.log(3), "1 : 3"),
        (np.inf, "1 : > 1 million"),
        (np.nan, "?"),
    ],
)
def test_odds_in_words(log_odds, said):
    assert odds_in_words(log_odds) == said


class TestCondensedTree:
    def test_says_clusters_names_and_odds(self, small):
        said = words(plot.condensed_tree(small, names=NAMES, title="Six", unit="animals"))
        assert said[0] == "Six"
        assert set(NAMES) < set(said)
        assert {"cluster 0", "cluster 1", "cluster 2"} < set(said)
        assert {"3 animals", "2 animals", "1 animal"} < set(said)
        assert {"1,200 : 1", "> 1 million : 1"} < set(said)
        assert sum(":" in word for word in said) == 3  # two forks, and the note below

    def test_boxes_follow_the_tree_and_hold_their_rows(self, small):
        ax = plot.condensed_tree(small, names=NAMES)
        place = {text.get_text(): text.get_position()[1] for text in ax.texts}
        assert place["cluster 0"] < place["cluster 1"] < place["cluster 2"]
        assert place["cluster 0"] <= max(place[name] for name in NAMES[:3]) < place["cluster 1"]
        assert place["cluster 1"] - 5 < place["dog"] < place["cluster 2"] - 5
        assert place["cluster 2"] - 5 < place["fox"]

    def test_labels_of_another_cut(self, small):
        said = words(plot.condensed_tree(small, labels=[0, 0, 1, 2, 3, 4], names=NAMES))
        assert {f"cluster {label}" for label in range(5)} < set(said)
        assert "1 : 20" in said
        assert any("Dashed" in word for word in said)

    def test_one_cluster_has_no_fork(self):
        post = make_post([(0, 1)], 2, [3.0])
        said = words(plot.condensed_tree(post, names=["a", "b"]))
        assert said == ["cluster 0", "2 rows", "a", "b"]

    def test_one_row(self):
        assert "cluster 0" in words(plot.condensed_tree(make_post([], 1, []), names=["a"]))

    def test_classes_colour_names_and_are_counted(self, small):
        classes = ["insect", "insect", "mammal", "mammal", "mammal", "mammal"]
        ax = plot.condensed_tree(small, names=NAMES, classes=classes)
        said = words(ax)
        assert {"Known class:", "insect  2", "mammal  4"} < set(said)
        colours = {patch.get_facecolor() for patch in ax.patches}
        alone = plot.condensed_tree(small, names=NAMES)
        assert len(colours) > len({patch.get_facecolor() for patch in alone.patches})

    def test_many_classes_share_grey(self):
        n = 30
        post = make_post(balanced(n), n, np.full(n - 1, 1.0))
        ax = plot.condensed_tree(post, classes=[f"k{row % 15}" for row in range(n)])
        assert "others  10" in words(ax)

    def test_titles(self, small):
        said = words(plot.condensed_tree(small, titles=["red", "green", "blue"]))
        assert {"red", "green", "blue"} < set(said)

    def test_names_are_not_read_as_formulas(self, small):
        odd = ["$x$", "a\nb", "$", "\\frac", "<b>", ""]
        ax = plot.condensed_tree(small, names=odd)
        drawn(ax)
        assert {"$x$", "a b", "$", "\\frac", "<b>"} < set(words(ax))

    @pytest.mark.parametrize("kind", ["names", "no names"])
    def test_two_thousand_rows_are_condensed(self, kind):
        n = 2000
        post = make_post(balanced(n), n, np.where(np.arange(n - 1) < n - 20, 5.0, -5.0))
        names = [f"sample {row}" for row in range(n)] if kind == "names" else None
        ax = plot.condensed_tree(post, names=names)
        said = words(ax)
        counts = [word for word in said if word.endswith((" rows", " row"))]
        assert sum(int(word.split()[0].replace(",", "")) for word in counts) == n
        shown = sum(word.startswith("sample") for word in said)
        left = sum(int(word.split()[1].replace(",", "")) for word in said if word.endswith("more"))
        assert shown + left == (n if names else 0)
        assert ax.figure.get_size_inches()[1] < 40

    def test_many_clusters_become_bundles(self):
        n = 300
        post = make_post(balanced(n), n, np.full(n - 1, -5.0))
        said = words(plot.condensed_tree(post, max_boxes=10))
        boxes = [word for word in said if word.startswith("cluster ") or "clusters" in word]
        assert len(boxes) == 10
        bundled = sum(int(word.split()[0]) for word in boxes if "clusters" in word)
        assert bundled + sum(word.startswith("cluster ") for word in boxes) == n

    def test_forest(self):
        post = make_post([(0, 1), (2, 3)], 5, [3.0, -3.0])
        said = words(plot.condensed_tree(post, names=list("abcde")))
        assert sum(word.startswith("cluster") for word in said) == 4
        assert "20 : 1" in said

    def test_large_forest(self):
        post = make_post([], 100, [])
        said = words(plot.condensed_tree(post, max_boxes=5))
        assert sum(word.startswith("cluster ") for word in said) == 4
        assert {"96 smaller trees", "96 rows"} < set(said)

    @pytest.mark.parametrize("width", [3.0, 12.0])
    def test_fits_into_given_axes(self, small, width):
        figure = Figure(figsize=(width, 3.0))
        left, right = figure.subplots(1, 2)
        assert plot.condensed_tree(small, names=NAMES, ax=right) is right
        renderer = drawn(right)
        frame = right.get_window_extent()
        assert list(left.texts) == []
        for text in right.texts:
            box = text.get_window_extent(renderer)
            assert frame.y0 - 1 <= box.y0
            assert box.y1 <= frame.y1 + 1

    def test_nothing_sticks_out_of_its_own_figure(self):
        n = 120
        post = make_post(balanced(n, 3), n, np.where(np.arange(n - 1) < n - 12, 5.0, -2.0))
        names = [f"{'long name ' * (row % 7)}{row}" for row in range(n)]
        ax = plot.condensed_tree(
            post,
            names=names,
            classes=[f"class {row % 4}" for row in range(n)],
            titles=["a title that is far too long for any box " * 4] * 12,
            title="title",
        )
        renderer = drawn(ax)
        width, height = ax.figure.canvas.get_width_height()
        for text in ax.texts:
            box = text.get_window_extent(renderer)
            assert box.x0 >= 0, text
            assert box.x1 <= width, text
            assert box.y0 >= 0, text
            assert box.y1 <= height, text

    def test_names_do_not_overlap(self):
        n = 60
        post = make_post(balanced(n), n, np.where(np.arange(n - 1) < n - 5, 5.0, -2.0))
        ax = plot.condensed_tree(post, names=[f"name {row}" for row in range(n)])
        renderer = drawn(ax)
        boxes = [t.get_window_extent(renderer) for t in ax.texts if "name" in t.get_text()]
        assert len(boxes) == n
        for place, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[place + 1 :])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"labels": [0, 1, 0, 2, 2, 3]}, "cluster 0 lie in 2 separate branches"),
            ({"labels": [0, 0]}, r"labels: shape \(2,\) found, \(6,\) needed"),
            ({"labels": [0.5] * 6}, "labels: whole numbers from 0 up are needed"),
            ({"labels": [0, 0, 0, 0, 0, -1]}, "labels: whole numbers from 0 up are needed"),
            ({"names": ["a"]}, "names: 1 given for 6 rows"),
            ({"classes": ["a"] * 7}, "classes: 7 given for 6 rows"),
            ({"titles": ["a", "b"]}, "titles: 2 given for 3 clusters"),
            ({"max_boxes": 1}, "max_boxes: 1 given; at least 2"),
        ],
    )
    def test_refused(self, small, options, message):
        with pytest.raises(ValueError, match=message):
            plot.condensed_tree(small, **options)

    def test_saved_bytes_are_the_same_every_time(self, small):
        files = [io.BytesIO(), io.BytesIO()]
        for file in files:
            plot.save_condensed_tree(file, small, names=NAMES)
        assert files[0].getvalue() == files[1].getvalue()
        assert files[0].getvalue().startswith(b"\x89PNG")


class TestDendrogram:
    def test_forks_rise_and_clusters_have_colours_of_their_own(self, small):
        ax = plot.dendrogram(small, names=NAMES)
        lines = elbows(ax)
        paths = lines.get_segments()
        assert len(paths) == 5
        across = [0.0] * 6
        for node, (a, b) in enumerate(small.tree.children, 6):
            path = paths[node - 6]
            across.append(path[1][0])
            assert path[0][0] == across[a]
            assert path[3][0] == across[b]
            assert across[node] > max(across[a], across[b])
        colours = [tuple(colour) for colour in lines.get_colors()]
        assert colours[0] == colours[1]
        assert colours[3] == colours[4]
        assert len({colours[0], colours[2], colours[3]}) == 3
        assert set(NAMES) <= set(words(ax))

    def test_half_a_chance_is_drawn_in_the_middle(self):
        post = make_post([(0, 1)], 2, [0.0])
        ax = plot.dendrogram(post)
        ticks = [text.get_text() for text in ax.get_xticklabels()]
        middle = ax.get_xticks()[ticks.index("50%")]
        assert elbows(ax).get_segments()[0][1][0] == pytest.approx(middle)

    def test_two_thousand_rows_become_wedges(self):
        n = 2000
        post = make_post(balanced(n), n, np.where(np.arange(n - 1) < n - 20, 5.0, -5.0))
        ax = plot.dendrogram(post)
        wedges = next(item for item in ax.collections if isinstance(item, PolyCollection))
        said = words(ax)
        assert len(wedges.get_paths()) == len(said) == post.cut().max() + 1
        assert sum(int(word.split()[3].replace(",", "")) for word in said) == n

    def test_given_axes_and_forest(self):
        post = make_post([(0, 1), (2, 3)], 5, [3.0, -3.0])
        ax = Figure().subplots()
        assert plot.dendrogram(post, ax=ax, names=list("abcde")) is ax
        assert words(ax) == list("abcde")
        drawn(ax)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"labels": [0, 1, 0, 2, 2, 3]}, "not a cut"),
            ({"names": ["a"]}, "names: 1 given for 6 rows"),
        ],
    )
    def test_refused(self, small, options, message):
        with pytest.raises(ValueError, match=message):
            plot.dendrogram(small, **options)

    def test_saved(self, small):
        file = io.BytesIO()
        plot.save_dendrogram(file, small, names=NAMES)
        assert file.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("clusters", [1, 5, 99_000])
def test_a_chain_of_a_hundred_thousand_rows(clusters):
    post = chain(100_000, clusters)
    labels = np.maximum(np.arange(100_000) - (100_000 - clusters), 0)
    boxes = words(plot.condensed_tree(post, labels=labels))
    assert sum(word.startswith("cluster ") or "clusters" in word for word in boxes) == min(
        clusters, 24
    )
    assert len(words(plot.dendrogram(post, labels=labels))) == min(clusters, 40)


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_matplotlib_is_not_imported_before_it_is_needed():
    done = run("import sys, bhclust.plot; sys.exit('matplotlib' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_saving_uses_no_pyplot():
    code = """
import io, sys
from types import SimpleNamespace as S
import numpy as np
from bhclust import plot
tree = S(n_leaves=2, n_nodes=3, children=np.array([[0, 1]]), parent=np.array([2, 2, -1]),
         size=np.array([1, 1, 2]), roots=np.array([2]))
post = S(tree=tree, log_odds=np.array([np.inf, np.inf, 1.0]), height=np.array([0, 0, 0.3]),
         cut=lambda: np.array([0, 0]))
plot.save_condensed_tree(io.BytesIO(), post, names=["a", "b"])
plot.save_dendrogram(io.BytesIO(), post)
sys.exit("matplotlib.pyplot" in sys.modules)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_without_matplotlib_the_extra_is_named(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (plot.condensed_tree, plot.dendrogram):
        with pytest.raises(ImportError, match=r'pip install "bhclust\[plot\]"'):
            draw(small)
