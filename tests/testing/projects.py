"""Somebody else's project with tests of its own, run as they would run it."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent

TIMEOUT_S = 100


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What `pytest` says in that folder, as if nothing of this test run were around it."""
    ours = ("PYTEST_", "PYTHONPATH", "COV_")
    without = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")  # slow to import, and ours
    return subprocess.run(
        [sys.executable, "-m", "pytest", *without, *arguments],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if not key.startswith(ours)},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def run_project(folder: Path, files: dict[str, str], *arguments: str) -> str:
    for name, text in files.items():
        (folder / name).write_text(dedent(text))
    return run_pytest(folder, "-W", "error", *arguments).stdout


def outcomes(output: str) -> dict[str, int]:
    """{"passed": 2, "failed": 1}, from the last line."""
    last = output.strip().splitlines()[-1]
    return Counter({word: int(count) for count, word in re.findall(r"(\d+) (\w+)", last)})
