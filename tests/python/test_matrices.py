"""Files of one matrix, and Parquet."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bhclust import BHC
from bhclust.io import read_matrix, read_new, read_table

COUNTS = np.array([[0, 3, 1], [2, 0, 0], [7, 0, 1], [0, 0, 9]])
FASTA = """>one first
ACGTA
CC-
>two
ACGAA
CTN

>three
acgtR
CTA
"""


def test_numpy_files(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", COUNTS)
    found = read_matrix(tmp_path / "a.npy")
    assert (found.data == COUNTS).all()
    assert (found.family, found.names) == ("multinomial", None)
    assert found.column_names == ["column 1", "column 2", "column 3"]
    np.savez(tmp_path / "b.npz", X=COUNTS / 4, row_names=["a", "b", "c", "d"], y=[1, 2, 3, 4])
    found = read_matrix(tmp_path / "b.npz")
    assert (found.family, found.names) == ("gaussian-diag", ["a", "b", "c", "d"])
    np.savez(tmp_path / "c.npz", left=COUNTS > 0, right=COUNTS)
    assert read_matrix(tmp_path / "c.npz", key="left").family == "bernoulli"
    with pytest.raises(ValueError, match="2 arrays with two dimensions; say which by key: left"):
        read_matrix(tmp_path / "c.npz")
    with pytest.raises(ValueError, match="key is 'up'; the arrays are left, right"):
        read_matrix(tmp_path / "c.npz", key="up")
    unit = COUNTS / np.linalg.norm(COUNTS, axis=1, keepdims=True)
    np.save(tmp_path / "d.npy", unit)
    assert read_matrix(tmp_path / "d.npy").family == "von-mises-fisher"
    assert read_matrix(tmp_path / "d.npy", family="gaussian").why == "as asked"


def test_objects_in_numpy_files_are_not_read(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[None, 1]], dtype=object))
    with pytest.raises(ValueError, match=r"a\.npy: Object arrays cannot be loaded"):
        read_matrix(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.arange(3))
    with pytest.raises(ValueError, match=r"a matrix of numbers is needed.*shape \(3,\)"):
        read_matrix(tmp_path / "b.npy")


def test_sparse_files(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    scipy_io = pytest.importorskip("scipy.io")
    matrix = sparse.csr_matrix(COUNTS)
    sparse.save_npz(tmp_path / "a.npz", matrix)
    scipy_io.mmwrite(tmp_path / "b.mtx", matrix)
    (tmp_path / "c").write_bytes(gzip.compress((tmp_path / "b.mtx").read_bytes()))
    for name in ("a.npz", "b.mtx", "c"):
        found = read_matrix(tmp_path / name)
        assert (found.data.toarray() == COUNTS).all()
        assert found.family == "multinomial"
        BHC(found.family, hyperparameters="data").fit(found.data)
        table = read_table(tmp_path / name)
        assert table.family == "multinomial"
        assert (table.data.toarray() == COUNTS).all()
        columns = [column.values.tolist() for column in table.columns.values()]
        assert columns == COUNTS.T.tolist()
    np.savez(tmp_path / "d.npz", data=[1.0], indices=[9], indptr=[0, 1], shape=[1, 2])
    with pytest.raises(ValueError, match="row 0 has a cell in column 9"):
        read_matrix(tmp_path / "d.npz")
    (tmp_path / "e.mtx").write_bytes((tmp_path / "b.mtx").read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"e\.mtx: "):
        read_matrix(tmp_path / "e.mtx")


def test_anndata_files(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    sparse = pytest.importorskip("scipy.sparse")
    whole = anndata.AnnData(sparse.csr_matrix(COUNTS.astype(np.float32)))
    whole.obs_names, whole.var_names = list("wxyz"), ["g1", "g2", "g3"]
    whole.layers["bits"] = (COUNTS > 0).astype(np.float32)
    whole.write_h5ad(tmp_path / "a.h5ad")
    found = read_matrix(tmp_path / "a.h5ad")
    assert (found.data.toarray() == COUNTS).all()
    assert (found.names, found.columns) == (list("wxyz"), ["g1", "g2", "g3"])
    assert read_matrix(tmp_path / "a.h5ad", key="bits").family == "bernoulli"
    with pytest.raises(ValueError, match="key is 'raw'; the layers are bits"):
        read_matrix(tmp_path / "a.h5ad", key="raw")
    whole.obs_names, whole.var_names = list("0123"), list("012")
    whole.write_h5ad(tmp_path / "plain.h5ad")
    found = read_matrix(tmp_path / "plain.h5ad")
    assert found.names is found.columns is None
    whole.obs["kind"] = ["T", None, "B", "T"]
    whole.write_h5ad(tmp_path / "c.h5ad")
    assert read_matrix(tmp_path / "c.h5ad", target="kind").classes == ["T", "", "B", "T"]
    with pytest.raises(ValueError, match=r"target: .* no column 'type' in obs; it has kind"):
        read_matrix(tmp_path / "c.h5ad", target="type")
    (tmp_path / "b.h5ad").write_bytes((tmp_path / "a.h5ad").read_bytes()[:500])
    with pytest.raises(ValueError, match=r"b\.h5ad: the file is damaged"):
        read_matrix(tmp_path / "b.h5ad")


class TestAlignments:
    def test_sites_that_vary_are_categories(self, tmp_path: Path) -> None:
        (tmp_path / "a.fa").write_text(FASTA)
        found = read_matrix(tmp_path / "a.fa")
        assert found.names == ["one", "two", "three"]
        assert found.columns == ["site 4", "site 7"]
        assert found.levels == [("A", "T"), ("C", "T")]
        assert found.data.tolist() == [[1, 0], [0, 1], [1, 1]]
        assert found.notes[0] == "6 of 8 sites do not vary and are left out"
        table = read_table(tmp_path / "a.fa")
        assert table.columns["site 7"].levels == ("C", "T")
        assert table.names == found.names
        est = BHC(table.family, hyperparameters="data").fit(table.data)
        assert est.labels_.shape == (3,)

    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.integers(1, 30).flatmap(
            lambda width: st.lists(
                st.text("ACGT-N?r", min_size=width, max_size=width), min_size=1, max_size=6
            )
        ),
        st.integers(1, 9),
        st.booleans(),
    )
    def test_it_is_what_a_slow_reader_reads(
        self, tmp_path: Path, rows: list[str], width: int, packed: bool
    ) -> None:
        text = "".join(
            f">s{i}\n" + "".join(f"{row[j : j + width]}\n" for j in range(0, len(row), width))
            for i, row in enumerate(rows)
        )
        path = tmp_path / "a.fa"
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
        wanted = {}
        for site, letters in enumerate(zip(*rows, strict=True), 1):
            levels = sorted(set(letters) & set("ACGT"))
            if len(levels) > 1:
                wanted[f"site {site}"] = [
                    float(levels.index(x)) if x in levels else None for x in letters
                ]
        if not wanted:
            with pytest.raises(ValueError, match="no site varies"):
                read_matrix(path)
            return
        found = read_matrix(path)
        assert found.columns == list(wanted)
        cells = [[None if np.isnan(x) else x for x in column] for column in found.data.T.tolist()]
        assert cells == list(wanted.values())

    def test_proteins_and_rna(self, tmp_path: Path) -> None:
        (tmp_path / "a.fa").write_text(">a\nMKL*\n>b\nMRLX\n")
        assert read_matrix(tmp_path / "a.fa").levels == [("K", "R")]
        (tmp_path / "b.fa").write_text(">a\nACU\n>b\nACG\n")
        assert read_matrix(tmp_path / "b.fa").levels == [("G", "U")]

    def test_bad_ones(self, tmp_path: Path) -> None:
        (tmp_path / "a.fa").write_text(">a\nACG\n>b\nAC\n")
        with pytest.raises(ValueError, match="sequence 2, 'b', has 2 letters, the first 3; align"):
            read_matrix(tmp_path / "a.fa")
        (tmp_path / "b.fa").write_text(">\n")
        with pytest.raises(ValueError, match="no sequences"):
            read_matrix(tmp_path / "b.fa")


def test_a_sparse_table_is_made_dense_for_families_that_need_it(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    cells = COUNTS / 4
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix(cells))
    with pytest.raises(ValueError, match=r"a\.npz: .* say family 'gaussian-diag', 'hurdle' or"):
        read_table(tmp_path / "a.npz")
    assert (read_table(tmp_path / "a.npz", family="gaussian-diag").data == cells).all()
    found = read_table(tmp_path / "a.npz", family="hurdle")
    assert found.family == dict.fromkeys(["column 1", "column 2", "column 3"], "hurdle")


def test_a_sparse_table_is_never_made_dense(tmp_path: Path) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    # Its cells would take 800 GB.
    shape = (10**5, 10**6)
    diagonal = np.arange(shape[0])
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_matrix((diagonal, (diagonal, diagonal)), shape))
    found = read_table(tmp_path / "a.npz")
    assert found.data.shape == shape
    assert found.family == "multinomial"
    assert found.columns["column 8"].values.nonzero()[0].tolist() == [7]


def test_parquet_is_read_as_the_same_table_in_text(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    columns: dict[str, list[Any]] = {
        "id": [f"p{i}" for i in range(12)],
        "age": [30.5 + i for i in range(11)] + [None],
        "region": ["north", "south", None] * 4,
        "visits": [0, 1, 2, 3] * 3,
        "smoker": [True, False, None] * 4,
        "same": [1.0] * 12,
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    text = ",".join(columns) + "\n"
    for row in zip(*columns.values(), strict=True):
        text += ",".join("" if cell is None else str(cell) for cell in row) + "\n"
    (tmp_path / "a.csv").write_text(text)
    found, wanted = read_table(tmp_path / "a.parquet"), read_table(tmp_path / "a.csv")
    assert list(found.columns) == list(wanted.columns)
    assert found.names == wanted.names
    assert list(found.set_aside) == list(wanted.set_aside)
    for key, column in wanted.columns.items():
        other = found.columns[key]
        assert other.family == column.family
        np.testing.assert_array_equal(other.values, column.values)
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"b\.parquet: the Parquet file is damaged"):
        read_table(tmp_path / "b.parquet")


def test_what_is_no_matrix(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"is neither .* bhclust.io.read_table\(path\)"):
        read_matrix(tmp_path / "a.csv")
    with pytest.raises(ValueError, match="no such file"):
        read_matrix(tmp_path / "b.csv")
    np.save(tmp_path / "c.npy", COUNTS)
    with pytest.raises(ValueError, match=r"names: .* holds one matrix"):
        read_table(tmp_path / "c.npy", names="id")


def test_the_dialect_is_told_and_can_be_corrected(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n1,250;x\n3,500;y\n4,750;x\n8,125;y\n")
    found = read_table(path)
    assert found.dialect == "cells between semicolons, decimal commas"
    assert found.columns["a"].values.tolist() == [1.25, 3.5, 4.75, 8.125]
    path.write_text("a b,c\n1.5 x,1\n2.5 y,1\n3.5 x,1\n9.5 y,1\n")
    found = read_table(path, separator=" ")
    assert found.columns["a"].values.tolist() == [1.5, 2.5, 3.5, 9.5]
    assert found.dialect == "cells between ' ', decimal points"
    with pytest.raises(ValueError, match="separator is ';;'; it must be one character"):
        read_table(path, separator=";;")
    with pytest.raises(ValueError, match="decimal is ' '; it must be"):
        read_table(path, decimal=" ")
    path.write_text("a;b\n1,250;x\n3,500;y\n")
    with pytest.raises(ValueError, match="looks like a number but cannot be read"):
        read_table(path, decimal=".")


def gene_counts(folder: Path, prefix: str = "") -> Path:
    """A matrix as sequencing software writes it: four genes down, three cells across."""
    path = folder / f"{prefix}matrix.mtx.gz"
    head = "%%MatrixMarket matrix coordinate integer general\n4 3 5\n"
    path.write_bytes(gzip.compress(f"{head}1 1 3\n2 2 5\n3 1 1\n4 3 9\n1 3 2\n".encode()))
    genes = "G1\tCD4\tGene Expression\nG2\tMT\tx\nG3\tMT\tx\nG4\tCD8\tx\n"
    (folder / f"{prefix}features.tsv").write_text(genes)
    (folder / f"{prefix}barcodes.tsv.gz").write_bytes(gzip.compress(b"AAC-1\nAAG-1\nCCT-1\n"))
    return path


@pytest.mark.parametrize("prefix", ["", "GSM7_"])
def test_genes_and_cells_beside_a_matrix(tmp_path: Path, prefix: str) -> None:
    path = gene_counts(tmp_path, prefix)
    found = read_matrix(path)
    assert found.data.toarray().tolist() == [[3, 0, 1, 0], [0, 5, 0, 0], [2, 0, 0, 9]]
    assert found.names == ["AAC-1", "AAG-1", "CCT-1"]
    assert found.columns == ["CD4", "MT (G2)", "MT (G3)", "CD8"]
    assert [file.argument for file in found.name_files] == ["row_names", "column_names"]
    assert found.notes == (
        f"rows are the cells of {prefix}barcodes.tsv.gz, columns the genes of {prefix}features.tsv",
    )
    (tmp_path / f"{prefix}features.tsv").write_text("G1\nG2\n")
    assert read_matrix(path).names is None
    assert read_matrix(path, transpose=True).data.shape == (3, 4)


def test_names_from_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, COUNTS)
    words = tmp_path / "words.txt"
    words.write_text("ball\ngoal\norbit\n\n")
    docs = tmp_path / "docs.txt"
    docs.write_text("a\nb\nb\nc\n")
    found = read_matrix(path, row_names=docs, column_names=words)
    assert (found.names, found.columns) == (["a", "b", "b", "c"], ["ball", "goal", "orbit"])
    read = read_table(path, row_names=docs, column_names=words).name_files
    assert [(file.argument, file.path, file.size) for file in read] == [
        ("row_names", str(docs), 8),
        ("column_names", str(words), 17),
    ]
    assert read[0].sha256 == hashlib.sha256(b"a\nb\nb\nc\n").hexdigest()
    turned = read_matrix(path, transpose=True, column_names=words_of(tmp_path, "pqrs"))
    assert (turned.data == COUNTS.T).all()
    assert turned.columns == ["p", "q", "r", "s"]
    with pytest.raises(ValueError, match=r"row_names: 3 names for 4 rows; .* transpose it"):
        read_matrix(path, row_names=words)
    with pytest.raises(ValueError, match=r"column_names: 2 names for 3 columns; give one each"):
        read_matrix(path, column_names=words_of(tmp_path, "pq"))
    with pytest.raises(ValueError, match="column_names: 'p' is there twice"):
        read_matrix(path, column_names=words_of(tmp_path, "pqp"))
    with pytest.raises(ValueError, match=r"row_names: .*none.txt: no such file"):
        read_matrix(path, row_names=tmp_path / "none.txt")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"transpose: .* leave it out"):
        read_table(tmp_path / "a.csv", transpose=True)


def words_of(folder: Path, letters: str) -> Path:
    path = folder / "letters.txt"
    path.write_text("\n".join(letters))
    return path


def test_columns_of_a_matrix_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=COUNTS, vocab=["the", "goal", "orbit"])
    found = read_table(path, ignore=["the"])
    assert list(found.columns) == ["goal", "orbit"]
    assert found.set_aside == {"the": "left out as asked"}
    assert (found.data == COUNTS[:, 1:]).all()
    with pytest.raises(ValueError, match=r"ignore: .* no column 'a'; its columns are the, goal"):
        read_table(path, ignore=["a"])
    with pytest.raises(ValueError, match=r"ignore: all columns of .* are left out"):
        read_table(path, ignore=["the", "goal", "orbit"])
    with pytest.raises(TypeError, match="ignore must be a list of columns, not 'the'"):
        read_table(path, ignore="the")


def test_classes_beside_a_matrix(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=COUNTS, y=[1, 0, 1, 1], class_names=["hot", "cold"], day=[3, 4, 3, 9])
    assert read_table(path).target is None
    assert read_table(path, target="y").target == ["cold", "hot", "cold", "cold"]
    assert read_table(path, target="day").target == ["3", "4", "3", "9"]
    with pytest.raises(ValueError, match=r"target: .* no array 'X' of 4 classes; it has X, y"):
        read_table(path, target="X")
    np.save(tmp_path / "b.npy", COUNTS)
    with pytest.raises(ValueError, match=r"target: a npy file holds no classes"):
        read_table(tmp_path / "b.npy", target="y")


def test_new_rows_without_names_go_by_the_order_of_the_columns(tmp_path: Path) -> None:
    path = gene_counts(tmp_path)
    table = read_table(path)
    assert list(table.columns) == ["CD4", "MT (G2)", "MT (G3)", "CD8"]
    np.save(tmp_path / "new.npy", COUNTS.T @ np.ones((4, 4), dtype=int))
    assert list(read_new(tmp_path / "new.npy", table).columns) == list(table.columns)
    np.save(tmp_path / "new.npy", COUNTS)
    with pytest.raises(ValueError, match="has no column 'CD4', which the model needs"):
        read_new(tmp_path / "new.npy", table)
