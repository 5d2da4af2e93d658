"""An archive of the classes that Kafka loads, which the JVM makes once and maps from then on.

With it, and without the compiler for long runs, a broker is up after a third of the CPU time, and
tests start some dozens of them. Benchmarks do without: Kafka is not delivered with an archive.
"""

import os
import subprocess
from collections.abc import Callable
from functools import cache

from interop.availability import cache_dir, one_at_a_time

Options = tuple[str, ...]


def archive_options(name: str, load: Callable[[Options], None]) -> Options:
    """Options for Java; `load` starts a JVM with the given ones and ends it when all is loaded."""
    # Only the JVM that wrote an archive reads it.
    path = cache_dir() / f"{name}-java-{java_property('java.vm.version')}.jsa"
    with one_at_a_time("class-archive"):
        if not path.exists():
            unfinished = path.with_suffix(f".{os.getpid()}")
            load((f"-XX:ArchiveClassesAtExit={unfinished}", "-Xlog:cds=off"))
            if not unfinished.exists():  # a JVM that cannot; everything works without
                return ()
            unfinished.rename(path)
    return (f"-XX:SharedArchiveFile={path}", "-Xlog:cds=off")


def java_property(name: str) -> str:
    (value,) = (
        line.split("=")[1].strip()
        for line in _java_settings().splitlines()
        if line.strip().startswith(f"{name} =")
    )
    return value


@cache
def _java_settings() -> str:
    command = ["java", "-XshowSettings:properties", "-version"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr
