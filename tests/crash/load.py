"""Load on a node that will be killed, and the books on what it acknowledged.

A client keeps what it has sent and heard nothing of. On its next connection it sends that again
first, as an idempotent producer does, so that in the end everything is there exactly once.
"""

import random
from collections import Counter, deque
from collections.abc import Iterator
from threading import Event
from typing import NamedTuple, Protocol

from drumbeat.protocol.apis import init_producer_id, offset_commit, offset_fetch, produce
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.records import Record
from support.data_topics import (
    Topic,
    fetch_from,
    offset_of,
    produce_request,
    records_in,
    sequenced,
)
from support.waiting import wait_until
from support.wire import ConnectionClosed, Wire

IN_FLIGHT_MAX = 4  # a broker recognises the last five batches of a producer
NOT_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)
LOAD_TIMEOUT_S = 10.0


class Ledger:
    """What was acknowledged: which value is where."""

    def __init__(self) -> None:
        self.values: dict[tuple[int, int], str] = {}  # (partition, offset) -> the value's name
        self.commits = 0

    def __len__(self) -> int:
        return len(self.values) + self.commits


class Client(Protocol):
    def run(self, bootstrap_servers: str, stopping: Event) -> None:
        """Send until the node is gone, or until `stopping` and everything is answered."""


class Batch(NamedTuple):
    partition: int
    sequence: int
    names: tuple[str, ...]


class Producer:
    """An idempotent producer of values that occur once in the world, several in flight."""

    def __init__(self, name: str, topic: Topic, partitions: int, ledger: Ledger) -> None:
        self._topic = topic
        self._ledger = ledger
        self._rng = random.Random(name)
        self._partitions = partitions
        self._producer_id = -1
        self._sequences: Counter[int] = Counter()  # by partition
        self._names = (f"{name}.{number}" for number in range(10**9))
        self._unanswered: deque[Batch] = deque()

    def run(self, bootstrap_servers: str, stopping: Event) -> None:
        try:
            with Wire(bootstrap_servers) as wire:
                self._begin(wire)
                while self._unanswered or not stopping.is_set():
                    while len(self._unanswered) < IN_FLIGHT_MAX and not stopping.is_set():
                        self._send(wire, self._new_batch())
                    self._receive(wire)
        except (ConnectionClosed, ConnectionError):
            return  # killed; what is unanswered is sent again

    def _begin(self, wire: Wire) -> None:
        if self._producer_id < 0:
            body = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
            self._producer_id = wire.call(init_producer_id.API, 4, body).producer_id
        unanswered, self._unanswered = self._unanswered, deque()
        for batch in unanswered:
            self._send(wire, batch)

    def _new_batch(self) -> Batch:
        partition = self._rng.randrange(self._partitions)
        names = tuple(next(self._names) for _ in range(self._rng.randint(1, 5)))
        sequence = self._sequences[partition]
        self._sequences[partition] += len(names)
        return Batch(partition, sequence, names)

    def _send(self, wire: Wire, batch: Batch) -> None:
        self._unanswered.append(batch)
        values = (value_of(name) for name in batch.names)
        data = sequenced(self._producer_id, 0, batch.sequence, *values)
        request = produce_request(self._topic, data, partition=batch.partition)
        wire.send(produce.API, 9, request)

    def _receive(self, wire: Wire) -> None:
        (answer,) = wire.receive().responses[0].partition_responses
        batch = self._unanswered.popleft()
        assert answer.error_code == ErrorCode.NONE, f"{batch}: {answer}"
        for offset, name in enumerate(batch.names, answer.base_offset):
            known = self._ledger.values.setdefault((batch.partition, offset), name)
            assert known == name, f"offset {offset} was given to {known} and to {name}"


def value_of(name: str) -> bytes:
    """The value of this name, which it begins with."""
    rng = random.Random(name)
    return f"{name}:".encode() + rng.randbytes(rng.choice((10, 300, 3000)))


class Committer:
    """Commits ever higher offsets for a group of its own, as a consumer without members does."""

    def __init__(self, group_id: str, topic: Topic, ledger: Ledger) -> None:
        self._group_id = group_id
        self._topic = topic
        self._ledger = ledger
        self._sent = 0
        self._acknowledged = -1

    def run(self, bootstrap_servers: str, stopping: Event) -> None:
        try:
            with Wire(bootstrap_servers) as wire:
                while not stopping.is_set():
                    self._commit(wire)
        except (ConnectionClosed, ConnectionError):
            return  # killed

    def _commit(self, wire: Wire) -> None:
        self._sent += 1
        committed = OffsetCommitRequestPartition(0, self._sent, committed_metadata="m" * 20)
        topic = OffsetCommitRequestTopic(self._topic.name, partitions=(committed,))
        response = wire.call(
            offset_commit.API, 8, OffsetCommitRequest(self._group_id, topics=(topic,))
        )
        error_code = response.topics[0].partitions[0].error_code
        if error_code in NOT_YET:
            return
        assert error_code == ErrorCode.NONE, f"commit {self._sent}: {error_code}"
        self._acknowledged = self._sent
        self._ledger.commits += 1

    def check(self, wire: Wire) -> None:
        """The newest commit that was acknowledged is there, or a newer one that was sent."""
        if self._acknowledged >= 0:
            committed = self._committed(wire)
            assert self._acknowledged <= committed <= self._sent

    def _committed(self, wire: Wire) -> int:
        wanted = OffsetFetchRequestTopics(self._topic.name, partition_indexes=(0,))
        request = OffsetFetchRequest(
            groups=(OffsetFetchRequestGroup(self._group_id, topics=(wanted,)),)
        )
        answers = []

        def is_loaded() -> bool:
            (group,) = wire.call(offset_fetch.API, 8, request).groups
            answers.append(group)
            return group.error_code not in NOT_YET

        wait_until(is_loaded, LOAD_TIMEOUT_S, f"group {self._group_id}")
        assert answers[-1].error_code == ErrorCode.NONE
        return answers[-1].topics[0].partitions[0].committed_offset


def check_partition(wire: Wire, topic: Topic, partition: int, ledger: Ledger) -> int:
    """Every acknowledged record once and at its offset, no gaps; how many records there are."""
    found = list(read_all(wire, topic, partition))
    assert [record.offset for record in found] == list(range(len(found)))
    names = [bytes(record.value or b"").partition(b":")[0].decode() for record in found]
    assert len(set(names)) == len(names), "a value is there twice"
    for record, name in zip(found, names, strict=True):
        assert record.value == value_of(name), f"offset {record.offset}: not what was sent"
    there = dict(enumerate(names))
    expected = {offset: name for (p, offset), name in ledger.values.items() if p == partition}
    lost = {offset: name for offset, name in expected.items() if there.get(offset) != name}
    assert not lost, f"{topic.name}-{partition}: acknowledged and not there: {lost}"
    return len(found)


def read_all(wire: Wire, topic: Topic, partition: int) -> Iterator[Record]:
    offset, end = 0, offset_of(wire, topic, partition=partition)[0]
    while offset < end:
        fetched = fetch_from(wire, topic, offset, partition=partition)
        assert fetched.error_code == ErrorCode.NONE
        records = [record for record in records_in(fetched.records) if record.offset >= offset]
        assert records, f"nothing at offset {offset}, though the log ends at {end}"
        yield from records
        offset = records[-1].offset + 1
