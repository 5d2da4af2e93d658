"""Groups of third-party clients on a node that will be killed, and somebody who writes to them."""

import random
from collections.abc import Coroutine, Mapping
from concurrent.futures import wait
from itertools import chain, cycle
from threading import Event
from typing import Any

from aiokafka.errors import KafkaConnectionError

from crash.group_books import Books
from drumbeat.protocol.apis import offset_fetch
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from drumbeat.protocol.errors import ErrorCode
from groups.library_aiokafka import AiokafkaMember, run, submit
from groups.library_confluent import ConfluentMember
from groups.members import POLL_S, LibraryMember, Options, Partition
from support.data_topics import Topic, batch, produce_to
from support.wire import ConnectionClosed, Wire

WRITE_INTERVAL_S = 0.05
RECORDS_PER_WRITE = 2
RETRY_S = 0.1
NOT_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class QuietConfluentMember(ConfluentMember):
    """It has nothing to say but that its broker is away, and that many times a second."""

    log_level = 0


class PatientAiokafkaMember(AiokafkaMember):
    """Outlives any number of restarts.

    The library gives up if its broker is not there when it starts, and lets a poll wait for as
    long as a rebalance takes.
    """

    def _open(self) -> None:
        while True:
            try:
                super()._open()
            except KafkaConnectionError:
                run(self._consumer.stop())
                if self._stopping.wait(RETRY_S):
                    raise
            else:
                return

    def _wait_for(self, coroutine: Coroutine[Any, Any, None]) -> None:
        waiting = submit(coroutine)
        while not self._stopping.is_set():
            if wait([waiting], POLL_S).done:
                return waiting.result()
        waiting.cancel()
        return None


class Group:
    """Members of the given libraries in turn; some leave and others come."""

    def __init__(self, name: str, servers: str, topic: str, kinds: list[type[LibraryMember]]):
        self.books = Books(name)
        self._servers = servers
        self._options = Options(topics=(topic,), session_ms=10_000)
        self._kinds = cycle(kinds)
        self._count = 0
        self._members: list[LibraryMember] = []
        self._leaving: list[LibraryMember] = []

    def add(self) -> None:
        self._count += 1
        kind, name = next(self._kinds), f"{self.books.group_id}-{self._count}"
        member = kind(self._servers, self.books.group_id, name, self._options, self.books)
        member.start()
        self._members.append(member)

    def replace(self, rng: random.Random) -> None:
        """One begins to leave, and another one joins."""
        gone = self._members.pop(rng.randrange(len(self._members)))
        gone.begin_stop()
        self._leaving.append(gone)
        self.add()

    def unsettled(self, wanted: Mapping[Partition, int]) -> str:
        """What is missing: an owner of every partition, and a commit of so much; else nothing."""
        self._raise_problems()
        owned = {member.name: sorted(member.assignment) for member in self._members}
        acknowledged = self.books.acknowledged
        behind = {
            p: acknowledged.get(p) for p, end in wanted.items() if acknowledged.get(p, 0) < end
        }
        is_shared_out = sorted(chain.from_iterable(owned.values())) == sorted(wanted)
        return "" if is_shared_out and not behind else f"{owned}, behind {wanted}: {behind}"

    def begin_stop(self) -> None:
        for member in self._members:
            member.begin_stop()

    def stop(self) -> None:
        self.begin_stop()
        for member in (*self._members, *self._leaving):
            member.stop()
        self._raise_problems()

    def _raise_problems(self) -> None:
        for member in self._members:
            if member.problem is not None:
                raise member.problem


CAST: Mapping[str, list[type[LibraryMember]]] = {
    "confluent-kafka": [QuietConfluentMember],
    "aiokafka": [PatientAiokafkaMember],
    "both": [QuietConfluentMember, PatientAiokafkaMember],
}


class Writer:
    """Gives every group something to commit, partition by partition."""

    def __init__(self, topic: Topic, partitions: int) -> None:
        self._topic = topic
        self._partitions = partitions
        self.ends: dict[Partition, int] = {(topic.name, p): 0 for p in range(partitions)}

    def run(self, servers: str, stopping: Event) -> None:
        try:
            with Wire(servers) as wire:
                while not stopping.wait(WRITE_INTERVAL_S):
                    self._write(wire)
        except (ConnectionClosed, ConnectionError):
            return  # killed

    def _write(self, wire: Wire) -> None:
        for partition in range(self._partitions):
            data = batch(*(b"value" for _ in range(RECORDS_PER_WRITE)))
            answer = produce_to(wire, self._topic, data, partition=partition)
            assert answer.error_code == ErrorCode.NONE, answer
            self.ends[self._topic.name, partition] = answer.base_offset + RECORDS_PER_WRITE


def committed_offsets(wire: Wire, group_id: str) -> dict[Partition, int] | None:
    """All that a group has committed; None while the node cannot say."""
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id, topics=None),))
    (group,) = wire.call(offset_fetch.API, 8, request).groups
    if group.error_code in NOT_YET:
        return None
    assert group.error_code == ErrorCode.NONE, group
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in group.topics
        for partition in topic.partitions
    }
