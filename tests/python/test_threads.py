"""Threads that the system does not give."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Threads have the stack that processes begin with: with so little room there is none for several.
CHILD = """
import resource
import sys

import numpy as np

import bhclust

room = int(sys.argv[1]) << 30
resource.setrlimit(resource.RLIMIT_AS, (room, room))
rng = np.random.default_rng(0)
X = np.repeat(rng.normal(0.0, 5.0, (4, 3)), 500, axis=0) + rng.normal(size=(2000, 3))
family = bhclust.NormalInverseGamma()
for grow in (bhclust.bhc, bhclust.rbhc):
    assert grow(X, family, n_threads=50) == grow(X, family, n_threads=1)
few, many = (bhclust.posterior(grow(X, family), X, family, n_threads=n) for n in (1, 50))
assert few.log_evidence == many.log_evidence
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's limits of stacks and memory")
@pytest.mark.parametrize("room", [3, 7])
def test_fewer_threads_than_asked_for_do_the_same(room: int) -> None:
    resource = pytest.importorskip("resource")
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    wide = 4 << 30
    if hard != resource.RLIM_INFINITY and hard < wide:
        pytest.skip("stacks of 4 GB are not allowed here")
    limited = f'ulimit -s {wide >> 10}; exec "$@"'
    told = subprocess.run(
        ["sh", "-c", limited, "sh", sys.executable, "-c", CHILD, str(room)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert told.stdout == "done\n", told.stderr
