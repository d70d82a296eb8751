"""Makes the slow twins importable as the package ``reference``; one thread for linear algebra."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture(autouse=True, scope="session")
def interrupts_arrive() -> None:
    # A shell has what it runs in the background ignore them, and that is inherited.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def one_thread_for_linear_algebra() -> Iterator[None]:
    # Its threads spin for each other on problems as small as those of SciPy's optimiser.
    import scipy.linalg  # noqa: F401 - only libraries that are loaded can be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        yield


@pytest.fixture(autouse=True)
def no_figure_is_left_open() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
