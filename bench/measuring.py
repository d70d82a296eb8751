"""Time and memory of one method on one table, each measurement in a process of its own.

The process loads the table, warms the method up on a few rows and then times one call, short ones
three times. Its memory is how far the first call raised the process's peak (resident set): the
input, the interpreter and the libraries are not counted. The process that starts the others
stays small and imports neither NumPy nor a peer, since a process starts with its parent's peak as
its own.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from methods import METHODS, REFERENCE
from tables import MATCHES, Table

SHORT_CALLS = 3
SHORT_SECONDS = 1.0
TABLES = tuple(dict.fromkeys(match.table for match in MATCHES))


@dataclass
class Cell:
    """What is measured of one method on one table."""

    table: Table
    rows: int
    method: str
    threads: int
    most_threads: bool
    seconds: list[float] = field(default_factory=list)
    kibibytes: list[int] = field(default_factory=list)
    failure: str = ""
    left_out: bool = False

    @property
    def key(self) -> tuple[Table, int, str, int]:
        return self.table, self.rows, self.method, self.threads

    @property
    def may_be_left_out(self) -> bool:
        """Whether the tables can do without it, as not without Ward and bhclust at its best."""
        return self.method != REFERENCE and not (
            METHODS[self.method].threaded and self.most_threads
        )

    @property
    def label(self) -> str:
        title = f"{self.table.title}, n = {self.rows:,}"
        return f"{title}, {METHODS[self.method].label}, {self.threads} thread(s)"

    @property
    def time(self) -> float:
        return statistics.median(self.seconds)

    @property
    def megabytes(self) -> float:
        return max(self.kibibytes) * 1024 / 1e6

    def measure(self, folder: str) -> None:
        """Measure once more, or note why that failed."""
        job = {
            "do": "measure",
            "table": TABLES.index(self.table),
            "method": self.method,
            "threads": self.threads,
            "file": str(Path(folder) / self.table.file(self.rows)),
        }
        try:
            answer = run_job(job)
        except RuntimeError as error:
            self.failure = str(error)
            print(f"{self.label}: FAILED: {error}", file=sys.stderr)
            return
        self.seconds += answer["seconds"]
        self.kibibytes.append(answer["kibibytes"])
        print(f"{self.label}: {answer['seconds'][0]:.3g} s", file=sys.stderr)


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

    table, method = TABLES[job["table"]], METHODS[job["method"]]
    X = np.load(job["file"])
    few = method.input(X[: method.warm_up_rows].copy(), table, job["threads"])
    method.call(few, table, job["threads"])
    kept = Path(job["file"]).with_suffix(f".{job['method']}.pickle")
    given = method.input(X, table, job["threads"], kept)

    def call() -> object:
        return method.call(given, table, job["threads"])

    before = peak_kibibytes()
    seconds = [timed(call)]
    raised = peak_kibibytes() - before
    while sum(seconds) < SHORT_SECONDS and len(seconds) < SHORT_CALLS:
        seconds.append(timed(call))
    return {"seconds": seconds, "kibibytes": raised}


def draw(job: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    table = TABLES[job["table"]]
    np.save(Path(job["folder"]) / table.file(job["rows"]), table.draw(job["rows"]))
    return {}


JOBS = {"measure": measure, "draw": draw}


def run_job(job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in a fresh process; raises RuntimeError with the last line it said."""
    done = subprocess.run(
        [sys.executable, __file__, json.dumps(job)], capture_output=True, text=True
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise RuntimeError(said[-1] if said else f"ended with {done.returncode}")
    answer = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(answer, dict)
    return answer


if __name__ == "__main__":
    work = json.loads(sys.argv[1])
    print(json.dumps(JOBS[work["do"]](work)))
