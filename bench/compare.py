"""Time bhclust beside its peers: one run, the same tables, their turns interleaved."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter

from measuring import TABLES, Cell, run_job
from methods import METHODS
from page import Run, cores, load, page
from tables import MATCHES, Match

ROUNDS = 5
LONG_SECONDS = 5.0
PATIENCE = 150.0


def free_bytes() -> float:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return float("inf")


def cells_of(match: Match, threads: Sequence[int], memory: float) -> Iterator[Cell]:
    for name in match.methods:
        method = METHODS[name]
        fits = method.bytes_needed(match.rows) < memory
        if not (method.installed() and method.suits(match.table) and fits):
            continue
        counts = threads if method.threaded else (1,)
        for k in counts:
            yield Cell(match.table, match.rows, name, k, k == max(counts))


def plan(matches: Sequence[Match], threads: Sequence[int]) -> list[list[Cell]]:
    """What to measure: for each table and size the cells that take turns."""
    memory = 0.8 * free_bytes()
    groups: dict[tuple[object, int], dict[object, Cell]] = {}
    for match in matches:
        group = groups.setdefault((match.table, match.rows), {})
        for cell in cells_of(match, threads, memory):
            group.setdefault(cell.key, cell)
    return [list(group.values()) for group in groups.values()]


def turns(groups: list[list[Cell]], rounds: int, long: float) -> Iterator[Cell]:
    """Round by round; within a round the order of a group's cells is another each time."""
    for turn in range(rounds):
        for group in groups:
            start = turn * len(group) // rounds
            for cell in group[start:] + group[:start]:
                enough = bool(cell.seconds) and max(cell.seconds) > long
                if not (cell.failure or cell.left_out or enough):
                    yield cell


def expected_seconds(cell: Cell, cells: Sequence[Cell]) -> float:
    """From the next smaller size, as n²; 0 when there is none."""
    smaller = [
        other
        for other in cells
        if (other.table, other.method, other.threads) == (cell.table, cell.method, cell.threads)
        and other.rows < cell.rows
        and (other.seconds or other.left_out)
    ]
    if not smaller:
        return 0.0
    last = max(smaller, key=lambda other: other.rows)
    if last.left_out or last.failure:
        return float("inf")
    return last.time * (cell.rows / last.rows) ** 2


def fill(groups: list[list[Cell]], folder: str, options: argparse.Namespace) -> None:
    cells = [cell for group in groups for cell in group]
    for cell in turns(groups, options.rounds, options.long):
        if cell.may_be_left_out and not cell.seconds:
            cell.left_out = expected_seconds(cell, cells) > options.patience
        if not cell.left_out:
            cell.measure(folder)


def draw_tables(matches: Sequence[Match], folder: str) -> None:
    for table, rows in dict.fromkeys((match.table, match.rows) for match in matches):
        run_job({"do": "draw", "table": TABLES.index(table), "rows": rows, "folder": folder})


def write_whole(path: Path, text: str) -> None:
    """Write so that the file is the old or the new one, never half of it."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def numbers(text: str) -> list[int]:
    values = [int(part) for part in text.replace("_", "").split(",")]
    if min(values) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return values


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times bhclust beside the peers installed.")
    parser.add_argument("--most", type=int, metavar="N", help="leave out tables of more rows")
    parser.add_argument("--only", metavar="WORD", default="", help="tables whose title has it")
    parser.add_argument("--threads", type=numbers, metavar="K,K,…", help="for bhclust [all cores]")
    parser.add_argument(
        "--patience",
        type=float,
        default=PATIENCE,
        metavar="S",
        help="leave out what would take longer, but SciPy and the most threads [%(default)g s]",
    )
    parser.add_argument(
        "--long",
        type=float,
        default=LONG_SECONDS,
        metavar="S",
        help="call once only what takes longer [%(default)g s]",
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="K", help=f"rounds over everything [{ROUNDS}]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the Markdown there as well")
    return parser.parse_args()


def wanted(options: argparse.Namespace) -> list[Match]:
    most = options.most or float("inf")
    return [m for m in MATCHES if m.rows <= most and options.only in m.table.title]


def main() -> int:
    options = arguments()
    if not METHODS["bhc"].installed():
        print("bhclust is not installed for this Python; `make setup` does it", file=sys.stderr)
        return 1
    matches = wanted(options)
    groups = plan(matches, sorted(set(options.threads or [cores()])))
    before, start = load(), perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        draw_tables(matches, folder)
        fill(groups, folder, options)
    cells = [cell for group in groups for cell in group]
    minutes = (perf_counter() - start) / 60
    run = Run(options.patience, options.long, options.rounds, minutes, (before, load()))
    text = page(cells, run)
    print(text, end="")
    if options.out is not None:
        write_whole(options.out, text)
    return int(any(cell.failure for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
