"""Every public callable, called wrongly: one line that names the argument, never a traceback's."""

from __future__ import annotations

import inspect
import math
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import Posterior, Tree, _core, metrics

X = [[0.0, 3.0], [1.0, 12.0], [7.0, 0.0], [6.0, 1.0]]
POISSON = bhclust.PoissonGamma()
TREE = bhclust.rbhc(X, POISSON)
FOUND = bhclust.posterior(TREE, X, POISSON)
FITTED = bhclust.BHC(POISSON).fit(X)
LEAVES = TREE.n_leaves

Y = ["a", "a", "b", "b"]


class Silent:
    """Neither a number nor a sequence, and its repr fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Wordy:
    def __repr__(self) -> str:
        return "many\nlines " * 1000


WRONG: list[Any] = [
    None,
    True,
    3,
    -1,
    1.5,
    math.nan,
    math.inf,
    10**400,
    -(10**400),
    1j,
    "x",
    "",
    "\ud800",
    b"x",
    [],
    {},
    [1, 2],
    ["a", "b"],
    [None],
    [[1.0, 2.0], [3.0]],
    {"a": 1},
    {1, 2},
    range(3),
    np.array(["a", "b"]),
    np.array([None, math.nan]),
    np.zeros((2, 2, 2)),
    np.zeros((3, 4)),
    np.zeros((0, 4)),
    np.zeros(40),
    np.datetime64("2020-01-01"),
    np.array(1.0),
    int,
    len,
    Silent(),
    Wordy(),
    TREE,
    POISSON,
]

# What the refusals of an argument may speak of in place of its name.
OTHER_WORDS = {
    "X": ('lam="auto"',),
    "tree": ("Newick", "linkage", "merge", "text", "leaves"),
    "text": ("Newick", "JSON", "tree"),
    "Z": ("linkage", "merge"),
    "X_new": ("X_new", "X has"),
    "blocks": ("Product", "block", "column"),
    "children": ("merge", "costs"),
    "costs": ("there are", "kind"),
    "kind": ("costs",),
    "names": ("Newick",),
    "family": ("X:", "Product", "column"),
    "n_leaves": ("merge", "leaf", "leaves"),
    "found": ("Posterior",),
    "table": ("Posterior",),
    "y": ("class", "labels"),
    "labels": ("y ", "class"),
    "lam": ("cluster",),
    "j": ("i ",),
}


def calls() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    yield "bhc", bhclust.bhc, {"X": X, "family": POISSON, "alpha": 1.0, "n_threads": 1}
    yield "rbhc", bhclust.rbhc, {"X": X, "family": POISSON, "lam": 3.0, "method": "greedy"}
    yield "rbhc", bhclust.rbhc, {"X": X, "family": POISSON, "n_clusters": 2, "n_threads": 1}
    refine = {"tree": TREE, "X": X, "family": POISSON, "alpha": 1.0, "max_regrafts": 2}
    yield "refine", bhclust.refine, refine | {"max_seconds": 1.0, "progress": None}
    given = {"tree": TREE, "X": X, "family": POISSON, "alpha": 1.0, "names": None}
    yield "posterior", bhclust.posterior, given | {"resolve": False, "progress": None}
    exact = {"X": X, "family": POISSON, "alpha": 1.0, "progress": None}
    yield "exact_log_evidence", bhclust.exact_log_evidence, exact
    learn = {"X": X, "family": POISSON, "alpha": 1.0, "tree": TREE, "max_rounds": 1}
    yield "learn", bhclust.learn, learn | {"max_regrafts": 1, "n_threads": 1, "progress": None}
    heuristic = {"X": X, "family": POISSON, "n_clusters": 2, "random_state": 0}
    yield "lambda_heuristic", bhclust.lambda_heuristic, heuristic
    yield "Posterior", Posterior, {"tree": TREE, "found": 1, "table": 1, "family": POISSON}
    yield from posterior_calls()
    yield from tree_calls()
    for name in ("purity", "f_measure", "adjusted_rand_index", "normalized_mutual_information"):
        yield name, getattr(metrics, name), {"labels": [0, 0, 1, 1], "y": Y}
    purity = {"tree": TREE, "y": Y, "weights": "rows"}
    yield "dendrogram_purity", metrics.dendrogram_purity, purity
    yield "level_labels", metrics.level_labels, {"tree": TREE, "level": 1}
    for name in bhclust.__all__:
        value = getattr(bhclust, name)
        if inspect.isclass(value) and issubclass(value, bhclust.Family) and name != "Family":
            yield from family_calls(name, value)
    yield from estimator_calls()


def posterior_calls() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    yield "log_evidence_bound", FOUND.log_evidence_bound, {"kind": "joint", "progress": None}
    yield "relocation_gains", FOUND.relocation_gains, {"progress": None}
    yield "alternative_trees", FOUND.alternative_trees, {"n_trees": 1}
    yield "coclustering", FOUND.coclustering, {"i": [0, 1], "j": [1, 2]}
    distribution = {"max_clusters": 3}
    yield "n_clusters_distribution", FOUND.n_clusters_distribution, distribution
    for name in ("cut", "cut_nodes"):
        method = getattr(FOUND, name)
        yield name, method, {"rule": "r", "threshold": 0.3}
        yield name, method, {"rule": "map", "n_clusters": 2}
    yield "sample_partitions", FOUND.sample_partitions, {"n_samples": 2, "random_state": 0}
    rows = {"X_new": X, "n_threads": 1, "progress": None}
    yield "score_samples", FOUND.score_samples, rows
    yield "predict_log_proba", FOUND.predict_log_proba, rows | {"labels": [0, 0, 1, 1]}
    yield "posterior.to_newick", FOUND.to_newick, {"names": list("abcd")}


def tree_calls() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    children = {"n_leaves": LEAVES, "children": TREE.children, "costs": TREE.cost}
    yield "from_children", Tree.from_children, children | {"kind": "divergence"}
    yield "from_linkage", Tree.from_linkage, {"Z": TREE.to_linkage()}
    newick = {"text": "((a,b),c);", "names": ["a", "b", "c"], "resolve": True}
    yield "from_newick", Tree.from_newick, newick
    yield "from_json", Tree.from_json, {"text": TREE.to_json()}
    yield "to_json", TREE.to_json, {"names": list("abcd")}
    heights = np.arange(TREE.n_nodes, dtype=float)
    yield "to_linkage", TREE.to_linkage, {"heights": heights}
    yield "to_newick", TREE.to_newick, {"names": list("abcd"), "heights": heights}
    for name in ("cut", "forest"):
        yield f"tree.{name}", getattr(TREE, name), {"lam": 1.0}
        yield f"tree.{name}", getattr(TREE, name), {"n_clusters": 2}


def family_calls(
    name: str, family: Any
) -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    if name == "Product":
        yield name, family, {"blocks": [(POISSON, [0])]}
        return
    good = family() if name != "CategoricalDirichlet" else family(levels=3)
    yield name, family, good.parameters()
    yield f"{name}.from_data", family.from_data, {"X": [[1.0], [1.0]]}


def estimator_calls() -> Iterator[tuple[str, Callable[..., Any], dict[str, Any]]]:
    for cls, good in (
        (bhclust.BHC, {"family": POISSON}),
        (bhclust.BHC, {"family": POISSON, "rule": "r", "threshold": 0.3}),
        (bhclust.RBHC, {"family": POISSON, "n_clusters": 2}),
        (bhclust.RBHC, {"family": POISSON, "lam": "auto"}),
    ):
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(cls).parameters.items()
            if name not in good and name not in ("lam", "n_clusters", "threshold")
        }

        def fit(cls: Any = cls, **options: Any) -> Any:
            return cls(**options).fit(X)

        yield f"{cls.__name__}.fit", fit, defaults | good
    for name in ("predict", "predict_proba", "score_samples", "score"):
        yield name, getattr(FITTED, name), {"X": X}
    yield "get_params", FITTED.get_params, {"deep": True}


CALLS = list(calls())
CASES = [
    pytest.param(call, good, argument, id=f"{k}-{name}-{argument}")
    for k, (name, call, good) in enumerate(CALLS)
    for argument in good
]


def complaint_about(error: BaseException) -> str:
    message = str(error)
    assert isinstance(error, (TypeError, ValueError)), repr(error)
    assert "\n" not in message
    assert len(message) < 600
    for foreign in ("incompatible", "_core", "std::", "bad_alloc", "numpy.", "vector", "ufunc"):
        assert foreign not in message
    return message


@pytest.mark.parametrize(("name", "call", "good"), CALLS, ids=[name for name, _, _ in CALLS])
def test_the_good_call_is_good(name: str, call: Any, good: Any) -> None:
    if name != "Posterior":
        call(**good)


@pytest.mark.parametrize(("call", "good", "argument"), CASES)
def test_wrong_arguments(call: Any, good: dict[str, Any], argument: str) -> None:
    words = (argument, *OTHER_WORDS.get(argument, ()))
    for value in WRONG:
        if argument == "progress" and callable(value):
            continue  # its own errors come out as they are
        try:
            call(**(good | {argument: value}))
        except Exception as error:
            message = complaint_about(error)
            assert any(word in message for word in words), message


def bound() -> Iterator[tuple[str, Callable[..., Any]]]:
    """What the compiled core defines, which has no signature that Python checks."""
    for name in bhclust.__all__:
        cls = getattr(bhclust, name)
        if not inspect.isclass(cls) or cls.__module__ != "bhclust._core" or name == "Family":
            continue
        if name != "Tree":
            yield name, cls
        instance: Any = TREE if name == "Tree" else POISSON
        for attribute, value in vars(cls).items():
            if attribute.startswith("_") or isinstance(value, property):
                continue
            if isinstance(value, staticmethod):
                yield f"{name}.{attribute}", getattr(cls, attribute)
            elif isinstance(instance, cls):
                yield f"{name}.{attribute}", getattr(instance, attribute)


BOUND = list(bound())


def test_the_core_defines_what_is_called_here() -> None:
    names = {name for name, _ in BOUND}
    assert {"Tree.cut", "Tree.from_json", "Product", "PoissonGamma", "PoissonGamma.from_data"} <= (
        names
    )


@pytest.mark.parametrize(("name", "call"), BOUND, ids=[name for name, _ in BOUND])
def test_calls_that_do_not_fit(name: str, call: Any) -> None:
    with pytest.raises(TypeError) as caught:
        call(*range(9))
    assert f"{name}() takes " in complaint_about(caught.value)
    with pytest.raises(TypeError) as caught:
        call(wrong=1)
    assert f"{name}() has no argument wrong; it has " in complaint_about(caught.value)


def test_a_keyword_that_is_nearly_right() -> None:
    for call, keyword, wanted in (
        (bhclust.NormalInverseWishart, "kapa", "kappa"),
        (TREE.cut, "n_cluster", "n_clusters"),
        (Tree.from_newick, "name", "names"),
    ):
        with pytest.raises(TypeError, match=rf"has no argument {keyword}; .* mean {wanted}\?$"):
            call(**{keyword: 1})


def test_arguments_that_are_missing_or_given_twice() -> None:
    message = r"^Tree.from_children\(\) needs children$"
    with pytest.raises(TypeError, match=message):
        Tree.from_children(3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Tree.from_children\(\) is given n_leaves twice$"):
        Tree.from_children(3, [], n_leaves=3)  # type: ignore[misc]


@pytest.mark.parametrize("wrong", [(), (3,), (POISSON,)])
def test_methods_on_something_else(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"Tree.cut\(\) is a method; call it on a Tree"):
        Tree.cut(*wrong)


def test_documentation_shows_one_signature() -> None:
    for name, call in BOUND:
        function = call.__init__ if inspect.isclass(call) else call
        documentation = function.__doc__ or ""
        assert documentation.startswith(f"{function.__name__}("), name
        assert "Overloaded" not in documentation
        assert "*args" not in documentation


@pytest.mark.parametrize(
    "kind",
    [
        Tree,
        _core.Table,
        _core.TreePosterior,
        _core.Relocations,
        bhclust.Family,
        bhclust.NormalInverseGamma,
        bhclust.GaussianProcess,
        bhclust.Product,
    ],
)
def test_objects_that_no_constructor_made_are_refused(kind: type) -> None:
    empty = kind.__new__(kind)
    told = rf"this {kind.__name__} holds nothing, as __new__ alone made it"
    values = [name for name, value in inspect.getmembers(kind) if isinstance(value, property)]
    for name in values:
        with pytest.raises(TypeError, match=told):
            getattr(empty, name)
    uses: list[Callable[[], Any]] = [
        lambda: _core.map_nodes(empty, FOUND._found),
        lambda: _core.map_nodes(TREE, empty),
        lambda: _core.posterior(TREE, empty, POISSON, 1.0, None),
        lambda: _core.posterior(TREE, FOUND._table, empty, 1.0, None),
    ]
    answers = []
    for use in uses:
        with pytest.raises(TypeError) as refusal:
            use()
        answers.append(str(refusal.value))
    assert any(re.match(told, answer) for answer in answers) or kind is _core.Relocations
    if hasattr(kind, "parameters") or kind is Tree:
        for use in (lambda: repr(empty), lambda: empty == empty, lambda: pickle.dumps(empty)):
            with pytest.raises(TypeError, match=told):
                use()
