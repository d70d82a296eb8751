"""Yeast: expression of 800 genes of the cell cycle over 77 arrays, 2,643 cells missing."""

import matplotlib.pyplot as plt
import numpy as np

import bhclust
import showing


def generate(path):
    """Write a small archive of the same form."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=45)
    minutes = np.arange(0, 126, 7)
    curves = np.cos(minutes / 10 - 2 * y[:, None])
    X = np.column_stack([rng.normal(0, 0.3, (45, 4)), curves + rng.normal(0, 0.3, curves.shape)])
    X[rng.random(X.shape) < 0.05] = np.nan
    columns = [f"cln{j}" for j in range(4)] + [f"alpha{t}" for t in minutes]
    np.savez(
        path, X=X, y=y, class_names=np.array(["G1", "S", "M"]), feature_names=np.array(columns)
    )


def tell(stage: showing.Stage) -> None:
    """Cluster all columns with their holes, then one experiment as time series."""
    f = np.load(stage.file("yeast_cell_cycle800.npz", generate), allow_pickle=False)
    X, y = f["X"].astype(float), f["y"].astype(int)
    phases, columns = [str(name) for name in f["class_names"]], list(f["feature_names"])
    print(f"{X.shape[0]} genes, {X.shape[1]} columns, {np.isnan(X).sum()} cells missing")

    est = bhclust.BHC("gaussian-diag", tree="ward").fit(X)
    print("\nall columns, gaussian-diag:")
    showing.say_how_many(est.posterior_, est.labels_)
    cuts = {"as found": est.labels_, "told 5": est.posterior_.cut(n_clusters=5)}
    showing.say_agreement("agreement with the phases", est.tree_, cuts, y)
    means = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    showing.say_ward(means, y, 5, "Ward, holes filled in by means")
    hide_and_seek(X)

    alpha = np.array([name.startswith("alpha") for name in columns])
    series = X[:, alpha]
    kept = (~np.isnan(series)).sum(axis=1) > 9
    series, y = series[kept], y[kept]
    series = series - np.nanmean(series, axis=1, keepdims=True)
    series /= np.nanstd(series, axis=1, keepdims=True)
    minutes = 7.0 * np.arange(alpha.sum())
    start = bhclust.GaussianProcess.from_data(series, times=minutes, kernel="squared-exponential")
    post = bhclust.posterior(bhclust.bhc(series, start), series, start)
    labels = post.cut()
    print("\nthe alpha experiment as time series, each gene standardised:")
    showing.say_how_many(post, labels)
    showing.say_agreement("agreement with the phases", post.tree, {"as found": labels}, y)
    draw(stage, series, minutes, labels, post.family, y, phases)


def hide_and_seek(X):
    """Hide known cells, and see how near they are guessed."""
    rng = np.random.default_rng(0)
    known = np.argwhere(~np.isnan(X))
    rows, places = known[rng.choice(len(known), len(known) // 50, replace=False)].T
    holed = X.copy()
    holed[rows, places] = np.nan
    est = bhclust.BHC("gaussian-diag", tree="ward").fit(holed)
    error = np.sqrt(np.mean((est.impute()[rows, places] - X[rows, places]) ** 2))
    plain = np.sqrt(np.mean((np.nanmean(holed, axis=0)[places] - X[rows, places]) ** 2))
    print(f"{len(rows)} known cells hidden and guessed: error {error:.2f},", end="")
    print(f" by column means {plain:.2f}")


def draw(stage, series, minutes, labels, family, y, phases):
    """The six largest clusters with their curves and bands."""
    largest = np.argsort(-np.bincount(labels), kind="stable")[:6]
    dense = np.linspace(minutes[0], minutes[-1], 120)
    curves = bhclust.curves.cluster_curves(series, labels, family, times=dense)
    fig, axes = plt.subplots(
        2, 3, figsize=(9.5, 4.6), layout="constrained", sharex=True, sharey=True
    )
    for ax, cluster, colour in zip(axes.flat, largest, showing.COLOURS, strict=False):
        own = labels == cluster
        ax.plot(minutes, series[own][:40].T, color="#c5ccd3", linewidth=0.4)
        ax.fill_between(
            dense, *curves[cluster].band(0.95, noise=True), color=colour, alpha=0.2, linewidth=0
        )
        ax.plot(dense, curves[cluster].mean, color=colour, linewidth=2)
        kind = np.bincount(y[own]).argmax()
        ax.set_title(f"{own.sum()} genes, {np.sum(y[own] == kind)} of {phases[kind]}")
    for ax in axes[1]:
        ax.set_xlabel("minutes")
    stage.save(fig, "curves")


if __name__ == "__main__":
    showing.main(tell)
