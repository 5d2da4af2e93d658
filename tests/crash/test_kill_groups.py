"""kill -9 while confluent-kafka and aiokafka groups commit, again and again, at any moment.

What a group has committed never goes back and never vanishes; no commit that was acknowledged is
lost, none is invented, no record is skipped; and the groups settle each time they are given the
time. CRASH_SECONDS makes a soak of it (`make soak`), CRASH_SEED another run.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from crash.duration import SECONDS, SEED
from crash.group_load import CAST, Group, Writer, committed_offsets
from support.data_topics import create_topic
from support.node_process import LOOPS, NodeProcess
from support.ports import free_ports
from support.waiting import wait_until
from support.wire import Wire

KILLS = 6
PARTITIONS, MEMBERS = 6, 2
SETTLE_TIMEOUT_S = 60.0
REPLACED_SHARE = 0.3  # of the rounds

pytestmark = [pytest.mark.crash, pytest.mark.clients, pytest.mark.timeout(180 + SECONDS)]


class Soak:
    """A node that is killed and started again, and the groups that live through it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        (self._port,) = free_ports(1)
        self._groups: list[Group] = []
        self._writer: Writer | None = None
        self.kills = 0
        self.looks = 0
        self.settled_s: list[float] = []

    def node(self) -> NodeProcess:
        options = ("--data", str(self._folder / "data"))
        settings = ("--set", "group.initial.rebalance.delay.ms=0")
        return NodeProcess(
            *options,
            *settings,
            logs=self._folder / "node.log",
            port=self._port,
            loop=self._rng.choice(list(LOOPS)),
        )

    @contextmanager
    def groups(self) -> Iterator[None]:
        """Members join while the node is up, and stay until the end."""
        with self.node() as node:
            with Wire(node.bootstrap_servers) as wire:
                topic = create_topic(wire, "soak", partitions=PARTITIONS)
            self._writer = Writer(topic, PARTITIONS)
            for name, kinds in CAST.items():
                group = Group(name, node.bootstrap_servers, topic.name, kinds)
                self._groups.append(group)
                for _ in range(MEMBERS):
                    group.add()
            with self._writing(node):
                self._await_settled(node)
        try:
            yield
            self._finish()
        finally:
            for group in self._groups:
                group.begin_stop()

    def _finish(self) -> None:
        with self.node() as node:
            with self._writing(node):
                self._await_settled(node)
            for group in self._groups:
                group.stop()
            assert node.stop() == 0

    def round(self) -> None:
        """Start, look at what is there all the time, and kill at some moment."""
        with self.node() as node, self._writing(node):
            if self._rng.random() < REPLACED_SHARE:
                self._rng.choice(self._groups).replace(self._rng)
            moment_s = self._rng.choice((0.3, 2.0, None))
            if moment_s is None:
                self._await_settled(node)
            else:
                deadline = time.monotonic() + self._rng.uniform(0, moment_s)
                self._look_until(node, lambda: time.monotonic() > deadline)
            node.kill()
        self.kills += 1

    @contextmanager
    def _writing(self, node: NodeProcess) -> Iterator[None]:
        assert self._writer is not None
        stopping = Event()
        thread = Thread(target=self._writer.run, args=(node.bootstrap_servers, stopping))
        thread.start()
        try:
            yield
        finally:
            stopping.set()
            thread.join()

    def _await_settled(self, node: NodeProcess) -> None:
        """Every partition has one owner, and in each something new is committed."""
        assert self._writer is not None
        began = time.monotonic()
        wanted = {p: end + 1 for p, end in self._writer.ends.items()}

        def is_settled() -> bool:
            missing = "; ".join(filter(None, (group.unsettled(wanted) for group in self._groups)))
            waited_s = time.monotonic() - began
            assert waited_s < SETTLE_TIMEOUT_S, f"not settled after {waited_s:.0f} s: {missing}"
            return not missing

        self._look_until(node, is_settled)
        self.settled_s.append(time.monotonic() - began)

    def _look_until(self, node: NodeProcess, is_over: Callable[[], bool]) -> None:
        with Wire(node.bootstrap_servers) as wire:

            def look() -> bool:
                for group in self._groups:
                    self._look_at(group, wire)
                return is_over()

            wait_until(look, 2 * SETTLE_TIMEOUT_S, "the end of this round")

    def _look_at(self, group: Group, wire: Wire) -> None:
        least = group.books.acknowledged
        committed = committed_offsets(wire, group.books.group_id)
        if committed is not None:
            group.books.check(least, committed)
            self.looks += 1

    @property
    def summary(self) -> str:
        commits = {group.books.group_id: group.books.commits for group in self._groups}
        settled = f"settled {len(self.settled_s)} times, in {max(self.settled_s):.1f} s at most"
        return f"{self.kills} kills, {self.looks} looks, commits {commits}, {settled}"

    @property
    def log_text(self) -> str:
        return (self._folder / "node.log").read_text()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_commits_are_kept_and_groups_settle(tmp_path, caplog):
    caplog.set_level(logging.CRITICAL, "aiokafka")  # it tells of every broker that is away
    soak = Soak(tmp_path, SEED)
    deadline = time.monotonic() + SECONDS
    with soak.groups():
        while soak.kills < KILLS or time.monotonic() < deadline:
            soak.round()
    print(soak.summary)
    for word in ("Traceback", "CRITICAL", "ERROR"):
        assert word not in soak.log_text
