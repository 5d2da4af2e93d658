"""Programs with our consumer in them, and the laws that hold whatever happens to them."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple

from groups.data_of_groups import Data
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator
from groups.worker import WRITTEN
from support.data_topics import fresh_name
from support.waiting import wait_until

TESTS = Path(__file__).parent.parent
LIMIT_S = 30.0
RECORDS_BUFFERED = 20 * WRITTEN
FETCH_S = 0.2  # in which what is written now has arrived at consumers


class Event(NamedTuple):
    what: str
    at_s: float
    facts: Any


@dataclass(frozen=True, kw_only=True)
class Orders:
    """What a worker does besides reading and committing."""

    topic: str
    reading: str = "poll"  # or "iterate"
    busy_s: float = 0.0
    busy_before: str = "commit"  # or "poll"


class Worker:
    """One process and what it has said."""

    def __init__(self, orders: Orders, options: dict[str, Any], errors: IO[str]) -> None:
        self.events: list[Event] = []
        self._errors = errors
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-W",
                "error",
                "-m",
                "groups.worker",
                json.dumps([asdict(orders), options]),
            ],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.events.append(Event(*json.loads(line)))

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def end(self, number: int) -> int:
        """Have it end, without a complaint; its exit code."""
        self.signal(number)
        try:
            code = self._process.wait(LIMIT_S)
        finally:
            self._process.kill()
            self._listener.join()
        self._errors.seek(0)
        assert not (errors := self._errors.read()), errors
        return code

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        self._process.stdout.close()

    @property
    def assignment(self) -> set[int]:
        owned: set[int] = set()
        for what, _, partitions in list(self.events):
            if what == "assigned":
                owned |= set(partitions)
            elif what in ("revoked", "lost"):
                owned -= set(partitions)
        return owned

    @property
    def busy_for_s(self) -> float:
        """How much longer it is busy, and a little more."""
        last = [event for event in list(self.events) if event.what == "busy"][-1]
        return last.at_s + last.facts + FETCH_S - time.monotonic()

    def told(self, what: str) -> list[Any]:
        return [event.facts for event in list(self.events) if event.what == what]


class Work:
    """One topic that is written to all the time, and a group of workers that read it."""

    def __init__(self, servers: str, data: Data, stack: ExitStack) -> None:
        self.group_id = fresh_name("workers-")
        self.workers: list[Worker] = []
        self._servers = servers
        self._data = data
        self._stack = stack

    def start(self, servers: str = "", **orders: Any) -> Worker:
        chosen = {
            "bootstrap.servers": servers or self._servers,
            "group.id": self.group_id,
            "client.id": f"worker-{len(self.workers)}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
            "retry.backoff.ms": 20,
            "max.poll.records": 20,
            **orders.pop("options"),
        }
        errors = self._stack.enter_context(TemporaryFile("w+"))  # noqa: SIM115 - the stack closes it
        worker = Worker(Orders(topic=self._data.name, **orders), chosen, errors)
        self._stack.callback(worker.close)
        self.workers.append(worker)
        return worker

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Write until it is so: there is always more to read than was asked for."""

        def is_so() -> bool:
            self._data.write(WRITTEN)
            return bool(condition())

        wait_until(is_so, LIMIT_S, what)

    def until_idle(self, for_s: float) -> None:
        """For a time in which nothing is waited for but the time itself."""
        until_s = time.monotonic() + for_s
        self.until(lambda: time.monotonic() >= until_s, "time passes")

    def until_buffered(self, worker: Worker) -> None:
        """It is busy, and holds records that it will find at its next poll."""
        worker.signal(signal.SIGUSR1)
        self.until(lambda: worker.told("busy"), "it is busy")
        self._data.write(RECORDS_BUFFERED)
        self.until_idle(FETCH_S)

    def until_overtaken(self, heir: Worker) -> None:
        """The heir has all partitions, and has committed all there is."""
        self.until_owned(heir, len(self._data.ends), len(self._data.ends))
        wait_until(self._is_committed, LIMIT_S, "all is committed")

    def _is_committed(self) -> bool:
        with WireCoordinator(self._servers) as coordinator:
            committed = WireClients(coordinator, self.group_id).committed()
        return bool(committed == self._data.positions)

    def until_owned(self, worker: Worker, least: int, most: int) -> None:
        self.until(
            lambda: least <= len(worker.assignment) <= most,
            f"{self.group_id}: from {least} to {most} partitions for one of them",
        )

    def until_reading(self, *workers: Worker) -> None:
        """They go on: each is given something that it did not have before."""
        before = [len(worker.told("committed")) for worker in workers]
        self.until(
            lambda: all(
                len(worker.told("committed")) > count
                for worker, count in zip(workers, before, strict=True)
            ),
            f"{self.group_id}: everybody is given something",
        )

    # -- the laws --------------------------------------------------------------------------------

    def finish(self) -> None:
        """All is read and committed, then everybody leaves."""
        ends = self._data.ends
        written = {(p, offset) for p, end in ends.items() for offset in range(end)}
        wait_until(self._is_committed, LIMIT_S, "all is committed")
        # Workers say what they were given before they commit it, but we may hear of it later.
        wait_until(lambda: written <= self.delivered, LIMIT_S, "all is delivered")
        assert not (again := list(self.delivered_again())), again[:10]

    @property
    def delivered(self) -> set[tuple[int, int]]:
        return {
            (partition, offset)
            for worker in self.workers
            for records in worker.told("delivered")
            for partition, offset in records
        }

    def delivered_again(self) -> Iterator[str]:
        """Records that a consumer was given though it asked after somebody had committed them."""
        commits = self._merged("committed")
        committed: dict[int, int] = {}
        for at_s, name, records in self._merged("delivered"):
            while commits and commits[0][0] < at_s:
                for partition, offset in commits.pop(0)[2]:
                    committed[partition] = max(offset, committed.get(partition, 0))
            for partition, offset in records:
                if offset < committed.get(partition, 0):
                    yield f"{name} at {at_s}: {partition}@{offset}, {committed} is committed"

    def _merged(self, what: str) -> list[tuple[float, int, Any]]:
        return sorted(
            (event.at_s, number, event.facts)
            for number, worker in enumerate(self.workers)
            for event in worker.events
            if event.what == what
        )


@contextmanager
def work_on(servers: str, partitions: int) -> Iterator[Work]:
    with Data(servers, partitions) as data, ExitStack() as stack:
        yield Work(servers, data, stack)
