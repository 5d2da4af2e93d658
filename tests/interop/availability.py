"""What `make interop` needs beyond PyPI: programs and registries that may not be there.

Where one is missing, the tests that need it are skipped and say so. CI promises to have them all:
there (CI=true) it is a failure.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

RESOLVE_TIMEOUT_S = 300.0
OUTPUT_SHOWN = 300


def unavailable(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; with CI=true nothing may be skipped", pytrace=False)
    pytest.skip(reason)


def need(*programs: str, purpose: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        unavailable(f"{purpose}: {' and '.join(missing)} not installed")


def cache_dir() -> Path:
    """Where downloads are kept from run to run, outside the tree."""
    return Path(os.environ.get("DRUMBEAT_CACHE") or Path.home() / ".cache" / "drumbeat")


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Several test processes share the cache; what one downloads, the others wait for."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    with open(cache_dir() / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def resolve(
    command: Sequence[str], folder: Path, purpose: str, env: Mapping[str, str] | None = None
) -> None:
    """Run a package manager in `folder`; what it cannot download is unavailable."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=RESOLVE_TIMEOUT_S,
    )
    if done.returncode:
        output = " ".join((done.stderr + done.stdout).split())  # the summary has one line a test
        unavailable(f"{purpose}: {' '.join(command[:2])} failed: {output[:OUTPUT_SHOWN]}")
