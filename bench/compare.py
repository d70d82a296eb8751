"""Time bhclust beside its peers: one run, the same tables, their turns interleaved.

Every measurement is a process of its own that loads the table, warms the method up on a few rows
and then times one call, short ones three times. Its memory is how far the first call raised the
process's peak (resident set): the input, the interpreter and the libraries are not counted. This
process stays small and imports neither NumPy nor a peer, since a process starts with its parent's
peak as its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import metadata, util
from pathlib import Path
from time import perf_counter
from typing import Any

ROUNDS = 3
SHORT_CALLS = 3
SHORT_SECONDS = 1.0
WARM_UP_ROWS = 64
CLUSTERS = 20
REFERENCE = "scipy linkage(ward)"


@dataclass(frozen=True)
class Data:
    """A table to draw: a mixture of CLUSTERS, and the models for it."""

    name: str
    columns: int
    family: str
    relaxed: str | None = None

    @property
    def title(self) -> str:
        return f"{self.name}, d = {self.columns}"

    def file(self, rows: int) -> str:
        return f"{self.name}-{self.columns}-{rows}.npy"

    def draw(self, rows: int) -> Any:
        import numpy as np

        r = np.random.default_rng(20240229)
        shape = (CLUSTERS, self.columns)
        truth = r.integers(CLUSTERS, size=rows)
        if self.name == "Bernoulli":
            return (r.random((rows, self.columns)) < r.beta(0.5, 0.5, shape)[truth]) * 1.0
        if self.name == "Poisson":
            return r.poisson(r.gamma(1.0, 3.0, shape)[truth]) * 1.0
        return r.normal(r.normal(0.0, 5.0, shape)[truth])


TABLES = (
    Data("Bernoulli", 64, "bernoulli"),
    Data("Gaussian", 2, "gaussian", "gaussian-spherical"),
    Data("Gaussian", 8, "gaussian", "gaussian-spherical"),
    Data("Poisson", 32, "poisson"),
)


def greedy(X: Any, data: Data, threads: int) -> object:
    import bhclust

    return bhclust.bhc(X, data.family, n_threads=threads)


def chain(X: Any, data: Data, threads: int) -> object:
    import bhclust

    assert data.relaxed is not None
    return bhclust.rbhc(X, data.relaxed, n_threads=threads)


def scipy_ward(X: Any, _data: Data, _threads: int) -> object:
    from scipy.cluster.hierarchy import linkage

    return linkage(X, "ward")


def fastcluster_ward(X: Any, _data: Data, _threads: int) -> object:
    import fastcluster

    return fastcluster.linkage(X, "ward")


def fastcluster_vector_ward(X: Any, _data: Data, _threads: int) -> object:
    import fastcluster

    return fastcluster.linkage_vector(X, "ward")


def sklearn_ward(X: Any, _data: Data, _threads: int) -> object:
    from sklearn.cluster import AgglomerativeClustering

    return AgglomerativeClustering(linkage="ward").fit(X)


@dataclass(frozen=True)
class Method:
    """One way to a tree."""

    label: str
    module: str
    package: str
    call: Callable[[Any, Data, int], object]
    threaded: bool = False
    pair_matrices: int = 0

    def suits(self, data: Data) -> bool:
        return self.call is not chain or data.relaxed is not None

    def bytes_needed(self, rows: int) -> int:
        return self.pair_matrices * 4 * rows * (rows - 1)


METHODS = (
    Method("bhclust bhc", "bhclust", "bhclust", greedy, threaded=True),
    Method("bhclust rbhc", "bhclust", "bhclust", chain, threaded=True),
    Method(REFERENCE, "scipy", "scipy", scipy_ward, pair_matrices=2),
    Method(
        "fastcluster linkage(ward)",
        "fastcluster",
        "fastcluster",
        fastcluster_ward,
        pair_matrices=2,
    ),
    Method(
        "fastcluster linkage_vector(ward)", "fastcluster", "fastcluster", fastcluster_vector_ward
    ),
    Method("sklearn Agglomerative(ward)", "sklearn", "scikit-learn", sklearn_ward, pair_matrices=2),
)


@dataclass
class Cell:
    """What is measured of one method on one table."""

    data: int
    rows: int
    method: int
    threads: int
    most_threads: bool
    seconds: list[float] = field(default_factory=list)
    kibibytes: list[int] = field(default_factory=list)
    failure: str = ""
    left_out: bool = False

    @property
    def may_be_left_out(self) -> bool:
        """Whether the tables can do without it, as not without Ward and bhclust at its best."""
        method = METHODS[self.method]
        return method.label != REFERENCE and not (method.threaded and self.most_threads)

    @property
    def label(self) -> str:
        data, method = TABLES[self.data], METHODS[self.method]
        return f"{data.title}, n = {self.rows:,}, {method.label}, {self.threads} thread(s)"

    @property
    def time(self) -> float:
        return statistics.median(self.seconds)

    @property
    def megabytes(self) -> float:
        return max(self.kibibytes) * 1024 / 1e6


def peak_kibibytes() -> int:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


def timed(call: Callable[[], object]) -> float:
    """Seconds a call took, its result kept until the clock has stopped."""
    start = perf_counter()
    result = call()
    seconds = perf_counter() - start
    del result
    return seconds


def measure(job: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    data, method = TABLES[job["data"]], METHODS[job["method"]]
    X = np.load(job["file"])
    method.call(X[:WARM_UP_ROWS].copy(), data, job["threads"])

    def call() -> object:
        return method.call(X, data, job["threads"])

    before = peak_kibibytes()
    seconds = [timed(call)]
    raised = peak_kibibytes() - before
    while sum(seconds) < SHORT_SECONDS and len(seconds) < SHORT_CALLS:
        seconds.append(timed(call))
    return {"seconds": seconds, "kibibytes": raised}


def draw_tables(job: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    for data in TABLES:
        for rows in job["sizes"]:
            np.save(Path(job["folder"]) / data.file(rows), data.draw(rows))
    return {}


def run_job(job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in a fresh process; raises RuntimeError with the last line it said."""
    done = subprocess.run(
        [sys.executable, __file__, "--job", json.dumps(job)], capture_output=True, text=True
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise RuntimeError(said[-1] if said else f"ended with {done.returncode}")
    answer = json.loads(done.stdout)
    assert isinstance(answer, dict)
    return answer


def installed(method: Method) -> bool:
    return util.find_spec(method.module) is not None


def free_bytes() -> float:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return float("inf")


def plan(sizes: Sequence[int], threads: Sequence[int]) -> list[list[Cell]]:
    """What to measure: for each table and size the cells that take turns."""
    memory = 0.8 * free_bytes()
    groups = []
    for d, data in enumerate(TABLES):
        for rows in sizes:
            group = []
            for m, method in enumerate(METHODS):
                fits = method.bytes_needed(rows) < memory
                if installed(method) and method.suits(data) and fits:
                    counts = threads if method.threaded else (1,)
                    group += [Cell(d, rows, m, k, k == max(counts)) for k in counts]
            groups.append(group)
    return groups


def turns(groups: list[list[Cell]], rounds: int) -> Iterator[Cell]:
    """Round by round; within a round the order of a group's cells is another each time."""
    for turn in range(rounds):
        for group in groups:
            start = turn * len(group) // rounds
            yield from (
                cell
                for cell in group[start:] + group[:start]
                if not (cell.failure or cell.left_out)
            )


def expected_seconds(cell: Cell, cells: Sequence[Cell]) -> float:
    """From the next smaller size, as n²; 0 when there is none."""
    same = (cell.data, cell.method, cell.threads)
    smaller = [
        other
        for other in cells
        if (other.data, other.method, other.threads) == same and other.rows < cell.rows
    ]
    if not smaller:
        return 0.0
    last = max(smaller, key=lambda other: other.rows)
    if last.left_out or last.failure:
        return float("inf")
    return last.time * (cell.rows / last.rows) ** 2


def fill(groups: list[list[Cell]], folder: str, patience: float, rounds: int) -> None:
    cells = [cell for group in groups for cell in group]
    for cell in turns(groups, rounds):
        if cell.may_be_left_out and not cell.seconds:
            cell.left_out = expected_seconds(cell, cells) > patience
            if cell.left_out:
                continue
        job = {
            "do": "measure",
            "data": cell.data,
            "method": cell.method,
            "threads": cell.threads,
            "file": str(Path(folder) / TABLES[cell.data].file(cell.rows)),
        }
        try:
            answer = run_job(job)
        except RuntimeError as error:
            cell.failure = str(error)
            print(f"{cell.label}: FAILED: {error}", file=sys.stderr)
            continue
        cell.seconds += answer["seconds"]
        cell.kibibytes.append(answer["kibibytes"])
        print(f"{cell.label}: {answer['seconds'][0]:.3g} s", file=sys.stderr)


def rounded(x: float) -> str:
    if x >= 100:
        return f"{x:,.0f}"
    digits = f"{x:.2g}" if x < 10 else f"{x:.0f}"
    return digits if "e" not in digits else f"{x:.6f}".rstrip("0")


def columns_of(cell: Cell | None, reference: Cell | None) -> list[str]:
    """Seconds, megabytes and the ratio to the reference."""
    if cell is None or cell.left_out:
        return ["-", "-", "-"]
    if cell.failure:
        return ["failed", "-", "-"]
    ratio = "-"
    if reference is not None and not reference.failure:
        ratio = rounded(cell.time / reference.time)
    return [rounded(cell.time), rounded(cell.megabytes), ratio]


def table_of(data: int, groups: list[list[Cell]]) -> list[str]:
    """The Markdown table of one data set: a line a method, three columns a size."""
    cells = [cell for group in groups for cell in group if cell.data == data]
    sizes = sorted({cell.rows for cell in cells})
    found = {(cell.method, cell.threads, cell.rows): cell for cell in cells}
    reference = next(m for m, method in enumerate(METHODS) if method.label == REFERENCE)
    head = ["", "threads"]
    for rows in sizes:
        head += [f"n = {rows:,}: s", "MB", "x Ward"]
    lines = [f"### {TABLES[data].title}", "", markdown_row(head)]
    lines.append(markdown_row(["---", *["---:"] * (len(head) - 1)]))
    for method, threads in dict.fromkeys((cell.method, cell.threads) for cell in cells):
        row = [METHODS[method].label, str(threads)]
        for rows in sizes:
            row += columns_of(found.get((method, threads, rows)), found.get((reference, 1, rows)))
        lines.append(markdown_row(row))
    return [*lines, ""]


def markdown_row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def load() -> float:
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread_note(groups: list[list[Cell]]) -> str:
    """How far the calls of a cell were apart: differences below that mean nothing."""
    spreads = [
        (max(cell.seconds) / min(cell.seconds), cell)
        for group in groups
        for cell in group
        if cell.seconds
    ]
    if not spreads:
        return "Nothing could be timed."
    worst, cell = max(spreads, key=lambda pair: pair[0])
    middle = statistics.median(spread for spread, _ in spreads)
    return (
        f"Slowest over fastest call: {middle:.2f} typically, {worst:.2f} at worst ({cell.label})."
    )


@dataclass(frozen=True)
class Run:
    """How the run went."""

    patience: float
    rounds: int
    minutes: float
    loads: tuple[float, float]


def notes(groups: list[list[Cell]], run: Run) -> list[str]:
    packages = dict.fromkeys(method.package for method in METHODS if installed(method))
    absent = dict.fromkeys(method.package for method in METHODS if not installed(method))
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", *packages))
    lines = [
        f"{date.today()}, {processor()}, {cores()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, {versions}.",
        f"Medians of {run.rounds} calls, "
        f"of {2 * run.rounds} to {run.rounds * SHORT_CALLS} of those below "
        f"{SHORT_SECONDS:g} s. "
        f"{spread_note(groups)} "
        f"The run took {run.minutes:.1f} minutes; the machine's load was {run.loads[0]:.1f} before "
        f"and {run.loads[1]:.1f} after (1 to 2 is this run's own).",
        "MB: what a call adds to the process's peak memory. x Ward: time over that of SciPy's Ward "
        "on the same table. A dash: does not fit into memory, or was expected to take over "
        f"{run.patience:g} s (SciPy, and bhclust with most threads, are run all the same).",
    ]
    if absent:
        lines.append(f"Not installed, so not timed: {', '.join(absent)}.")
    failed = [cell for group in groups for cell in group if cell.failure]
    lines += [f"Failed: {cell.label}: {cell.failure}" for cell in failed]
    return [text for line in lines for text in (line, "")]


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "(unknown version)"


def report(groups: list[list[Cell]], run: Run) -> str:
    lines = notes(groups, run)
    for data in range(len(TABLES)):
        lines += table_of(data, groups)
    return "\n".join(lines).rstrip() + "\n"


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
    parser = argparse.ArgumentParser(
        description="Times bhclust beside SciPy, fastcluster and scikit-learn, as far as installed."
    )
    parser.add_argument("--sizes", type=numbers, metavar="N,N,…", help="rows [1000,5000,20000]")
    parser.add_argument(
        "--threads", type=numbers, metavar="K,K,…", help="for bhclust [1 and all cores]"
    )
    parser.add_argument("--quick", action="store_true", help="sizes 500 and 2000: some two minutes")
    parser.add_argument(
        "--patience",
        type=float,
        default=5.0,
        metavar="S",
        help="leave out what would take longer, but SciPy and the most threads [%(default)g s]",
    )
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="K", help=f"rounds over everything [{ROUNDS}]"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the Markdown there as well")
    parser.add_argument("--job", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.job is not None:
        work = measure if options.job["do"] == "measure" else draw_tables
        print(json.dumps(work(options.job)))
        return 0
    if not installed(METHODS[0]):
        print("bhclust is not installed for this Python; `make setup` does it", file=sys.stderr)
        return 1
    sizes = sorted(set(options.sizes or ([500, 2000] if options.quick else [1000, 5000, 20000])))
    groups = plan(sizes, sorted(set(options.threads or [1, cores()])))
    before, start = load(), perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run_job({"do": "draw", "sizes": sizes, "folder": folder})
        fill(groups, folder, options.patience, options.rounds)
    run = Run(options.patience, options.rounds, (perf_counter() - start) / 60, (before, load()))
    text = report(groups, run)
    print(text, end="")
    if options.out is not None:
        write_whole(options.out, text)
    return int(any(cell.failure for group in groups for cell in group))


if __name__ == "__main__":
    sys.exit(main())
