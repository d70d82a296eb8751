"""Newsgroups: documents of four groups as counts of their 200 most frequent words."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix

import bhclust
import showing

EACH, WORDS, COMMON = 100, 200, 0.2


def generate(path):
    """Write a small archive of the same form."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 12)
    shares = rng.dirichlet(np.full(80, 0.1), 4)
    counts = csr_matrix(np.array([rng.multinomial(40, shares[kind]) for kind in y]))
    parts = {name: getattr(counts, name) for name in ("data", "indices", "indptr")}
    names = np.array([f"word{j}" for j in range(80)])
    kinds = np.array([f"group.{kind}" for kind in range(4)])
    np.savez(path, **parts, shape=counts.shape, y=y, vocab=names, class_names=kinds)


def read(path):
    """Counts of the most frequent words that are not in every fifth document, and the groups."""
    f = np.load(path, allow_pickle=False)
    parts = f["data"].astype(float), f["indices"].astype(int), f["indptr"].astype(int)
    counts, y = csr_matrix(parts, shape=tuple(f["shape"])), f["y"].astype(int)
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(np.flatnonzero(y == kind))[:EACH] for kind in range(4)]
    rows = np.sort(np.concatenate(drawn))
    counts = counts[rows]
    documents = np.asarray((counts > 0).sum(axis=0)).ravel()
    documents[documents > COMMON * len(rows)] = 0
    chosen = np.sort(np.argsort(-documents, kind="stable")[:WORDS])
    counts = counts[:, chosen]
    full = np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel() > 0)
    return counts[full], f["vocab"][chosen], y[rows][full], [str(name) for name in f["class_names"]]


def tell(stage: showing.Stage) -> None:
    """Cluster the documents by their words."""
    X, words, y, groups = read(stage.file("newsgroups4_counts.npz", generate))
    print(f"{X.shape[0]} documents, {X.shape[1]} words, {int(X.sum())} occurrences")
    bursty = bhclust.BHC("multinomial").fit(X)
    print(f"as they are: {bursty.n_clusters_} clusters; each word counted once in a document:")
    X.data[:] = 1.0
    est = bhclust.BHC("multinomial").fit(X)
    post = est.posterior_
    showing.say_how_many(post, est.labels_)
    cuts = {"as found": est.labels_, "told 4": post.cut(n_clusters=4)}
    showing.say_agreement("agreement with the groups", est.tree_, cuts, y)
    dense = X.toarray()
    shares = dense / dense.sum(axis=1, keepdims=True)
    showing.say_ward(np.sqrt(shares), y, 4, "Ward on square roots of shares")

    table = showing.shares(est.labels_, y)
    order = np.argsort(-table.sum(axis=1), kind="stable")
    total = dense.sum(axis=0) / dense.sum()
    print("\nthe largest clusters, and the words that stand out:")
    for cluster in order[:7]:
        own = dense[est.labels_ == cluster].sum(axis=0)
        lift = own * np.log((own / own.sum() + 1e-12) / (total + 1e-12))
        most = words[np.argsort(-lift, kind="stable")[:5]]
        kind = table[cluster].argmax()
        n, of_kind = table[cluster].sum(), f"{table[cluster, kind]} of {groups[kind]}"
        print(f"  {n} documents, {of_kind}: {', '.join(most)}")

    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 3.8), layout="constrained", width_ratios=[1.4, 1]
    )
    showing.stacked(left, table, groups)
    rows = np.argsort(y, kind="stable")
    picture = right.imshow(post.coclustering()[np.ix_(rows, rows)], cmap="Blues", vmin=0, vmax=1)
    for edge in np.cumsum(np.bincount(y))[:-1]:
        right.axhline(edge - 0.5, color=showing.COLOURS[1], linewidth=0.7)
        right.axvline(edge - 0.5, color=showing.COLOURS[1], linewidth=0.7)
    right.set(title="P(one cluster), documents by group", xticks=[], yticks=[])
    fig.colorbar(picture, ax=right, shrink=0.8)
    stage.save(fig, "groups")


if __name__ == "__main__":
    showing.main(tell)
