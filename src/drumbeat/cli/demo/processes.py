"""The demo's cast: a node and consumers as processes, and a producer in a thread."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from itertools import chain
from typing import IO

from drumbeat.cli.demo.telling import DemoError, wait_until

STOP_WAIT_S = 15.0
RECORDS_PER_TURN = 10
TURN_S = 0.05


class NodeProcess:
    """`drumbeat up`, as anyone would start it. Keeps its address when it is started again."""

    def __init__(self, data: str, log_path: str, settings: dict[str, str]) -> None:
        self.data = data
        self._log_path = log_path
        self._settings = [part for pair in settings.items() for part in ("--set", "=".join(pair))]
        self._process: subprocess.Popen[str] | None = None
        self.bootstrap_servers = ""

    def start(self) -> None:
        port = self.bootstrap_servers.rpartition(":")[2] or "0"
        command = ["up", "--port", port, "--data", self.data, *self._settings]
        with open(self._log_path, "a", encoding="utf-8") as log:
            self._process = _start([sys.executable, "-m", "drumbeat.cli.main", *command], log)
        word, _, address = _first_line(self._process).partition(" ")
        if word != "ready":
            raise DemoError(f"the node did not start; {self._log_path} says why")
        self.bootstrap_servers = address.strip()

    def kill(self) -> None:
        _end(self._process, signal.SIGKILL)

    def stop(self) -> None:
        _end(self._process, signal.SIGTERM)


class MemberProcess:
    """A member of a group; `partitions` is what it said last that it owns."""

    def __init__(self, library: str, servers: str, group: str, topic: str, name: str) -> None:
        self.name = name
        self.partitions: list[int] = []
        self._process = _start(
            [sys.executable, "-m", "drumbeat.cli.demo.member", library, servers, group, topic, name]
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.partitions = json.loads(line)

    def kill(self) -> None:
        _end(self._process, signal.SIGKILL)

    def leave(self) -> None:
        _end(self._process, signal.SIGTERM)


class SteadyProducer:
    """Sends a few records at a time to each topic until it is stopped; loses none meanwhile."""

    def __init__(self, servers: str, topics: list[str]) -> None:
        self.sent = 0
        self._servers = servers
        self._topics = topics
        self._enough = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._produce, daemon=True)
        self._thread.start()

    def _produce(self) -> None:
        from drumbeat.client import SyncProducer
        from drumbeat.client.errors import KafkaError

        try:
            with SyncProducer(bootstrap_servers=self._servers, client_id="shop") as producer:
                while not self._enough.wait(TURN_S):
                    for topic in self._topics:
                        for _ in range(RECORDS_PER_TURN):
                            producer.send(topic, key=b"%d" % self.sent, value=b"order")
                            self.sent += 1
                producer.flush()
        except KafkaError as problem:
            self._failure = problem

    def stop(self) -> None:
        self._enough.set()
        self._thread.join()
        if self._failure is not None:
            raise DemoError(f"the producer failed: {self._failure}")


def _start(command: list[str], log: IO[str] | None = None) -> subprocess.Popen[str]:
    """In a session of its own: Ctrl-C ends the demo, which then ends its processes in order."""
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=log if log is not None else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    # The rest is for nobody, but a full pipe would stop the process.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return line


def _end(process: subprocess.Popen[str] | None, how: signal.Signals) -> None:
    if process is None or process.poll() is not None:
        return
    process.send_signal(how)
    try:
        process.wait(STOP_WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_for_shares(members: list[MemberProcess], partitions: int) -> None:
    """Until the members own every partition, each once, and none has nothing."""

    def is_shared() -> bool:
        shares = [member.partitions for member in members]
        return all(shares) and sorted(chain.from_iterable(shares)) == list(range(partitions))

    wait_until(is_shared, f"{', '.join(m.name for m in members)} share {partitions} partitions")
