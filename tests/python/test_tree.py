"""The tree: its views, its checks, and the ways out and back."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bhclust
from bhclust import Tree
from cases import bounded

# Two trees over six rows: ((0 3) (1 2)) and (4 5).
CHILDREN = [[0, 3], [4, 5], [1, 2], [6, 8]]
FOREST = Tree.from_children(6, CHILDREN)
WHOLE = Tree.from_children(6, [*CHILDREN, [7, 9]])
COSTLY = Tree.from_children(
    6, [*CHILDREN, [7, 9]], costs=[1.0, 4.0, 2.0, 3.0, 8.0], kind="divergence"
)
NAMES = ["plain", "two words", "it's", "a(b):c;[d]", "", '"']


@st.composite
def forests(draw: Any) -> Tree:
    n = draw(st.integers(1, 12))
    live, children = list(range(n)), []
    for t in range(draw(st.integers(0, n - 1))):
        pair = [live.pop(draw(st.integers(0, len(live) - 1))) for _ in range(2)]
        children.append(pair)
        live.append(n + t)
    kind = draw(st.sampled_from(["none", "log_d", "divergence"]))
    costs = draw(
        st.lists(st.floats(0, 1e300), min_size=len(children), max_size=len(children))
        if kind != "none"
        else st.none()
    )
    array = np.array(children, dtype=np.int64).reshape(-1, 2)
    return Tree.from_children(n, array, costs=costs, kind=kind)


def same_shape(a: Tree, b: Tree) -> bool:
    return clades(a) == clades(b)


def clades(tree: Tree) -> set[frozenset[int]]:
    members = [frozenset([i]) for i in range(tree.n_leaves)]
    for left, right in tree.children:
        members.append(members[left] | members[right])
    return set(members)


def test_columns() -> None:
    assert (FOREST.n_leaves, FOREST.n_merges, FOREST.n_nodes) == (6, 4, 10)
    assert FOREST.children.tolist() == CHILDREN
    assert FOREST.parent.tolist() == [6, 8, 8, 6, 7, 7, 9, -1, 9, -1]
    assert FOREST.size.tolist() == [1, 1, 1, 1, 1, 1, 2, 2, 2, 4]
    assert FOREST.roots.tolist() == [7, 9]
    assert FOREST.cost.size == FOREST.log_d.size == 0
    assert COSTLY.cost.tolist() == [1, 4, 2, 3, 8]
    assert COSTLY.log_d.size == 0
    assert (FOREST.kind, COSTLY.kind) == ("none", "divergence")
    assert WHOLE.roots.tolist() == [10]
    assert repr(FOREST) == "<bhclust.Tree of 6 leaves, 2 roots>"
    assert repr(WHOLE) == "<bhclust.Tree of 6 leaves, 1 root>"


def test_columns_are_read_only_views_without_copies() -> None:
    for column in ("children", "parent", "size", "cost"):
        values = getattr(COSTLY, column)
        assert values.dtype == (np.float64 if column == "cost" else np.int64)
        assert not values.flags.owndata
        assert np.shares_memory(values, getattr(COSTLY, column))
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            values.flags.writeable = True


def test_columns_outlive_the_tree() -> None:
    def columns() -> list[np.ndarray]:
        tree = Tree.from_children(6, CHILDREN, costs=[1.0, 4.0, 2.0, 3.0], kind="log_d")
        return [tree.children, tree.parent, tree.size, tree.log_d, tree.roots]

    kept = columns()
    gc.collect()
    rubbish = [np.full(64, -7) for _ in range(200)]
    assert kept[0].tolist() == CHILDREN
    assert kept[1].tolist() == FOREST.parent.tolist()
    assert kept[2].tolist() == FOREST.size.tolist()
    assert kept[3].tolist() == [1, 4, 2, 3]
    assert kept[4].tolist() == [7, 9]
    assert len(rubbish) == 200


def test_equality_is_of_merges_and_costs() -> None:
    assert Tree.from_children(6, CHILDREN) == FOREST
    assert FOREST != WHOLE
    assert COSTLY != WHOLE
    assert Tree.from_children(1, []) != Tree.from_children(2, [])
    assert FOREST != "tree"
    with pytest.raises(TypeError, match="unhashable"):
        hash(FOREST)


@given(forests())
@bounded(40)
def test_copies_pickles_and_json_are_the_same(tree: Tree) -> None:
    for again in (
        pickle.loads(pickle.dumps(tree)),
        copy.copy(tree),
        copy.deepcopy(tree),
        Tree.from_json(tree.to_json()),
    ):
        assert again == tree
        assert again.kind == tree.kind
        assert again.parent.tolist() == tree.parent.tolist()
        assert again.size.tolist() == tree.size.tolist()


@given(forests())
@bounded(40)
def test_newick_keeps_the_shape(tree: Tree) -> None:
    assert same_shape(Tree.from_newick(tree.to_newick()), tree)
    names = [f"{NAMES[i % 6]} {i}" for i in range(tree.n_leaves)]
    text = tree.to_newick(names=names, heights=np.arange(tree.n_nodes))
    assert same_shape(Tree.from_newick(text, names=names), tree)
    assert text.count(";\n") == len(tree.roots)


@given(forests())
@bounded(40)
def test_linkage_keeps_the_shape_of_one_tree(tree: Tree) -> None:
    if len(tree.roots) > 1:
        with pytest.raises(ValueError, match=r"forest has \d+ roots; a linkage matrix needs one"):
            tree.to_linkage()
        return
    Z = tree.to_linkage()
    assert Z.shape == (tree.n_leaves - 1, 4)
    assert same_shape(Tree.from_linkage(Z), tree)
    assert (np.diff(Z[:, 2]) >= 0).all()
    assert (Z[:, 0] < Z[:, 1]).all()


def test_linkages_are_valid_for_scipy() -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    for tree in (WHOLE, COSTLY):
        Z = tree.to_linkage()
        assert hierarchy.is_valid_linkage(Z)
        assert hierarchy.is_monotonic(Z)
    assert COSTLY.to_linkage()[:, 2].tolist() == [1, 2, 3, 4, 8]
    assert WHOLE.to_linkage()[:, 2].tolist() == [1, 1, 1, 2, 3]
    heights = np.r_[np.zeros(6), [3.0, 1.0, 2.0, 4.0, 9.0]]
    assert WHOLE.to_linkage(heights=heights)[:, 2].tolist() == [1, 2, 3, 4, 9]


def test_a_linkage_of_scipys_is_read() -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    X = np.random.default_rng(0).normal(size=(30, 2))
    Z = hierarchy.average(X)
    tree = Tree.from_linkage(Z)
    assert tree.children.tolist() == Z[:, :2].astype(int).tolist()
    assert tree.size[30:].tolist() == Z[:, 3].astype(int).tolist()


def test_cuts_by_cost() -> None:
    assert COSTLY.cut(lam=2.5).tolist() == [0, 1, 1, 0, 2, 3]
    assert COSTLY.cut(lam=2.0).tolist() == [0, 1, 2, 0, 3, 4]
    assert COSTLY.cut(lam=0.0).tolist() == [0, 1, 2, 3, 4, 5]
    assert COSTLY.cut(lam=np.inf).tolist() == [0] * 6
    assert COSTLY.cut(n_clusters=2).tolist() == [0, 0, 0, 0, 1, 1]
    assert COSTLY.forest(lam=3.5).children.tolist() == [[0, 3], [1, 2], [6, 7]]
    assert COSTLY.forest(lam=3.5).cost.tolist() == [1, 2, 3]
    assert COSTLY.forest(n_clusters=1) == COSTLY


def test_cuts_where_costs_invert_are_on_the_running_maximum() -> None:
    tree = Tree.from_children(3, [[0, 1], [2, 3]], costs=[5.0, 1.0], kind="divergence")
    assert tree.cut(lam=3.0).tolist() == [0, 1, 2]
    assert tree.cut(lam=5.5).tolist() == [0, 0, 0]
    assert tree.to_linkage()[:, 2].tolist() == [5, 5]


def test_a_chain_of_a_million_leaves_goes_everywhere() -> None:
    n = 10**6
    children = np.column_stack([np.r_[0, n : 2 * n - 2], np.arange(1, n)])
    costs = np.arange(1.0, n)
    chain = Tree.from_children(n, children, costs=costs, kind="divergence")
    assert chain.size[-1] == n
    assert chain.roots.tolist() == [2 * n - 2]
    text = chain.to_newick()
    assert text.startswith("(" * (n - 1) + "0,1)")
    again = Tree.from_newick(text)
    assert again.children.tobytes() == chain.children.tobytes()
    pairs = Tree.from_linkage(chain.to_linkage()).children
    assert (pairs == np.sort(chain.children, axis=1)).all()
    assert Tree.from_json(chain.to_json()) == chain
    assert pickle.loads(pickle.dumps(chain)) == chain
    labels = chain.cut(n_clusters=4)
    assert np.unique(labels).tolist() == [0, 1, 2, 3]
    assert (chain.cut(lam=float(n - 3)) == labels).all()
    assert chain.forest(n_clusters=4).n_merges == n - 4


def test_a_chain_of_many_leaves_has_a_posterior() -> None:
    n = 10**5
    children = np.column_stack([np.r_[0, n : 2 * n - 2], np.arange(1, n)])
    chain = Tree.from_children(n, children)
    X = (np.arange(n) % 7 == 0).astype(float)[:, None]
    found = bhclust.posterior(chain, X, bhclust.BernoulliBeta())
    assert found.cut().shape == (n,)
    assert np.isfinite(found.log_evidence)
    assert found.to_linkage().shape == (n - 1, 4)
    assert len(found.to_newick()) > n
    assert found.certainty().shape == (n,)


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((0, []), {}, ValueError, "a tree needs at least one leaf"),
        ((-3, []), {}, ValueError, "a tree needs at least one leaf"),
        ((3, [[0, 0]]), {}, ValueError, "merge 0 joins node 0 to itself"),
        ((3, [[0, 1], [0, 2]]), {}, ValueError, "merge 1 names node 0, which was merged before"),
        ((3, [[0, 4]]), {}, ValueError, "merge 0 names node 4, which does not exist yet"),
        ((3, [[0, -1]]), {}, ValueError, "merge 0 names node -1, which does not exist yet"),
        ((3, [[0, 1, 2]]), {}, ValueError, r"children must have shape \(n_merges, 2\)"),
        ((3, [0, 1]), {}, ValueError, r"children must have shape \(n_merges, 2\)"),
        ((3, [[0.0, 1.0]]), {}, TypeError, "children must hold integers, not float64"),
        ((3, [["0", "1"]]), {}, TypeError, "children must hold integers"),
        ((3, [[True, False]]), {}, TypeError, "children must hold integers, not bool"),
        ((3, [[0, 1]]), {"costs": [1.0]}, ValueError, "costs are given; say what they are"),
        ((3, [[0, 1]]), {"kind": "log_d"}, ValueError, "0 costs for 1 merges"),
        ((3, [[0, 1]]), {"kind": "cost", "costs": [1.0]}, ValueError, "kind is 'cost'"),
        (
            (3, [[0, 1]]),
            {"kind": "log_d", "costs": [1.0, 2.0]},
            ValueError,
            "2 costs for 1 merges",
        ),
        ((3, [[0, 1]]), {"kind": "log_d", "costs": ["a"]}, TypeError, "costs must hold numbers"),
    ],
)
def test_children_that_are_no_tree_are_refused(
    arguments: Any, keywords: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        Tree.from_children(*arguments, **keywords)


@pytest.mark.parametrize(
    ("Z", "error", "message"),
    [
        (np.zeros((2, 3)), ValueError, r"Z must have shape \(n - 1, 4\)"),
        (np.zeros(4), ValueError, r"Z must have shape \(n - 1, 4\)"),
        ([[0, 5, 1.0, 2]], ValueError, "linkage row 0 names cluster 5; it must be a whole number"),
        ([[0, 0.5, 1.0, 2]], ValueError, "linkage row 0 names cluster 0.5"),
        ([[0, np.nan, 1.0, 2]], ValueError, "linkage row 0 names cluster nan"),
        ([[0, -1, 1.0, 2]], ValueError, "linkage row 0 names cluster -1"),
        ([[0, 1, 1.0, 2], [0, 2, 1, 2]], ValueError, "merge 1 names node 0, which was merged"),
        (None, TypeError, "Z must hold numbers"),
        ([["a", "b", "c", "d"]], TypeError, "Z must hold numbers"),
    ],
)
def test_matrices_that_are_no_linkage_are_refused(Z: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        Tree.from_linkage(Z)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text holds no tree"),
        ("(0,1)", "the text ends before ';'"),
        ("((0,1);", "unexpected ';'"),
        ("(0,1));", r"unexpected '\)'"),
        ("(0,);", "a leaf has no label"),
        ("(0,0);", "leaf '0' is there twice"),
        ("(0,2);", "leaf '2' is not one of the names"),
        ("(0,1,2);", "a node has 3 children; the tree must be binary"),
        ("('0,1);", "a quoted label is not closed"),
        ("[(0,1);", r"a comment '\[' is not closed"),
        ("(0:,1);", "a branch length is missing after ':'"),
    ],
)
def test_text_that_is_no_newick_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tree.from_newick(text)


def test_newick_as_others_write_it() -> None:
    text = "[made by hand] ( ( b :0.5, 'it''s'):1e-3 , \"c\" )inner:2 ;\n"
    tree = Tree.from_newick(text, names=["c", "it's", "b"])
    assert clades(tree) == {frozenset(s) for s in ([0], [1], [2], [1, 2], [0, 1, 2])}
    joined = Tree.from_newick("(0,1,2,3);", resolve=True)
    assert joined.children.tolist() == [[0, 1], [2, 4], [3, 5]] or joined.size[-1] == 4
    assert Tree.from_newick("((0),((1)));").n_merges == 1
    assert Tree.from_newick("(0,1);(2,3);").roots.tolist() == [4, 5]


def test_names_must_fit_the_leaves() -> None:
    with pytest.raises(ValueError, match="names has 2 entries for 6 leaves"):
        WHOLE.to_newick(names=["a", "b"])
    with pytest.raises(ValueError, match="the tree has 2 leaves and there are 3 names"):
        Tree.from_newick("(a,b);", names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"names\[0\] and names\[1\] are both 'a'; names must"):
        Tree.from_newick("(a,b);", names=["a", "a"])
    with pytest.raises(ValueError, match="names has 1 entries for 6 leaves"):
        WHOLE.to_json(names=["a"])


@pytest.mark.parametrize("write", ["to_linkage", "to_newick"])
def test_heights_must_fit_the_nodes(write: str) -> None:
    for heights in ([], [1.0], np.zeros(12)):
        with pytest.raises(ValueError, match=rf"heights has {len(heights)} entries for 11 nodes"):
            getattr(WHOLE, write)(heights=heights)
    with pytest.raises(TypeError, match="heights must hold numbers"):
        getattr(WHOLE, write)(heights=["a"] * 11)


def test_heights_of_a_linkage_must_not_fall_towards_the_root() -> None:
    heights = np.r_[np.zeros(6), [3.0, 1.0, 2.0, 2.5, 9.0]]
    with pytest.raises(
        ValueError, match=r"heights\[6\] is 3.*above its parent's: heights\[9\] is 2.5"
    ):
        WHOLE.to_linkage(heights=heights)
    for place in (6, 10):
        heights = np.zeros(11)
        heights[place] = np.nan
        with pytest.raises(ValueError, match=r"heights\[\d+\] is -?nan"):
            WHOLE.to_linkage(heights=heights)


def test_json_holds_flat_arrays_and_names() -> None:
    document = json.loads(COSTLY.to_json(names=NAMES))
    assert document["left"] == [0, 4, 1, 6, 7]
    assert document["right"] == [3, 5, 2, 8, 9]
    assert document["costs"] == [1, 4, 2, 3, 8]
    assert (document["format"], document["version"]) == ("bhclust-tree", 1)
    assert (document["n_leaves"], document["kind"]) == (6, "divergence")
    assert document["names"] == NAMES


def changed(**keys: Any) -> str:
    document = json.loads(COSTLY.to_json())
    return json.dumps({k: v for k, v in (document | keys).items() if v != "drop"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text is not JSON"),
        ("{", "text is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "not a tree of bhclust"),
        ('{"format": "other"}', "not a tree of bhclust"),
        (changed(version=2), "the tree has format version 2; this bhclust reads 1"),
        (changed(left=[0]), '"left" has 1 entries and "right" has 5'),
        (changed(left=[0, 4, 1, 6, 7.5]), '"left" must be an array of whole numbers'),
        (changed(left=[0, 4, 1, 6, True]), '"left" must be an array of whole numbers'),
        (changed(right="drop"), '"right" must be an array of whole numbers'),
        (changed(left=[0, 4, 1, 6, 2**70]), '"left" holds a number beyond 64 bits'),
        (changed(left=[0, 4, 1, 6, 99]), "merge 4 names node 99"),
        (changed(n_leaves="six"), "\"n_leaves\" is 'six'; it must be a whole number"),
        (changed(n_leaves=True), '"n_leaves" is True'),
        (changed(n_leaves=10**30), '"n_leaves" is 10*; it must be a whole number below'),
        (changed(n_leaves=5), "5 merges are too many for 5 leaves"),
        (changed(n_leaves=-1), "too many for -1 leaves"),
        (changed(kind=3), '"kind" is 3; it must be a string'),
        (changed(kind="cost"), "kind is 'cost'"),
        (changed(costs=[1]), "1 costs for 5 merges"),
        (changed(costs=["1"] * 5), '"costs" must be an array of numbers'),
        (changed(costs="drop"), '"costs" must be an array of numbers'),
    ],
)
def test_json_that_is_no_tree_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tree.from_json(text)


def test_cuts_that_make_no_sense_are_refused() -> None:
    for keywords in ({}, {"lam": 1.0, "n_clusters": 2}):
        with pytest.raises(ValueError, match="give exactly one of lam and n_clusters"):
            COSTLY.cut(**keywords)
    with pytest.raises(ValueError, match="lam is NaN"):
        COSTLY.cut(lam=np.nan)
    for k in (0, -1, 7):
        with pytest.raises(ValueError, match=rf"n_clusters is {k}; this tree has 1 root"):
            COSTLY.cut(n_clusters=k)
    for tree in (WHOLE, bhclust.bhc([[1.0], [2.0]], bhclust.PoissonGamma())):
        with pytest.raises(ValueError, match="only a tree of RBHC can be cut by its costs"):
            tree.cut(lam=1.0)
    for value in ("1", None, 1j):
        with pytest.raises((TypeError, ValueError)):
            COSTLY.cut(lam=value)
