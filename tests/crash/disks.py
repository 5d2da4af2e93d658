"""Data directories that fill up: a file system of a few MiB, or a limit on the size of files.

The first takes root and a mount; where that cannot be had, the second meets the same code with the
same kind of error from the kernel.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from support.node_process import with_limit

MIB = 1 << 20
DISK_BYTES = 12 * MIB
FILE_BYTES = 3 * MIB


class SmallDisk(NamedTuple):
    directory: Path
    prefix: tuple[str, ...]  # of the command of a process that is to meet the limit


@contextmanager
def small_file_system(place: Path) -> Iterator[SmallDisk]:
    place.mkdir()
    options = f"size={DISK_BYTES},mode=0700"
    _run("mount", "-t", "tmpfs", "-o", options, "drumbeat-test", str(place))
    try:
        yield SmallDisk(place / "data", ())
    finally:
        _run("umount", "--lazy", str(place))  # even if a process still looks at it


@contextmanager
def small_files(place: Path) -> Iterator[SmallDisk]:
    place.mkdir()
    yield SmallDisk(place / "data", with_limit("RLIMIT_FSIZE", FILE_BYTES))


@cache
def can_mount() -> bool:
    if os.geteuid() != 0:
        return False
    with TemporaryDirectory() as place:
        try:
            with small_file_system(Path(place) / "probe"):
                return True
        except (OSError, subprocess.CalledProcessError):
            return False


def small_disks() -> dict:
    """The kinds of small disk that can be had here."""
    kinds = {"small files": small_files}
    return kinds | {"small file system": small_file_system} if can_mount() else kinds


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
