"""Where a run was made: the processor, the memory, the disk and the versions."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from interop.kafka_jars import KAFKA_VERSION


def describe(folder: Path, has_kafka: bool) -> dict[str, str]:
    described = {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        "file system": _file_system(folder),
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": f"{platform.python_version()}, uvloop {version('uvloop')}",
        "load at the start": "{:.1f}, {:.1f}, {:.1f} over 1, 5, 15 minutes".format(
            *os.getloadavg()
        ),
    }
    if has_kafka:
        described["Kafka"] = f"{KAFKA_VERSION} on {_java()}"
    return described


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _java() -> str:
    """The first line of what it says about itself: the runtime and its version."""
    done = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True)
    return done.stderr.splitlines()[0].replace('"', "")


def _file_system(folder: Path) -> str:
    """The type of the mount that holds the folder; on tmpfs a sync costs nothing."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [mount for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(holding, key=lambda mount: len(mount[1]))[2]
