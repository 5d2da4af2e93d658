"""The verb: options, a folder for what remains, and a clean end in any case."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from typing import Annotated

import typer

from drumbeat.cli.demo.looking_back import look_back, missing_packages
from drumbeat.cli.demo.processes import NodeProcess
from drumbeat.cli.demo.story import SETTINGS, Story
from drumbeat.cli.demo.telling import DemoError, Teller

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXIT_FAILED, EXIT_INTERRUPTED = 1, 130


@app.command()
def demo(
    folder: Annotated[
        str, typer.Option("--dir", metavar="DIR", help="Where data, tables and pictures go.")
    ] = "drumbeat-demo",
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave everything running until Ctrl-C.")
    ] = False,
) -> None:
    """Watch the whole system at work, in about a minute.

    Starts a node, a producer and two consumer groups; adds a member, kills one, kills the
    coordinator; then turns the offsets log into tables with Spark and shows from them why each
    rebalance happened, the lag, and that the replayed log equals the live coordinator.
    """
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background ignores the first
        signal.signal(number, _interrupt)
    tell = Teller()
    place = _new_place(folder)
    data = os.path.join(place, "data")
    node = NodeProcess(data, os.path.join(place, "node.log"), SETTINGS)
    story = Story(node, _audit_library(), tell)
    try:
        live = story.play()
        missing = missing_packages()
        if missing:
            tell.say(
                f"to see its history: pip install 'drumbeat[spark]' ({_list(missing)} missing)"
            )
        else:
            look_back(place, data, live, tell)
        if keep:
            _keep(story, tell)
    except DemoError as problem:
        print(f"drumbeat demo: {problem}", file=sys.stderr)
        raise typer.Exit(EXIT_FAILED) from None
    except KeyboardInterrupt:
        raise typer.Exit(EXIT_INTERRUPTED) from None
    finally:
        story.close()
    tell.say(f"the end; everything is stopped, and {place} has what remained")


def _new_place(folder: str) -> str:
    """A folder for this run alone; earlier ones stay as they are."""
    place = os.path.join(folder, time.strftime("%Y%m%d-%H%M%S"))
    os.makedirs(os.path.join(place, "data"))
    return place


def _audit_library() -> str:
    return "kafka" if importlib.util.find_spec("kafka") is not None else "drumbeat.client"


def _keep(story: Story, tell: Teller) -> None:
    tell.scene("Everything goes on")
    story.go_on()
    tell.say(f"brokers for any Kafka client: {story.node.bootstrap_servers}")
    tell.say(f"data directory: {os.path.abspath(story.node.data)}")
    tell.say("Ctrl-C stops everything")
    try:
        signal.pause()
    except KeyboardInterrupt:
        print()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _list(names: list[str]) -> str:
    return ", ".join(names)
