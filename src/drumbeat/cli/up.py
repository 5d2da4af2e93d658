"""drumbeat up: one node, until SIGTERM or Ctrl-C."""

import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import typer

from drumbeat.cli.logs import set_up
from drumbeat.log.errors import LogError
from drumbeat.runtime.config import ConfigError, LoadedConfig, load_config
from drumbeat.runtime.identity import IdentityError
from drumbeat.runtime.topic_files import TopicFileError

app = typer.Typer(add_completion=False, rich_markup_mode=None)
log = logging.getLogger(__name__)

DATA_DIR = "drumbeat-data"  # where data goes if nobody says; Kafka's own default is under /tmp
EXIT_CONFIG, EXIT_START = 2, 3


@app.command()
def up(
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    data: Annotated[str | None, typer.Option(help="Directory that keeps the data.")] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing on disk.")] = False,
    config: Annotated[str | None, typer.Option(help="A Kafka server.properties.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="One configuration key; may be repeated."),
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Start a node and serve until stopped.

    Configuration is Kafka's: the keys of server.properties, from --config and --set.
    A line that begins with 'ready' says where clients connect.
    """
    set_up(log_level)
    if memory and data is not None:
        _fail(EXIT_CONFIG, "--memory and --data exclude each other")
    try:
        loaded = load_config(_read(config), settings or [], _from_options(port, data))
    except ConfigError as problem:
        _fail(EXIT_CONFIG, str(problem))
    _tell_ignored(loaded)
    try:
        _run(lambda: _serve(loaded, memory=memory))
    except (LogError, IdentityError, TopicFileError, OSError) as problem:
        _fail(EXIT_START, str(problem))


def _from_options(port: int | None, data: str | None) -> dict[str, str]:
    options = {}
    if port is not None:
        options["port"] = str(port)
    if data is not None:
        options["log.dirs"] = data
    return options


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
    from drumbeat.server.node import Node, file_storage, memory_storage

    config = loaded.config
    if not {"log.dirs", "log.dir"} & config.layers.static.keys():
        config = config._replace(log_dir=DATA_DIR)
    storage = memory_storage(config) if memory else await file_storage(config)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with Node(config, storage) as node:
        _say(f"ready {node.bootstrap_servers}")
        _say("data: in memory, gone at the end" if memory else f"data: {storage.directory}")
        _say("stop: Ctrl-C, or SIGTERM to this process")
        await stopping.wait()
        log.info("stopping")


def _run(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """On uvloop where the `fast` extra is installed, else on asyncio's own loop."""
    _raise_descriptor_limit()
    try:
        import uvloop
    except ImportError:
        asyncio.run(serve())
    else:
        uvloop.run(serve())


def _raise_descriptor_limit() -> None:
    """Every partition and every connection takes descriptors; take all that we may have."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _say(text: str) -> None:
    print(text, flush=True)


def _fail(code: int, text: str) -> Any:
    print(f"drumbeat up: {text}", file=sys.stderr)
    raise typer.Exit(code)
