"""What every client does with the broker, written once.

A client's test file supplies an adapter (see `Client`) and runs `Scenarios` through it; what only
that client can do is tested beside it.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.schema import NULL_UUID
from drumbeat.testing import Cluster
from support.data_topics import Topic, fetch_from
from support.ports import free_ports
from support.waiting import wait_until
from support.wire import Wire

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BULK_RECORDS = 100_000
BASE_TIMESTAMP = 1_700_000_000_000
RETENTION_DEFAULT_MS = "604800000"
LONG_WAIT_MS = 5_000

_numbers = count()


class Message(NamedTuple):
    """One record as a producer gives it; the timestamp is in milliseconds."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes], ...] = ()


class Consumed(NamedTuple):
    partition: int
    offset: int
    message: Message


class Client(Protocol):
    """The calls that all clients have, under one name each."""

    def close(self) -> None: ...

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None: ...

    def delete_topic(self, name: str) -> None: ...

    def grow_topic(self, name: str, partitions: int) -> None: ...

    def topics(self) -> Mapping[str, int]:
        """Partition counts by name."""

    def nodes(self) -> Sequence[tuple[int, str]]:
        """Ids and addresses of the brokers."""

    def topic_config(self, topic: str, key: str) -> str: ...

    def set_topic_config(self, topic: str, key: str, value: str) -> None: ...

    def delete_records(self, topic: str, before: int) -> None: ...

    def produce(
        self,
        topic: str,
        messages: Iterable[Message],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
        partition: int | None = None,
    ) -> None:
        """Returns when everything is acknowledged, or sent where nothing is."""

    def reading(
        self, topic: str, starts: Mapping[int, int], settings: Mapping[str, int]
    ) -> AbstractContextManager[Callable[[int], list[Consumed]]]:
        """A consumer of partitions with their first offsets; gives so many records when called.

        Settings are fetch.min.bytes, fetch.max.wait.ms and max.partition.fetch.bytes.
        """

    def offset_for_time(self, topic: str, timestamp: int) -> int | None:
        """Of partition 0; None if there is no record from then on."""

    def ends(self, topic: str) -> tuple[int, int]:
        """The first and the next offset of partition 0."""


def fresh_topic(prefix: str) -> str:
    return f"{prefix}-{next(_numbers)}"


def messages(records: int, *, size: int = 80) -> list[Message]:
    """Records that all differ; every tenth has headers, every hundredth no key."""
    filling = b"Drumbeat " * (size // 9)
    return [
        Message(
            key=None if i % 100 == 99 else b"key-%d" % (i % 1000),
            value=b"%06d " % i + filling,
            timestamp=BASE_TIMESTAMP + i,
            headers=(("number", b"%d" % i), ("empty", b"")) if i % 10 == 0 else (),
        )
        for i in range(records)
    ]


def new_topic(client: Client, prefix: str, partitions: int = 1, **configs: str) -> str:
    name = fresh_topic(prefix)
    client.create_topic(
        name, partitions, 1, {key.replace("_", "."): value for key, value in configs.items()}
    )
    return name


def read(client: Client, topic: str, start: int, records: int) -> list[Consumed]:
    """`records` records of partition 0 from offset `start` on."""
    with client.reading(topic, {0: start}, {}) as take:
        return take(records)


def in_order(sent: Sequence[Message], first_offset: int = 0) -> list[Consumed]:
    return [Consumed(0, first_offset + i, message) for i, message in enumerate(sent)]


def stored_codecs(bootstrap_servers: str, topic: str) -> set[str]:
    """How the first batches of partition 0 are compressed."""
    with Wire(bootstrap_servers) as wire:
        data = fetch_from(wire, Topic(topic, NULL_UUID), version=12).records
    return {header.codec.name.lower() for _, header in iter_headers(data)}


class Scenarios:
    """Subclasses name their adapter."""

    adapter: Callable[[str], Client]  # of bootstrap servers

    @pytest.fixture
    def client(self, bootstrap_servers: str) -> Iterator[Client]:
        with closing(self.adapter(bootstrap_servers)) as client:
            yield client

    # -- records ---------------------------------------------------------------------------------

    @pytest.mark.parametrize("codec", CODECS)
    def test_bulk(self, client: Client, codec: str, bootstrap_servers: str) -> None:
        topic, sent = new_topic(client, f"bulk-{codec}"), messages(BULK_RECORDS)
        client.produce(topic, sent, codec=codec, partition=0)
        assert client.ends(topic) == (0, BULK_RECORDS)
        assert stored_codecs(bootstrap_servers, topic) == {codec}
        # pytest's account of two different lists of this size would take minutes.
        is_equal = read(client, topic, 0, BULK_RECORDS) == in_order(sent)
        assert is_equal, "what was read is not what was written"
        middle = 70_123
        assert read(client, topic, middle, 50) == in_order(sent[middle : middle + 50], middle)
        for timestamp, offset in (
            (0, 0),
            (BASE_TIMESTAMP + middle, middle),
            (BASE_TIMESTAMP + BULK_RECORDS - 1, BULK_RECORDS - 1),
            (BASE_TIMESTAMP + BULK_RECORDS, None),
        ):
            assert client.offset_for_time(topic, timestamp) == offset

    @pytest.mark.parametrize("acks", ["0", "1", "all"])
    def test_acks(self, client: Client, acks: str) -> None:
        topic, sent = new_topic(client, f"acks-{acks}"), messages(500)
        client.produce(topic, sent, acks=acks, partition=0)
        assert read(client, topic, 0, 500) == in_order(sent)

    def test_idempotent_producer(self, client: Client) -> None:
        topic, sent = new_topic(client, "idempotent"), messages(3_000)
        for first in range(0, 3_000, 1_000):
            client.produce(topic, sent[first : first + 1_000], idempotent=True, partition=0)
        assert read(client, topic, 0, 3_000) == in_order(sent)

    def test_keys_decide_partitions(self, client: Client) -> None:
        topic, sent = new_topic(client, "keys", partitions=3), messages(3_000)
        client.produce(topic, sent)
        with client.reading(topic, {0: 0, 1: 0, 2: 0}, {}) as take:
            consumed = take(3_000)
        assert sorted(c.message.value for c in consumed) == [m.value for m in sent]
        partitions_of_key: dict[bytes, set[int]] = {}
        for one in consumed:
            if one.message.key is not None:
                partitions_of_key.setdefault(one.message.key, set()).add(one.partition)
        assert {len(partitions) for partitions in partitions_of_key.values()} == {1}
        for partition in range(3):
            of_partition = [c for c in consumed if c.partition == partition]
            assert [c.offset for c in of_partition] == list(range(len(of_partition)))

    def test_null_and_empty_values(self, client: Client) -> None:
        topic = new_topic(client, "nulls")
        sent = [
            Message(b"k", None, BASE_TIMESTAMP),
            Message(b"k", b"", BASE_TIMESTAMP + 1),
            Message(None, b"v", BASE_TIMESTAMP + 2),
            Message(b"", b"v", BASE_TIMESTAMP + 3, (("same", b"1"), ("same", b"2"))),
        ]
        client.produce(topic, sent, partition=0)
        assert read(client, topic, 0, 4) == in_order(sent)

    def test_log_append_time(self, client: Client) -> None:
        topic = new_topic(client, "append-time", message_timestamp_type="LogAppendTime")
        before_ms = time.time_ns() // 1_000_000
        client.produce(topic, messages(10), partition=0)
        consumed = read(client, topic, 0, 10)
        assert all(c.message.timestamp >= before_ms for c in consumed)

    # -- fetching --------------------------------------------------------------------------------

    def test_long_poll_ends_when_records_come(self, client: Client) -> None:
        topic, sent = new_topic(client, "long-poll"), messages(1)
        settings = {"fetch.min.bytes": 1, "fetch.max.wait.ms": LONG_WAIT_MS}
        with client.reading(topic, {0: 0}, settings) as take:
            writing = threading.Thread(target=lambda: client.produce(topic, sent, partition=0))
            writing.start()
            assert take(1) == in_order(sent)
            writing.join()

    def test_records_above_the_fetch_limits_are_read_all_the_same(self, client: Client) -> None:
        topic, sent = new_topic(client, "limits"), messages(20, size=20_000)
        for message in sent:
            client.produce(topic, [message], partition=0)
        with client.reading(topic, {0: 0}, {"max.partition.fetch.bytes": 1_000}) as take:
            assert take(20) == in_order(sent)

    def test_a_consumer_outlives_a_restart(self, tmp_path: Path) -> None:
        (port,) = free_ports(1)
        sent = messages(20)
        with (
            Cluster(data=str(tmp_path), port=port) as cluster,
            closing(self.adapter(cluster.bootstrap_servers)) as client,
        ):
            topic = new_topic(client, "restart")
            client.produce(topic, sent[:10], partition=0)
            with client.reading(topic, {0: 0}, {}) as take:
                assert take(10) == in_order(sent[:10])
                cluster.stop()
                cluster.start()
                client.produce(topic, sent[10:], partition=0)
                assert take(10) == in_order(sent[10:], 10)

    # -- topics ----------------------------------------------------------------------------------

    def test_life_of_a_topic(self, client: Client) -> None:
        topic = new_topic(client, "life", partitions=2)
        assert client.topics()[topic] == 2
        client.grow_topic(topic, 5)
        assert client.topics()[topic] == 5
        client.produce(topic, messages(10), partition=4)
        with client.reading(topic, {4: 0}, {}) as take:
            assert [one.partition for one in take(10)] == [4] * 10
        client.delete_topic(topic)
        wait_until(lambda: topic not in client.topics(), 5.0, f"{topic} to be gone")

    def test_replication_factor_3_is_accepted(self, client: Client) -> None:
        topic = fresh_topic("replicated")
        client.create_topic(topic, 1, 3, {"min.insync.replicas": "2"})
        sent = messages(10)
        client.produce(topic, sent, acks="all", partition=0)
        assert read(client, topic, 0, 10) == in_order(sent)

    def test_producing_creates_a_topic(self, client: Client) -> None:
        topic, sent = fresh_topic("unheard-of"), messages(10)
        client.produce(topic, sent)
        assert client.topics()[topic] == 1
        assert read(client, topic, 0, 10) == in_order(sent)

    def test_configs(self, client: Client) -> None:
        topic = new_topic(client, "configs", retention_ms="1234", segment_bytes="2000000")
        assert client.topic_config(topic, "retention.ms") == "1234"
        client.set_topic_config(topic, "retention.ms", "99000")
        assert client.topic_config(topic, "retention.ms") == "99000"
        assert client.topic_config(topic, "segment.bytes") == "2000000"
        assert client.topic_config(topic, "cleanup.policy") == "delete"

    def test_delete_records(self, client: Client) -> None:
        topic, sent = new_topic(client, "records"), messages(100)
        client.produce(topic, sent, partition=0)
        client.delete_records(topic, 60)
        assert client.ends(topic) == (60, 100)
        assert read(client, topic, 60, 40) == in_order(sent[60:], 60)
        assert client.offset_for_time(topic, 0) == 60

    def test_the_cluster(self, client: Client, bootstrap_servers: str) -> None:
        assert list(client.nodes()) == [(1, bootstrap_servers)]
