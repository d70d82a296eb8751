"""scikit-learn's own checks of the estimators, and the laws that these lack."""

from __future__ import annotations

import io
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bhclust
from bhclust import BHC, RBHC
from cases import close

checks = pytest.importorskip("sklearn.utils.estimator_checks")

SPREAD = bhclust.NormalKnownVariance(variance=0.25, prior_variance=400.0)
# The shape of predict_proba is written into these two for classifiers: they ask a clusterer for the
# tags of one, which it has not. Our own law that sparse tables are as dense ones stands below.
SHAPE = {"check_estimator_sparse_matrix", "check_estimator_sparse_array"}


class Counts:
    """Any real table as counts, so that scikit-learn's tables reach the families of counts."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        return super().fit(as_counts(X), y, sample_weight)  # type: ignore[misc]

    def _new_table(self, X: Any, **options: Any) -> Any:
        return super()._new_table(as_counts(X), **options)  # type: ignore[misc]


class CountBHC(Counts, BHC):
    pass


class CountRBHC(Counts, RBHC):
    pass


def as_counts(X: Any) -> Any:
    if hasattr(X, "tocsr"):
        return abs(X).rint() if X.dtype.kind in "biuf" else X
    if hasattr(X, "columns"):
        return X.abs().round()
    try:
        cells = np.asarray(X)
        return X if cells.dtype.kind == "c" else np.rint(np.abs(cells.astype(np.float64)))
    except (TypeError, ValueError):
        return X


@pytest.mark.parametrize(
    ("estimator", "sparse"),
    [
        (BHC(), False),
        (BHC("gaussian-diag", hyperparameters="data"), False),
        (RBHC(), False),
        (CountBHC("poisson", hyperparameters="data"), True),
        (CountRBHC("poisson", n_clusters=1), True),
    ],
    ids=repr,
)
def test_all_checks_but_the_declared_ones_pass(estimator: Any, sparse: bool) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimator .* does not inherit from")
        results = checks.check_estimator(estimator, on_fail=None, on_skip=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    declared = SHAPE if sparse else set()
    assert set(failed) == declared, failed
    assert all("multi_class" in str(failed[name].__cause__) for name in declared)
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}
    assert sum(r["status"] == "passed" for r in results) > 40


def partition(labels: Any) -> set[frozenset[int]]:
    labels = np.asarray(labels)
    return {frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)}


def estimators(family: Any) -> list[Any]:
    return [
        BHC(family, hyperparameters="data"),
        BHC(family, hyperparameters="data", tree="rbhc"),
        RBHC(family, n_clusters=3),
    ]


@st.composite
def reals(draw: Any) -> np.ndarray:
    """Rows about a few centres; in 64ths, so that float32 and sums hold them exactly."""
    n, d = draw(st.integers(4, 24)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    centres = rng.normal(size=(3, d)) * draw(st.sampled_from([0.5, 5.0, 40.0]))
    X: np.ndarray = np.rint(64 * (centres[rng.integers(0, 3, n)] + rng.normal(size=(n, d)))) / 64
    return X


@st.composite
def counts(draw: Any) -> np.ndarray:
    n, d = draw(st.integers(4, 24)), draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rates = rng.gamma(0.5, draw(st.sampled_from([0.5, 4.0])), size=(3, d))
    X: np.ndarray = rng.poisson(rates[rng.integers(0, 3, n)]).astype(float)
    return X


@settings(max_examples=25, deadline=None)
@given(X=reals(), which=st.integers(0, 2), data=st.data())
def test_the_order_of_rows_is_of_no_account(X: np.ndarray, which: int, data: Any) -> None:
    X = np.unique(X, axis=0)
    order = np.array(data.draw(st.permutations(range(len(X)))))
    # Ties are broken by row number, so no two distances may be the same.
    X = X + np.random.default_rng(0).uniform(0, 1e-3, size=X.shape)
    one, other = estimators(SPREAD)[which], estimators(SPREAD)[which]
    if which == 2 and len(X) < 3:
        return
    one.fit(X)
    other.fit(X[order])
    assert (other.labels_ == one.labels_[order]).all()
    assert close(other.log_evidence_, one.log_evidence_, 1e-10)
    assert close(other.score_samples(X), one.score_samples(X), 1e-9)


@settings(max_examples=25, deadline=None)
@given(
    X=counts(),
    name=st.sampled_from(["poisson", "multinomial", "geometric", "negative-binomial"]),
    which=st.integers(0, 2),
    form=st.sampled_from(["csr_array", "csc_matrix", "coo_array", "csr_matrix"]),
)
def test_sparse_tables_are_as_dense_ones(X: Any, name: str, which: int, form: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    spread = getattr(sparse, form)(X)
    est = estimators(name)[which].fit(X)
    # On one tree: rows that occur twice tie, and rounding may break ties one way or the other.
    found = bhclust.posterior(est.tree_, spread, est.family_)
    wanted = bhclust.posterior(est.tree_, X, est.family_)
    assert close(found.log_tree, wanted.log_tree, 1e-11)
    assert close(found.omega, wanted.omega, 1e-9)
    assert close(est.predict_proba(spread), est.predict_proba(X), 1e-9)
    assert close(est.score_samples(spread), est.score_samples(X), 1e-10)
    again = estimators(name)[which].fit(spread)
    assert again.n_features_in_ == X.shape[1]
    assert close(again.family_._log_marginal(found._table), est.family_._log_marginal(found._table))


def forms(X: np.ndarray) -> list[Any]:
    wide = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)
    locked = X.copy()
    locked.flags.writeable = False
    return [
        X.astype(np.float32),
        X.astype(">f8"),
        X.astype(np.longdouble),
        X.astype(object),
        np.asfortranarray(X),
        wide[::2, ::3],
        np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        locked,
        X.tolist(),
    ]


@settings(max_examples=15, deadline=None)
@given(X=reals(), which=st.integers(0, 2))
def test_types_and_strides_are_of_no_account(X: np.ndarray, which: int) -> None:
    wanted = estimators(SPREAD)[which].fit(X)
    for form in forms(X):
        found = estimators(SPREAD)[which].fit(form)
        assert found.tree_ == wanted.tree_
        assert found.log_evidence_ == wanted.log_evidence_
        assert found.predict_proba(form).tobytes() == wanted.predict_proba(X).tobytes()


@settings(max_examples=15, deadline=None)
@given(X=counts(), kind=st.sampled_from(["i1", "u1", "i2", "u4", "i8", "f2"]))
def test_whole_numbers_of_any_type_are_the_same(X: np.ndarray, kind: str) -> None:
    wanted = BHC("poisson", hyperparameters="data").fit(X)
    found = BHC("poisson", hyperparameters="data").fit(X.astype(kind))
    assert found.tree_ == wanted.tree_
    assert found.score(X.astype(kind)) == wanted.score(X)


@settings(max_examples=15, deadline=None)
@given(X=reals(), which=st.integers(0, 2))
def test_what_is_kept_is_what_is_read(X: np.ndarray, which: int) -> None:
    joblib = pytest.importorskip("joblib")
    est = estimators("gaussian-diag")[which].fit(X)
    kept = io.BytesIO()
    joblib.dump(est, kept)
    kept.seek(0)
    for again in (pickle.loads(pickle.dumps(est)), joblib.load(kept)):
        assert again.tree_ == est.tree_
        assert again.predict_proba(X).tobytes() == est.predict_proba(X).tobytes()
        assert repr(again) == repr(est)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 12), st.integers(1, 4), st.integers(0, 2**32), st.integers(0, 2))
def test_rows_that_are_certain_are_predicted_as_they_were_fitted(
    n: int, d: int, seed: int, which: int
) -> None:
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.arange(3), rng.integers(0, 3, n)])
    X = 100.0 * group[:, None] + 0.5 * rng.normal(size=(len(group), d))
    est = estimators(SPREAD)[which].fit(X)
    assert partition(est.labels_) == partition(group)
    assert (est.predict(X) == est.labels_).all()


class TestWeights:
    @settings(max_examples=25, deadline=None)
    @given(X=reals(), which=st.integers(0, 2), data=st.data())
    def test_a_weight_is_so_many_rows(self, X: np.ndarray, which: int, data: Any) -> None:
        n = len(X)
        weights = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any))
        if which == 2 and sum(weights) < 3:
            return
        weighted, repeated = estimators(SPREAD)[which], estimators(SPREAD)[which]
        weighted.fit(X, sample_weight=weights)
        repeated.fit(np.repeat(X, weights, axis=0))
        assert weighted.tree_ == repeated.tree_
        assert weighted.log_evidence_ == repeated.log_evidence_
        assert weighted.n_clusters_ == repeated.n_clusters_
        assert weighted.predict_proba(X).tobytes() == repeated.predict_proba(X).tobytes()
        assert weighted.labels_.shape == (n,)
        first = np.concatenate([[0], np.cumsum(weights)])
        for row, weight in enumerate(weights):
            copies = repeated.labels_[first[row] : first[row] + weight]
            if weight == 0:
                assert weighted.labels_[row] == repeated.predict(X[[row]])[0]
            else:
                votes = np.bincount(copies)
                assert votes[weighted.labels_[row]] == votes.max()

    @settings(max_examples=15, deadline=None)
    @given(seed=st.integers(0, 2**32), which=st.integers(0, 2))
    def test_the_order_of_weighted_rows_is_of_no_account(self, seed: int, which: int) -> None:
        rng = np.random.default_rng(seed)
        group = np.concatenate([np.arange(3), rng.integers(0, 3, 9)])
        X = 30.0 * group[:, None] + 0.5 * rng.normal(size=(12, 2))
        weights, order = rng.integers(1, 5, 12), rng.permutation(12)
        one, other = estimators(SPREAD)[which], estimators(SPREAD)[which]
        one.fit(X, sample_weight=weights)
        other.fit(X[order], sample_weight=weights[order])
        assume(one.n_clusters_ == 3)
        assert close(other.predict_proba(X), one.predict_proba(X), 1e-9)

    def test_all_kinds_of_tables_take_them(self) -> None:
        sparse = pytest.importorskip("scipy.sparse")
        pd = pytest.importorskip("pandas")
        X = np.array([[0.0, 1], [5, 0], [0, 2], [7, 0]])
        weights = [2, 0, 1, 3]
        wanted = BHC("poisson", n_clusters=2).fit(X, sample_weight=weights)
        assert partition(wanted.labels_) == {frozenset({0, 2}), frozenset({1, 3})}
        frame = pd.DataFrame(X, columns=["a", "b"], index=[3, 3, 1, 0])
        for table in (X.tolist(), sparse.csr_array(X), frame):
            found = BHC("poisson", n_clusters=2).fit(table, sample_weight=np.array(weights, "f4"))
            assert (found.labels_ == wanted.labels_).all()
        by_name = BHC({"a": "poisson", "b": "poisson"}, n_clusters=2)
        for table in (frame, {"a": X[:, 0], "b": X[:, 1].tolist()}):
            labels = by_name.fit_predict(table, sample_weight=weights)
            assert (labels == wanted.labels_).all()

    @pytest.mark.parametrize(
        ("weights", "error", "message"),
        [
            ([1, 0.5, 1], ValueError, r"sample_weight\[1\] is 0.5; it must be a whole number"),
            ([1, -1, 1], ValueError, r"sample_weight\[1\] is -1"),
            ([1, 1, np.nan], ValueError, r"sample_weight\[2\] is nan"),
            ([1, 1, np.inf], ValueError, r"sample_weight\[2\] is inf"),
            ([0, 0, 0], ValueError, "every sample_weight is zero"),
            ([1, 1], ValueError, "sample_weight has 2 entries for 3 rows"),
            ([[1], [1], [1]], ValueError, "sample_weight has 2 dimensions"),
            (["a", "b", "c"], TypeError, "sample_weight has dtype <U1"),
        ],
    )
    @pytest.mark.parametrize("cls", [BHC, RBHC])
    def test_others_are_refused(self, cls: Any, weights: Any, error: Any, message: str) -> None:
        with pytest.raises(error, match=message):
            cls(SPREAD).fit([[0.0], [1.0], [2.0]], sample_weight=weights)


class TestCompany:
    def test_columns_that_were_transformed_keep_their_names(self) -> None:
        pd = pytest.importorskip("pandas")
        compose = pytest.importorskip("sklearn.compose")
        pipeline = pytest.importorskip("sklearn.pipeline")
        preprocessing = pytest.importorskip("sklearn.preprocessing")
        rng = np.random.default_rng(1)
        ill = np.arange(40) % 2 == 0
        frame = pd.DataFrame(
            {
                "age": np.where(ill, 70.0, 30.0) + rng.normal(size=40),
                "region": np.where(ill, "north", "south"),
                "visits": rng.poisson(np.where(ill, 15, 2)),
            }
        )
        change = compose.ColumnTransformer(
            [("scaled", preprocessing.StandardScaler(), ["age"])],
            remainder="passthrough",
            verbose_feature_names_out=False,
        ).set_output(transform="pandas")
        families = {"age": "gaussian-diag", "region": "categorical", "visits": "poisson"}
        for est in (BHC(families), RBHC(families, n_clusters=2)):
            steps = pipeline.make_pipeline(change, est)
            labels = steps.fit_predict(frame)
            assert partition(labels) == partition(ill)
            assert (steps.predict(frame) == labels).all()
            assert steps[-1].feature_names_in_.tolist() == ["age", "region", "visits"]
            weighted = steps.fit(frame, **{f"{steps.steps[-1][0]}__sample_weight": np.ones(40)})
            assert (weighted[-1].labels_ == labels).all()

    def test_a_grid_search_compares_the_mean_log_predictive_density(self) -> None:
        selection = pytest.importorskip("sklearn.model_selection")
        rng = np.random.default_rng(2)
        X = 9.0 * (np.arange(60) % 3)[:, None] + rng.normal(size=(60, 2))
        families = [bhclust.NormalKnownVariance(variance=v, prior_variance=90.0) for v in (1, 400)]
        folds = selection.KFold(3)
        search = selection.GridSearchCV(BHC(), {"family": families, "alpha": [1.0]}, cv=folds)
        search.fit(X)
        assert search.best_params_["family"] is families[0]
        wanted = [
            BHC(families[0], alpha=1.0).fit(X[train]).score_samples(X[test]).mean()
            for train, test in folds.split(X)
        ]
        assert close(search.best_score_, np.mean(wanted), 1e-12)
        assert search.best_estimator_.n_clusters_ == 3


def mixed_frames() -> dict[str, Any]:
    """One table in the forms of all the libraries there are."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    ill = np.arange(30) % 2 == 0
    age = (np.where(ill, 70.0, 30.0) + rng.normal(size=30)).tolist()
    region = np.where(ill, "north", "south").tolist()
    visits: list[int | None] = rng.poisson(np.where(ill, 15, 2)).tolist()
    smoker: list[bool | None] = (rng.random(30) < np.where(ill, 0.9, 0.1)).tolist()
    age[3] = region[4] = visits[5] = smoker[6] = None
    columns = {"age": age, "region": region, "visits": visits, "smoker": smoker}
    plain = pd.DataFrame(columns)
    nullable = plain.astype(
        {"age": "Float64", "region": "category", "visits": "Int64", "smoker": "boolean"}
    )
    found = {"pandas": plain, "nullable": nullable, "object": plain.astype(object)}
    try:
        import pyarrow as pa

        found["pyarrow"] = pa.table(columns)
        found["pandas on pyarrow"] = plain.convert_dtypes(dtype_backend="pyarrow")
    except ImportError:
        pass
    try:
        import polars as pl

        found["polars"] = pl.DataFrame(columns)
        found["polars, categorical"] = found["polars"].with_columns(
            pl.col("region").cast(pl.Categorical), pl.col("age").cast(pl.Float32).cast(pl.Float64)
        )
    except ImportError:
        pass
    return found


FAMILIES = {
    "age": bhclust.NormalInverseGamma(mean=50.0, b=10.0),
    "region": "categorical",
    "visits": "poisson",
    "smoker": "bernoulli",
}


def test_frames_of_every_library_are_the_same() -> None:
    frames = mixed_frames()
    wanted = BHC(FAMILIES, hyperparameters="data").fit(frames["pandas"])
    assert partition(wanted.labels_) == partition(np.arange(30) % 2)
    for what, frame in frames.items():
        found = BHC(FAMILIES, hyperparameters="data").fit(frame)
        assert (found.labels_ == wanted.labels_).all(), what
        assert close(found.log_evidence_, wanted.log_evidence_, 1e-6), what
        assert found.feature_names_in_.tolist() == list(FAMILIES), what
        again = pickle.loads(pickle.dumps(found))
        assert (again.predict(frame) == found.predict(frame)).all()
        for filled in (found.impute(), found.impute(frame), found.sample(3)[0]):
            assert type(filled) is type(frame), what
        weighted = BHC(FAMILIES, hyperparameters="data").fit(frame, sample_weight=[2] * 30)
        assert weighted.tree_.n_leaves == 60
        counts_of = BHC("gaussian-diag", hyperparameters="data")
        numbers = (
            frame.select(["age", "visits"])
            if what[:2] in ("po", "py")
            else frame[["age", "visits"]]
        )
        assert counts_of.fit(numbers).feature_names_in_.tolist() == ["age", "visits"]
        with pytest.raises(ValueError, match=r"X_new has the columns|X has 4 features"):
            counts_of.predict(frame)
