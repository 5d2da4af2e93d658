"""The systems that are compared, each as a process of its own on loopback with the same settings.

Drumbeat is the compiled build, and beside it the source as it is interpreted. It syncs to disk
before it acknowledges. Apache Kafka does not, unless it is told to sync
every append: that is the third system, shown beside the commits.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from benchmarks.side_by_side import REPOSITORY
from benchmarks.side_by_side.processes import cpu_s, rss_bytes
from interop.kafka_jars import BROKER_OPTIONS, SETTINGS, format_command, jars, run_tool
from support.ports import free_ports

DRUMBEAT, KAFKA, KAFKA_SYNCED = "Drumbeat", "Kafka", "Kafka, synced"
INTERPRETED = "Drumbeat, interpreted"
COMPILED = REPOSITORY / "build" / "compiled"  # `make compiled` makes it
GROUP_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "50",
    "auto.create.topics.enable": "false",
}
# While others are measured a system stands still. Kafka's controller, in the same process, would
# take its broker for gone then, and for a moment it led no partition.
KAFKA_SETTINGS = {"broker.session.timeout.ms": "3600000"}
SERVE_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 30.0
POLL_S = 0.002

# A data directory and a port: the command that serves them.
Command = Callable[[Path, int], Sequence[str]]


class System(NamedTuple):
    name: str
    prepare: Callable[[Path], None]  # makes a data directory that was never used
    command: Command
    environment: Mapping[str, str] = MappingProxyType({})

    @property
    def is_beside(self) -> bool:
        """Shown for comparison; no goal speaks of it."""
        return self.name == INTERPRETED

    @property
    def has_to_warm_up(self) -> bool:
        """A JVM has; Python is as fast in its first second as later."""
        return self.name not in (DRUMBEAT, INTERPRETED)


class Broker:
    """One data directory and the process that serves it; may be stopped and started again."""

    def __init__(self, system: System, folder: Path) -> None:
        self.system = system
        self.folder = folder
        self.started_at_s = 0.0
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return self.system.name

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} was not started"
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        return cpu_s(self.pid)

    @property
    def rss_bytes(self) -> int:
        return rss_bytes(self.pid)

    def start(self) -> None:
        """Returns at once; `await_served` waits."""
        command = self.system.command(self.folder, self._port)
        with (self.folder / "output.log").open("ab") as output:
            self.started_at_s = time.monotonic()
            self._process = subprocess.Popen(
                command,
                stdout=output,
                stderr=output,
                env=_environment() | self.system.environment,
            )

    def await_served(self) -> None:
        """Returns when the port is open."""
        while not self._is_open():
            self.check_alive()
            time.sleep(POLL_S)

    def check_alive(self) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            text = (self.folder / "output.log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.name} ended with {self._process.returncode}: {text}")
        if time.monotonic() - self.started_at_s > SERVE_TIMEOUT_S:
            raise RuntimeError(f"{self.name} does not serve after {SERVE_TIMEOUT_S:g} s")

    def stop(self) -> None:
        """As an operator does, so that everything is on disk."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(STOP_TIMEOUT_S)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _is_open(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


def _environment() -> dict[str, str]:
    """Ours, but Python may keep its bytecode, as it does where a package is installed."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def fresh_broker(system: System, folder: Path) -> Iterator[Broker]:
    """A broker with nothing in it, started but perhaps not serving yet; gone at the end."""
    folder.mkdir(parents=True)
    system.prepare(folder)
    broker = Broker(system, folder)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
        shutil.rmtree(folder)


@contextmanager
def alone(broker: Broker, among: Sequence[Broker]) -> Iterator[None]:
    """The others stand still meanwhile: an idle JVM goes on compiling what it has just run."""
    others = [other for other in among if other is not broker]
    for other in others:
        other.pause()
    try:
        yield
    finally:
        for other in others:
            other.resume()


# -- Drumbeat --------------------------------------------------------------------------------------


def drumbeat() -> System:
    return System(DRUMBEAT, lambda _folder: None, _drumbeat_command, {"PYTHONPATH": str(COMPILED)})


def interpreted_drumbeat() -> System:
    return System(INTERPRETED, lambda _folder: None, _drumbeat_command)


def _drumbeat_command(folder: Path, port: int) -> Sequence[str]:
    settings = [f"--set={key}={value}" for key, value in GROUP_SETTINGS.items()]
    options = ("--port", str(port), "--data", str(folder / "data"), "--log-level", "warning")
    return (sys.executable, "-m", "drumbeat.cli.main", "up", *options, *settings)


# -- Apache Kafka ----------------------------------------------------------------------------------


def kafka_jars() -> Path | str:
    """Where the jars are, or why they cannot be had."""
    try:
        return jars()
    except (pytest.skip.Exception, pytest.fail.Exception) as reason:
        return str(reason)


def kafka(name: str, folder: Path, settings: Mapping[str, str] | None = None) -> System:
    """Apache Kafka; formatted once into `folder`, because each tool's start costs a second."""
    template = folder / "formatted"
    chosen = SETTINGS | GROUP_SETTINGS | KAFKA_SETTINGS | dict(settings or {})

    def prepare(data: Path) -> None:
        if not template.exists():
            _format(template)
        shutil.copytree(template / "logs", data / "logs")

    def command(data: Path, port: int) -> Sequence[str]:
        properties = _write_properties(data, port, chosen)
        return ("java", *BROKER_OPTIONS, "-cp", f"{jars()}/*", "kafka.Kafka", str(properties))

    return System(name, prepare, command)


def _format(template: Path) -> None:
    template.mkdir(parents=True)
    properties = _write_properties(template, 9092, SETTINGS)
    run_tool(*format_command(properties))


def _write_properties(data: Path, port: int, settings: Mapping[str, str]) -> Path:
    (controller_port,) = free_ports(1)
    client, controller = f"127.0.0.1:{port}", f"127.0.0.1:{controller_port}"
    chosen = {
        **settings,
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{client},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{client}",
        "log.dirs": str(data / "logs"),
    }
    properties = data / "server.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in chosen.items()))
    return properties
