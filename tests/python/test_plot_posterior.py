"""Pictures of what the posterior says: counts, pairs, learning, other trees, curves."""

from types import SimpleNamespace

import numpy as np
import pytest

import bhclust
from bhclust import _heatmap, _plot_alternatives, plot

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib (bhclust[plot])")


@pytest.fixture(autouse=True)
def _no_display():
    matplotlib.use("Agg", force=True)
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def blobs(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 4))[rng.integers(3, size=n)] * 3 + rng.normal(size=(n, 4))


def posterior(X):
    return bhclust.posterior(bhclust.bhc(X, "gaussian-diag"), X, "gaussian-diag")


@pytest.fixture(scope="module")
def found():
    X = blobs(40)
    return X, posterior(X)


def words(ax):
    return " ".join(text.get_text() for text in ax.texts)


def test_counts_are_the_posterior(found):
    post = found[1]
    ax = plot.cluster_counts(post)
    chances = post.n_clusters_distribution(40)
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    for number, height in bars.items():
        assert height == pytest.approx(chances[number - 1], rel=1e-12)
    here = int(post.cut().max()) + 1
    assert here in bars
    assert sum(bars.values()) > 0.99
    assert f"{here} clusters: {chances[here - 1]:.1%}" == ax.get_title(loc="left")


def test_counts_of_labels_far_from_the_posterior(found):
    ax = plot.cluster_counts(found[1], labels=np.arange(40))
    assert "40 clusters: under 0.1%" in ax.get_title(loc="left")
    single = posterior(np.zeros((1, 1)))
    assert "1 cluster: 100.0%" in plot.cluster_counts(single).get_title(loc="left")


def test_pairs_are_in_the_order_of_the_tree(found):
    post = found[1]
    shown = np.asarray(plot.coclustering(post).images[0].get_array())
    whole = post.coclustering()
    assert shown.shape == (40, 40)
    np.testing.assert_allclose(np.sort(shown.ravel()), np.sort(whole.ravel()), rtol=1e-12)
    # Rows that are together stand together: chances fall with the distance from the diagonal.
    near = np.diag(shown, 1).mean()
    assert near > shown.mean()
    few = plot.coclustering(post, max_rows=10)
    assert few.images[0].get_array().shape == (10, 10)
    assert "10 of 40 rows" in few.get_xlabel()


def test_learning_few_and_many_steps():
    step = SimpleNamespace
    few = [step(what=f"step {i}", log_evidence=-100.0 + i % 3) for i in range(5)]
    ax = plot.learning(few)
    assert ax.get_yticklabels()[0].get_text() == "1. step 0"
    assert "-98.0" in words(ax)
    many = plot.learning([step(what="", log_evidence=float(-1000 / (i + 1))) for i in range(300)])
    low, high = many.get_ylim()
    assert high > -1000 / 300
    assert low > -1000
    with pytest.raises(ValueError, match="learned has no steps"):
        plot.learning([])
    with pytest.raises(TypeError, match=r"learned must be what bhclust\.learn gives"):
        plot.learning(7)


def test_learning_takes_what_learn_gives():
    learned = bhclust.learn(blobs(20), "gaussian-diag", max_rounds=1)
    ax = plot.learning(learned)
    assert len(ax.get_yticklabels()) == len(learned.steps)


def test_shares_of_other_trees(found):
    post = found[1]
    shares = _plot_alternatives.shares_of_alternatives(post)
    gains = np.exp(post.relocation_gains())
    np.testing.assert_allclose(shares[40:], gains / (1 + gains), rtol=1e-9)
    assert not shares[:40].any()
    highest = _plot_alternatives.highest_below(post.tree, shares)
    assert highest[-1] == shares.max()
    assert (highest >= shares).all()
    said = words(plot.alternatives(post, unit="genes"))
    sizes = np.bincount(post.cut())
    assert all(f"cluster {label} · {size} gene" in said for label, size in enumerate(sizes))


def test_other_trees_of_few_rows_and_many_clusters(found):
    for n in (1, 2):
        plot.alternatives(posterior(np.arange(float(n))[:, None])).figure.canvas.draw()
    ax = plot.alternatives(found[1], labels=np.arange(40), max_boxes=10)
    assert sum("rows" in text.get_text() for text in ax.texts) <= 10


@pytest.mark.parametrize("n", [3, 100])
def test_curves(n):
    rng = np.random.default_rng(1)
    times = np.array([0.0, 2.0, 1.0, 4.0])
    X = np.sin(times) + 0.1 * rng.normal(size=(n, 4))
    X[0, 1] = np.nan
    family = bhclust.GaussianProcess(times=times, noise=0.01)
    labels = np.arange(n) % 2
    ax = plot.curve(X, family, labels=labels, cluster=1)
    own = bhclust.curves.curve(X[labels == 1], family)
    x, y = max((line.get_data() for line in ax.lines), key=lambda data: len(data[0]))
    np.testing.assert_allclose(np.interp(times, x, y), own.mean, atol=1e-9)
    told = ax.get_title(loc="left")
    assert told.startswith(f"cluster 1: {n // 2} row")
    rows = plot.curve(X, family, max_rows=30)
    assert ("dashed" in rows.get_title(loc="left")) == (n > 30)
    with pytest.raises(ValueError, match="cluster is 5, in which no row is"):
        plot.curve(X, family, labels=labels, cluster=5)
    with pytest.raises(ValueError, match="labels: shape"):
        plot.curve(X, family, labels=labels[:-1])


def test_columns_that_go_together_stand_together():
    rng = np.random.default_rng(2)
    base = blobs(60)[:, :2]
    X = np.column_stack([base[:, 0], base[:, 1], base[:, 0], base[:, 1]])
    X += 0.01 * rng.normal(size=X.shape)
    post = posterior(X)
    boxes = post.cut()
    field = _heatmap.Field((X - X.min(0)) / np.ptp(X, axis=0), list("abcd"), 0)
    ordered, forks = _heatmap.with_column_tree(field, boxes)
    assert {frozenset(ordered.names[:2]), frozenset(ordered.names[2:])} == {
        frozenset("ac"),
        frozenset("bd"),
    }
    for name, cells in zip(ordered.names, ordered.cells.T, strict=True):
        np.testing.assert_array_equal(cells, field.cells[:, "abcd".index(name)])
    assert [fork.level for fork in forks] == [1, 1, 2]
    plain, tree = (plot.heatmap(post, X, column_tree=wanted) for wanted in (False, True))
    assert len(tree.lines) == len(plain.lines) + 3


@pytest.mark.parametrize("draw", [plot.cluster_counts, plot.coclustering, plot.alternatives])
def test_axes_in_and_out(found, draw):
    figure = matplotlib.figure.Figure()
    left, right = figure.subplots(1, 2)
    assert draw(found[1], ax=right) is right
    assert not left.has_data()
    figure.canvas.draw()
    with pytest.raises(TypeError, match="post must be a Posterior"):
        draw("x")
    with pytest.raises(TypeError, match="ax must be one Axes"):
        draw(found[1], ax=7)
