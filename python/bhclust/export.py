"""Trees and clusters in the forms of other programs."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bhclust._core import Product
from bhclust.inference import Posterior
from bhclust.options import check_path, shown

__all__ = [
    "annotate",
    "to_ete",
    "to_hclust",
    "to_json",
    "to_networkx",
    "to_newick",
    "to_skbio",
    "write_arrays",
    "write_hclust",
    "write_labels",
]


def to_newick(fitted: Any, *, names: Sequence[str] | None = None, support: bool = True) -> str:
    """Newick text whose inner nodes carry the probability that they are one cluster.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
    names : sequence of str, optional
        One a row; without them leaves are row numbers.
    support : bool
        Whether to write `Posterior.r` at the inner nodes, where programs look for support values.

    Returns
    -------
    str
        One tree a line for each root. Branch lengths are differences of `Posterior.height`.
    """
    post = _posterior_of(fitted)
    text = post.tree.to_newick(names=_names_of(post, names), heights=post.height)
    if not support:
        return text
    return _with_support(text, post)


def _with_support(text: str, post: Posterior) -> str:
    """Write r after the closing bracket of each node, in the order in which these are closed."""
    order = _closing_order(post)
    r = post.r
    parts: list[str] = []
    begin, closed, quoted = 0, 0, False
    for place, letter in enumerate(text):
        if letter == "'":
            quoted = not quoted
        elif letter == ")" and not quoted:
            parts += [text[begin : place + 1], f"{r[order[closed]]:.6g}"]
            begin, closed = place + 1, closed + 1
    return "".join([*parts, text[begin:]])


def _closing_order(post: Posterior) -> list[int]:
    """The merges in the order in which a tree written from left to right closes them."""
    tree = post.tree
    children, n = tree.children.tolist(), tree.n_leaves
    order: list[int] = []
    for root in tree.roots.tolist():
        stack = [(root, False)]
        while stack:
            node, is_done = stack.pop()
            if node < n:
                continue
            if is_done:
                order.append(node)
                continue
            left, right = children[node - n]
            stack += [(node, True), (right, False), (left, False)]
    return order


def _posterior_of(fitted: Any) -> Posterior:
    post = getattr(fitted, "posterior_", fitted)
    if not isinstance(post, Posterior):
        raise TypeError(f"fitted must be a Posterior or a fitted estimator, not {shown(fitted)}")
    return post


def _names_of(post: Posterior, names: Sequence[str] | None) -> list[str] | None:
    if names is None:
        return None
    if isinstance(names, str) or len(names) != post.tree.n_leaves:
        raise ValueError(f"names must be a sequence of {post.tree.n_leaves} texts, one a row")
    return [str(name) for name in names]


def to_hclust(fitted: Any, *, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The parts of an ``hclust`` object of R.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
        With one root.
    names : sequence of str, optional

    Returns
    -------
    dict
        ``merge`` (n - 1, 2): -i for row i, counted from 1, and k for the cluster of merge k;
        ``height``, not decreasing; ``order``, a drawing without crossings; ``labels``.
    """
    post = _posterior_of(fitted)
    Z = post.tree.to_linkage(heights=post.height)
    n = post.tree.n_leaves
    ids = Z[:, :2].astype(np.int64)
    merge = np.where(ids < n, -(ids + 1), ids - n + 1)
    # R lists rows before clusters, and earlier clusters before later ones.
    swap = np.where((merge < 0).all(axis=1), merge[:, 0] < merge[:, 1], merge[:, 0] > merge[:, 1])
    merge[swap] = merge[swap][:, ::-1]
    labels = _names_of(post, names) or [str(row) for row in range(1, n + 1)]
    return {"merge": merge, "height": Z[:, 2], "order": _leaf_order(merge, n), "labels": labels}


def _leaf_order(merge: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    if n == 1:
        return np.ones(1, dtype=np.int64)
    order: list[int] = []
    stack = [len(merge)]
    rows = merge.tolist()
    while stack:
        node = stack.pop()
        if node < 0:
            order.append(-node)
        else:
            left, right = rows[node - 1]
            stack += [right, left]
    return np.array(order, dtype=np.int64)


def write_hclust(
    fitted: Any, path: str | os.PathLike[str], *, names: Sequence[str] | None = None
) -> Path:
    """Write an ``hclust`` object that R reads by ``dget(path)``.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
        With one root.
    path : path
    names : sequence of str, optional

    Returns
    -------
    Path
        Of the file.
    """
    return _written(path, hclust_text(fitted, names=names).encode())


def hclust_text(fitted: Any, *, names: Sequence[str] | None = None) -> str:
    """What `write_hclust` writes."""
    parts = to_hclust(fitted, names=names)
    merge = ", ".join(f"{value}L" for value in parts["merge"].T.ravel().tolist())
    height = ", ".join(repr(value) for value in parts["height"].tolist())
    order = ", ".join(f"{value}L" for value in parts["order"].tolist())
    labels = ", ".join(json.dumps(label, ensure_ascii=False) for label in parts["labels"])
    return (
        f"structure(list(merge = matrix(c({merge}), ncol = 2L), height = c({height}),\n"
        f"order = c({order}), labels = c({labels}),\n"
        'method = "bhclust", call = NULL, dist.method = "1 - P(same cluster)"), '
        'class = "hclust")\n'
    )


def to_json(fitted: Any, *, names: Sequence[str] | None = None) -> str:
    """Flat JSON: a list of nodes with their parent, children, size, r and height.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
    names : sequence of str, optional

    Returns
    -------
    str
    """
    post = _posterior_of(fitted)
    told = _names_of(post, names)
    nodes = []
    for node, facts in enumerate(_facts(post)):
        name = {"name": told[node]} if told is not None and node < len(told) else {}
        nodes.append({"id": node, **name, **facts})
    return json.dumps({"format": "bhclust-nodes", "version": 1, "nodes": nodes}, allow_nan=False)


def _facts(post: Posterior) -> list[dict[str, Any]]:
    tree = post.tree
    n, children = tree.n_leaves, tree.children.tolist()
    columns = (tree.parent.tolist(), tree.size.tolist(), post.r.tolist(), post.height.tolist())
    return [
        {
            "parent": parent if parent >= 0 else None,
            "children": children[node - n] if node >= n else [],
            "size": size,
            "r": r,
            "height": height,
        }
        for node, (parent, size, r, height) in enumerate(zip(*columns, strict=True))
    ]


def to_networkx(fitted: Any, *, names: Sequence[str] | None = None) -> Any:
    """A directed graph of networkx, edges from parents to children.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
    names : sequence of str, optional

    Returns
    -------
    networkx.DiGraph
        Nodes are numbers, with the attributes ``size``, ``r``, ``height`` and, of leaves, ``name``.
    """
    networkx = _imported("networkx", "trees")
    post = _posterior_of(fitted)
    told = _names_of(post, names) or [str(row) for row in range(post.tree.n_leaves)]
    graph = networkx.DiGraph()
    for node, facts in enumerate(_facts(post)):
        name = {"name": told[node]} if node < len(told) else {}
        kept = {key: facts[key] for key in ("size", "r", "height")}
        graph.add_node(node, **kept, **name)
        graph.add_edges_from((node, child) for child in facts["children"])
    return graph


def to_ete(fitted: Any, *, names: Sequence[str] | None = None) -> Any:
    """A tree of ete4, with r as support.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
        With one root.
    names : sequence of str, optional

    Returns
    -------
    ete4.Tree
    """
    ete = _imported("ete4", "trees")
    return ete.Tree(_one_root(fitted, names), parser="support")


def to_skbio(fitted: Any, *, names: Sequence[str] | None = None) -> Any:
    """A tree of scikit-bio, whose inner nodes are named by their r.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
        With one root.
    names : sequence of str, optional

    Returns
    -------
    skbio.TreeNode
    """
    skbio = _imported("skbio", "trees")
    text = _one_root(fitted, names)
    return skbio.TreeNode.read([text], format="newick", convert_underscores=False)


def _one_root(fitted: Any, names: Sequence[str] | None) -> str:
    roots = len(_posterior_of(fitted).tree.roots)
    if roots != 1:
        raise ValueError(f"the forest has {roots} roots; a tree with one is needed")
    return to_newick(fitted, names=names).strip()


def _imported(module: str, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f'this needs {module}: pip install "bhclust[{extra}]"') from None


def write_labels(
    fitted: Any,
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    labels: Any = None,
) -> Path:
    """Write a CSV file of rows, their clusters and how sure these are.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
    path : path
    names : sequence of str, optional
    labels : array of int, optional
        By default those of the estimator, or of the posterior's cut.

    Returns
    -------
    Path
        Of the file.
    """
    post = _posterior_of(fitted)
    found, certainty = _clusters(fitted, labels)
    told = _names_of(post, names) or [str(row) for row in range(post.tree.n_leaves)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "cluster", "certainty"])
    for name, label, sure in zip(told, found.tolist(), certainty.tolist(), strict=True):
        writer.writerow([name, label, f"{sure:.4f}"])
    return _written(path, text.getvalue().encode())


def _clusters(fitted: Any, labels: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from bhclust._describe import certainty

    post = _posterior_of(fitted)
    if labels is None:
        labels = getattr(fitted, "_leaf_labels", None)
    found = post.cut() if labels is None else np.asarray(labels, dtype=np.int64)
    if found.shape != (post.tree.n_leaves,):
        raise ValueError(f"labels has shape {found.shape}; one for each of the tree's rows needed")
    return found, certainty(post, found)


def write_arrays(fitted: Any, path: str | os.PathLike[str]) -> Path:
    """Write the numbers of a model as named arrays, for other programs.

    Parameters
    ----------
    fitted : Posterior, BHC or RBHC
    path : path
        Ending in ``.npz``, or in ``.safetensors``, which needs safetensors.

    Returns
    -------
    Path
        Of the file.
    """
    ending = check_path("path", path).suffix.lower()
    if ending not in (".npz", ".safetensors"):
        raise ValueError(f"path is {os.fspath(path)!r}; it must end in .npz or .safetensors")
    return _written(path, packed_arrays(fitted, ending[1:]))


def packed_arrays(fitted: Any, form: str) -> bytes:
    """What `write_arrays` writes: "npz" or "safetensors"."""
    arrays = _arrays_of(fitted)
    if form == "npz":
        packed = io.BytesIO()
        np.savez(packed, **arrays)  # type: ignore[arg-type]
        return packed.getvalue()
    _imported("safetensors", "safetensors")
    content: bytes = _imported("safetensors.numpy", "safetensors").save(arrays)
    return content


def _arrays_of(fitted: Any) -> dict[str, NDArray[Any]]:
    post = _posterior_of(fitted)
    tree = post.tree
    arrays = {
        "children": tree.children,
        "parent": tree.parent,
        "size": tree.size,
        "roots": tree.roots,
        "log_odds": post.log_odds,
        "log_marginal": post.log_marginal,
        "log_tree": post.log_tree,
        "omega": post.omega,
        "height": post.height,
        "labels": _clusters(fitted, None)[0],
        "alpha": np.array([post.alpha]),
    }
    if tree.kind == "divergence":
        arrays["cost"] = tree.cost
    blocks: Any = post.family.blocks if isinstance(post.family, Product) else [(post.family, ())]
    for number, (part, columns) in enumerate(blocks):
        prefix = f"family{number}.{part.name}"
        if columns:
            arrays[f"{prefix}.columns"] = np.array(columns, dtype=np.int64)
        for key, value in part.parameters().items():
            if not isinstance(value, str):
                arrays[f"{prefix}.{key}"] = np.atleast_1d(np.asarray(value, dtype=np.float64))
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def annotate(adata: Any, fitted: Any, *, key: str = "bhclust", labels: Any = None) -> None:
    """Write clusters and their tree into an AnnData, as scanpy's plots read them.

    Parameters
    ----------
    adata : AnnData
        Changed in place: ``obs[key]``, the clusters as categories; ``obs[key + "_certainty"]``;
        ``uns["dendrogram_" + key]``, for ``scanpy.pl.dendrogram(adata, key)`` and the
        ``dendrogram=True`` of other plots; ``uns[key]``, alpha and the log evidence.
    fitted : Posterior, BHC or RBHC
        Of the rows of ``adata``.
    key : str
    labels : array of int, optional
        By default those of the estimator, or of the posterior's cut.
    """
    pandas = _imported("pandas", "io")
    post = _posterior_of(fitted)
    found, certainty = _clusters(fitted, labels)
    if adata.n_obs != len(found):
        raise ValueError(f"adata has {adata.n_obs} rows, and the tree has {len(found)}")
    names = [str(label) for label in range(int(found.max()) + 1)]
    adata.obs[key] = pandas.Categorical([names[label] for label in found], categories=names)
    adata.obs[f"{key}_certainty"] = certainty
    adata.uns[key] = {"alpha": post.alpha, "log_evidence": post.log_evidence}
    if len(names) > 1:
        adata.uns[f"dendrogram_{key}"] = _dendrogram(post, found, key, names)


def _dendrogram(
    post: Posterior, labels: NDArray[np.int64], key: str, names: list[str]
) -> dict[str, Any]:
    _imported("scipy", "learn")
    from scipy.cluster.hierarchy import dendrogram

    first = np.unique(labels, return_index=True)[1]
    together = _together(post, labels)
    Z = _linkage_of_clusters(post, labels, first)
    info = dendrogram(Z, labels=names, no_plot=True)
    return {
        "linkage": Z,
        "groupby": [key],
        "use_rep": "bhclust",
        "cor_method": "probability of one cluster",
        "linkage_method": "bhclust",
        "categories_ordered": info["ivl"],
        "categories_idx_ordered": info["leaves"],
        "dendrogram_info": info,
        "correlation_matrix": together,
    }


def _together(post: Posterior, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Probability that the first rows of two clusters are in one."""
    first = np.unique(labels, return_index=True)[1]
    return np.asarray(post.coclustering(first))


def _linkage_of_clusters(
    post: Posterior, labels: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """SciPy's linkage of the clusters; roots of a forest are joined from left to right, at 1."""
    tree, n = post.tree, post.tree.n_leaves
    count = len(first)
    cluster = np.full(tree.n_nodes, -1)
    cluster[:n] = labels
    joined: list[tuple[float, int, int]] = []
    heights = post.height.tolist()
    group = cluster.tolist()
    of_cluster = list(range(count))

    def top(number: int) -> int:
        while of_cluster[number] != number:
            number = of_cluster[number]
        return number

    for merge, (left, right) in enumerate(tree.children.tolist()):
        one, other = top(group[left]), top(group[right])
        group[n + merge] = min(one, other)
        if one != other:
            joined.append((heights[n + merge], one, other))
            of_cluster[max(one, other)] = min(one, other)
    tops = sorted({top(number) for number in range(count)})
    joined += [(1.0, tops[0], other) for other in tops[1:]]
    return _as_linkage(joined, count)


def _as_linkage(joined: list[tuple[float, int, int]], count: int) -> NDArray[np.float64]:
    node, size, of_cluster = list(range(count)), [1] * count, list(range(count))
    Z = np.empty((count - 1, 4))
    highest = 0.0
    for row, (height, one, other) in enumerate(sorted(joined, key=lambda item: item[0])):
        while of_cluster[one] != one:
            one = of_cluster[one]
        while of_cluster[other] != other:
            other = of_cluster[other]
        highest = max(highest, height)
        total = size[one] + size[other]
        Z[row] = (*sorted((node[one], node[other])), highest, total)
        of_cluster[other] = one
        node[one], size[one] = count + row, total
    return Z


def _written(path: str | os.PathLike[str], content: bytes) -> Path:
    from bhclust.io import OutputFiles

    place = check_path("path", path)
    with OutputFiles(place.parent, replace=True) as files:
        files.add(place.name, content)
    return place
