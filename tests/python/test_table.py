"""Tables in every form that users have them: each read right, or refused by name."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bhclust
from bhclust.table import as_table, column_names, kept

CELLS = np.array([[1.0, 0.0, 3.0], [0.0, 5.0, 2.0], [7.0, 8.0, 0.0], [1.0, 1.0, 4.0]])
FAMILY = bhclust.PoissonGamma(shape=0.7, rate=0.2)
TREE = bhclust.bhc(CELLS, FAMILY)


def every_second(cells: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * cells.shape[0], 2 * cells.shape[1]))
    wide[::2, ::2] = cells
    return wide[::2, ::2]


def read_only(cells: np.ndarray) -> np.ndarray:
    cells = cells.copy()
    cells.flags.writeable = False
    return cells


FORMS: dict[str, Any] = {
    "array": CELLS,
    "column-major": np.asfortranarray(CELLS),
    "strided": every_second(CELLS),
    "both axes reversed twice": CELLS[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": CELLS.T.copy().T,
    "read-only": read_only(CELLS),
    "big-endian": CELLS.astype(">f8"),
    "big-endian integers": CELLS.astype(">i4"),
    "float32": CELLS.astype(np.float32),
    "float16": CELLS.astype(np.float16),
    "long double": CELLS.astype(np.longdouble),
    "int8": CELLS.astype(np.int8),
    "int64": CELLS.astype(np.int64),
    "uint64": CELLS.astype(np.uint64),
    "objects": CELLS.astype(object),
    "objects of many kinds": [
        [1, False, Fraction(3)],
        [np.float32(0), Decimal(5), np.int8(2)],
        [7.0, np.float64(8), 0],
        [True, np.bool_(True), 4],
    ],
    "lists": CELLS.tolist(),
    "tuples": tuple(map(tuple, CELLS.tolist())),
    "rows as arrays": list(CELLS),
    "masked without a mask": np.ma.masked_array(CELLS),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_table(form: str) -> None:
    before = np.array(FORMS[form], dtype=float)
    table = as_table(FORMS[form])
    assert (table.n_rows, table.n_columns, table.is_sparse) == (4, 3, False)
    assert table.arrays.dtype == np.float64
    assert table.arrays.flags.c_contiguous
    np.testing.assert_array_equal(table.arrays, CELLS)
    assert bhclust.bhc(FORMS[form], FAMILY) == TREE
    np.testing.assert_array_equal(np.array(FORMS[form], dtype=float), before)


def test_booleans_are_bits() -> None:
    bits = CELLS > 1
    np.testing.assert_array_equal(as_table(bits).arrays, bits.astype(float))
    family = bhclust.BernoulliBeta()
    assert bhclust.bhc(bits, family) == bhclust.bhc(bits.astype(float), family)


def test_a_memory_mapped_file_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "cells.npy", CELLS)
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "cells.npy", mmap_mode=mode)
        assert bhclust.bhc(mapped, FAMILY) == TREE
        found = bhclust.posterior(TREE, mapped, FAMILY)
        assert np.isfinite(found.score_samples(mapped)).all()


def test_an_array_of_doubles_is_not_copied() -> None:
    assert np.may_share_memory(as_table(CELLS).arrays, CELLS)
    assert as_table(as_table(CELLS)).arrays is not None


def test_kept_cells_are_out_of_reach() -> None:
    cells = CELLS.copy()
    table = kept(as_table(cells))
    cells[:] = -1
    np.testing.assert_array_equal(table.arrays, CELLS)
    own = as_table(CELLS.astype(np.float32))
    assert kept(own) is own
    constant = as_table(read_only(CELLS))
    assert kept(constant) is constant


def test_a_read_only_view_of_cells_that_change_is_not_kept() -> None:
    cells = CELLS.copy()
    view = cells.view()
    view.flags.writeable = False
    found = bhclust.posterior(TREE, view, FAMILY)
    before = found.score_samples(CELLS)
    cells[:] = 1e3
    np.testing.assert_array_equal(found.score_samples(CELLS), before)
    buffer = bytearray(CELLS.tobytes())
    shared = np.frombuffer(buffer).reshape(CELLS.shape)
    shared.flags.writeable = False
    assert not np.may_share_memory(kept(as_table(shared)).arrays, shared)
    constant = as_table(np.frombuffer(bytes(buffer)).reshape(CELLS.shape))
    assert kept(constant) is constant


def test_a_frame_may_change_after_its_cells_were_fitted() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CELLS.copy())
    found = bhclust.posterior(TREE, frame.to_numpy(), FAMILY)
    before = found.score_samples(CELLS)
    frame.iloc[0, 0] = 1e3
    np.testing.assert_array_equal(found.score_samples(CELLS), before)


@pytest.mark.parametrize(
    "X",
    [
        [[1.0, None], [math.nan, 2]],
        np.array([[1.0, None], [None, 2]], dtype=object),
        np.ma.masked_array([[1, 9], [9, 2]], mask=[[0, 1], [1, 0]]),
        np.ma.masked_array([[1.0, 9], [np.nan, 2]], mask=[[0, 1], [0, 0]]),
        [[1, Decimal("NaN")], [np.float32("nan"), 2]],
    ],
    ids=["lists", "objects", "masked integers", "masked floats", "not-a-numbers"],
)
def test_missing_cells_are_nan(X: Any) -> None:
    np.testing.assert_array_equal(as_table(X).arrays, [[1, math.nan], [math.nan, 2]])


class TestDataFrames:
    @pytest.fixture
    def pd(self) -> Any:
        return pytest.importorskip("pandas")

    def test_a_frame_of_numbers(self, pd: Any) -> None:
        frame = pd.DataFrame(CELLS, columns=["a", "b", "c"])
        assert bhclust.bhc(frame, FAMILY) == TREE
        assert bhclust.bhc(frame.astype(int), FAMILY) == TREE
        assert bhclust.bhc(frame.astype("float32"), FAMILY) == TREE
        assert bhclust.bhc(frame.set_index("a", drop=False), FAMILY) == TREE

    def test_columns_of_every_numeric_kind(self, pd: Any) -> None:
        frame = pd.DataFrame(
            {
                "plain": [1.0, np.nan],
                "nullable integers": pd.array([1, None], dtype="Int64"),
                "nullable floats": pd.array([1.5, None], dtype="Float32"),
                "nullable booleans": pd.array([True, None], dtype="boolean"),
                "booleans": [True, False],
                "objects": pd.Series([2, None], dtype=object),
                "objects with NA": pd.Series([2, pd.NA], dtype=object),
                "sparse": pd.arrays.SparseArray([0.0, 4.0]),
            }
        )
        np.testing.assert_array_equal(
            as_table(frame).arrays,
            np.array([[1, 1, 1.5, 1, 1, 2, 2, 0], [np.nan] * 4 + [0, np.nan, np.nan, 4]]),
        )

    def test_columns_of_one_name_are_all_read(self, pd: Any) -> None:
        frame = pd.DataFrame(CELLS, columns=["a", "a", "b"])
        np.testing.assert_array_equal(as_table(frame).arrays, CELLS)

    def test_columns_under_two_headings_are_read(self, pd: Any) -> None:
        frame = pd.DataFrame(CELLS, columns=pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)]))
        np.testing.assert_array_equal(as_table(frame).arrays, CELLS)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (["x", "y"], "row 0, column 'b' is 'x', which is not a number"),
            ([1, "y"], "row 1, column 'b' is 'y', which is not a number"),
            ([[1], [2]], r"row 0, column 'b' is \[1\], which is not a number"),
        ],
    )
    def test_other_cells_are_refused_by_name(self, pd: Any, values: Any, message: str) -> None:
        with pytest.raises(TypeError, match=message):
            as_table(pd.DataFrame({"a": [1.0, 2.0], "b": values}))

    def test_categories_and_dates_are_refused_by_name(self, pd: Any) -> None:
        for values in (pd.Categorical(["x", "y"]), pd.to_datetime(["2020-01-01", "2021-01-01"])):
            frame = pd.DataFrame({"a": [1.0, 2.0], "b": values})
            with pytest.raises(TypeError, match=r"X: column 'b' has dtype .*give it a family"):
                as_table(frame)

    def test_complex_columns_are_refused_by_name(self, pd: Any) -> None:
        with pytest.raises(ValueError, match=r"X: column 'b' has dtype complex128\. Complex data"):
            as_table(pd.DataFrame({"a": [1.0, 2.0], "b": [1j, 2]}))

    def test_a_frame_without_columns_is_refused(self, pd: Any) -> None:
        with pytest.raises(ValueError, match="X has no columns"):
            as_table(pd.DataFrame(index=[1, 2]))

    def test_names_are_those_of_the_columns(self, pd: Any) -> None:
        assert column_names(pd.DataFrame(CELLS, columns=["a", "b", "c"])) == ["a", "b", "c"]
        assert column_names(pd.DataFrame(CELLS)) is None
        assert column_names(pd.Series([1, 2])) is None

    def test_arrays_have_no_names(self) -> None:
        assert column_names(CELLS) is None
        assert column_names(CELLS.tolist()) is None


class OtherFrame:
    """What frames of other libraries have in common: names, columns by name, their own types."""

    def __init__(self, **columns: Any) -> None:
        self.columns = list(columns)
        self._held = columns

    def __getitem__(self, name: str) -> Any:
        return SimpleNamespace(dtype="Own", to_numpy=lambda: np.array(self._held[name]))

    def to_numpy(self) -> Any:
        raise AssertionError("the columns have different types")


def test_frames_of_other_libraries_are_read() -> None:
    frame = OtherFrame(a=[1.0, np.nan], b=[1, 2], c=[True, None])
    assert column_names(frame) == ["a", "b", "c"]
    np.testing.assert_array_equal(as_table(frame).arrays, [[1, 1, 1], [np.nan, 2, np.nan]])
    with pytest.raises(TypeError, match=r"X: column 'a' has dtype <U1; .*level codes"):
        as_table(OtherFrame(a=["x", "y"]))
    est = bhclust.BHC({"b": "poisson", "c": "categorical"}).fit(frame)
    assert est.labels_.shape == (2,)


class TestSparse:
    @pytest.fixture
    def sp(self) -> Any:
        return pytest.importorskip("scipy.sparse")

    def test_every_format_is_the_same_table(self, sp: Any) -> None:
        for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia"):
            for kind in ("array", "matrix"):
                X = getattr(sp, f"{name}_{kind}")(CELLS)
                table = as_table(X)
                assert table.is_sparse
                assert (table.n_rows, table.n_columns) == (4, 3)
                assert (sp.csr_array(table.arrays, shape=(4, 3)).toarray() == CELLS).all()
                assert bhclust.bhc(X, FAMILY) == TREE

    @pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "float32", "bool"])
    def test_cells_of_any_number_type(self, sp: Any, dtype: str) -> None:
        X = sp.csr_array(CELLS.astype(dtype))
        data, indices, indptr = as_table(X).arrays
        assert (data.dtype, indices.dtype, indptr.dtype) == (np.float64, np.int64, np.int64)
        again = sp.csr_array((data, indices, indptr), shape=(4, 3)).toarray()
        np.testing.assert_array_equal(again, CELLS.astype(dtype).astype(float))

    @pytest.mark.parametrize("index", [np.int32, np.int64])
    def test_unsorted_repeated_and_zero_entries(self, sp: Any, index: Any) -> None:
        data = np.array([1.0, 3, 2, 3, 4, 7, 0, 8, 3, 1, 1, 1])
        columns = np.array([2, 0, 2, 0, 1, 0, 2, 1, 2, 1, 2, 0], dtype=index)
        starts = np.array([0, 2, 5, 8, 12], dtype=index)
        X = sp.csr_array((data, columns, starts), shape=(4, 3))
        if index is np.int64:
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
        wanted = [[3, 0, 1], [3, 4, 2], [7, 8, 0], [1, 1, 4]]
        np.testing.assert_array_equal(X.toarray(), wanted)
        assert bhclust.bhc(X, FAMILY) == bhclust.bhc(np.array(wanted), FAMILY)
        assert (X.data == data).all()
        assert (X.indices == columns).all()

    def test_a_zero_that_is_stored_is_a_zero(self, sp: Any) -> None:
        X = sp.csr_array(CELLS)
        X.data[0] = 0
        dense = X.toarray()
        assert bhclust.bhc(X, FAMILY) == bhclust.bhc(dense, FAMILY)

    def test_cells_that_are_no_real_numbers_are_refused(self, sp: Any) -> None:
        with pytest.raises(ValueError, match=r"X has dtype complex128\. Complex data not supp"):
            as_table(sp.csr_array(CELLS * 1j))
        other = SimpleNamespace(tocsr=None, ndim=2, dtype=np.dtype("O"))
        with pytest.raises(TypeError, match="X has dtype object; it must hold real numbers"):
            as_table(other)

    @pytest.mark.parametrize("ndim", [1, 3])
    def test_other_dimensions_are_refused(self, sp: Any, ndim: int) -> None:
        X = sp.csr_array(CELLS)
        other = SimpleNamespace(tocsr=X.tocsr, ndim=ndim, dtype=X.dtype)
        with pytest.raises(ValueError, match=rf"X is sparse with {ndim} dimension\(s\); it must"):
            as_table(other)

    def test_rows_without_entries(self, sp: Any) -> None:
        X = sp.csr_array((5, 3))
        tree = bhclust.bhc(X, FAMILY)
        assert tree == bhclust.bhc(np.zeros((5, 3)), FAMILY)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], ValueError, r"X has one dimension \(shape \(0,\)\)"),
        ([1.0, 2.0], ValueError, r"reshape\(-1, 1\) makes one column"),
        (np.zeros((2, 2, 2)), ValueError, r"X has 3 dimensions \(shape \(2, 2, 2\)\)"),
        (3.0, ValueError, "X has 0 dimensions"),
        (None, ValueError, "X has 0 dimensions"),
        (
            "cells.csv",
            TypeError,
            r"X is 'cells\.csv', not a table; read a file by bhclust\.io",
        ),
        (Path("cells.csv"), TypeError, r"X is .*cells\.csv.*, not a table; read a file by"),
        ({"age": [1.0, 2.0]}, TypeError, r"X is a dict of columns.*BHC\(family={'age': 'gauss"),
        ({}, TypeError, "X is a dict of columns"),
        ([{"age": 1.0}, {"age": 2.0}], TypeError, r"list of dicts; pandas\.DataFrame\(X\) makes"),
        ([[1, 2], [3]], ValueError, "X is ragged"),
        ([["a", "b"]], TypeError, "X has dtype <U1; .* encode text as level codes"),
        ([[b"a"]], TypeError, "X has dtype .S1; .* encode text as level codes"),
        (np.array([[1j]]), ValueError, r"X has dtype complex128\. Complex data not supported"),
        ([[]], ValueError, r"X has no columns: 0 feature\(s\) \(shape=\(1, 0\)\)"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), TypeError, "X has dtype datetime64"),
        (np.array([[1]], dtype="m8[s]"), TypeError, "X has dtype timedelta64"),
        (np.zeros((1, 1), dtype=[("a", "f8")]), TypeError, "X has dtype"),
        (np.array([[1, "x"]], dtype=object), TypeError, "X: row 0, column 1 is 'x'"),
        (np.array([[1, 1j]], dtype=object), TypeError, "X: row 0, column 1 is 1j"),
        (np.ma.masked_array([["a", "b"]], mask=[[0, 1]]), TypeError, "row 0, column 0 is 'a'"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        as_table(X)


def test_messages_name_the_argument() -> None:
    with pytest.raises(ValueError, match="X_new has one dimension"):
        as_table([1.0], argument="X_new")


def test_whole_numbers_beyond_the_doubles_are_infinite_to_the_family() -> None:
    for value, shown in ((10**400, "inf"), (-(10**400), "-inf")):
        with pytest.raises(ValueError, match=f"row 0, column 1 is {shown}"):
            bhclust.bhc([[1, value]], bhclust.NormalKnownVariance())


@pytest.mark.parametrize(
    ("part", "place", "value", "message"),
    [
        ("indptr", 3, 999, r"X: CSR indptr falls at row 3, from 999 to 24"),
        ("indptr", 3, 0, r"X: CSR indptr falls at row 2, from 12 to 0"),
        ("indptr", 0, 1, r"X: the CSR arrays do not fit together"),
        ("indices", 8, -1, r"X: row 1 has a cell in column -1; the columns are 0 to 5"),
        ("indices", 8, 6, r"X: row 1 has a cell in column 6; the columns are 0 to 5"),
    ],
)
def test_spoilt_csr_arrays_are_refused(part: str, place: int, value: int, message: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X = sparse.csr_matrix(np.ones((20, 6)))
    getattr(X, part)[place] = value
    with pytest.raises(ValueError, match=message):
        as_table(X)


def test_a_dict_without_a_family_a_column_is_told_the_remedy() -> None:
    X = {"age": [1.0, 2.0, 9.0], "size": [2.0, 1.0, 7.0]}
    for est in (bhclust.BHC(), bhclust.RBHC(n_clusters=2), bhclust.BHC("gaussian-diag")):
        with pytest.raises(TypeError, match=r"BHC\(family={'age': .*np\.column_stack\(list\(X"):
            est.fit(X)
    fitted = bhclust.BHC().fit(np.column_stack(list(X.values())))
    with pytest.raises(TypeError, match=r"X_new is a dict .*list\(X_new\.values"):
        fitted.predict(X)
    assert bhclust.BHC(dict.fromkeys(X, "gaussian-diag")).fit(X).labels_.shape == (3,)


def test_a_table_of_a_file_is_told_the_remedy() -> None:
    zoo = bhclust.datasets.load_zoo()
    for family in ("gaussian", {"hair": "bernoulli"}):
        with pytest.raises(TypeError, match=r"X is a table that was read .*its \.data, with fam"):
            bhclust.BHC(family).fit(zoo)
    with pytest.raises(TypeError, match=r"list of dicts; pandas\.DataFrame\(X\)"):
        bhclust.BHC({"a": "poisson"}).fit([{"a": 1}, {"a": 2}])
