"""Members of a group, whatever library they are made of, and a record of what they were given.

A member polls on its own, commits every batch before it asks for the next one, and tells the
ledger. Libraries differ in `library_*.py`; what tests do with members is the same for all.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from support.waiting import wait_until

POLL_S = 0.05
LONG_POLL_S = 0.25  # for a library that loses answers which come between two polls
SETTLE_TIMEOUT_S = 30.0

Partition = tuple[str, int]


class Delivery(NamedTuple):
    topic: str
    partition: int
    offset: int


def next_offsets(records: Iterable[Delivery]) -> dict[Partition, int]:
    """What to commit once these are dealt with; they are in order."""
    return {record[:2]: record.offset + 1 for record in records}


class Ledger:
    """Which records were given to members, and which of those gifts were committed.

    A record is its member's to commit until it loses the partition. After that it is somebody
    else's, who is given it again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._delivered: Counter[Delivery] = Counter()
        self._committed: Counter[Delivery] = Counter()
        self._pending: dict[tuple[str, Partition], list[Delivery]] = {}

    def deliver(self, member: str, batch: list[Delivery]) -> None:
        with self._lock:
            self._delivered.update(batch)
            for record in batch:
                self._pending.setdefault((member, record[:2]), []).append(record)

    def pending(self, member: str) -> list[Delivery]:
        """What the member has been given and has not committed."""
        with self._lock:
            held = [records for (name, _), records in self._pending.items() if name == member]
            return list(chain.from_iterable(held))

    def commit(self, member: str, records: list[Delivery]) -> None:
        """These were pending when the commit was sent, and it has been taken."""
        with self._lock:
            self._committed.update(records)
            for partition in {record[:2] for record in records}:
                left = set(self._pending.pop((member, partition), [])) - set(records)
                if left:
                    self._pending[member, partition] = sorted(left)

    def lose(self, member: str, partitions: Iterable[Partition]) -> None:
        with self._lock:
            for partition in partitions:
                self._pending.pop((member, partition), None)

    @property
    def records(self) -> set[Delivery]:
        """What has been read and committed."""
        with self._lock:
            return set(self._committed)

    def check(self) -> None:
        """Nothing was committed twice: a record is only given again if its commit had failed."""
        assert not [record for record, times in self._committed.items() if times > 1]
        assert self._committed.keys() == self._delivered.keys()

    def positions(self) -> dict[Partition, int]:
        """The offset after the last record of each partition."""
        last: dict[Partition, int] = {}
        for topic, partition, offset in self._committed:
            last[topic, partition] = max(last.get((topic, partition), 0), offset + 1)
        return last


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be said about a member in any library."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignor: str = "range"
    instance_id: str | None = None
    session_ms: int = 5_000
    max_poll_ms: int = 60_000
    heartbeat_ms: int = 150
    metadata_ms: int = 300
    max_poll_records: int = 200


class Member(ABC):
    """Somebody in a group."""

    library = ""

    def __init__(
        self, servers: str, group_id: str, name: str, options: Options, ledger: Ledger
    ) -> None:
        self.servers = servers
        self.group_id = group_id
        self.name = name
        self.options = options
        self.assignment: frozenset[Partition] = frozenset()
        self.problem: Exception | None = None
        self._ledger = ledger

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def begin_stop(self) -> None:
        """Begin to leave the group in order."""

    @abstractmethod
    def stop(self) -> None:
        """Leave the group in order; returns when that is done."""


class LibraryMember(Member):
    """Runs on a thread of its own. Subclasses open a consumer, poll, commit and close it."""

    def __init__(
        self, servers: str, group_id: str, name: str, options: Options, ledger: Ledger
    ) -> None:
        super().__init__(servers, group_id, name, options, ledger)
        self._stopping = threading.Event()
        self._polls = threading.Event()
        self._polls.set()
        self._orders: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin_stop(self) -> None:
        self._stopping.set()
        self._polls.set()

    def stop(self) -> None:
        self.begin_stop()
        self._thread.join(SETTLE_TIMEOUT_S)
        assert not self._thread.is_alive(), f"{self.name} does not stop"

    def stall(self) -> None:
        """Do not poll any more; what the library does by itself goes on."""
        self._polls.clear()

    def resume(self) -> None:
        self._polls.set()

    def subscribe(self, *topics: str) -> None:
        self._orders.append(lambda: self._subscribe(topics, None))

    # -- the member's thread ---------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._open()
            self._subscribe(self.options.topics, self.options.pattern)
            while not self._stopping.is_set():
                if self._polls.wait(POLL_S):
                    self._work()
            self._close()
        except Exception as problem:  # noqa: BLE001 - the test that owns the member raises it
            self.problem = problem
        finally:
            self.assignment = frozenset()

    def _work(self) -> None:
        while self._orders:
            self._orders.pop(0)()
        self._poll()
        self.assignment = self._assigned()
        self._commit_pending()

    def _commit_pending(self) -> None:
        pending = self._ledger.pending(self.name)
        if pending and self._commit(next_offsets(pending)):
            self._ledger.commit(self.name, pending)

    def deliver(self, batch: list[Delivery]) -> None:
        self._ledger.deliver(self.name, batch)

    def lose(self, partitions: Iterable[Partition]) -> None:
        """Called by the library when they are revoked, or gone already."""
        gone = set(partitions)
        self._ledger.lose(self.name, gone)
        self.assignment -= gone

    # -- a library's part ------------------------------------------------------------------------

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _subscribe(self, topics: tuple[str, ...], pattern: str | None) -> None: ...

    @abstractmethod
    def _poll(self) -> None:
        """Deliver what there is."""

    @abstractmethod
    def _assigned(self) -> frozenset[Partition]: ...

    @abstractmethod
    def _commit(self, offsets: dict[Partition, int]) -> bool:
        """Whether the coordinator took it."""

    @abstractmethod
    def _close(self) -> None: ...


M = TypeVar("M", bound=Member)


class Fleet:
    """The members of one group."""

    def __init__(self, servers: str, group_id: str) -> None:
        self.servers = servers
        self.group_id = group_id
        self.members: list[Member] = []
        self.ledger = Ledger()
        self._count = 0

    def __enter__(self) -> "Fleet":
        return self

    def __exit__(self, *_exc: object) -> None:
        for member in self.members:
            member.begin_stop()
        for member in list(self.members):
            self.stop(member)

    def add(self, kind: type[M], **options: Any) -> M:
        self._count += 1
        name = f"{kind.library}-{self._count}"
        member = kind(self.servers, self.group_id, name, Options(**options), self.ledger)
        member.start()
        self.members.append(member)
        return member

    def stop(self, member: Member) -> None:
        self.members.remove(member)
        member.stop()
        assert member.problem is None, f"{member.name}: {member.problem!r}"

    def await_owners(
        self,
        wanted: Iterable[Partition],
        *,
        among: list[Member] | None = None,
        when: Callable[[], object] = lambda: True,
    ) -> None:
        """Every partition has one owner, and nobody owns anything else."""
        expected = sorted(wanted)
        members = self.members if among is None else among
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while True:
            self._raise_problems()
            owned = {member.name: sorted(member.assignment) for member in members}
            if sorted(chain.from_iterable(owned.values())) == expected and when():
                return
            assert time.monotonic() < deadline, f"{self.group_id}: {owned}"
            time.sleep(POLL_S)

    def is_shared(self) -> bool:
        """Whether every member has something to do."""
        return all(member.assignment for member in self.members)

    def await_records(self, wanted: Iterable[Delivery]) -> None:
        expected = set(wanted)

        def is_read() -> bool:
            self._raise_problems()
            return self.ledger.records >= expected

        wait_until(is_read, SETTLE_TIMEOUT_S, f"all records of {self.group_id} are read")

    def _raise_problems(self) -> None:
        for member in self.members:
            if member.problem is not None:
                raise member.problem
