"""Alignments in FASTA: sites that vary, as columns of categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bhclust._matrix import Matrix
from bhclust._records import counted, shown, unpacked

__all__ = ["read_fasta"]

_NUCLEOTIDES = "ACGT"
_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
# The letters that stand for one or several nucleotides; a protein has others.
_OF_NUCLEOTIDES = frozenset("ACGTURYSWKMBDHVNX")


def read_fasta(path: str, key: str | None, family: str | None) -> Matrix:
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
    with unpacked(path) as file:
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
