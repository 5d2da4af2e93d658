"""What `drumbeat up` does: one node, until SIGTERM or Ctrl-C."""

import asyncio
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from drumbeat.cli.logs import set_up
from drumbeat.cli.plain_options import UpOptions
from drumbeat.log.errors import LogError
from drumbeat.runtime.config import BrokerConfig, ConfigError, LoadedConfig, load_config
from drumbeat.runtime.data_files import DataFileError

if TYPE_CHECKING:
    from drumbeat.runtime.broker import Storage
    from drumbeat.server.node import Node

log = logging.getLogger(__name__)

EXIT_CONFIG, EXIT_START = 2, 3
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_ANOTHER_DIRECTORY = "choose another directory with --data"
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ADVICE = {  # for a file or folder in the data directory
    errno.EISDIR: "move it away",
    errno.ENOTDIR: "move it away",
    errno.EACCES: "let this user write it and to its folder",
    errno.EPERM: "let this user write it and to its folder",
}
GC_ALLOCATIONS = 200_000  # so many more objects than were freed make the collector look


class StartError(Exception):
    """The node cannot start here; says why and what helps."""


def serve(options: UpOptions) -> None:
    """Until a signal says to stop; SystemExit if that is not possible."""
    if options.memory and options.data is not None:
        _fail(EXIT_CONFIG, "--memory and --data exclude each other")
    try:
        loaded = load_config(
            _read(options.config),
            options.settings,
            _from_options(
                {
                    "port": options.port,
                    "log.dirs": options.data,
                    "metrics.port": options.metrics_port,
                    "logging.level": options.log_level,
                    "logging.format": options.log_format,
                }
            ),
            properties_name=options.config or "",
        )
    except ConfigError as problem:
        _fail(EXIT_CONFIG, str(problem))
    set_up(loaded.config.logging_level, loaded.config.logging_format)
    _tell_ignored(loaded)
    _run(lambda: _serve(loaded, memory=options.memory))


def _from_options(options: Mapping[str, object]) -> dict[str, str]:
    """Those that were given, as keys of the configuration."""
    return {key: str(value) for key, value in options.items() if value is not None}


def _read(path: str | None) -> str | None:
    if path is None:
        return None
    from drumbeat.runtime.config.properties import decode_properties

    try:
        with open(path, "rb") as file:
            return decode_properties(file.read())
    except OSError as problem:
        _fail(EXIT_CONFIG, f"--config: {problem.strerror}: {path}")


def _tell_ignored(loaded: LoadedConfig) -> None:
    for note in loaded.notes:
        log.warning("%s", note)
    if loaded.ignored:
        log.info("known to Kafka, without effect here: %s", ", ".join(sorted(loaded.ignored)))


async def _serve(loaded: LoadedConfig, *, memory: bool) -> None:
    from drumbeat.server.listener import ListenError
    from drumbeat.server.loop_problems import LoopProblems
    from drumbeat.server.node import Node

    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(LoopProblems())
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    try:
        storage = await _open_storage(loaded.config, memory=memory)
        async with Node(loaded.config, storage) as node:
            _tell_ready(node, storage.directory, memory=memory)
            await stopping.wait()
            log.info("stopping")
    except (StartError, ListenError, LogError, DataFileError) as problem:
        _fail(EXIT_START, str(problem))
    except OSError as problem:
        is_about_file = problem.filename is not None
        text = _unusable(loaded.config.log_dir, problem) if is_about_file else str(problem)
        _fail(EXIT_START, text)
    log.info("stopped")
    # The loop would leave the default behind, and an impatient second signal would then turn an
    # orderly end into a killed process; also one that comes just now.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    for number in STOP_SIGNALS:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


async def _open_storage(config: BrokerConfig, *, memory: bool) -> "Storage":
    from drumbeat.server.node import file_storage, memory_storage

    if memory:
        return memory_storage(config)
    try:
        return await file_storage(config)
    except (OSError, LogError) as problem:
        refusal = problem if isinstance(problem, OSError) else problem.__cause__
        if not isinstance(refusal, OSError):
            raise
        raise StartError(_unusable(config.log_dir, refusal)) from problem


def _unusable(directory: str, refusal: OSError) -> str:
    """Says what was refused: the directory, or the file in it."""
    path, reason = os.path.abspath(directory), refusal.strerror or refusal
    is_inside = str(refusal.filename).startswith(os.path.join(path, ""))
    refused = f"cannot use {refusal.filename}" if is_inside else f"cannot keep data in {path}"
    advice = [_ANOTHER_DIRECTORY, "or keep none with --memory"]
    if refusal.errno in _FULL:
        advice[0] = "free some space"
    elif is_inside and refusal.errno in _ADVICE:
        advice.insert(0, _ADVICE[refusal.errno])
    return f"{refused}: {reason}; {', '.join(advice)}"


def _tell_ready(node: "Node", directory: str, *, memory: bool) -> None:
    """In one write, so that a reader who leaves after the first line breaks nothing."""
    lines = (
        f"ready {node.bootstrap_servers}",
        "data: in memory, gone at the end" if memory else f"data: {directory}",
        *([f"metrics: {node.monitoring.url}/metrics"] if node.monitoring else []),
        "stop: Ctrl-C, or SIGTERM to this process",
    )
    print("\n".join(lines), flush=True)


def _run(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """On uvloop where the `fast` extra is installed, else on asyncio's own loop."""
    _raise_descriptor_limit()
    _calm_garbage_collector()
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve())
    else:
        uvloop.run(serve())


def _calm_garbage_collector() -> None:
    """Look for cycles seldom: requests make none, and looking took a third of a commit's time."""
    import gc

    gc.freeze()  # what was imported stays
    gc.set_threshold(GC_ALLOCATIONS, 20, 20)
    gc.enable()


def _raise_descriptor_limit() -> None:
    """Every partition and every connection takes descriptors; take all that we may have."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _fail(code: int, text: str) -> NoReturn:
    print(f"drumbeat up: {text}", file=sys.stderr)
    raise SystemExit(code)
