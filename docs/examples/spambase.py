"""Spambase: e-mails by which of 57 words, signs and runs of capitals they hold."""

import csv
import gzip

import matplotlib.pyplot as plt
import numpy as np

import bhclust
import showing

EACH = 200


def generate(path):
    """Write a small table of the same form."""
    rng = np.random.default_rng(0)
    spam = np.repeat([0, 1], 40)
    cells = rng.gamma(1.0, 1.0, (80, 57)) * (rng.random((80, 57)) < rng.beta(1, 1, (2, 57))[spam])
    with gzip.open(path, "wt", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"word_{j}" for j in range(57)] + ["target"])
        writer.writerows(
            [*row, "spam" if s else "nonspam"] for row, s in zip(cells, spam, strict=True)
        )


def read(path):
    """Bits, the names of the columns, and 1 for spam; as many of each kind."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    cells = np.array([line[:-1] for line in lines], dtype=float)
    spam = np.array([line[-1] == "spam" for line in lines]).astype(int)
    rng = np.random.default_rng(0)
    drawn = [rng.permutation(np.flatnonzero(spam == kind))[:EACH] for kind in (0, 1)]
    rows = np.sort(np.concatenate(drawn))
    return (cells[rows] != 0).astype(float), head[:-1], spam[rows]


def tell(stage: showing.Stage) -> None:
    """Cluster the e-mails as bits."""
    X, words, spam = read(stage.file("spambase.csv.gz", generate))
    words = [word.removeprefix("word_freq_").removeprefix("char_freq_") for word in words]
    est = bhclust.BHC("bernoulli").fit(X)
    post = est.posterior_
    showing.say_how_many(post, est.labels_)
    two = post.cut(n_clusters=2)
    cuts = {"as found": est.labels_, "told 2": two}
    showing.say_agreement("agreement with spam or not", est.tree_, cuts, spam)
    showing.say_ward(X, spam, 2)

    table = showing.shares(est.labels_, spam)
    order = np.argsort(-table.sum(axis=1), kind="stable")
    overall = X.mean(axis=0)
    print("\nthe largest clusters, and the words that stand out:")
    for cluster in order[:6]:
        share = X[est.labels_ == cluster].mean(axis=0)
        more = np.argsort(overall - share)[:4]
        n, part = table[cluster].sum(), table[cluster, 1] / table[cluster].sum()
        print(
            f"  cluster {cluster}: {n} mails, {part:.0%} spam: {', '.join(words[j] for j in more)}"
        )

    apart = post.separating_columns(0, 1, two)
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 3.8), layout="constrained", width_ratios=[1.6, 1]
    )
    showing.stacked(left, table, ["not spam", "spam"])
    best = np.argsort(-apart)[:12]
    right.barh([words[j] for j in best], apart[best], color=showing.COLOURS[0])
    right.invert_yaxis()
    right.set(title="the split into two", xlabel="log Bayes factor, nats")
    stage.save(fig, "words")


if __name__ == "__main__":
    showing.main(tell)
