"""Results do not depend on the instruction set, nor on the number of threads."""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bhclust
from bhclust import _core, _cpu, _instruction_sets
from cases import NAMES, random_case

HERE = Path(__file__).parent
BUILT = bhclust.build_info().instruction_sets
USABLE = [name for name in BUILT if name == "baseline" or name in _cpu.levels()]
ROWS = 300


def results(name: str, n_threads: int) -> Iterator[object]:
    case = random_case(name, ROWS, 11)
    X, family = case.cells, case.family
    for tree in (
        bhclust.bhc(X, family, n_threads=n_threads),
        bhclust.rbhc(X, family, n_threads=n_threads),
        bhclust.rbhc(X, family, method="greedy", n_threads=n_threads),
    ):
        yield from (tree.children, tree.cost)
        found = bhclust.posterior(tree, X, family)
        yield from (found.log_marginal, found.log_tree, found.log_odds, found.omega, found.height)
        yield found.log_evidence_bound("joint")
        yield found.score_samples(X[:7])


def digest(name: str, n_threads: int) -> str:
    found = hashlib.sha256()
    for result in results(name, n_threads):
        found.update(np.ascontiguousarray(np.asarray(result)).tobytes())
    return found.hexdigest()


def digests(n_threads: int) -> dict[str, str]:
    return {name: digest(name, n_threads) for name in NAMES}


def module_file(instruction_set: str) -> str:
    """The file of one module among those that were built."""
    path = [place for place in bhclust.__path__ if Path(place).name not in _instruction_sets.LEVELS]
    folder = _instruction_sets.folders(path).get(instruction_set)
    spec = importlib.machinery.PathFinder.find_spec("bhclust._core", [folder] if folder else path)
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def elsewhere(instruction_set: str) -> list[str]:
    """The digests as one module finds them, in a process where it is bhclust._core."""
    code = f"""
import importlib.util, sys
sys.path[:0] = {[str(HERE), str(HERE.parent), str(Path(bhclust.__file__).parents[1])]!r}
spec = importlib.util.spec_from_file_location("bhclust._core", {module_file(instruction_set)!r})
sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
import bhclust, test_instruction_sets
assert test_instruction_sets._core is module
print(bhclust.build_info().instruction_set, *test_instruction_sets.digests(1).values())
"""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_every_module_finds_the_same_for_every_family_and_number_of_threads() -> None:
    here = digests(2)
    assert len(set(here.values())) == len(NAMES)
    assert USABLE[0] == bhclust.build_info().instruction_set
    for name in USABLE:
        found = elsewhere(name)
        assert found[0] == name
        assert dict(zip(NAMES, found[1:], strict=True)) == here, name


def test_build_info_tells_what_is_in_use() -> None:
    info = bhclust.build_info()
    assert info.version == bhclust.__version__
    assert info.instruction_set == _core.instruction_set()
    assert info.compiler.split()[0] in ("gcc", "clang", "msvc")
    assert info.n_threads >= 1


def test_the_core_has_its_own_name_wherever_it_lies() -> None:
    assert _core.__name__ == "bhclust._core"
    assert sys.modules["bhclust._core"] is _core
    assert bhclust.Tree.__module__ == "bhclust._core"


def test_levels_come_with_those_below() -> None:
    every = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
    assert every == _instruction_sets.LEVELS
    assert tuple(_cpu.levels()) == every[len(every) - len(_cpu.levels()) :]


def test_the_best_module_that_the_machine_has_is_taken() -> None:
    best = _instruction_sets.best
    everything = ("x86-64-v4", "x86-64-v3", "x86-64-v2", "baseline")
    assert best(everything, everything[:3]) == "x86-64-v4"
    assert best(everything, ("x86-64-v3", "x86-64-v2")) == "x86-64-v3"
    assert best(everything, ()) == "baseline"
    assert best(("x86-64-v2",), ("x86-64-v3", "x86-64-v2")) == "x86-64-v2"
    with pytest.raises(ImportError, match="built for x86-64-v4, x86-64-v3, which this machine's"):
        best(("x86-64-v4", "x86-64-v3"), ("x86-64-v2",))


def test_modules_are_found_by_their_folders(tmp_path: Path) -> None:
    assert _instruction_sets.built([str(tmp_path)]) == ()
    (tmp_path / "x86-64-v2").mkdir()
    (tmp_path / "x86-64-v3").mkdir()
    assert _instruction_sets.built([str(tmp_path)]) == ("x86-64-v3", "x86-64-v2")
    (tmp_path / ("_core" + importlib.machinery.EXTENSION_SUFFIXES[0])).touch()
    assert _instruction_sets.built([str(tmp_path)]) == ("x86-64-v3", "x86-64-v2", "baseline")
