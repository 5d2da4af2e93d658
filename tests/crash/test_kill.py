"""kill -9 under load, again and again: all that was acknowledged is there, once, in its place.

CRASH_SECONDS makes a soak of it, CRASH_SEED another run.
"""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from threading import Event

import pytest

from crash.load import Client, Committer, Ledger, Producer, check_partition
from support.data_topics import Topic, create_topic
from support.node_process import LOOPS, NodeProcess
from support.waiting import wait_until
from support.wire import Wire

KILLS = 10
SECONDS = float(os.environ.get("CRASH_SECONDS", "0"))  # 0: until KILLS
SEED = int(os.environ.get("CRASH_SEED", "1"))
PARTITIONS, PRODUCERS, COMMITTERS = 4, 3, 2
SEGMENT_BYTES = "50000"  # some rounds fill several
ROUND_TIMEOUT_S = 20.0

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120 + SECONDS)]


class Crashes:
    """One data directory, and the processes that come and go on it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._loops = cycle(LOOPS)
        self._ledger = Ledger()
        self._topic: Topic | None = None
        self._clients: list[Client] = []
        self._committers: list[Committer] = []

    def node(self) -> NodeProcess:
        """The next process; event loops take turns."""
        logs, loop = self._directory / "node.log", next(self._loops)
        return NodeProcess("--data", str(self._directory / "data"), logs=logs, loop=loop)

    def prepare(self) -> None:
        with self.node() as node, Wire(node.bootstrap_servers) as wire:
            topic = self._topic = create_topic(
                wire, "load", partitions=PARTITIONS, internal_segment_bytes=SEGMENT_BYTES
            )
        self._committers = [
            Committer(f"group-{number}", topic, self._ledger) for number in range(COMMITTERS)
        ]
        producers = [
            Producer(f"{SEED}.{number}", topic, PARTITIONS, self._ledger)
            for number in range(PRODUCERS)
        ]
        self._clients = [*producers, *self._committers]

    def load_and_kill(self, acknowledgements: int) -> None:
        """Start, check what is there, and kill once so much more has been acknowledged."""
        with self.node() as node:
            self.check(node)
            goal = len(self._ledger) + acknowledgements
            with ThreadPoolExecutor(len(self._clients)) as threads:
                address, stopping = node.bootstrap_servers, Event()
                running = [threads.submit(c.run, address, stopping) for c in self._clients]
                try:
                    wait_until(
                        lambda: len(self._ledger) >= goal or any(r.done() for r in running),
                        ROUND_TIMEOUT_S,
                        f"{acknowledgements} acknowledgements",
                    )
                finally:
                    node.kill()
            for ended in running:
                ended.result()

    def finish(self) -> None:
        """Let every client get its answers, and the node close in order."""
        with self.node() as node, ThreadPoolExecutor(len(self._clients)) as threads:
            stopping = Event()
            stopping.set()
            for client in self._clients:
                threads.submit(client.run, node.bootstrap_servers, stopping).result()
            assert node.stop() == 0
        with self.node() as node:
            self.check(node)

    def check(self, node: NodeProcess) -> None:
        assert self._topic is not None
        with Wire(node.bootstrap_servers) as wire:
            for partition in range(PARTITIONS):
                check_partition(wire, self._topic, partition, self._ledger)
            for committer in self._committers:
                committer.check(wire)

    @property
    def summary(self) -> str:
        counts = f"{len(self._ledger.values)} records, {self._ledger.commits} commits"
        return f"{counts}, {self.segment_count} segments, {self.log_text.count(' cut ')} torn tails"

    @property
    def segment_count(self) -> int:
        return len(list(self._directory.glob("data/load-*/*.log")))

    @property
    def log_text(self) -> str:
        return (self._directory / "node.log").read_text()


def test_nothing_acknowledged_is_lost(tmp_path):
    rng = random.Random(SEED)
    crashes = Crashes(tmp_path)
    crashes.prepare()
    deadline = time.monotonic() + SECONDS
    kills = 0
    while kills < KILLS or time.monotonic() < deadline:
        crashes.load_and_kill(rng.choice((1, rng.randint(1, 100), rng.randint(100, 1500))))
        kills += 1
    crashes.finish()
    print(f"{kills} kills; {crashes.summary}")
    assert crashes.segment_count > 2 * PARTITIONS
    for word in ("Traceback", "CRITICAL", "ERROR"):
        assert word not in crashes.log_text
