"""Tables that are one matrix: NumPy files, MatrixMarket, AnnData, alignments in FASTA."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from bhclust._fasta import read_fasta
from bhclust._matrix import Matrix, fitting_names, matrix_of
from bhclust._name_files import beside, check_names, read_names
from bhclust._records import counted, shown, shown_path, unpacked
from bhclust.options import check_path

__all__ = ["Matrix", "is_matrix_file", "read_matrix"]


def is_matrix_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is of a form that `read_matrix` knows, by how it begins."""
    try:
        # A pipe can be read but once.
        return os.path.isfile(path) and _kind(os.fspath(path)) is not None
    except (OSError, EOFError, ValueError):
        return False


def read_matrix(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    family: str | None = None,
    row_names: str | os.PathLike[str] | None = None,
    column_names: str | os.PathLike[str] | None = None,
    transpose: bool = False,
    target: str | None = None,
) -> Matrix:
    """Read a table that is one matrix, whatever the file is called.

    ``.npy`` and ``.npz`` of NumPy (also SciPy's sparse ``.npz``), MatrixMarket and alignments in
    FASTA (these two also packed by gzip), and AnnData's ``.h5ad``. No pickled objects are read.

    An alignment is read in two passes that hold only the sites that vary: each is a column of
    categories; gaps, N and other letters for several nucleotides are missing. Of other files bits
    are taken for ``bernoulli``; counts for ``multinomial``, which looks at their shares in the
    rows; rows of length one for ``von-mises-fisher``; other numbers for ``gaussian-diag``.

    Parameters
    ----------
    path : path
    key : str, optional
        Which array of an ``.npz``, by default ``X`` or the only one with two dimensions; which
        layer of an ``.h5ad``, by default ``X``.
    family : str, optional
        In place of the one found.
    row_names, column_names : path, optional
        Files of text, plain or packed by gzip, with a name a line for the rows and the columns. Of
        lines with tabs the second cell is taken. Where ``barcodes.tsv`` and ``features.tsv`` (or
        ``genes.tsv``) lie beside a ``matrix.mtx``, whatever all of them begin with, they are read
        unasked, and the matrix is turned so that its rows are the cells.
    transpose : bool
        Whether the columns of the file are the rows to cluster. The files of names are those of
        the turned matrix.
    target : str, optional
        Known classes of the rows: of ``.h5ad`` a column of ``obs``, of ``.npz`` an array, whose
        numbers are places in ``class_names`` if there is such an array.

    Returns
    -------
    Matrix

    Raises
    ------
    ValueError
        If the file is missing, damaged or of no such form.
    ImportError
        MatrixMarket needs SciPy, ``.h5ad`` anndata; the message names the extra.
    """
    name = str(check_path("path", path))
    try:
        kind = _kind(name)
    except FileNotFoundError:
        raise ValueError(f"{name}: no such file; check the name and the folder") from None
    except OSError as error:
        raise ValueError(f"{shown_path(name)}: cannot be read: {error.strerror or error}") from None
    readers = {
        "npy": _read_npy,
        "npz": _read_npz,
        "matrix market": _read_matrix_market,
        "hdf5": _read_h5ad,
        "fasta": read_fasta,
    }
    if kind is None:
        raise ValueError(
            f"{name}: is neither a NumPy file nor MatrixMarket, .h5ad or FASTA; for tables in text "
            "form: bhclust.io.read_table(path)"
        )
    try:
        found = readers[kind](name, key, family)
        if target is not None:
            found = replace(found, classes=_classes(kind, found, target))
    except (OSError, EOFError, KeyError, IndexError) as error:
        raise ValueError(f"{name}: the file is damaged, or no {kind} file: {error}") from None
    if transpose:
        found = found.turned(family)
    elif kind == "matrix market" and row_names is None and column_names is None:
        found = _named_beside(found, family)
    return _named(found, row_names, column_names)


def _named(
    found: Matrix,
    row_names: str | os.PathLike[str] | None,
    column_names: str | os.PathLike[str] | None,
) -> Matrix:
    """Give rows and columns the names that files have for them."""
    rows, columns = found.data.shape
    if row_names is not None:
        names, read = read_names(row_names, "row_names")
        check_names(names, "row_names", rows, columns)
        found = replace(found, names=names, name_files=(*found.name_files, read))
    if column_names is not None:
        names, read = read_names(column_names, "column_names")
        check_names(names, "column_names", columns, rows)
        found = replace(found, columns=names, name_files=(*found.name_files, read))
    return found


def _named_beside(found: Matrix, family: str | None) -> Matrix:
    """Look for names of cells and genes beside the file, and turn its cells into rows."""
    files = beside(found.path)
    if files is None:
        return found
    cells, of_cells = read_names(files.cells, "row_names")
    genes, of_genes = read_names(files.genes, "column_names")
    if found.data.shape == (len(genes), len(cells)):
        found = found.turned(family)
    if found.data.shape != (len(cells), len(genes)) or len(set(genes)) < len(genes):
        return found
    note = f"rows are the cells of {files.cells.name}, columns the genes of {files.genes.name}"
    return replace(
        found,
        names=cells,
        columns=genes,
        notes=(*found.notes, note),
        name_files=(of_cells, of_genes),
    )


def _classes(kind: str, found: Matrix, target: str) -> list[str]:
    if kind == "hdf5":
        from anndata import read_h5ad

        whole = read_h5ad(found.path, backed="r")
        if target not in whole.obs:
            raise ValueError(
                f"target: {found.path} has no column '{shown(target)}' in obs; it has "
                + (", ".join(shown(str(key)) for key in list(whole.obs)[:20]) or "none")
            )
        column = whole.obs[target]
        return [
            "" if gone else str(value) for value, gone in zip(column, column.isna(), strict=True)
        ]
    if kind != "npz":
        raise ValueError(
            f"target: a {kind} file holds no classes of its rows; give them to "
            "bhclust compare afterwards"
        )
    with np.load(found.path, allow_pickle=False) as archive:
        known = archive[target] if target in archive.files else np.empty((0, 0))
        if known.shape != found.data.shape[:1]:
            raise ValueError(
                f"target: {found.path} has no array '{shown(target)}' of "
                f"{found.data.shape[0]:,} classes; it has {', '.join(archive.files[:20])}"
            )
        words = _texts_of(archive, ("class_names",)) or []
        if known.dtype.kind in "iu" and known.size and 0 <= known.min() <= known.max() < len(words):
            return [words[int(code)] for code in known]
        return [str(value) for value in known.tolist()]


def _kind(path: str) -> str | None:
    with unpacked(path) as file:
        begin = file.read(16)
    marks = {
        b"\x93NUMPY": "npy",
        b"PK\x03\x04": "npz",
        b"%%MatrixMarket": "matrix market",
        b"\x89HDF\r\n": "hdf5",
        b">": "fasta",
    }
    found = next((kind for mark, kind in marks.items() if begin.startswith(mark)), None)
    return None if found == "npz" and not _holds_arrays(path) else found


def _holds_arrays(path: str) -> bool:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def _read_npy(path: str, key: str | None, family: str | None) -> Matrix:
    if key is not None:
        raise ValueError(f"key is '{shown(key)}', but {path} holds one array")
    try:
        return matrix_of(path, np.load(path, allow_pickle=False), family)
    except ValueError as error:
        raise ValueError(_in_file(path, error)) from None


def _in_file(path: str, error: ValueError) -> str:
    told = str(error)
    return told if told.startswith(path) else f"{path}: {' '.join(told.split())}"


def _read_npz(path: str, key: str | None, family: str | None) -> Matrix:
    with np.load(path, allow_pickle=False) as archive:
        try:
            names = _texts_of(archive, ("row_names", "names", "obs_names"))
            columns = _texts_of(archive, ("feature_names", "vocab", "columns", "var_names"))
            if key is None and {"data", "indices", "indptr", "shape"} <= set(archive.files):
                data = _csr(archive)
            else:
                data = archive[_the_matrix(path, archive, key)]
            found = matrix_of(path, data, family)
        except ValueError as error:
            raise ValueError(_in_file(path, error)) from None
    return Matrix(**{**vars(found), **fitting_names(names, columns, data.shape)})


def _texts_of(archive: Any, keys: Sequence[str]) -> list[str] | None:
    for key in keys:
        if key in archive.files:
            values = archive[key]
            if values.ndim == 1 and values.dtype.kind in "US":
                return [str(value) for value in values.tolist()]
    return None


def _csr(archive: Any) -> Any:
    from bhclust.table import check_csr

    sparse = _scipy_sparse("sparse .npz files")
    shape = tuple(int(length) for length in archive["shape"])
    indices, indptr = (archive[name].astype(np.int64) for name in ("indices", "indptr"))
    parts = (archive["data"], indices, indptr)
    if len(shape) != 2 or min(shape) < 0 or any(part.ndim != 1 for part in parts):
        raise ValueError("the sparse arrays do not fit together")

    check_csr(
        SimpleNamespace(data=parts[0], indices=parts[1], indptr=parts[2], shape=shape),
        "the matrix",
    )
    data = parts[0] if parts[0].dtype.kind == "f" else parts[0].astype(np.float64)
    return sparse.csr_array((data, parts[1], parts[2]), shape=shape)


def _scipy_sparse(what: str) -> Any:
    try:
        import scipy.sparse
    except ImportError:
        raise ImportError(f'{what} need SciPy: pip install "bhclust[learn]"') from None
    return scipy.sparse


def _the_matrix(path: str, archive: Any, key: str | None) -> str:
    if key is not None:
        if key not in archive.files:
            raise ValueError(
                f"key is '{shown(key)}'; the arrays are {', '.join(archive.files[:20])}"
            )
        return key
    if "X" in archive.files:
        return "X"
    tables = [name for name in archive.files if archive[name].ndim == 2]
    if len(tables) != 1:
        raise ValueError(
            f"{path}: {counted(len(tables), 'array')} with two dimensions; say which by key: "
            + ", ".join(archive.files[:20])
        )
    return str(tables[0])


def _read_matrix_market(path: str, key: str | None, family: str | None) -> Matrix:
    if key is not None:
        raise ValueError(f"key is '{shown(key)}', but {path} holds one matrix")
    _scipy_sparse("MatrixMarket files")
    from scipy.io import mmread

    try:
        with unpacked(path) as file:
            data: Any = mmread(file)
        return matrix_of(path, data.tocsr() if hasattr(data, "tocsr") else data, family)
    except (ValueError, OverflowError) as error:
        raise ValueError(_in_file(path, ValueError(str(error)))) from None


def _read_h5ad(path: str, key: str | None, family: str | None) -> Matrix:
    try:
        import anndata
    except ImportError:
        raise ImportError('.h5ad files need anndata: pip install "bhclust[anndata]"') from None
    whole = anndata.read_h5ad(path)
    if key is not None and key not in whole.layers:
        raise ValueError(
            f"key is '{shown(key)}'; the layers are {', '.join(whole.layers) or 'none'}"
        )
    data: Any = whole.X if key is None else whole.layers[key]
    if data is None:
        raise ValueError(f"{path}: has no X; say which layer by key: {', '.join(whole.layers)}")
    data = data.tocsr() if hasattr(data, "tocsr") else np.asarray(data)
    try:
        found = matrix_of(path, data, family)
    except ValueError as error:
        raise ValueError(_in_file(path, error)) from None
    names, columns = _own_names(whole.obs_names), _own_names(whole.var_names)
    return Matrix(**{**vars(found), **fitting_names(names, columns, data.shape)})


def _own_names(index: Any) -> list[str] | None:
    """Names that someone gave: AnnData itself numbers from 0 on."""
    names = list(map(str, index))
    return None if names == [str(number) for number in range(len(names))] else names
