"""Titanic: 891 passengers, columns of five kinds, many cells missing."""

import csv
import gzip

import matplotlib.pyplot as plt
import numpy as np

import bhclust
import showing

COLUMNS = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "deck", "who", "target"]


def generate(path):
    """Write a small table of the same form."""
    rng = np.random.default_rng(0)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for _ in range(90):
            rich = rng.random() < 0.4
            sex = "female" if rng.random() < 0.5 else "male"
            age = "" if rng.random() < 0.2 else round(rng.normal(40 if rich else 25, 8), 1)
            fare = round(rng.gamma(4, 20 if rich else 3), 2)
            deck = rng.choice(["B", "C"]) if rich else ""
            port = rng.choice(["S", "C"], p=[0.4, 0.6] if rich else [0.8, 0.2])
            alive = int(rng.random() < (0.7 if sex == "female" else 0.2))
            family = rng.poisson(0.5, 2)
            writer.writerow([1 if rich else 3, sex, age, *family, fare, port, deck, "", alive])


def tell(stage: showing.Stage) -> None:
    """Cluster the passengers, a family a column; who survived is only compared with."""
    path = stage.file("titanic.csv.gz", generate)
    whole = bhclust.io.read_table(path, target="target", ignore=["who"])
    table = bhclust.io.read_table(path, target="target", ignore=["who", "fare"])
    for name, column in table.columns.items():
        print(f"{name}: {column.family}, {np.isnan(column.values).sum()} missing")
    alive = np.array([cell == "1" for cell in table.target])

    est = bhclust.BHC(table.family).fit(table.data)
    post, labels = est.posterior_, est.labels_
    priced = bhclust.BHC(whole.family).fit(whole.data)
    print(f"\nwith the fare: {priced.n_clusters_} clusters; without it:")
    showing.say_how_many(post, labels)
    order = np.argsort(-np.bincount(labels), kind="stable")
    names = list(table.columns)
    print("\nthe largest clusters, and what sets them apart from all others:")
    for cluster in order[:8]:
        own = labels == cluster
        parts = post.separating_columns(0, 1, np.where(own, 0, 1))
        best = [names[j] for j in np.argsort(-parts)[:3]]
        words = ", ".join(f"{name} {typical(table.columns[name], own)}" for name in best)
        print(f"  {own.sum()} passengers, {alive[own].mean():.0%} survived: {words}")
    guess_ages(table)

    few = post.cut(n_clusters=min(8, labels.max() + 1))
    sizes, survived = np.bincount(few), np.bincount(few, alive) / np.bincount(few)
    together = post.coclustering()
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
    left.bar(range(len(sizes)), survived, color=showing.COLOURS[0])
    for place, (share, size) in enumerate(zip(survived, sizes, strict=True)):
        left.text(place, share + 0.02, str(size), ha="center", fontsize=8)
    left.axhline(alive.mean(), color=showing.COLOURS[1], linestyle="--", linewidth=1)
    left.set(
        title="survival in eight clusters (sizes above)",
        xlabel="cluster",
        ylabel="share",
        ylim=(0, 1.1),
    )
    rows = np.lexsort((labels, few))
    picture = right.imshow(together[np.ix_(rows, rows)], cmap="Blues", vmin=0, vmax=1)
    right.set(title="P(two passengers in one cluster)", xticks=[], yticks=[])
    fig.colorbar(picture, ax=right, shrink=0.8)
    stage.save(fig, "survival")


def typical(column, rows):
    """A word or number that stands for the cells of some rows."""
    cells = column.values[rows]
    cells = cells[~np.isnan(cells)]
    if not cells.size:
        return "unknown"
    if column.levels:
        return column.levels[int(np.bincount(cells.astype(int)).argmax())]
    return f"{np.mean(cells):.1f}"


def guess_ages(table):
    """Hide known ages, and see how near they are guessed."""
    ages = table.columns["age"].values
    known = np.flatnonzero(~np.isnan(ages))
    hidden = np.random.default_rng(0).choice(known, len(known) // 7, replace=False)
    holed = {**table.data, "age": ages.copy()}
    holed["age"][hidden] = np.nan
    guess = bhclust.BHC(table.family).fit(holed).impute()["age"]
    error = np.abs(guess - ages)[hidden].mean()
    plain = np.abs(np.nanmean(holed["age"]) - ages)[hidden].mean()
    print(f"\n{len(hidden)} known ages hidden and guessed: off by {error:.1f} years,", end="")
    print(f" the mean by {plain:.1f}")


if __name__ == "__main__":
    showing.main(tell)
