"""Tables that are one matrix: NumPy files, MatrixMarket, AnnData, alignments in FASTA."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from bhclust._name_files import beside, check_names, read_names
from bhclust._records import GZIP, ZSTD, counted, shown, shown_path, unpacked_zstd
from bhclust._sniff import Column
from bhclust.families import aliases

__all__ = ["Matrix", "is_matrix_file", "read_matrix"]

_NUCLEOTIDES = "ACGT"
_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
# The letters that stand for one or several nucleotides; a protein has others.
_OF_NUCLEOTIDES = frozenset("ACGTURYSWKMBDHVNX")
_MOST_CELLS = 50_000_000


@dataclass(frozen=True)
class Matrix:
    """A table whose columns are all of one kind.

    Attributes
    ----------
    path : str
        The file.
    data : array or SciPy CSR array, shape (n_rows, n_columns)
        What `BHC.fit` takes; codes of the levels for categories, NaN where missing.
    family : str
        What `BHC` takes as `family`.
    why : str
        Why this family.
    names : list of str or None
        Names of the rows, where the file has them.
    columns : list of str or None
        Names of the columns.
    levels : list of tuple of str or None
        What the codes of each column stand for.
    notes : tuple of str
        What else was found, and what was left out.
    classes : list of str or None
        Known classes of the rows, where they were asked for; empty where missing.
    """

    path: str
    data: Any
    family: str
    why: str
    names: list[str] | None = None
    columns: list[str] | None = None
    levels: list[tuple[str, ...]] | None = None
    notes: tuple[str, ...] = ()
    classes: list[str] | None = None

    @property
    def column_names(self) -> list[str]:
        """Names of the columns; ``column 1``, ``column 2``, … where the file has none."""
        return self.columns or [f"column {j + 1}" for j in range(self.data.shape[1])]

    def as_columns(self) -> Mapping[str, Column]:
        """The columns one by one, as `bhclust.io.Table` has them.

        Of a sparse matrix they are made as they are asked for, where its family takes one.
        """
        is_sparse = hasattr(self.data, "tocsr")
        if is_sparse and getattr(aliases().get(self.family), "_takes_sparse", False):
            return SparseColumns(self.data, self.column_names, self.family, self.why)
        if self.data.shape[0] * self.data.shape[1] > _MOST_CELLS:
            raise ValueError(
                f"{self.path}: {self.data.shape[0]:,} rows of {self.data.shape[1]:,} columns are "
                "too many for a table of columns; in Python fit bhclust.io.read_matrix(path).data"
            )
        cells = np.asarray(self.data.toarray() if is_sparse else self.data, dtype=np.float64)
        plain = ("0", "1") if self.family == "bernoulli" else ()
        levels = self.levels or [plain] * cells.shape[1]
        return {
            name: Column(name, self.family, np.ascontiguousarray(cells[:, j]), levels[j], self.why)
            for j, name in enumerate(self.column_names)
        }

    def without(self, ignore: Sequence[str]) -> Matrix:
        """Leave out columns, by their names."""
        names = self.column_names
        unknown = [name for name in ignore if name not in names]
        if unknown:
            raise ValueError(
                f"ignore: {self.path} has no column '{shown(unknown[0])}'; its columns are "
                + ", ".join(map(shown, names[:8]))
                + (", …" if len(names) > 8 else "")
            )
        left_out = set(ignore)
        kept = [place for place, name in enumerate(names) if name not in left_out]
        if not kept:
            raise ValueError(f"ignore: all columns of {self.path} are left out; keep some")
        return replace(
            self,
            data=self.data[:, kept],
            columns=[names[place] for place in kept],
            levels=self.levels and [self.levels[place] for place in kept],
        )

    def turned(self, family: str | None) -> Matrix:
        """Make rows of the columns, and the reverse."""
        if self.levels is not None or self.classes is not None:
            raise ValueError(
                f"transpose: {self.path} has columns of categories, or classes of its rows; "
                "leave it out"
            )
        data = self.data.T.tocsr() if hasattr(self.data, "tocsr") else self.data.T
        found = _found(self.path, data, family)
        return replace(found, **_fitting(self.columns, self.names, data.shape), notes=self.notes)


class SparseColumns(Mapping[str, Column]):
    """The columns of a sparse matrix, each made when it is asked for.

    Attributes
    ----------
    matrix : SciPy CSR array, shape (n_rows, n_columns)
    family : str
        Alias of the family of all columns.
    why : str
        Why this family.
    """

    def __init__(self, matrix: Any, names: Sequence[str], family: str, why: str) -> None:
        self.matrix: Any = matrix
        self.family: str = family
        self.why: str = why
        self._by_column = matrix.tocsc()
        self._place = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> Column:
        place = self._place[name]
        values = np.zeros(self.matrix.shape[0])
        cells = slice(*self._by_column.indptr[place : place + 2])
        np.add.at(values, self._by_column.indices[cells], self._by_column.data[cells])
        return Column(name, self.family, values, (), self.why)

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def chosen(self, names: Sequence[str]) -> SparseColumns:
        """Give these columns, in this order."""
        places = [self._place[name] for name in names]
        return SparseColumns(self.matrix[:, places], names, self.family, self.why)


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
    name = os.fsdecode(path)
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
        "fasta": _read_fasta,
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
        names = read_names(row_names, "row_names")
        check_names(names, "row_names", rows, columns)
        found = replace(found, names=names)
    if column_names is not None:
        names = read_names(column_names, "column_names")
        check_names(names, "column_names", columns, rows)
        found = replace(found, columns=names)
    return found


def _named_beside(found: Matrix, family: str | None) -> Matrix:
    """Look for names of cells and genes beside the file, and turn its cells into rows."""
    files = beside(found.path)
    if files is None:
        return found
    cells, genes = read_names(files.cells, "row_names"), read_names(files.genes, "column_names")
    if found.data.shape == (len(genes), len(cells)):
        found = found.turned(family)
    if found.data.shape != (len(cells), len(genes)) or len(set(genes)) < len(genes):
        return found
    note = f"rows are the cells of {files.cells.name}, columns the genes of {files.genes.name}"
    return replace(found, names=cells, columns=genes, notes=(*found.notes, note))


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
    with _unpacked(path) as file:
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


def _unpacked(path: str) -> IO[bytes]:
    with open(path, "rb") as file:
        begin = file.read(4)
        if begin == ZSTD:
            return io.BytesIO(unpacked_zstd(path, begin + file.read()))
    packed = begin.startswith(GZIP)
    return gzip.open(path) if packed else open(path, "rb")  # type: ignore[return-value]


def _found(path: str, data: Any, family: str | None) -> Matrix:
    """The matrix with the family asked for, or else that which fits its cells."""
    if getattr(data, "ndim", 0) != 2 or data.dtype.kind not in "biuf" or 0 in data.shape:
        raise ValueError(
            f"{path}: a matrix of numbers is needed, rows and columns; found "
            f"{getattr(data, 'dtype', type(data).__name__)} of shape {getattr(data, 'shape', ())}"
        )
    return Matrix(path, data, *(_likely(data) if family is None else (family, "as asked")))


def _likely(data: Any) -> tuple[str, str]:
    is_sparse = hasattr(data, "tocsr")
    cells = np.asarray(data.data if is_sparse else data).ravel()
    present = cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells
    if np.isin(present, (0, 1)).all():
        return "bernoulli", "only 0 and 1"
    if (present >= 0).all() and (present == np.rint(present)).all():
        if len(present) == len(cells):
            return "multinomial", "counts; their shares in each row are looked at"
        return "poisson", "counts, some missing"
    squares = np.asarray(data.multiply(data).sum(axis=1) if is_sparse else (data**2).sum(axis=1))
    if np.allclose(squares, 1.0, rtol=0, atol=1e-6):
        return "von-mises-fisher", "rows of length one"
    if is_sparse:
        raise ValueError(
            "a sparse matrix of measurements has no family of its own: give counts, or, if its "
            "zeros are measurements, say family 'gaussian-diag', 'hurdle' or the like"
        )
    return "gaussian-diag", "measurements"


def _read_npy(path: str, key: str | None, family: str | None) -> Matrix:
    if key is not None:
        raise ValueError(f"key is '{shown(key)}', but {path} holds one array")
    try:
        return _found(path, np.load(path, allow_pickle=False), family)
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
            found = _found(path, data, family)
        except ValueError as error:
            raise ValueError(_in_file(path, error)) from None
    return Matrix(**{**vars(found), **_fitting(names, columns, data.shape)})


def _fitting(
    names: list[str] | None, columns: list[str] | None, shape: tuple[int, ...]
) -> dict[str, Any]:
    """Names where there is one for each row or column, and none twice among the columns."""
    has_columns = columns is not None and len(set(columns)) == shape[1] == len(columns)
    return {
        "names": names if names is not None and len(names) == shape[0] else None,
        "columns": columns if has_columns else None,
    }


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
        with _unpacked(path) as file:
            data: Any = mmread(file)
        return _found(path, data.tocsr() if hasattr(data, "tocsr") else data, family)
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
        found = _found(path, data, family)
    except ValueError as error:
        raise ValueError(_in_file(path, error)) from None
    names, columns = _own_names(whole.obs_names), _own_names(whole.var_names)
    return Matrix(**{**vars(found), **_fitting(names, columns, data.shape)})


def _own_names(index: Any) -> list[str] | None:
    """Names that someone gave: AnnData itself numbers from 0 on."""
    names = list(map(str, index))
    return None if names == [str(number) for number in range(len(names))] else names


def _read_fasta(path: str, key: str | None, family: str | None) -> Matrix:
    if key is not None:
        raise ValueError(f"key is '{shown(key)}', but {path} holds one alignment")
    names: list[str] = []
    seen: NDArray[np.uint32] | None = None
    for name, letters in _sequences(path):
        bits = np.left_shift(np.uint32(1), np.minimum(letters, 31).astype(np.uint32))
        if seen is None:
            seen = np.zeros(len(bits), dtype=np.uint32)
        if len(bits) != len(seen):
            raise ValueError(
                f"{path}: sequence {len(names) + 1}, '{shown(name)}', has {len(bits):,} letters, "
                f"the first {len(seen):,}; align them to one length"
            )
        seen |= bits
        names.append(name)
    if seen is None or not len(seen):
        raise ValueError(f"{path}: no sequences")
    alphabet = _alphabet(int(np.bitwise_or.reduce(seen)))
    known = sum(1 << (ord(letter) - 65) for letter in alphabet)
    # Two different letters at least: more than one bit.
    kept = seen & np.uint32(known)
    varies = np.flatnonzero(kept & (kept - np.uint32(1)))
    if not varies.size:
        raise ValueError(f"{path}: no site varies among {counted(len(names), 'sequence')}")
    codes, levels = _codes_of_sites(kept[varies], alphabet)
    cells = np.empty((len(names), len(varies)))
    for row, (_, letters) in enumerate(_sequences(path)):
        cells[row] = codes[letters[varies], np.arange(len(varies))]
    missing = np.isnan(cells).mean()
    notes = [f"{len(seen) - len(varies):,} of {len(seen):,} sites do not vary and are left out"]
    if missing:
        notes.append(f"{missing:.1%} of the cells are gaps or letters that stand for several")
    return Matrix(
        path,
        cells,
        family or "categorical",
        "sites of an alignment" if family is None else "as asked",
        names=names,
        columns=[f"site {site + 1}" for site in varies.tolist()],
        levels=levels,
        notes=tuple(notes),
    )


def _sequences(path: str) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Each sequence with its name; letters as their places in the alphabet, 31 for others."""
    name: str | None = None
    parts: list[bytes] = []
    with _unpacked(path) as file:
        for line in file:
            if line.startswith(b">"):
                if name is not None:
                    yield name, _letters(parts)
                words = line[1:].decode("utf-8", "replace").split()
                name, parts = words[0] if words else "", []
            else:
                parts.append(line)
    if name is not None:
        yield name, _letters(parts)


def _letters(parts: Sequence[bytes]) -> NDArray[np.uint8]:
    text = b"".join(b"".join(parts).split()).upper()
    places = np.frombuffer(text, dtype=np.uint8) - np.uint8(65)
    places[places > 25] = 31
    return places


def _alphabet(seen: int) -> str:
    letters = {chr(65 + place) for place in range(26) if seen >> place & 1}
    if letters <= _OF_NUCLEOTIDES:
        return "ACGU" if "U" in letters and "T" not in letters else _NUCLEOTIDES
    return _AMINO_ACIDS


def _codes_of_sites(
    kept: NDArray[np.uint32], alphabet: str
) -> tuple[NDArray[np.float64], list[tuple[str, ...]]]:
    """For each letter and site its code among the letters there, NaN for others."""
    codes = np.full((32, len(kept)), np.nan)
    count = np.zeros(len(kept))
    there = {}
    for letter in alphabet:
        place = ord(letter) - 65
        there[letter] = (kept >> np.uint32(place)) & np.uint32(1) == 1
        codes[place, there[letter]] = count[there[letter]]
        count += there[letter]
    levels = [tuple(letter for letter in alphabet if there[letter][j]) for j in range(len(kept))]
    return codes, levels
