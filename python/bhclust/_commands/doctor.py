"""`bhclust doctor`."""

from __future__ import annotations

import json
import platform
from importlib import metadata, resources
from typing import Any

import click

from .options import json_option

_PACKAGES = (
    *("numpy", "scipy", "click", "rich", "matplotlib", "scikit-learn", "pandas", "narwhals"),
    *("pyarrow", "anndata", "safetensors", "zstandard", "networkx", "dask"),
)


@click.command("doctor")
@json_option()
def command() -> int:
    """Say what is installed, and check what this machine computes.

    Known values of every family, the same results for one thread and for all, and a model that is
    saved and read again. The exit code is 1 when a check fails.
    """
    import bhclust

    from .session import session

    found = bhclust.build_info()
    facts = {
        "bhclust": found.version,
        "instruction set": f"{found.instruction_set} (of {', '.join(found.instruction_sets)})",
        "threads": str(found.n_threads),
        "compiler": found.compiler,
        "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        **{name: _version(name) for name in _PACKAGES},
    }
    for name, value in facts.items():
        session().say(f"{name:<16} {value}")
        session().tell({"type": "fact", "name": name, "value": value})
    failed = 0
    with session().interrupts.raising():
        for name, check in (
            ("known values", known_values),
            ("threads", one_thread_or_all),
            ("model file", saved_and_read),
        ):
            told = _told(check)
            failed += told is not None
            session().say(f"{name:<16} {'ok' if told is None else 'FAILED: ' + told}")
            session().tell({"type": "check", "name": name, "ok": told is None, "told": told})
    return int(failed > 0)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _told(check: Any) -> str | None:
    """Run a check: what is wrong, or None."""
    try:
        told: str | None = check()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return told


def known_values() -> str | None:
    """Compare log marginal likelihoods with known ones."""
    import numpy as np

    from bhclust.table import as_table

    text = resources.files("bhclust").joinpath("data/golden.json").read_text(encoding="utf-8")
    for point in json.loads(text):
        rows = np.array(point["rows"], dtype=np.float64)
        found = _family(point["family"], point["hyper"])._log_marginal(as_table(rows))
        wanted = float(point["log_marginal"])
        allowed = 1e-10 * max(1.0, abs(wanted)) + 4e-15 * point["magnitude"]
        if not abs(found - wanted) <= allowed:
            return f"{point['family']} gives {found!r}, not {wanted!r}"
    return None


def _family(name: str, hyper: dict[str, Any]) -> Any:
    import bhclust

    if name == "Product":
        return bhclust.Product(
            [(_family(part["family"], part["hyper"]), part["columns"]) for part in hyper["blocks"]]
        )
    return getattr(bhclust, name)(**hyper)


def _table() -> Any:
    import numpy as np

    return np.random.default_rng(0).normal(size=(300, 4)) + 5.0 * (np.arange(300) % 3)[:, None]


def one_thread_or_all() -> str | None:
    """Compare trees of one thread and of all."""
    import numpy as np

    import bhclust

    one, several = (
        bhclust.bhc(_table(), "gaussian-diag", n_threads=threads) for threads in (1, None)
    )
    same = np.array_equal(one.children, several.children) and np.array_equal(
        one.log_d, several.log_d
    )
    return None if same else "one thread and all threads give different trees"


def saved_and_read() -> str | None:
    """Save a model, read it, and compare."""
    import tempfile
    from pathlib import Path

    import numpy as np

    import bhclust

    fitted = bhclust.BHC("gaussian-diag", hyperparameters="data").fit(_table())
    with tempfile.TemporaryDirectory() as folder:
        again = bhclust.load(bhclust.save(fitted, Path(folder) / "model.bhclust"))
    same = np.array_equal(fitted.predict_proba(_table()), again.predict_proba(_table()))
    return None if same else "a saved model predicts otherwise"
