"""Pictures: what they say, that it fits, and that no tree is too deep or too large for them."""

import io
import subprocess
import sys
from itertools import product
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

import bhclust
from bhclust import _cells, _condense, _fonts, plot
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


def inversions(shown):
    return sum(a > b for place, a in enumerate(shown) for b in shown[place + 1 :])


def best_order(children, n):
    """The order of leaves with the fewest pairs astray, by trying every turn of every fork."""
    found = []
    for turns in product([False, True], repeat=len(children)):
        below = [[row] for row in range(n)]
        for turn, (a, b) in zip(turns, children, strict=True):
            below.append(below[b] + below[a] if turn else below[a] + below[b])
        found.append(below[-1])
    return min(found, key=lambda order: (inversions(order), order))


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
        boxes = [word for word in said if word.startswith("cluster ") or " clusters" in word]
        assert len(boxes) == 10
        lists = sum(word.startswith("clusters ") for word in said)
        assert lists == sum("clusters" in word for word in boxes)
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

    def test_numbers_run_down_as_far_as_the_tree_allows(self):
        children = [(8, 1), (7, 0), (6, 2), (5, 11), (10, 12), (9, 13), (3, 4), (14, 15)]
        post = make_post(children, 9, np.full(8, -5.0))
        shape = _condense.condense(post.tree, np.arange(9), 9)
        shown = [box.labels[0] for box in shape.boxes]
        assert inversions(shown) == inversions(best_order(children, 9))

    def test_numbers_run_down_where_the_tree_allows_it(self):
        post = chain(30, 29)
        shown = [box.labels for box in _condense.condense(post.tree, post.cut(), 40).boxes]
        assert shown == [[label] for label in range(29)]
        # A chain from the other end: its last row is on top.
        children = [(29, 28), *((30 + k, 27 - k) for k in range(28))]
        back = make_post(children, 30, np.full(29, -5.0))
        shown = [box.labels for box in _condense.condense(back.tree, back.cut(), 40).boxes]
        assert shown == [[label] for label in range(30)]

    def test_trees_of_a_forest_come_in_the_order_of_their_numbers(self):
        post = make_post([(4, 3), (5, 2)], 5, [3.0, 3.0])
        shown = [box.labels for box in _condense.condense(post.tree, post.cut(), 9).boxes]
        assert shown == [[0], [1], [2]]

    def test_rows_say_what_sets_boxes_apart(self, small):
        X = {"fur": [1, 1, 1, 0, 0, 0], "legs": [6, 6, 6, 2, 2, 4]}
        said = words(plot.condensed_tree(small, X=X, names=NAMES))
        heads = [word for word in said if " · " in word]
        assert len(heads) == 3
        assert "fur" in heads[0]
        assert heads[0].startswith("0 · ")
        assert len({head.partition(" · ")[2] for head in heads}) == 3

    def test_bundles_say_what_sets_them_apart(self):
        n = 300
        post = make_post(balanced(n), n, np.full(n - 1, -5.0))
        X = np.random.default_rng(0).normal(size=(n, 4))
        said = words(plot.condensed_tree(post, X=X, max_boxes=10, classes=["a", "b"] * 150))
        heads = [word.partition(" · ")[2] for word in said if " · " in word]
        assert len(set(heads)) == len(heads) == 10
        assert all(heads)
        assert sum(" rows: " in word for word in said) == 10

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"labels": [0, 1, 0, 2, 2, 3]}, "cluster 0 lie in 2 separate branches"),
            ({"labels": [0, 0]}, r"labels: shape \(2,\) found, \(6,\) needed"),
            ({"labels": [0.5] * 6}, "labels: whole numbers from 0 up are needed"),
            ({"labels": [0, 0, 0, 0, 0, -1]}, r"labels\[5\] is -1"),
            ({"labels": [0, 0, 0, 0, 0, 6]}, r"labels\[5\] is 6, for 6 rows at most 5"),
            ({"labels": list("abcdef")}, "labels: whole numbers from 0 up are needed"),
            ({"labels": [[0], [0, 1], 2, 3, 4, 5]}, "labels: entries of different lengths"),
            ({"X": np.zeros((5, 2))}, "X has 5 rows, but the posterior's tree has 6"),
            ({"X": np.zeros(6)}, r"X has 1 dimension\(s\); it must have two"),
            ({"X": [[np.inf]] * 6}, "X: row 0, 'column 0' is inf; a finite number is needed"),
            ({"names": ["a"]}, "names: 1 given for 6 rows"),
            ({"classes": ["a"] * 7}, "classes: 7 given for 6 rows"),
            ({"titles": ["a", "b"]}, "titles: 2 given for 3 clusters"),
            ({"max_boxes": 1}, "max_boxes is 1; it must be at least 2"),
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

    def test_numbers_of_clusters_stand_on_their_lines_where_these_are_long(self, small):
        said = words(plot.dendrogram(small, names=NAMES))
        assert sorted(said[:3]) == ["0", "1", "2"]
        assert said[3:] == NAMES
        deep = words(plot.dendrogram(chain(60, 1), labels=range(60), names=["x"] * 60))
        assert "0" not in deep
        assert "59" in deep

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
        assert words(ax) == ["1", "2", "3", "0", *"abcde"]
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
    assert sum(word.startswith("cluster ") or " clusters" in word for word in boxes) == min(
        clusters, 24
    )
    assert len(words(plot.dendrogram(post, labels=labels))) == min(clusters, 40)


class TestHeatmap:
    X = np.column_stack([[9, 8, 9, 1, 0, 1], [0, 1, np.nan, 1, 0, 1], np.arange(6) / 7])

    def test_rows_stand_in_the_order_of_the_tree(self, small):
        ax = plot.heatmap(small, self.X, names=NAMES, title="Six", unit="animals")
        said = words(ax)
        assert {"Six", "0 · 3 animals", "1 · 2 animals", "2 · 1 animal", "column 1"} < set(said)
        assert {"low", "White: missing.", *NAMES} < set(said)
        place = {text.get_text(): text.get_position()[1] for text in ax.texts}
        assert [place[name] for name in NAMES] == sorted(place[name] for name in NAMES)
        first = ax.images[0].get_array()
        assert first.shape == (3, 3)
        assert first[0, 0] > first[1, 0]
        assert first.mask[2, 1]
        assert ax.images[1].get_array()[1, 0] < 0.1

    def test_fits_its_own_figure_and_given_axes(self, small):
        names = [f"a rather long name {name}" for name in NAMES]
        frame = {f"quite a long name of a column {j}": self.X[:, 0] + j for j in range(20)}
        own = plot.heatmap(small, frame, names=names, classes=["ab"] * 6)
        given = Figure(figsize=(4.0, 4.0)).subplots()
        assert plot.heatmap(small, frame, names=names, classes=["ab"] * 6, ax=given) is given
        for ax in (own, given):
            renderer = drawn(ax)
            width, height = ax.figure.canvas.get_width_height()
            for text in ax.texts:
                box = text.get_window_extent(renderer)
                assert box.x0 >= -2, text
                assert box.x1 <= width + 2, text
                assert box.y0 >= -2, text
                assert box.y1 <= height + 2, text

    def test_levels_become_columns_and_many_are_left_out(self, small):
        X = {"kind": ["p", "q", "p", "r", "r", None], "same": [1.5] * 6, "yes": [1, 1, 1, 0, 0, 0]}
        said = words(plot.heatmap(small, X))
        assert {"kind: p", "kind: q", "kind: r", "same", "yes"} < set(said)
        short = words(plot.heatmap(small, X, max_columns=2))
        assert {"kind: r", "yes"} < set(short)
        assert "same" not in short
        assert "The 2 columns that differ most between clusters, of 5." in " ".join(short)

    def test_large_tables_are_averaged(self):
        n = 2000
        post = make_post(balanced(n), n, np.full(n - 1, 5.0))
        X = np.arange(n, dtype=float)[:, None]
        image = plot.heatmap(post, X).images[0].get_array()
        assert image.shape == (200, 1)
        assert image.mean() == pytest.approx(0.5, abs=0.01)

    @pytest.mark.parametrize("n", [1, 2])
    def test_few_rows_and_many_clusters(self, n):
        post = make_post([(0, 1)][: n - 1], n, [3.0][: n - 1])
        drawn(plot.heatmap(post, np.ones((n, 1))))
        many = make_post(balanced(90), 90, np.full(89, -5.0))
        said = words(plot.heatmap(many, np.ones((90, 2))))
        assert sum(" · " in word for word in said) == 40

    def test_saved_bytes_are_the_same_every_time(self, small):
        files = [io.BytesIO(), io.BytesIO()]
        for file in files:
            plot.save_heatmap(file, small, self.X, file_format="svg")
        assert files[0].getvalue() == files[1].getvalue()
        assert b"<svg" in files[0].getvalue()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"max_columns": 0}, "max_columns is 0; it must be at least 1"),
            ({"max_boxes": 1}, "max_boxes is 1; it must be at least 2"),
            ({"names": ["a"]}, "names: 1 given for 6 rows"),
            ({"X": {"a": [1, 2]}}, "X has 2 rows, but the posterior's tree has 6"),
            ({"X": {"a": [[1, 2]] * 6}}, r"X: column 'a' has 2 dimension\(s\), not one"),
            ({"X": [[1], [1, 2]]}, "X is ragged"),
        ],
    )
    def test_refused(self, small, options, message):
        with pytest.raises(ValueError, match=message):
            plot.heatmap(small, **{"X": self.X, **options})


def test_columns_are_told_by_the_family_that_the_posterior_has():
    X = {"code": [0, 1, 2] * 4, "bit": [0, 1] * 6, "extra": [0.5] * 12, "text": list("ab") * 6}
    chosen = {"bit": "poisson", "code": "categorical", "text": "categorical"}
    found = bhclust.BHC(family=chosen).fit(X)
    # The bits and the codes of the text are the same cells: the first choice counts.
    columns = _cells.columns_of(X, found.posterior_, found.labels_)
    assert columns["code"].family == "categorical"
    assert columns["bit"].family == "poisson"
    assert columns["extra"].family == "gaussian-diag"
    assert columns["text"].levels == ("a", "b")
    names = {"name": [f"n{i}" for i in range(12)]}
    assert list(_cells.columns_of({**X, **names}, found.posterior_, found.labels_)) == list(X)


def test_frames_and_sparse_tables():
    pandas = pytest.importorskip("pandas", reason="frames are pandas' here")
    scipy = pytest.importorskip("scipy.sparse", reason="sparse tables are SciPy's")
    rng = np.random.default_rng(0)
    cells = rng.poisson(0.05, size=(40, 400)).astype(float)
    cells[:20, 7] += 6
    found = bhclust.BHC(family="poisson").fit(scipy.csr_matrix(cells))
    groups = np.repeat([0, 1], 20)
    columns = _cells.columns_of(scipy.csr_matrix(cells), found.posterior_, groups)
    assert "column 7" in columns
    assert len(columns) == 300
    assert columns["column 7"].values.tolist() == cells[:, 7].tolist()
    assert {column.family for column in columns.values()} == {"poisson"}
    frame = pandas.DataFrame(
        {"x": [1.5, None] * 20, "k": pandas.Categorical(list("ab") * 20), "n": [1, 2] * 20}
    ).astype({"n": "Int64"})
    told = _cells.columns_of(frame, found.posterior_, groups)
    assert {name: column.family for name, column in told.items()} == {
        "x": "gaussian-diag",
        "k": "categorical",
        "n": "poisson",
    }
    assert told["x"].n_missing == 20


class TestLetters:
    NAMES = (
        "東京タワー",
        "서울",
        "שלום",
        "مرحبا",
        "🐶 dog",
        "naïve \u03a9ж",
        "\ufb01 \uff21",
        "a\udc80b",
    )

    @pytest.mark.parametrize("save", ["condensed_tree", "dendrogram", "heatmap"])
    def test_nothing_is_warned_of(self, small, save, caplog):
        options = {"names": self.NAMES[:6]}
        if save != "dendrogram":
            options |= {"classes": self.NAMES[2:], "title": "猫", "X": {"体重": np.arange(6.0)}}
        for kind in ("png", "svg", "pdf"):
            getattr(plot, f"save_{save}")(io.BytesIO(), small, file_format=kind, **options)
        assert caplog.records == []

    def test_letters_without_a_font_are_spelled(self):
        script = _fonts.Script.of(self.NAMES)
        shown = [script.clean(name) for name in self.NAMES]
        assert shown[5] == self.NAMES[5]
        assert shown[7] == "a?b"
        for text in shown:
            assert not set(text) & script.lacking["normal"]

    @pytest.mark.parametrize(
        ("letter", "spelled"),
        [
            ("中", "[4E2D]"),
            ("タ", "ta"),
            ("한", "han"),
            ("🐶", ":dog face:"),
            ("\uff21", "A"),
            ("\u200d", ""),
            ("\udc80", "?"),
            ("\u30fc", ""),
        ],
    )
    def test_spelled(self, letter, spelled):
        assert _fonts._spelled(letter, set()) == spelled

    def test_runs_of_letters_share_brackets(self):
        lacking = frozenset("中文")
        replaced = {letter: _fonts._spelled(letter, set()) for letter in lacking}
        script = _fonts.Script({}, {"normal": lacking}, replaced)
        assert script.clean("中文 [a] 中") == "[4E2D 6587] [a] [4E2D]"

    def test_a_font_of_the_machine_is_used(self):
        from matplotlib.font_manager import fontManager, get_font

        entry = next(f for f in fontManager.ttflist if f.name == "STIXGeneral" and f.weight == 400)
        usual = _fonts._letters_of(_fonts._usual_font("normal"))
        letter = min(set(map(chr, get_font(entry.fname).get_charmap())) - usual)
        script = _fonts.Script.of([letter])
        assert script.families["normal"][1:]
        assert script.clean(letter) == letter
        assert not script.lacking["normal"]


class TestArguments:
    @pytest.mark.parametrize("draw", ["condensed_tree", "dendrogram", "heatmap"])
    def test_what_is_no_posterior(self, draw):
        more = [np.zeros((6, 1))] if draw == "heatmap" else []
        tree = bhclust.Tree.from_children(2, np.array([[0, 1]]))
        for wrong, what in ((tree, "a Tree"), (None, "a NoneType"), (bhclust.BHC, "the class BHC")):
            with pytest.raises(TypeError, match=f"post must be a Posterior, not {what}; "):
                getattr(plot, draw)(wrong, *more)
            with pytest.raises(TypeError, match="post must be a Posterior"):
                getattr(plot, f"save_{draw}")(io.BytesIO(), wrong, *more)

    @pytest.mark.parametrize("draw", ["condensed_tree", "dendrogram", "heatmap"])
    def test_what_is_no_axes(self, small, draw):
        more = [np.zeros((6, 1))] if draw == "heatmap" else []
        figure = Figure()
        with pytest.raises(TypeError, match=r"ax must be one Axes of matplotlib, not a Figure"):
            getattr(plot, draw)(small, *more, ax=figure)
        with pytest.raises(TypeError, match=r"not a ndarray; choose one of them, such as ax\[0\]"):
            getattr(plot, draw)(small, *more, ax=figure.subplots(1, 2))
        with pytest.raises(ValueError, match="ax has the projection 'polar'; plain axes"):
            getattr(plot, draw)(small, *more, ax=Figure().subplots(subplot_kw={"polar": True}))

    @pytest.mark.parametrize("draw", ["condensed_tree", "dendrogram", "heatmap"])
    def test_formats(self, small, draw, tmp_path):
        save = getattr(plot, f"save_{draw}")
        more = [np.zeros((6, 1))] if draw == "heatmap" else []
        for name, begins in (("a.svg", b"<?xml"), ("a.PDF", b"%PDF"), ("a", b"\x89PNG")):
            save(tmp_path / name, small, *more)
            assert (tmp_path / name).read_bytes().startswith(begins)
        with pytest.raises(ValueError, match=r"a.xyz': the format 'xyz' is not known; choose from"):
            save(tmp_path / "a.xyz", small, *more)
        with pytest.raises(ValueError, match="file_format: the format 'x' is not known"):
            save(tmp_path / "a.png", small, *more, file_format="x")
        with pytest.raises(TypeError, match="destination must be a path or a binary file"):
            save(7, small, *more)
        with pytest.raises(ValueError, match="dpi is 0; it must be a finite number above 0"):
            save(tmp_path / "b.png", small, *more, dpi=0)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.PDF", "a.svg"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"names": "abcdef"}, "names is one text; give a sequence"),
            ({"names": 7}, "names must be a sequence with one text for each of 6 rows, not an int"),
            ({"titles": "abc"}, "titles is one text; give 3 of them"),
            ({"title": 3}, "title must be a text, not an int"),
            ({"unit": None}, "unit must be a text, not a NoneType"),
            ({"max_boxes": 2.5}, "max_boxes must be a whole number, not 2.5"),
        ],
    )
    def test_wrong_kinds(self, small, options, message):
        with pytest.raises(TypeError, match=message):
            plot.condensed_tree(small, **options)

    def test_leaves(self, small):
        with pytest.raises(ValueError, match="max_leaves is 0; it must be at least 1"):
            plot.dendrogram(small, max_leaves=0)


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


def test_names_for_the_columns_of_sparse_tables_and_arrays(tmp_path):
    scipy = pytest.importorskip("scipy.sparse", reason="sparse tables are SciPy's")
    cells = np.random.default_rng(0).poisson(np.repeat([[1, 9], [9, 1]], 6, axis=0))
    words = ["apple", "pear\ntree"]
    post = bhclust.BHC("multinomial", hyperparameters="data").fit(cells).posterior_
    for X in (scipy.csr_matrix(cells), cells, cells.tolist()):
        columns = _cells.columns_of(_cells.with_names(X, words), post, np.zeros(12, int))
        assert list(columns)[:2] == ["apple", "pear tree"]
        np.testing.assert_array_equal(columns["apple"].values, cells[:, 0])
        ax = plot.heatmap(post, X, feature_names=words)
        assert {"apple", "pear tree"} <= {text.get_text() for text in ax.texts}
        plot.save_heatmap(tmp_path / "map.png", post, X, feature_names=words)
        plot.save_condensed_tree(tmp_path / "tree.png", post, X=X, feature_names=words)
        bhclust.report(post, X, tmp_path / "report.html", feature_names=words)
        assert "pear tree" in (tmp_path / "report.html").read_text()
    ax = plot.condensed_tree(post, X=cells, feature_names=words)
    assert any("apple" in text.get_text() for text in ax.texts)
    for X, wrong, told in (
        (cells, ["apple"], r"feature_names has 1 entries for 2 columns"),
        (cells, ["a", "a"], r"feature_names has 'a' twice"),
        (None, words, r"feature_names is given without X"),
        ({"a": cells[:, 0]}, ["b"], r"X has names of its own"),
    ):
        with pytest.raises(ValueError, match=told):
            plot.condensed_tree(post, X=X, feature_names=wrong)
    with pytest.raises(TypeError, match=r"feature_names must be a sequence"):
        plot.condensed_tree(post, X=cells, feature_names="ab")
