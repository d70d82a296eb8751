"""Model files: what is saved is what is loaded, and hostile files get an error."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bhclust
from bhclust import BHC, RBHC
from cases import SINGLE, TAKES_SPARSE, random_case
from test_scikit_learn import mixed_frames

FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def same(one: Any, other: Any, X: Any) -> None:
    assert type(one) is type(other)
    assert repr(one) == repr(other)
    assert one.tree_ == other.tree_
    assert one.family_ == other.family_
    assert one.log_evidence_ == other.log_evidence_
    assert one.n_features_in_ == other.n_features_in_
    assert (one.labels_ == other.labels_).all()
    assert one.predict_proba(X).tobytes() == other.predict_proba(X).tobytes()
    assert one.score_samples(X).tobytes() == other.score_samples(X).tobytes()
    assert getattr(one, "lam_", None) == getattr(other, "lam_", None)
    assert getattr(one, "column_choices_", None) == getattr(other, "column_choices_", None)


@pytest.mark.parametrize("name", [*SINGLE, "Product"])
def test_a_model_of_every_family(name: str, tmp_path: Path) -> None:
    case = random_case(name, 25, 4)
    for est in (BHC(case.family, rule="r", threshold=0.3), RBHC(case.family, n_clusters=3)):
        est.fit(case.cells)
        path = bhclust.save(est, tmp_path / "a.bhc")
        again = bhclust.load(path)
        same(est, again, case.cells)
        assert again.get_params() == est.get_params()
        post = bhclust.load(bhclust.save(est.posterior_, tmp_path / "b.bhc"))
        assert post.tree == est.tree_
        assert post.omega.tobytes() == est.posterior_.omega.tobytes()
        assert bhclust.save(again, tmp_path / "c.bhc").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", TAKES_SPARSE)
def test_sparse_models(name: str, tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    case = random_case(name, 25, 4)
    X = sparse.csr_array(case.cells)
    est = BHC(case.family).fit(X)
    same(est, bhclust.load(bhclust.save(est, tmp_path / "a")), X)


@pytest.mark.parametrize(
    "family",
    [
        "auto",
        {"age": bhclust.NormalInverseGamma, "region": "categorical", "visits": "poisson"},
        {"smoker": "bernoulli", "age": bhclust.NormalInverseGamma(mean=50.0), "visits": "auto"},
    ],
    ids=["auto", "classes", "families"],
)
def test_models_of_frames(family: Any, tmp_path: Path) -> None:
    for what, frame in mixed_frames().items():
        est = BHC(family, hyperparameters="data", n_threads=1).fit(
            frame, sample_weight=[2, 1, 1] * 10
        )
        again = bhclust.load(bhclust.save(est, tmp_path / "a"))
        same(est, again, frame)
        assert again.feature_names_in_.tolist() == est.feature_names_in_.tolist()
        for one, other in ((est.impute(), again.impute()), (est.sample(3)[0], again.sample(3)[0])):
            assert type(one) is type(other), what
            assert str(one) == str(other)


def test_columns_by_number_or_mapping(tmp_path: Path) -> None:
    columns = {"a": [1, 2, 9, 8], 3: ["x", "x", "y", "y"]}
    est = BHC({"a": "poisson", 3: "categorical"}).fit(columns)
    again = bhclust.load(bhclust.save(est, tmp_path / "a"))
    same(est, again, columns)
    assert list(again.impute()) == ["a", 3]
    table = np.array([[0.0, 1.5], [1, 2.5], [1, 9.0]])
    est = BHC({1: "gaussian-diag", 0: "bernoulli"}).fit(table)
    again = bhclust.load(bhclust.save(est, tmp_path / "a"))
    assert again.impute().tolist() == est.impute().tolist()


def what_takes_paths() -> dict[str, Any]:
    X = [[0.0], [1.0]]
    found = bhclust.posterior(bhclust.bhc(X, "gaussian-diag"), X, "gaussian-diag")
    return {
        "save": lambda path: bhclust.save(found, path),
        "load": bhclust.load,
        "report": lambda path: bhclust.report(found, X, path),
        "write_labels": lambda path: bhclust.export.write_labels(found, path),
        "write_arrays": lambda path: bhclust.export.write_arrays(found, path),
        "read_table": bhclust.io.read_table,
        "read_matrix": bhclust.io.read_matrix,
    }


@pytest.mark.parametrize("name", sorted(what_takes_paths()))
@pytest.mark.parametrize("path", [None, 3, b"x", ["a"], "", "a\0b"])
def test_what_is_no_path_is_told_so(name: str, path: Any) -> None:
    call = what_takes_paths()[name]
    if isinstance(path, str):
        with pytest.raises(ValueError, match=r"cannot be the name of a file|no such file"):
            call(path)
    else:
        with pytest.raises(TypeError, match=r"path must be the path of a file, not "):
            call(path)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="this BHC is not fitted"):
        bhclust.save(BHC(), tmp_path / "a")
    with pytest.raises(TypeError, match="fitted must be a BHC, an RBHC or a Posterior, not 3"):
        bhclust.save(3, tmp_path / "a")
    est = BHC({("a", 1): "poisson"}).fit({("a", 1): [1, 2]})
    with pytest.raises(ValueError, match=r"a column is \('a', 1\); a model file holds"):
        bhclust.save(est, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    path = bhclust.save(BHC("poisson").fit([[1], [2]]), tmp_path / "a")
    with pytest.raises(ValueError, match="exists already"):
        bhclust.save(BHC("poisson").fit([[1], [2]]), path, replace=False)
    with pytest.raises(ValueError, match="nothing: cannot be read: No such file"):
        bhclust.load(tmp_path / "nothing")


def test_a_callback_is_not_kept(tmp_path: Path) -> None:
    est = BHC("poisson", progress=lambda *_: None).fit([[1], [2]])
    assert bhclust.load(bhclust.save(est, tmp_path / "a")).progress is None


def test_the_layout_is_as_it_is_described(tmp_path: Path) -> None:
    """Read without the package: the format must not change unnoticed."""
    est = BHC(bhclust.PoissonGamma(shape=[1.0, 2.0]), alpha=0.5).fit([[1, 0], [2, 7], [3, 1]])
    data = bhclust.save(est, tmp_path / "a").read_bytes()
    magic, version, length = struct.unpack_from("<8sII", data)
    assert (magic, version, (16 + length) % 64) == (b"BHCMODEL", 1, 0)
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    header = json.loads(data[16 : 16 + length])
    found = {}
    for entry in header["arrays"]:
        begin = 16 + length + entry["offset"]
        assert begin % 64 == 0
        count = int(np.prod(entry["shape"]))
        flat = np.frombuffer(data, entry["dtype"], count, begin)
        found[entry["name"]] = flat.reshape(entry["shape"])
    assert (found["cells"] == [[1, 0], [2, 7], [3, 1]]).all()
    assert (found["children"] == est.tree_.children).all()
    assert (found["labels"] == est.labels_).all()
    post = header["model"]["posterior"]
    assert post["alpha"] == 0.5
    assert post["family"]["name"] == "PoissonGamma"
    shape = post["family"]["parameters"]["shape"]["array"]
    assert found[shape].tolist() == [1.0, 2.0]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    frame = mixed_frames()["pandas"]
    est = BHC("auto", hyperparameters="data").fit(frame)
    return bhclust.save(est, tmp_path_factory.mktemp("m") / "a").read_bytes()


def refused(data: bytes, folder: Path) -> str:
    path = folder / "hostile"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="hostile: not a model that can be read") as error:
        bhclust.load(path)
    assert "\n" not in str(error.value)
    return str(error.value)


@FUZZ
@given(data=st.data())
def test_files_that_are_cut_off(model: bytes, tmp_path: Path, data: Any) -> None:
    refused(model[: data.draw(st.integers(0, len(model) - 1))], tmp_path)


@FUZZ
@given(data=st.data())
def test_bits_that_are_flipped(model: bytes, tmp_path: Path, data: Any) -> None:
    bad = bytearray(model)
    for place in data.draw(st.lists(st.integers(0, 8 * len(model) - 1), min_size=1, unique=True)):
        bad[place // 8] ^= 1 << (place % 8)
    refused(bytes(bad), tmp_path)


@FUZZ
@given(st.binary(max_size=300), st.booleans())
def test_anything_else(tmp_path: Path, data: bytes, begins_well: bool) -> None:
    refused((b"BHCMODEL\x01\0\0\0" if begins_well else b"") + data, tmp_path)


def signed(header: Any, arrays: bytes) -> bytes:
    text = json.dumps(header).encode()
    body = struct.pack("<8sII", b"BHCMODEL", 1, len(text)) + text + arrays
    return body + hashlib.sha256(body).digest()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in items:
            found += places(part, (*path, key))
    return found


def test_files_from_before_there_was_collapse(model: bytes, tmp_path: Path) -> None:
    length = struct.unpack_from("<I", model, 12)[0]
    header = json.loads(model[16 : 16 + length])
    assert header["model"]["parameters"].pop("collapse") is False
    text = json.dumps(header).encode().ljust(length)
    body = model[:16] + text + model[16 + length : -32]
    (tmp_path / "old").write_bytes(body + hashlib.sha256(body).digest())
    est = bhclust.load(tmp_path / "old")
    assert isinstance(est, BHC)
    assert est.collapse is False


ODD = st.one_of(
    st.sampled_from(
        [None, True, -1, 0, 1, 2**31, 2**40, 2**61, 2**64, 10**30, 0.5, 1e300, "", "x"]
    ),
    st.sampled_from(["Product", "GaussianProcess", "__reduce__", "os.system", "<f8", [], {}, [[]]]),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), {"array": "cells"}, {"array": 1}]),
    st.integers(),
    st.text(max_size=5),
)


@FUZZ
@given(data=st.data())
def test_signed_files_with_a_header_that_lies(model: bytes, tmp_path: Path, data: Any) -> None:
    length = struct.unpack_from("<8sII", model)[2]
    header = json.loads(model[16 : 16 + length])
    arrays = model[16 + length : -32]
    lie = copy.deepcopy(header)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(lie)))
        inner = lie
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = data.draw(ODD)
    (tmp_path / "lie").write_bytes(signed(lie, arrays))
    tracemalloc.start()
    try:
        with contextlib.suppress(ValueError):
            est = bhclust.load(tmp_path / "lie")
            # What was loaded may have other columns: then it says so.
            with contextlib.suppress(TypeError):
                est.predict_proba(mixed_frames()["pandas"])
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


@FUZZ
@given(data=st.data())
def test_signed_files_with_arrays_that_lie(model: bytes, tmp_path: Path, data: Any) -> None:
    length = struct.unpack_from("<8sII", model)[2]
    arrays = bytearray(model[16 + length : -32])
    for _ in range(data.draw(st.integers(1, 4))):
        place = 8 * data.draw(st.integers(0, len(arrays) // 8 - 1))
        odd = st.sampled_from([-1, 0, 1, 2**40, 2**62]).map(lambda v: struct.pack("<q", v))
        real = st.floats().map(lambda v: struct.pack("<d", v))
        arrays[place : place + 8] = data.draw(st.one_of(odd, real))
    body = model[: 16 + length] + bytes(arrays)
    (tmp_path / "lie").write_bytes(body + hashlib.sha256(body).digest())
    with contextlib.suppress(ValueError):
        bhclust.load(tmp_path / "lie").predict_proba(mixed_frames()["pandas"])


def test_sparse_arrays_that_lie(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    est = BHC("poisson", hyperparameters="data").fit(sparse.csr_array([[1, 0], [0, 2], [3, 3]]))
    model = bhclust.save(est, tmp_path / "a").read_bytes()
    length = struct.unpack_from("<8sII", model)[2]
    header = json.loads(model[16 : 16 + length])
    for name in ("indices", "indptr"):
        entry = next(entry for entry in header["arrays"] if entry["name"] == name)
        for place in range(entry["shape"][0]):
            for value in (-1, 7, 2**62):
                bad = bytearray(model[:-32])
                at = 16 + length + entry["offset"] + 8 * place
                bad[at : at + 8] = struct.pack("<q", value)
                refused(bytes(bad) + hashlib.sha256(bytes(bad)).digest(), tmp_path)
    for columns in (0, 2**40, 2**61):
        header["model"]["posterior"]["n_columns"] = columns
        refused(signed(header, model[16 + length : -32]), tmp_path)
