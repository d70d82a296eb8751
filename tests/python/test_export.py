"""Trees and clusters in the forms of other programs."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import BHC, RBHC, export
from cases import close, random_case


def fitted(n: int = 30) -> Any:
    case = random_case("NormalInverseGamma", n, 2)
    return BHC(case.family).fit(case.cells)


def forest() -> Any:
    rng = np.random.default_rng(0)
    X = 60.0 * (np.arange(20) % 3)[:, None] + rng.normal(size=(20, 2))
    return RBHC(bhclust.NormalKnownVariance(prior_variance=900.0), lam=100.0).fit(X)


RSCRIPT = shutil.which("Rscript")
ODD_NAMES = ["a (1)", "it's", "b:c", 'say "x"', "back\\slash", "ünïcode", " lead", "[x],y;", "a\tb"]
READ_IN_R = """
Sys.setlocale("LC_ALL", "C.UTF-8")
h <- dget("tree.R")
stopifnot(inherits(h, "hclust"), !is.unsorted(h$height))
put <- function(x, name) write(t(x), paste0(name, ".txt"), ncolumns = NCOL(x))
options(digits = 17)
put(h$merge, "merge")
put(h$height, "height")
put(h$order, "order")
writeBin(charToRaw(enc2utf8(paste(h$labels, collapse = "\\037"))), "labels.txt")
put(as.vector(cophenetic(h)), "cophenetic")
for (k in c(1, 2, 5, 30)) put(as.vector(cutree(h, k = k)), paste0("cut", k))
d <- as.dendrogram(h)
stopifnot(nobs(d) == 30, all(order.dendrogram(d) == h$order))
pdf(NULL)
plot(h)
"""
NAMES = ["a (1)", "it's", "b:c", *(f"row {i}" for i in range(27))]


def test_newick_has_r_where_support_is_read() -> None:
    est = fitted()
    text = export.to_newick(est, names=NAMES)
    plain = export.to_newick(est.posterior_, names=NAMES, support=False)
    assert bhclust.Tree.from_newick(text, names=NAMES) == bhclust.Tree.from_newick(
        plain, names=NAMES
    )
    for name in (None, NAMES):
        found = bhclust.Tree.from_newick(export.to_newick(est, names=name), names=name)
        # The same clades, in another order.
        assert clades(found) == clades(est.tree_)
    lines = export.to_newick(forest()).strip().splitlines()
    assert len(lines) == len(forest().tree_.roots)


def clades(tree: bhclust.Tree) -> set[frozenset[int]]:
    return set(clades_in_order(tree))


def clades_in_order(tree: bhclust.Tree) -> list[frozenset[int]]:
    below = [frozenset([row]) for row in range(tree.n_leaves)]
    for left, right in tree.children.tolist():
        below.append(below[left] | below[right])
    return below


def test_support_is_at_its_node() -> None:
    est = fitted(8)
    text = export.to_newick(est)
    post, tree = est.posterior_, est.tree_
    below = [frozenset([row]) for row in range(8)]
    for left, right in tree.children.tolist():
        below.append(below[left] | below[right])
    wanted = {below[node]: post.r[node] for node in range(8, tree.n_nodes)}
    stack: list[list[int]] = [[]]
    place = 0
    found = {}
    while text[place] != ";":
        letter = text[place]
        if letter == "(":
            stack.append([])
        elif letter == ")":
            inner = stack.pop()
            stack[-1] += inner
            end = place + 1
            while text[end] not in ":;,)":
                end += 1
            found[frozenset(inner)] = float(text[place + 1 : end])
            place = end - 1
        elif letter == ":":
            while text[place + 1] not in ",);":
                place += 1
        elif letter.isdigit():
            end = place
            while text[end].isdigit():
                end += 1
            stack[-1].append(int(text[place:end]))
            place = end - 1
        place += 1
    assert found.keys() == wanted.keys()
    for clade, r in found.items():
        assert close(r, wanted[clade], 1e-5)


def test_a_chain_of_many_leaves() -> None:
    n = 3000
    X = np.zeros((n, 1))
    children = [[0, 1], *([n + t, t + 2] for t in range(n - 2))]
    tree = bhclust.Tree.from_children(n, children)
    post = bhclust.posterior(tree, X, bhclust.PoissonGamma())
    assert export.to_newick(post).count(")") == n - 1
    assert len(export.to_hclust(post)["order"]) == n
    assert len(json.loads(export.to_json(post))["nodes"]) == 2 * n - 1


class TestHclust:
    def test_it_is_as_r_has_it(self, tmp_path: Path) -> None:
        est = fitted()
        parts = export.to_hclust(est, names=NAMES)
        merge, n = parts["merge"], 30
        assert merge.shape == (29, 2)
        assert (np.diff(parts["height"]) >= 0).all()
        assert sorted(parts["order"].tolist()) == list(range(1, 31))
        assert sorted(-merge[merge < 0]) == list(range(1, 31))
        assert sorted(merge[merge > 0]) == list(range(1, 29))
        below: list[frozenset[int]] = []
        for one, other in merge.tolist():
            assert (one < 0) >= (other < 0)
            sides = [below[k - 1] if k > 0 else frozenset([-k - 1]) for k in (one, other)]
            below.append(sides[0] | sides[1])
        assert set(below) == {c for c in clades(est.tree_) if len(c) > 1}
        place = {row: at for at, row in enumerate(parts["order"].tolist())}
        for clade in below:
            at = sorted(place[row + 1] for row in clade)
            assert at == list(range(at[0], at[0] + len(at)))
        assert len(below[-1]) == n
        text = export.write_hclust(est, tmp_path / "a.R", names=NAMES).read_text()
        assert text.startswith("structure(list(merge = matrix(c(")
        assert '"it\'s"' in text

    @pytest.mark.skipif(RSCRIPT is None, reason="R is not installed (Debian: r-base-core)")
    def test_r_reads_the_same_tree(self, tmp_path: Path) -> None:
        assert RSCRIPT is not None
        est = fitted()
        names = [*ODD_NAMES, *(f"row {i}" for i in range(30 - len(ODD_NAMES)))]
        export.write_hclust(est, tmp_path / "tree.R", names=names)
        (tmp_path / "read.R").write_text(READ_IN_R)
        run = [RSCRIPT, "--vanilla", "read.R"]
        subprocess.run(run, cwd=tmp_path, check=True, timeout=120, capture_output=True)

        def told(name: str) -> np.ndarray:
            return np.loadtxt(tmp_path / f"{name}.txt")

        parts, post = export.to_hclust(est, names=names), est.posterior_
        assert (told("merge") == parts["merge"]).all()
        assert close(told("height"), parts["height"], 1e-14)
        assert (tmp_path / "labels.txt").read_text(encoding="utf-8") == "\x1f".join(names)
        assert (told("order") == parts["order"]).all()
        pairs = [(i, j) for i in range(30) for j in range(i + 1, 30)]
        apart = [1.0 - post.coclustering(i, j) for i, j in pairs]
        assert close(told("cophenetic"), apart, 1e-12)
        for k in (1, 2, 5, 30):
            by_r = told(f"cut{k}")
            assert len(set(by_r)) == k
            sides = {frozenset(np.flatnonzero(by_r == label).tolist()) for label in set(by_r)}
            assert sides <= clades(est.tree_)

    def test_a_forest_is_refused(self) -> None:
        with pytest.raises(ValueError, match="root"):
            export.to_hclust(forest())
        with pytest.raises(ValueError, match="a tree with one is needed"):
            export._one_root(forest(), None)


def test_flat_json_and_networkx() -> None:
    for est in (fitted(), forest()):
        post, tree = est.posterior_, est.tree_
        nodes = json.loads(export.to_json(est))["nodes"]
        assert [node["parent"] for node in nodes] == [
            parent if parent >= 0 else None for parent in tree.parent.tolist()
        ]
        assert [node["r"] for node in nodes] == post.r.tolist()
    networkx = pytest.importorskip("networkx")
    graph = export.to_networkx(fitted(), names=NAMES)
    assert networkx.is_arborescence(graph)
    assert [graph.nodes[i]["name"] for i in range(30)] == NAMES
    assert networkx.is_forest(export.to_networkx(forest()).to_undirected())


def test_ete_and_scikit_bio() -> None:
    est = fitted()
    names = [f"row_{i}" for i in range(30)]
    skbio = pytest.importorskip("skbio")
    tree = export.to_skbio(est, names=names)
    assert isinstance(tree, skbio.TreeNode)
    assert {tip.name for tip in tree.tips()} == set(names)
    pytest.importorskip("ete4")
    found = export.to_ete(est, names=names)
    assert set(found.leaf_names()) == set(names)
    assert close(found.support, est.posterior_.r[-1], 1e-5)


def test_ete_has_the_names_the_heights_and_the_supports() -> None:
    pytest.importorskip("ete4")
    est = fitted()
    post = est.posterior_
    names = [*ODD_NAMES, *(f"row {i}" for i in range(30 - len(ODD_NAMES)))]
    found = export.to_ete(est, names=names)
    place = {name: row for row, name in enumerate(names)}
    wanted = {
        clade: node for node, clade in enumerate(clades_in_order(est.tree_)) if len(clade) > 1
    }
    inner = [node for node in found.traverse() if not node.is_leaf]
    assert len(inner) == 29
    for node in inner:
        rows = frozenset(place[name] for name in node.leaf_names())
        number = wanted.pop(rows)
        assert close(node.support, post.r[number], 1e-5)
        depth = found.get_distance(node, next(iter(node.leaves())))
        assert close(depth, post.height[number], 1e-5)
    assert not wanted


def test_labels(tmp_path: Path) -> None:
    est = fitted()
    path = export.write_labels(est, tmp_path / "a.csv", names=NAMES)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == NAMES
    assert [int(row["cluster"]) for row in rows] == est.labels_.tolist()
    assert all(0 <= float(row["certainty"]) <= 1 for row in rows)


def test_arrays(tmp_path: Path) -> None:
    est = fitted()
    with np.load(export.write_arrays(est, tmp_path / "a.npz"), allow_pickle=False) as found:
        assert (found["children"] == est.tree_.children).all()
        assert found["omega"].tobytes() == est.posterior_.omega.tobytes()
        assert (found["labels"] == est.labels_).all()
        assert found["family0.NormalInverseGamma.kappa"].shape[0] >= 1
        wanted = dict(found)
    with pytest.raises(ValueError, match=r"it must end in \.npz or \.safetensors"):
        export.write_arrays(est, tmp_path / "a.bin")
    safetensors = pytest.importorskip("safetensors.numpy")
    again = safetensors.load_file(export.write_arrays(est, tmp_path / "a.safetensors"))
    assert again.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_array_equal(again[name], array)


@pytest.mark.parametrize("make", [fitted, forest])
def test_annotated_data(make: Any) -> None:
    anndata = pytest.importorskip("anndata")
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    est = make()
    adata = anndata.AnnData(np.zeros((est.tree_.n_leaves, 1), dtype=np.float32))
    export.annotate(adata, est)
    assert adata.obs["bhclust"].cat.codes.tolist() == est.labels_.tolist()
    assert adata.obs["bhclust_certainty"].between(0, 1).all()
    drawn = adata.uns["dendrogram_bhclust"]
    assert hierarchy.is_valid_linkage(drawn["linkage"])
    assert len(drawn["linkage"]) == est.n_clusters_ - 1
    assert sorted(drawn["categories_idx_ordered"]) == list(range(est.n_clusters_))
    names = adata.obs["bhclust"].cat.categories
    assert drawn["categories_ordered"] == [names[i] for i in drawn["categories_idx_ordered"]]
    assert drawn["correlation_matrix"].shape == (est.n_clusters_, est.n_clusters_)
    with pytest.raises(ValueError, match="adata has 3 rows"):
        export.annotate(anndata.AnnData(np.zeros((3, 1), dtype=np.float32)), est)


def test_what_is_not_fitted() -> None:
    with pytest.raises(TypeError, match="fitted must be a Posterior or a fitted estimator"):
        export.to_newick(BHC())
    with pytest.raises(ValueError, match="names must be a sequence of 30 texts"):
        export.to_newick(fitted(), names=["a"])
