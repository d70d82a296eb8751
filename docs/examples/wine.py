"""Wine: 178 wines of three growers, 13 measurements of each."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

import bhclust
import showing


def tell(stage: showing.Stage) -> None:
    """Cluster the wines with correlated and with independent columns."""
    wine = load_wine()
    X, growers = wine.data, wine.target
    columns = list(wine.feature_names)
    fits = {family: bhclust.BHC(family).fit(X) for family in ("gaussian", "gaussian-diag")}

    for family, est in fits.items():
        post = est.posterior_
        print(f"\n{family}: log evidence {est.log_evidence_:.0f}")
        showing.say_how_many(post, est.labels_)
        cuts = {"as found": est.labels_, "told 3": post.cut(n_clusters=3)}
        showing.say_agreement("agreement with the growers", est.tree_, cuts, growers)
    print()
    showing.say_ward(X, growers, 3, "Ward, raw columns")
    showing.say_ward(showing.standardised(X), growers, 3, "Ward, standardised columns")

    post = fits["gaussian-diag"].posterior_
    three = post.cut(n_clusters=3)
    apart = {(a, b): post.separating_columns(a, b, three) for a, b in [(0, 1), (0, 2), (1, 2)]}
    print("\nwhat keeps the three apart, nats:")
    for (a, b), parts in apart.items():
        best = np.argsort(-parts)[:3]
        words = ", ".join(f"{columns[j]} {parts[j]:.0f}" for j in best)
        print(f"  {a} from {b}: {words}")

    fig, (left, right) = plt.subplots(
        1, 2, figsize=(9.5, 3.6), layout="constrained", width_ratios=[1, 1.3]
    )
    for family, colour in zip(fits, showing.COLOURS, strict=False):
        chance = fits[family].posterior_.n_clusters_distribution(30)
        left.bar(range(1, 31), chance, color=colour, alpha=0.75, label=family)
    left.set(xlabel="number of clusters", ylabel="probability")
    left.legend(frameon=False, loc="upper left")
    places = np.arange(len(columns))
    for shift, ((a, b), parts) in zip((-0.27, 0, 0.27), apart.items(), strict=True):
        right.barh(places + shift, parts, 0.27, label=f"{a} from {b}", color=showing.COLOURS[a + b])
    right.axvline(0, color="black", linewidth=0.8)
    right.set_yticks(places, columns, fontsize=7.5)
    right.invert_yaxis()
    right.set(xlabel="log Bayes factor of two clusters, nats")
    right.legend(frameon=False)
    stage.save(fig, "columns")
    bhclust.plot.save_condensed_tree(
        stage.picture("tree"),
        post,
        X=dict(zip(columns, X.T, strict=True)),
        classes=[f"grower {grower + 1}" for grower in growers],
        unit="wines",
        dpi=90,
    )


if __name__ == "__main__":
    showing.main(tell)
