"""Runs the examples and keeps what they print and draw beside their pages.

python docs/examples/run.py --data DIR [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

import matplotlib as mpl

import showing

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SHIPPED = ("digits", "wine")
"""Their tables come with scikit-learn."""
NAMES = (*SHIPPED, "newsgroups", "spambase", "titanic", "yeast")


def tell(name: str, data: Path | None, out: Path) -> str:
    """Run one example; what it printed."""
    return showing.run(importlib.import_module(name).tell, name, data, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    mpl.use("agg")
    RESULTS.mkdir(exist_ok=True)
    for name in options.names or NAMES:
        text = tell(name, options.data, RESULTS)
        (RESULTS / f"{name}.txt").write_text(text, encoding="utf-8")
        print(f"== {name}", text, sep="\n")
