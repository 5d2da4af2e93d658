"""Topics that groups read, and what was written to them."""

from collections.abc import Iterator
from contextlib import contextmanager

from drumbeat.protocol.apis import create_partitions
from drumbeat.protocol.apis.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groups.members import Delivery, Fleet, Partition
from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator
from support.data_topics import Topic, batch, create_topic, fresh_name, produce_to
from support.wire import Wire


class Data:
    """One topic. Every partition is written to alike."""

    def __init__(self, servers: str, partitions: int, name: str | None = None) -> None:
        self._wire = Wire(servers)
        self.topic: Topic = create_topic(
            self._wire, name or fresh_name("data-"), partitions=partitions
        )
        self.ends = dict.fromkeys(range(partitions), 0)

    def __enter__(self) -> "Data":
        return self

    def __exit__(self, *_exc: object) -> None:
        self._wire.socket.close()

    def again(self, servers: str) -> "Data":
        """The same topic, on a broker that has come back."""
        self._wire = Wire(servers)
        return self

    @property
    def name(self) -> str:
        return self.topic.name

    @property
    def partitions(self) -> list[Partition]:
        return [(self.name, partition) for partition in self.ends]

    @property
    def positions(self) -> dict[Partition, int]:
        return {(self.name, partition): end for partition, end in self.ends.items()}

    @property
    def records(self) -> set[Delivery]:
        return {Delivery(self.name, p, o) for p, end in self.ends.items() for o in range(end)}

    def write(self, count: int = 20) -> None:
        for partition, end in self.ends.items():
            values = (f"{partition}-{end + i}".encode() for i in range(count))
            answer = produce_to(self._wire, self.topic, batch(*values), partition=partition)
            assert (answer.error_code, answer.base_offset) == (0, end)
            self.ends[partition] = end + count

    def grow(self, partitions: int) -> None:
        asked = CreatePartitionsRequest(
            (CreatePartitionsTopic(self.name, partitions, None),), 10_000
        )
        (result,) = self._wire.call(create_partitions.API, 3, asked).results
        assert result.error_code == 0, result
        self.ends |= dict.fromkeys(range(len(self.ends), partitions), 0)


class ReadingGroup(Fleet):
    """A group that has read all of its topics in the end."""

    def __init__(self, servers: str, *topics: Data) -> None:
        super().__init__(servers, fresh_name("readers-"))
        self.topics = list(topics)

    def await_all(self) -> None:
        for data in self.topics:
            self.await_records(data.records)

    def check(self) -> None:
        """What is committed is what was read, and that is everything."""
        self.ledger.check()
        expected = {p: end for data in self.topics for p, end in data.positions.items() if end}
        assert self.ledger.positions() == expected
        with WireCoordinator(self.servers) as coordinator:
            assert WireClients(coordinator, self.group_id).committed() == expected


@contextmanager
def group_of(servers: str, *topics: Data) -> Iterator[ReadingGroup]:
    with ReadingGroup(servers, *topics) as group:
        yield group
        group.await_all()
    group.check()
