"""Groups of unmodified clients: they come, go, and share a topic's partitions between them."""

import pytest

from drumbeat.testing import Cluster
from groups.library_aiokafka import AiokafkaMember
from groups.library_confluent import ConfluentMember
from groups.library_kafka_python import KafkaPythonMember
from groups.members import Delivery, Fleet, Partition
from support.data_topics import Topic, batch, create_topic, fresh_name, produce_to
from support.wire import Wire

pytestmark = pytest.mark.clients

LIBRARIES = {
    member.library: member for member in (KafkaPythonMember, AiokafkaMember, ConfluentMember)
}
ASSIGNORS = {
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "confluent-kafka": ("range", "roundrobin", "cooperative-sticky"),
}


@pytest.fixture(scope="module")
def servers():
    with Cluster({"group.min.session.timeout.ms": "100"}) as cluster:
        yield cluster.bootstrap_servers


class Data:
    """A topic, and what was written to it."""

    def __init__(self, servers: str, partitions: int) -> None:
        self._wire = Wire(servers)
        self.topic: Topic = create_topic(self._wire, fresh_name("data-"), partitions=partitions)
        self.ends = dict.fromkeys(range(partitions), 0)

    def __enter__(self) -> "Data":
        return self

    def __exit__(self, *_exc: object) -> None:
        self._wire.socket.close()

    @property
    def name(self) -> str:
        return self.topic.name

    @property
    def partitions(self) -> list[Partition]:
        return [(self.name, partition) for partition in self.ends]

    @property
    def records(self) -> set[Delivery]:
        return {Delivery(self.name, p, o) for p, end in self.ends.items() for o in range(end)}

    def write(self, count: int = 20) -> None:
        """As many records to every partition."""
        for partition, end in self.ends.items():
            values = (f"{partition}-{end + i}".encode() for i in range(count))
            answer = produce_to(self._wire, self.topic, batch(*values), partition=partition)
            assert (answer.error_code, answer.base_offset) == (0, end)
            self.ends[partition] = end + count


@pytest.mark.parametrize(
    ("library", "assignor"),
    [(library, assignor) for library, offered in ASSIGNORS.items() for assignor in offered],
)
def test_members_come_and_go(servers, library, assignor):
    with Data(servers, 5) as data, Fleet(servers, fresh_name("come-and-go-")) as fleet:
        data.write()
        joining = {"topics": (data.name,), "assignor": assignor}
        first = fleet.add(LIBRARIES[library], **joining)
        fleet.await_owners(data.partitions)
        fleet.add(LIBRARIES[library], **joining)
        fleet.add(LIBRARIES[library], **joining)
        fleet.await_owners(data.partitions)
        data.write()
        fleet.await_records(data.records)
        fleet.stop(first)
        fleet.await_owners(data.partitions)
        data.write()
        fleet.await_records(data.records)
    fleet.ledger.check()
    assert fleet.ledger.positions() == {(data.name, p): end for p, end in data.ends.items()}
