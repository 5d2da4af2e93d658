"""One data directory, the nodes that come and go on it under load, and the books on the load."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path
from threading import Event

from crash.load import Client, Committer, Ledger, Producer, check_partition
from support.data_topics import Topic, create_topic
from support.node_process import LOOPS, NodeProcess
from support.waiting import wait_until
from support.wire import Wire

PARTITIONS, PRODUCERS, COMMITTERS = 4, 3, 2
SEGMENT_BYTES = "50000"  # some rounds fill several
ROUND_TIMEOUT_S = 20.0


class Crashes:
    def __init__(self, data: Path, logs: Path, seed: int) -> None:
        self._data = data
        self._logs = logs
        self._seed = seed
        self._loops = cycle(LOOPS)
        self._ledger = Ledger()
        self._topic: Topic | None = None
        self._clients: list[Client] = []
        self._committers: list[Committer] = []

    def node(self) -> NodeProcess:
        """The next process; event loops take turns."""
        return NodeProcess("--data", str(self._data), logs=self._logs, loop=next(self._loops))

    def prepare(self) -> None:
        with self.node() as node, Wire(node.bootstrap_servers) as wire:
            topic = self._topic = create_topic(
                wire, "load", partitions=PARTITIONS, internal_segment_bytes=SEGMENT_BYTES
            )
        self._committers = [
            Committer(f"group-{number}", topic, self._ledger) for number in range(COMMITTERS)
        ]
        producers = [
            Producer(f"{self._seed}.{number}", topic, PARTITIONS, self._ledger)
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
        return len(list(self._data.glob("load-*/*.log")))

    @property
    def log_text(self) -> str:
        return self._logs.read_text()
