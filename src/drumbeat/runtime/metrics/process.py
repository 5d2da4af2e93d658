"""The process in numbers, under the names that Prometheus' own clients give them."""

import gc
import os
import platform
import resource
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version

from drumbeat.runtime.metrics.exposition import Family, Sample, by_label, counter, gauge

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def collect_process() -> Iterator[Family]:
    yield Family(
        "drumbeat_build_info",
        "gauge",
        "Which Drumbeat this is, and on which Python.",
        (Sample({"version": _version(), "python": platform.python_version()}, 1),),
    )
    # Field numbers of proc_pid_stat(5), less the two that stand before the name's bracket.
    fields = _read("/proc/self/stat").rpartition(")")[2].split()
    user, system, started, virtual, resident = (int(fields[i]) for i in (11, 12, 19, 20, 21))
    yield counter(
        "process_cpu_seconds_total", "CPU time used, in seconds.", (user + system) / _TICKS_PER_S
    )
    yield gauge(
        "process_start_time_seconds",
        "When the process began, in seconds since the epoch.",
        _booted_at_s() + started / _TICKS_PER_S,
    )
    yield gauge("process_virtual_memory_bytes", "Virtual memory, in bytes.", virtual)
    yield gauge("process_resident_memory_bytes", "Memory, in bytes.", resident * _PAGE_BYTES)
    yield gauge("process_open_fds", "Open file descriptors.", len(os.listdir("/proc/self/fd")))
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield gauge("process_max_fds", "The most file descriptors that may be open.", limit)
    yield from _garbage_collector()


def _garbage_collector() -> Iterator[Family]:
    stats = {str(generation): found for generation, found in enumerate(gc.get_stats())}
    for name, key, help_text in (
        ("python_gc_collections_total", "collections", "Runs of the garbage collector."),
        ("python_gc_objects_collected_total", "collected", "Objects that it has freed."),
        ("python_gc_objects_uncollectable_total", "uncollectable", "Objects it could not free."),
    ):
        counts = {generation: found[key] for generation, found in stats.items()}
        yield by_label("counter", name, help_text, "generation", counts)


@cache
def _version() -> str:
    return version("drumbeat")


@cache
def _booted_at_s() -> int:
    return next(
        int(line.split()[1])
        for line in _read("/proc/stat").splitlines()
        if line.startswith("btime ")
    )


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()
