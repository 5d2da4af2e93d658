"""One Python process for the Spark programs of a page, as a notebook would have: Spark starts once.

Each program has its own names, so it needs its own imports; only the session is there already.
"""

import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

_DONE = "-- done --"
_LOOP = f"""
import runpy, sys
for line in sys.stdin:
    runpy.run_path(line.strip(), run_name="__main__")
    print({_DONE!r}, flush=True)
"""


class SparkShell:
    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", _LOOP],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, name: str, timeout_s: float) -> None:
        """A program of the folder; one that fails ends the shell."""
        overdue = threading.Timer(timeout_s, self._process.kill)
        overdue.start()
        try:
            print(name, file=self._process.stdin, flush=True)
            said = ""
            while (line := self._process.stdout.readline()) and line.strip() != _DONE:
                said += line
        finally:
            overdue.cancel()
        assert line, f"{name!r} ended so:\n{said}"

    def close(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(30)  # it stops its Spark
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.stdout.close()
        self._process.wait()
