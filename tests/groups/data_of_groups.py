"""Topics that groups read, and what was written to them."""

from drumbeat.protocol.apis import create_partitions
from drumbeat.protocol.apis.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from groups.members import Delivery, Partition
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
