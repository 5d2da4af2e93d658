"""The load generator: a process of its own, so that its CPU time and pauses are not the server's.

A job is a frozen value with a `run` method; `run_job` has it run in a new process and gives its
result.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Protocol, TypeVar

from benchmarks.side_by_side import REPOSITORY

JOB_TIMEOUT_S = 900.0
Result_co = TypeVar("Result_co", covariant=True)


class Job(Protocol[Result_co]):
    def run(self) -> Result_co: ...


def run_job(job: Job[Result_co]) -> Result_co:
    done = subprocess.run(
        (sys.executable, "-m", __name__),
        input=pickle.dumps(job),
        stdout=subprocess.PIPE,
        check=True,
        cwd=REPOSITORY,
        timeout=JOB_TIMEOUT_S,
    )
    # Both ends are ours: the bytes come from the process that was just started.
    result: Result_co = pickle.loads(done.stdout)
    return result
