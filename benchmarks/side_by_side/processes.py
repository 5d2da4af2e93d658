"""What the system knows about processes: CPU time, memory, and how busy the machine is."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Columns of /proc/stat that are work: user, nice, system, irq, softirq, steal.
_BUSY_COLUMNS = (1, 2, 3, 6, 7, 8)


def cpu_s(pid: int) -> float:
    """User and system time of all threads of a process, those that have ended included."""
    # The program's name comes second, in brackets, and may hold anything.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def rss_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise KeyError(f"process {pid} has no VmRSS")


def machine_busy_s() -> float:
    """CPU time that all processes of this machine, and its host, have taken since it began."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return sum(int(fields[column]) for column in _BUSY_COLUMNS) / _TICKS_PER_S


def raise_descriptor_limit() -> None:
    """A thousand connections are more than the usual limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
