"""The Markdown that compare.py writes."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib import metadata
from pathlib import Path

from measuring import SHORT_CALLS, SHORT_SECONDS, Cell
from methods import METHODS, REFERENCE
from tables import AIMS, Aim, Table


@dataclass(frozen=True)
class Run:
    """How the run went."""

    patience: float
    long: float
    rounds: int
    minutes: float
    loads: tuple[float, float]


def load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(unknown version)"


def rounded(x: float) -> str:
    if x >= 100:
        return f"{x:,.0f}"
    digits = f"{x:.2g}" if x < 10 else f"{x:.0f}"
    return digits if "e" not in digits else f"{x:.6f}".rstrip("0")


def markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def columns_of(cell: Cell | None, reference: Cell | None) -> list[str]:
    """Seconds, megabytes and the ratio to the reference."""
    if cell is None or cell.left_out or not (cell.seconds or cell.failure):
        return ["-", "-", "-"]
    if cell.failure:
        return ["failed", "-", "-"]
    ratio = "-"
    if reference is not None and reference.seconds:
        ratio = rounded(cell.time / reference.time)
    return [rounded(cell.time), rounded(cell.megabytes), ratio]


def table_of(table: Table, cells: Sequence[Cell]) -> list[str]:
    """One data set: a line a method, three columns a size."""
    mine = {cell.key: cell for cell in cells if cell.table == table}
    sizes = sorted({cell.rows for cell in mine.values()})
    head = ["", "threads"]
    for rows in sizes:
        head += [f"n = {rows:,}: s", "MB", "x Ward"]
    lines = [f"### {table.title}", "", markdown_row(head)]
    lines.append(markdown_row(["---", *["---:"] * (len(head) - 1)]))
    shown = {(cell.method, cell.threads) for cell in mine.values()}
    for method in (name for name in METHODS if name in {name for name, _ in shown}):
        for threads in sorted(k for name, k in shown if name == method):
            row = [METHODS[method].label, str(threads)]
            for rows in sizes:
                reference = mine.get((table, rows, REFERENCE, 1))
                row += columns_of(mine.get((table, rows, method, threads)), reference)
            lines.append(markdown_row(row))
    return [*lines, ""]


def fastest(cells: Sequence[Cell], aim: Aim, method: str) -> Cell | None:
    """With the most threads, as the aims are stated."""
    found = [
        cell
        for cell in cells
        if (cell.table, cell.rows, cell.method) == (aim.table, aim.rows, method)
        and cell.most_threads
        and cell.seconds
    ]
    return found[0] if found else None


def ratio_row(cells: Sequence[Cell], aim: Aim) -> list[str]:
    ours, peer = fastest(cells, aim, aim.method), fastest(cells, aim, aim.peer)
    names = [METHODS[aim.method].label, METHODS[aim.peer].label]
    times = ["-", "-", "-"]
    if ours is not None and peer is not None:
        times = [rounded(ours.time), rounded(peer.time), rounded(peer.time / ours.time)]
    return [f"{aim.table.title}, n = {aim.rows:,}", *names, *times, rounded(aim.times)]


def ratios(cells: Sequence[Cell]) -> list[str]:
    head = ["table", "method", "peer", "method: s", "peer: s", "times faster", "aim"]
    ruler = ["---", "---", "---", "---:", "---:", "---:", "---:"]
    rows = [head, ruler, *(ratio_row(cells, aim) for aim in AIMS)]
    return ["### Against the peers", "", *map(markdown_row, rows), ""]


def spread_note(cells: Sequence[Cell]) -> str:
    """How far the calls of a cell were apart: differences below that mean nothing."""
    spreads = [(max(cell.seconds) / min(cell.seconds), cell) for cell in cells if cell.seconds]
    if not spreads:
        return "Nothing could be timed."
    worst, cell = max(spreads, key=lambda pair: pair[0])
    middle = statistics.median(spread for spread, _ in spreads)
    return (
        f"Slowest over fastest call: {middle:.2f} typically, {worst:.2f} at worst ({cell.label})."
    )


def notes(cells: Sequence[Cell], run: Run) -> list[str]:
    packages = dict.fromkeys(m.package for m in METHODS.values() if m.installed())
    absent = dict.fromkeys(m.label for m in METHODS.values() if not m.installed())
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", *packages))
    lines = [
        f"{date.today()}, {processor()}, {cores()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}.",
        f"Medians of {run.rounds} rounds, with {SHORT_CALLS} calls in each where a call takes less "
        f"than {SHORT_SECONDS:g} s, and of one round where it takes more than {run.long:g} s. "
        f"{spread_note(cells)} "
        f"The run took {run.minutes:.1f} minutes; the machine's load was {run.loads[0]:.1f} before "
        f"and {run.loads[1]:.1f} after (1 to 2 is this run's own).",
        "MB: what a call adds to the process's peak memory. x Ward: time over that of SciPy's Ward "
        "on the same table. A dash: not measured, since it does not fit into memory or was "
        f"expected to take over {run.patience:g} s.",
    ]
    if absent:
        lines.append(f"Not installed, so not timed: {', '.join(absent)}.")
    lines += [f"Failed: {cell.label}: {cell.failure}" for cell in cells if cell.failure]
    return [text for line in lines for text in (line, "")]


def page(cells: Sequence[Cell], run: Run) -> str:
    lines = notes(cells, run) + ratios(cells)
    for table in dict.fromkeys(cell.table for cell in cells):
        lines += table_of(table, cells)
    return "\n".join(lines).rstrip() + "\n"
