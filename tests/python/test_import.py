"""What the package shows, and what importing it costs."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bhclust

OPTIONAL = (
    *("scipy", "sklearn", "matplotlib", "pandas", "polars", "click", "rich", "PIL"),
    *("narwhals", "pyarrow", "anndata", "safetensors", "networkx", "dask", "distributed"),
)
MODULES = ("curves", "datasets", "distributed", "export", "io", "metrics", "plot")
LAZY = ("report",)
VALUES = [name for name in bhclust.__all__ if name not in (*MODULES, "__version__")]
CLASSES = [name for name in VALUES if inspect.isclass(getattr(bhclust, name))]
FUNCTIONS = [name for name in VALUES if name not in CLASSES]


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_numpy_only() -> None:
    loaded = run("import bhclust, sys; bhclust.BHC; print(*sys.modules)").split()
    assert "numpy" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(OPTIONAL)


def test_names_are_loaded_when_they_are_asked_for() -> None:
    assert "numpy" not in run("import bhclust, sys; print(*sys.modules)").split()
    code = "import bhclust; print(set(bhclust.__all__) <= set(dir(bhclust)), bhclust.Tree.__name__)"
    assert run(code).split() == ["True", "Tree"]


def test_the_help_of_the_command_loads_no_numpy() -> None:
    code = (
        "import sys; from bhclust.cli import main; main(['--help']); print('numpy' in sys.modules)"
    )
    assert run(code).split()[-1] == "False"


def test_work_loads_numpy_only() -> None:
    code = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None
import bhclust
X = [[1.0, 2.0], [3.0, 1.0], [9.0, 9.0]]
data = {{"hyperparameters": "data"}}
mixed = bhclust.BHC({{0: "poisson"}}, **data)
for est in (bhclust.BHC(**data), bhclust.RBHC(n_clusters=2), mixed):
    est.fit(X)
    est.predict(X), est.score(X), repr(est), est.tree_.to_json(), est.posterior_.to_newick()
try:
    bhclust.BHC().predict(X)
except ValueError as error:
    print(error)
"""
    assert "this BHC is not fitted" in run(code)


def test_everything_may_be_imported_with_numpy_only() -> None:
    code = f"""
import sys
for name in {OPTIONAL!r}:
    sys.modules[name] = None
from bhclust import *
import bhclust
print(*sorted(set(bhclust.__all__) - set(globals())))
"""
    assert run(code).split() == []


def test_all_is_complete() -> None:
    source = Path(str(bhclust.__file__)).read_text()
    imported = re.findall(
        r"^ +from bhclust\.\S+ import (?:\(([^)]*)\)|(.*))$", source, re.MULTILINE
    )
    names = {name for group in imported for name in re.findall(r"\w+", "".join(group))}
    assert names | set(MODULES) | set(LAZY) == set(bhclust.__all__)
    assert len(set(bhclust.__all__)) == len(bhclust.__all__)
    for name in bhclust.__all__:
        assert getattr(bhclust, name) is not None


def test_modules_are_loaded_when_they_are_asked_for() -> None:
    for name in MODULES:
        assert getattr(bhclust, name) is importlib.import_module(f"bhclust.{name}")
    with pytest.raises(AttributeError, match="module 'bhclust' has no attribute 'Dendrogram'"):
        _ = bhclust.Dendrogram  # type: ignore[attr-defined]


def test_version_is_the_cores() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", bhclust.__version__)
    assert bhclust.__version__ == importlib.import_module("bhclust._core").__version__


def sections_of(value: Any) -> set[str]:
    return set(re.findall(r"^(\w+)\n-+$", inspect.getdoc(value) or "", re.MULTILINE))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_tell_what_they_take_and_give(name: str) -> None:
    function = getattr(bhclust, name)
    documentation = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    wanted = {"Parameters", "Returns"} if signature.parameters else {"Returns"}
    assert wanted <= sections_of(function)
    for parameter in signature.parameters.values():
        assert re.search(rf"^(\w+, )*{parameter.name}(, \w+)* : ", documentation, re.MULTILINE)
        assert parameter.annotation is not inspect.Parameter.empty
    assert signature.return_annotation is not inspect.Signature.empty


@pytest.mark.parametrize("name", CLASSES)
def test_classes_and_their_methods_are_documented(name: str) -> None:
    cls = getattr(bhclust, name)
    assert len(inspect.getdoc(cls) or "") > 20
    for attribute, value in inspect.getmembers(cls):
        if attribute.startswith("_") or not (callable(value) or isinstance(value, property)):
            continue
        assert inspect.getdoc(value), f"{name}.{attribute}"


@pytest.mark.parametrize("name", ["BHC", "RBHC"])
def test_estimators_document_every_parameter(name: str) -> None:
    cls = getattr(bhclust, name)
    documentation = inspect.getdoc(cls) or ""
    assert {"Parameters", "Attributes"} <= sections_of(cls)
    for parameter in cls().get_params():
        assert re.search(rf"^{parameter} : ", documentation, re.MULTILINE), parameter


def test_the_package_is_typed() -> None:
    assert (Path(str(bhclust.__file__)).parent / "py.typed").exists()
