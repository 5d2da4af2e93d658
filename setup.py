"""The compiled build, for which there is no place in pyproject.toml.

With DRUMBEAT_COMPILE=1 in the environment, mypyc translates the modules on a request's way to C:
the same source, with its types checked while it runs, bound early. Without it the package is pure
Python. Decision 0009 has what it gains and what it asks of the source.
"""

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = Path("src")
COPY = Path("build/source")  # which the generated codecs are written to
PACKAGE = COPY / "drumbeat"

# What every request, record or commit comes by, as far as it has no coroutines and nobody makes
# subclasses of it: decision 0009 says why.
COMPILED = (
    "core/**/*.py",
    "log/batches.py",
    "log/commit.py",
    "log/growing.py",
    "log/index.py",
    "log/journal.py",
    "log/journal_format.py",
    "log/local.py",
    "log/memory_log.py",
    "log/owned.py",
    "log/rounds.py",
    "log/segment.py",
    "log/segments.py",
    "log/sync_thread.py",
    "log/writing.py",
    "protocol/codec_calls.py",
    "protocol/codecs/*.py",
    "protocol/frame.py",
    "protocol/header.py",
    "protocol/java_hash.py",
    "protocol/pieces.py",
    "protocol/reading.py",
    "protocol/record_batch.py",
    "protocol/record_section.py",
    "protocol/record_walk.py",
    "protocol/records.py",
    "protocol/varint.py",
    "runtime/clock.py",
    "runtime/coordinator/counts.py",
    "runtime/coordinator/routing.py",
    "runtime/coordinator/shard.py",
    "runtime/coordinator/timers.py",
    "runtime/dispatch.py",
    "runtime/entropy.py",
    "runtime/handlers/group_requests.py",
    "runtime/handlers/named_once.py",
    "runtime/handlers/produce.py",
    "runtime/metrics/requests.py",
    "runtime/partition.py",
    "runtime/producers.py",
    "runtime/record_validation.py",
    "runtime/requests.py",
    "runtime/topics.py",
    "server/answers.py",
    "server/connection.py",
    "server/sender.py",
)
INTERPRETED = (
    # They declare messages, and compiled code does not keep how a field is written on the wire.
    "core/classic_records.py",
    "core/modern_records.py",
    # It relies on slices beyond the end of bytes being empty, and on equal tuples being one object.
    "core/offset_chunks.py",
)


def extensions() -> list[Extension]:
    try:
        from mypyc.build import mypycify
    except ImportError:  # pip asks for `setup_requires` before it brings them
        return []
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(SOURCE / "drumbeat", PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    write_codecs()
    # Strict types are the business of `make check`; here other packages may be missing.
    options = ["--config-file=", "--ignore-missing-imports"]
    return mypycify(
        [*options, *modules()],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        group_name="drumbeat",
    )


def write_codecs() -> None:
    sys.path.insert(0, str(SOURCE))
    from drumbeat.protocol.codec_modules import codec_modules

    codecs = PACKAGE / "protocol" / "codecs"
    codecs.mkdir()
    for name, text in codec_modules().items():
        (codecs / name).write_text(text)


def modules() -> list[str]:
    left_out = {PACKAGE / path for path in INTERPRETED}
    found = {path for pattern in COMPILED for path in PACKAGE.glob(pattern)}
    return sorted(str(path) for path in found - left_out)


class ParallelBuild(build_ext):
    """Nearly all of the code is in one extension, so its files are what is compiled in parallel."""

    def build_extensions(self) -> None:
        compile_one, link = self.compiler._compile, self.compiler.link_shared_object
        jobs = []

        def link_when_compiled(*arguments: Any, **options: Any) -> None:
            for job in jobs:
                job.result()
            link(*arguments, **options)

        with ThreadPoolExecutor(os.cpu_count()) as workers:
            self.compiler._compile = lambda *given: jobs.append(workers.submit(compile_one, *given))
            self.compiler.link_shared_object = link_when_compiled
            super().build_extensions()


is_compiled = os.environ.get("DRUMBEAT_COMPILE") == "1"
setup(
    ext_modules=extensions() if is_compiled else [],
    setup_requires=["mypy>=2.4"] if is_compiled else [],
    cmdclass={"build_ext": ParallelBuild},
)
