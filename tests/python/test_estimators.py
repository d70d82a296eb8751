"""The estimators: scikit-learn's manners, tables of every kind, predictions that agree with fit."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust import BHC, RBHC
from cases import NAMES, NAN, SINGLE, TAKES_MISSING, TAKES_SPARSE, close, random_case

BOTH = [BHC, RBHC]
SPREAD = bhclust.NormalKnownVariance(variance=0.25, prior_variance=400.0)


def three_groups(n: int = 60, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n) % 3)
    centres = np.array([[-12.0, 3.0], [0.0, -9.0], [11.0, 8.0]])
    centres = np.column_stack([centres, np.zeros((3, d - 2))])
    return centres[group] + 0.5 * rng.normal(size=(n, d)), group


def same_partition(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return bool(((a[:, None] == a) == (b[:, None] == b)).all())


def estimators(family: Any = SPREAD) -> list[Any]:
    return [
        BHC(family),
        BHC(family, tree="rbhc"),
        BHC(family, rule="r"),
        BHC(family, n_clusters=3),
        RBHC(family, lam=60.0),
        RBHC(family, lam=60.0, method="greedy"),
        RBHC(family, n_clusters=3),
    ]


@pytest.mark.parametrize("estimator", estimators(), ids=repr)
def test_fit_finds_the_groups_and_all_answers_agree(estimator: Any) -> None:
    X, group = three_groups()
    assert estimator.fit(X) is estimator
    assert estimator.n_clusters_ == 3
    assert same_partition(estimator.labels_, group)
    assert (estimator.labels_.shape, estimator.labels_.dtype) == ((60,), np.int64)
    assert (np.diff(np.bincount(estimator.labels_)) <= 0).all()
    assert estimator.n_features_in_ == 2
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.tree_.n_leaves == 60
    assert estimator.posterior_.tree == estimator.tree_
    assert estimator.log_evidence_ == estimator.posterior_.log_evidence
    assert estimator.family_ == SPREAD
    assert (estimator.predict(X) == estimator.labels_).all()
    proba = estimator.predict_proba(X)
    assert proba.shape == (60, 4)
    assert close(proba.sum(axis=1), np.ones(60))
    assert (np.argmax(proba, axis=1) == estimator.labels_).all()
    density = estimator.score_samples(X)
    assert close(density, estimator.posterior_.score_samples(X))
    assert close(estimator.score(X), density.mean())
    assert (type(estimator)(**estimator.get_params()).fit_predict(X) == estimator.labels_).all()


def test_estimators_are_the_functions() -> None:
    X, _ = three_groups()
    est = BHC(SPREAD, alpha=0.4).fit(X)
    tree = bhclust.bhc(X, SPREAD, alpha=0.4)
    assert est.tree_ == tree
    found = bhclust.posterior(tree, X, SPREAD, alpha=0.4)
    assert est.log_evidence_ == found.log_evidence
    assert (est.labels_ == found.cut()).all()
    assert BHC(SPREAD, tree="rbhc").fit(X).tree_ == bhclust.rbhc(X, SPREAD)
    relaxed = RBHC(SPREAD, lam=7.0, alpha=0.4).fit(X)
    assert relaxed.lam_ == 7.0
    assert relaxed.tree_ == bhclust.rbhc(X, SPREAD, lam=7.0)
    assert relaxed.posterior_.alpha == 0.4
    assert RBHC(SPREAD, n_clusters=4).fit(X).tree_ == bhclust.rbhc(X, SPREAD, n_clusters=4)
    assert math.isinf(RBHC(SPREAD, n_clusters=4).fit(X).lam_)


def test_the_cut_follows_its_options() -> None:
    case = random_case("NormalInverseGamma", 60, 0)
    X, family = case.cells, case.family
    found = BHC(family).fit(X).posterior_
    for options in (
        {"rule": "r", "threshold": 0.9},
        {"rule": "r", "threshold": 0.01},
        {"rule": "binder"},
        {"n_clusters": 5},
        {"n_clusters": 5, "rule": "map"},
    ):
        assert (BHC(family, **options).fit(X).labels_ == found.cut(**options)).all()


def far_apart(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three groups that no family of the name can take for fewer or more."""
    rng = np.random.default_rng(NAMES.index(name))
    group = rng.permutation(np.arange(60) % 3)
    axis = np.eye(3)[group]
    match name:
        case "BernoulliBeta":
            bits = np.repeat(axis, 8, axis=1) > 0
            return np.where(rng.random(bits.shape) < 0.03, ~bits, bits).astype(float), group
        case "CategoricalDirichlet":
            codes = np.repeat(group[:, None], 8, axis=1)
            return np.where(rng.random(codes.shape) < 0.03, 3, codes).astype(float), group
        case "ExponentialGamma":
            return rng.exponential(np.repeat(1e6**axis, 4, axis=1)), group
        case "VonMisesFisher":
            rows = axis + 0.05 * rng.normal(size=axis.shape)
            return rows / np.linalg.norm(rows, axis=1, keepdims=True), group
        case "GeometricBeta" | "NegativeBinomialBeta":
            return np.floor(rng.exponential(np.repeat(1e6**axis, 4, axis=1))), group
        case "MultinomialDirichlet" | "PoissonGamma":
            return rng.poisson(1 + 200 * axis).astype(float), group
    return 40 * axis + rng.normal(size=axis.shape), group


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("name", SINGLE)
def test_rows_get_their_labels_again_where_the_partition_is_certain(name: str, cls: Any) -> None:
    X, group = far_apart(name)
    est = cls(getattr(bhclust, name), n_clusters=3).fit(X)
    assert same_partition(est.labels_, group)
    assert (est.predict(X) == est.labels_).all()
    assert est.predict_proba(X)[np.arange(60), est.labels_].min() > 0.9
    if cls is BHC:
        assert same_partition(BHC(getattr(bhclust, name)).fit(X).labels_, group)


def test_far_rows_are_a_new_cluster() -> None:
    X, _ = three_groups()
    proba = BHC(SPREAD).fit(X).predict_proba([[300.0, -300.0]])
    assert proba[0, -1] > 0.999


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_and_dense_tables_are_the_same(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 40, 2)
    dense, found = BHC(case.family).fit(case.cells), BHC(case.family)
    found.fit(sparse.csr_matrix(case.cells))
    assert (found.labels_ == dense.labels_).all()
    assert close(found.log_evidence_, dense.log_evidence_, 1e-11)
    for X in (case.cells, sparse.csc_array(case.cells)):
        assert close(found.predict_proba(X), dense.predict_proba(case.cells), 1e-9)
        assert close(found.score_samples(X), dense.score_samples(case.cells), 1e-10)


@pytest.mark.parametrize("estimator", estimators(), ids=repr)
def test_lists_and_frames_are_the_same(estimator: Any) -> None:
    pd = pytest.importorskip("pandas")
    X, _ = three_groups()
    labels = estimator.fit(X).labels_
    assert (copy.deepcopy(estimator).fit(X.tolist()).labels_ == labels).all()
    frame = pd.DataFrame(X, columns=["left", "right"])
    named = copy.deepcopy(estimator).fit(frame)
    assert (named.labels_ == labels).all()
    assert named.feature_names_in_.tolist() == ["left", "right"]
    assert close(named.score_samples(frame), estimator.score_samples(X), 1e-12)
    assert (named.predict(X.tolist()) == labels).all()
    named.fit(X)
    assert not hasattr(named, "feature_names_in_")


def test_fit_ignores_y() -> None:
    X, group = three_groups()
    assert (BHC(SPREAD).fit(X, group).labels_ == BHC(SPREAD).fit(X).labels_).all()
    relaxed = RBHC(SPREAD, lam=60.0).fit(X)
    assert (RBHC(SPREAD, lam=60.0).fit_predict(X, group) == relaxed.labels_).all()
    est = BHC(SPREAD).fit(X)
    assert est.score(X, group) == est.score(X)


@pytest.mark.parametrize("name", SINGLE)
def test_names_and_classes_take_their_hyperparameters_from_the_data(name: str) -> None:
    X = random_case(name, 30, 3).cells
    cls = getattr(bhclust, name)
    wanted = cls.from_data(X)
    est = BHC(cls).fit(X)
    assert est.family is cls
    assert isinstance(est.family_, cls)
    assert RBHC(cls, n_clusters=2).fit(X).family_ == wanted


@pytest.mark.parametrize("cls", BOTH)
def test_one_row_and_two_rows(cls: Any) -> None:
    for n in (1, 2):
        X = np.arange(3.0 * n).reshape(n, 3)
        for family in (SPREAD, "gaussian", "gaussian-diag", "poisson"):
            options: Any = {"lam": 1.0} if cls is RBHC else {}
            est = cls(family, **options).fit(X)
            assert est.labels_.shape == (n,)
            assert est.predict_proba(X).shape == (n, est.n_clusters_ + 1)
            assert math.isfinite(est.log_evidence_)


class TestParameters:
    @pytest.mark.parametrize("cls", BOTH)
    def test_get_and_set(self, cls: Any) -> None:
        est = cls()
        parameters = est.get_params()
        assert parameters == est.get_params(deep=False)
        for name, value in parameters.items():
            assert getattr(est, name) is value
        changed = {name: object() for name in parameters}
        assert est.set_params(**changed) is est
        assert est.get_params() == changed
        with pytest.raises(
            ValueError, match=rf"{cls.__name__} has no parameter 'k'; it has family"
        ):
            est.set_params(k=1)

    @pytest.mark.parametrize("cls", BOTH)
    def test_the_constructor_only_keeps_them(self, cls: Any) -> None:
        given = {name: object() for name in cls().get_params()}
        est = cls(**given)
        assert vars(est) == given
        with pytest.raises(TypeError):
            cls("gaussian", 1.0)

    def test_repr_shows_what_was_changed(self) -> None:
        assert repr(BHC()) == "BHC()"
        assert repr(RBHC(lam=3.0)) == "RBHC(lam=3.0)"
        family = bhclust.PoissonGamma(rate=2.0)
        assert repr(BHC(family, alpha=0.5)) == f"BHC(family={family!r}, alpha=0.5)"

    @pytest.mark.parametrize("estimator", estimators(), ids=repr)
    def test_clone(self, estimator: Any) -> None:
        base = pytest.importorskip("sklearn.base")
        X, _ = three_groups()
        estimator = copy.deepcopy(estimator).fit(X)
        again = base.clone(estimator)
        assert repr(again) == repr(estimator)
        assert not hasattr(again, "labels_")
        assert (again.fit(X).labels_ == estimator.labels_).all()

    @pytest.mark.parametrize("estimator", estimators(), ids=repr)
    def test_pickle(self, estimator: Any) -> None:
        X, _ = three_groups()
        estimator = copy.deepcopy(estimator).fit(X)
        again = pickle.loads(pickle.dumps(estimator))
        assert (again.predict(X) == estimator.predict(X)).all()
        assert again.score_samples(X).tobytes() == estimator.score_samples(X).tobytes()
        assert again.tree_ == estimator.tree_


class TestScikitLearn:
    def test_tags_follow_the_family(self) -> None:
        pytest.importorskip("sklearn")
        for name in SINGLE:
            for family in (random_case(name, 3, 0).family, getattr(bhclust, name)):
                tags = BHC(family).__sklearn_tags__()
                assert tags.estimator_type == "clusterer"
                assert tags.input_tags.allow_nan == (name in TAKES_MISSING)
                assert tags.input_tags.sparse == (name in TAKES_SPARSE)
        product = random_case("Product", 3, 0).family
        for family in (product, {"a": "poisson", "b": "gaussian-diag"}):
            tags = BHC(family).__sklearn_tags__().input_tags
            assert (tags.allow_nan, tags.sparse) == (True, False)
        assert not BHC({"a": "poisson", "b": "gaussian"}).__sklearn_tags__().input_tags.allow_nan

    def test_a_pipeline_ends_with_them(self) -> None:
        pipeline = pytest.importorskip("sklearn.pipeline")
        scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler()
        X, group = three_groups()
        for est in (BHC("gaussian-diag"), RBHC(n_clusters=3)):
            steps = pipeline.make_pipeline(scaler, est)
            labels = steps.fit_predict(X)
            assert same_partition(labels, group)
            assert (steps.predict(X) == labels).all()
            assert math.isfinite(steps.score(X))

    def test_a_grid_search_takes_the_score(self) -> None:
        selection = pytest.importorskip("sklearn.model_selection")
        X, _ = three_groups()
        search = selection.GridSearchCV(BHC(SPREAD), {"alpha": [0.1, 10.0]}, cv=3)
        assert search.fit(X).best_params_["alpha"] in (0.1, 10.0)

    def test_its_error_for_what_is_not_fitted(self) -> None:
        exceptions = pytest.importorskip("sklearn.exceptions")
        for cls in BOTH:
            for method in ("predict", "predict_proba", "score_samples", "score"):
                with pytest.raises(exceptions.NotFittedError, match=f"this {cls.__name__} is not"):
                    getattr(cls(), method)([[1.0]])
        validation = pytest.importorskip("sklearn.utils.validation")
        validation.check_is_fitted(BHC(SPREAD).fit([[1.0]]))
        with pytest.raises(exceptions.NotFittedError):
            validation.check_is_fitted(BHC(SPREAD))


def test_what_is_not_fitted_says_so() -> None:
    for cls in BOTH:
        for method in ("predict", "predict_proba", "score_samples", "score"):
            with pytest.raises(ValueError, match=r"is not fitted; call fit\(X\)"):
                getattr(cls(), method)([[1.0]])


MIXED = {
    "age": bhclust.NormalInverseGamma(mean=40.0, b=50.0),
    "smoker": "bernoulli",
    "region": "categorical",
    "visits": "poisson",
}


def patients(n: int = 60) -> Any:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    ill = rng.permutation(np.arange(n) % 2 == 0)
    region = np.where(rng.random(n) < 0.9, np.where(ill, "north", "south"), "west").astype(object)
    frame = pd.DataFrame(
        {
            "name": [f"patient {i}" for i in range(n)],
            "visits": rng.poisson(np.where(ill, 14, 2)),
            "region": region,
            "smoker": np.where(ill, rng.random(n) < 0.9, rng.random(n) < 0.1),
            "age": np.where(ill, 68.0, 31.0) + 4 * rng.normal(size=n),
        }
    )
    frame.loc[5, ["age"]] = NAN
    frame.loc[6, "region"] = None
    frame["visits"] = frame["visits"].astype("Int64")
    frame.loc[7, "visits"] = pd.NA
    return frame, ill


class TestMixedColumns:
    @pytest.mark.parametrize("cls", BOTH)
    def test_a_frame_with_text_bits_counts_and_holes(self, cls: Any) -> None:
        frame, ill = patients()
        options: Any = {"n_clusters": 2} if cls is RBHC else {}
        est = cls(MIXED, **options).fit(frame)
        assert same_partition(est.labels_, ill)
        assert (est.predict(frame) == est.labels_).all()
        assert est.n_features_in_ == 4
        assert [f.name for f, _ in est.family_.blocks] == [
            "NormalInverseGamma",
            "BernoulliBeta",
            "CategoricalDirichlet",
            "PoissonGamma",
        ]
        moved = frame[["age", "visits", "smoker", "region"]]
        assert close(est.score_samples(moved), est.score_samples(frame), 1e-13)
        again = pickle.loads(pickle.dumps(est))
        assert (again.predict(frame) == est.labels_).all()
        category = frame.astype({"region": "category", "smoker": "boolean"})
        assert close(est.predict_proba(category), est.predict_proba(frame), 1e-13)

    def test_it_is_the_product_of_the_columns(self) -> None:
        frame, _ = patients()
        est = BHC(MIXED, tree="greedy", hyperparameters="data").fit(frame)
        codes = frame["region"].map({"north": 0.0, "south": 1.0, "west": 2.0})
        cells = np.column_stack(
            [
                frame["age"],
                frame["smoker"].astype(float),
                codes.astype(float),
                frame["visits"].astype("float64"),
            ]
        )
        assert est.tree_ == bhclust.bhc(cells, est.family_)
        assert close(est.score_samples(frame), est.posterior_.score_samples(cells), 1e-13)

    def test_arrays_go_by_number(self) -> None:
        X, group = three_groups()
        table = np.column_stack([X, group, np.full(60, np.inf)])
        est = BHC({2: "categorical", 0: SPREAD}).fit(table)
        assert same_partition(est.labels_, group)
        assert est.n_features_in_ == 2
        assert (est.predict(table) == est.labels_).all()
        rows: list[Any] = [[float(x), f"group {g}"] for x, g in zip(X[:, 0], group, strict=True)]
        text = BHC({1: "categorical", 0: SPREAD}).fit(rows)
        assert (text.labels_ == est.labels_).all()

    def test_levels_that_were_not_seen_are_refused(self) -> None:
        frame, _ = patients()
        est = BHC(MIXED).fit(frame)
        new = frame.copy()
        new.loc[4, "region"] = "east"
        message = (
            r"X_new: row 4, column 'region' is 'east', a level .* \['north', 'south', 'west'\]"
        )
        for method in (est.predict, est.predict_proba, est.score_samples):
            with pytest.raises(ValueError, match=message):
                method(new)

    def test_messages_name_the_column(self) -> None:
        frame, _ = patients()
        est = BHC(MIXED).fit(frame)
        for column, value, told in (
            ("visits", -1, "column 'visits' is -1; PoissonGamma takes whole numbers"),
            ("smoker", 2, "column 'smoker' is 2; BernoulliBeta takes 0 or 1"),
            ("age", np.inf, "column 'age' is inf; NormalInverseGamma takes finite numbers"),
        ):
            bad = frame.astype({"smoker": float})
            bad.loc[9, column] = value
            for cls in (BHC(MIXED), RBHC(MIXED, n_clusters=2)):
                with pytest.raises(ValueError, match=f"X: row 9, {told}"):
                    cls.fit(bad)
            with pytest.raises(ValueError, match=f"X_new: row 9, {told}"):
                est.predict(bad)
        with pytest.raises(ValueError, match="names column 'smoker', and X_new has"):
            est.predict(frame[["age", "visits", "region"]])

    def test_numbers_that_are_keys_are_not_taken_for_places(self) -> None:
        X = np.array([[0.0, 1, 1], [5, 1, 2], [1, 0, 1]])
        with pytest.raises(ValueError, match="row 1, column 0 is 5; BernoulliBeta"):
            BHC({2: "poisson", 0: bhclust.BernoulliBeta()}).fit(X)


def test_frames_without_a_mapping_name_their_columns_too() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, np.inf, 1.0]})
    for est in (BHC("gaussian-diag"), BHC(SPREAD), RBHC(SPREAD, lam=1.0)):
        with pytest.raises(ValueError, match="X: row 1, column 'b' is inf"):
            est.fit(frame)
    est = BHC(SPREAD).fit(frame[["a"]])
    with pytest.raises(ValueError, match="X_new: row 1, column 'a' is inf"):
        est.predict(frame[["b"]].rename(columns={"b": "a"}))
    with pytest.raises(
        ValueError, match=r"X_new has the columns \['b'\]; the fitted X has \['a'\]"
    ):
        est.predict(frame[["b"]])


def test_new_rows_must_have_the_columns_of_the_fitted_ones() -> None:
    X, _ = three_groups()
    est = BHC(SPREAD).fit(X)
    for method in (est.predict, est.predict_proba, est.score_samples, est.score):
        with pytest.raises(ValueError, match="X has 3 features, but BHC is expecting 2 features"):
            method(np.zeros((4, 3)))
        with pytest.raises(ValueError, match="X_new has one dimension"):
            method([1.0, 2.0])
        with pytest.raises(ValueError, match="X_new has no rows"):
            method(np.empty((0, 2)))
        with pytest.raises(ValueError, match="X_new: row 1, column 0 is -inf"):
            method([[0.0, 0.0], [-np.inf, 0.0]])


@pytest.mark.parametrize(
    ("estimator", "error", "message"),
    [
        (
            BHC(SPREAD, tree="single"),
            ValueError,
            "tree is 'single'; it must be one of 'auto', 'greedy', 'rbhc', 'ward'",
        ),
        (BHC(SPREAD, rule="best"), ValueError, "rule is 'best'; it must be one of 'map', 'r'"),
        (BHC(SPREAD, rule="r", threshold=1.5), ValueError, "threshold is 1.5; it is a probability"),
        (
            BHC(SPREAD, threshold=0.9),
            ValueError,
            "threshold is 0.9, but a cut by rule=None has none",
        ),
        (BHC(SPREAD, threshold="0.5"), TypeError, "threshold must be a number, not '0.5'"),
        (BHC(SPREAD, threshold=0.9), ValueError, "threshold is 0.9, but a cut by rule=None has no"),
        (BHC(SPREAD, rule="binder", threshold=0.9), ValueError, "a cut by rule='binder' has none"),
        (
            BHC(SPREAD, rule="r", threshold=0.9, n_clusters=2),
            ValueError,
            "n_clusters=2 has none",
        ),
        (BHC(SPREAD, n_clusters=0), ValueError, "n_clusters is 0; it must be at least 1"),
        (BHC(SPREAD, n_clusters=9), ValueError, r"n_clusters is 9; X has 3 row\(s\)"),
        (BHC(SPREAD, n_clusters=2.0), TypeError, "n_clusters must be a whole number, not 2.0"),
        (BHC(SPREAD, n_clusters=2, rule="binder"), ValueError, 'rule="binder" chooses'),
        (BHC(SPREAD, alpha=0), ValueError, "alpha is 0; the concentration must be"),
        (BHC(SPREAD, n_threads=0), ValueError, "n_threads is 0; it must be at least 1"),
        (BHC("normal"), ValueError, "family is 'normal'; the names are bernoulli, "),
        (BHC(None), TypeError, "family must be a Family, one of its classes or a name"),
        (BHC({}), ValueError, "family names no column"),
        (RBHC(SPREAD, lam="best"), ValueError, r"lam is 'best'; it must be a number .* or .auto."),
        (RBHC(SPREAD, lam=None), TypeError, 'lam must be a number or "auto", not None'),
        (RBHC(SPREAD, lam=0.0), ValueError, "lam is 0; it must be above 0"),
        (RBHC(SPREAD, lam=math.nan), ValueError, "lam is nan; it must be above 0"),
        (RBHC(SPREAD, lam=1.0, n_clusters=2), ValueError, "lam and n_clusters exclude each other"),
        (RBHC(SPREAD, n_clusters=4), ValueError, "n_clusters is 4; X has 3 rows"),
        (RBHC(SPREAD, lam=1.0, method="fast"), ValueError, "method is 'fast'; it must be one of"),
        (RBHC(SPREAD, lam=1.0, alpha=-1.0), ValueError, "alpha is -1.0; the concentration"),
    ],
    ids=lambda value: repr(value) if isinstance(value, (BHC, RBHC)) else "",
)
def test_parameters_are_checked_by_fit(estimator: Any, error: Any, message: str) -> None:
    grown: list[Any] = []
    estimator.progress = lambda *where: grown.append(where)
    with pytest.raises(error, match=message):
        estimator.fit([[0.0], [1.0], [2.0]])
    assert grown == []
    assert not hasattr(estimator, "labels_")


def test_a_fit_that_fails_leaves_the_earlier_one_whole() -> None:
    pd = pytest.importorskip("pandas")
    X, _ = three_groups()
    for est in (BHC(SPREAD), RBHC(SPREAD, lam=60.0)):
        est.fit(X)
        labels, score = est.labels_, est.score(X)
        est.set_params(family={"a": "poisson"})
        with pytest.raises(ValueError, match=r"column 'a' is 0\.5"):
            est.fit(pd.DataFrame({"a": [0.5, 1.0]}))
        assert est.labels_ is labels
        assert est.score(X) == score
        assert est.n_features_in_ == 2
        assert not hasattr(est, "feature_names_in_")


def test_the_table_may_change_after_fit() -> None:
    X, _ = three_groups()
    est = BHC(SPREAD).fit(X)
    wanted = est.predict_proba(X[:5].copy())
    held = X[:5].copy()
    X[:] = 0.0
    assert est.predict_proba(held).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("cls", BOTH)
def test_progress_is_passed_on(cls: Any) -> None:
    X, _ = three_groups(400)
    seen: list[tuple[int, int]] = []
    options: Any = {"lam": 60.0} if cls is RBHC else {}
    cls(SPREAD, progress=lambda *where: seen.append(where), **options).fit(X)
    assert seen
    assert seen[-1][0] == seen[-1][1]


class TestLambdaAuto:
    def test_it_is_the_heuristic(self) -> None:
        pytest.importorskip("sklearn")
        X, _ = three_groups(120)
        est = RBHC(SPREAD, random_state=3).fit(X)
        assert est.lam_ == bhclust.lambda_heuristic(X, SPREAD, random_state=3)
        assert est.tree_ == bhclust.rbhc(X, SPREAD, lam=est.lam_)
        assert 1 < est.n_clusters_ < 120

    def test_it_is_not_asked_with_n_clusters(self) -> None:
        case = random_case("NormalInverseGamma", 30, 5)
        assert RBHC(case.family, n_clusters=3).fit(case.cells).n_clusters_ == 3


def test_collapse_merges_equal_rows_first() -> None:
    kinds = np.array([[0, 0, 1, 1, 0.0], [1, 1, 0, 0, 1], [1, 0, 1, 0, 0]])
    rows = kinds[[0, 1, 0, 2, 1, 0, 0, 2, 1]]
    family = bhclust.BernoulliBeta(a=0.3, b=0.4)
    wanted = bhclust.bhc(rows, family, collapse=True)
    assert wanted != bhclust.bhc(rows, family)
    fixed = BHC(family, tree="greedy", collapse=True).fit(rows)
    assert (fixed.tree_.children == wanted.children).all()
    learned = bhclust.learn(rows, family, tree="greedy", collapse=True, max_rounds=0)
    assert learned.steps[0].what == "greedy tree"
    est = BHC(family, tree="greedy", hyperparameters="learn", collapse=True).fit(rows)
    assert (est.labels_[[0, 2, 5, 6]] == est.labels_[0]).all()
    assert est.get_params()["collapse"] is True
    assert repr(est).endswith("collapse=True, hyperparameters='learn')")


def test_collapse_is_true_or_false() -> None:
    X, _ = three_groups()
    with pytest.raises(TypeError, match="collapse must be True or False, not 'yes'"):
        BHC(SPREAD, collapse="yes").fit(X)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="collapse must be True or False, not 1"):
        bhclust.learn(X, SPREAD, collapse=1)  # type: ignore[arg-type]
    groups = SPREAD.statistics(X)
    with pytest.raises(ValueError, match="collapse is for rows, and X is Statistics"):
        BHC(SPREAD, tree="greedy", collapse=True).fit_statistics(groups)
