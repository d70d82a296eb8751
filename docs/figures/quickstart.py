"""The zoo, as `bhclust demo` shows it."""

import bhclust

zoo = bhclust.datasets.load_zoo()
post = bhclust.BHC(family=zoo.family).fit(zoo.data).posterior_
bhclust.plot.condensed_tree(
    post, X=zoo, names=zoo.names, classes=zoo.target, unit="animals", title="101 animals"
)
