"""A full disk: writes are refused with an error, reads go on, nothing acknowledged is lost."""

from collections.abc import Iterator

import pytest

from crash.disks import DISK_BYTES, SmallDisk, small_disks
from drumbeat.protocol.apis import create_topics, delete_topics
from drumbeat.protocol.apis.create_topics import CreatableTopic, CreateTopicsRequest
from drumbeat.protocol.apis.delete_topics import DeleteTopicsRequest
from drumbeat.protocol.errors import ErrorCode
from support.data_topics import (
    Topic,
    batch,
    create_topic,
    fetch_from,
    produce_to,
    values_in,
)
from support.hostile import assert_served
from support.node_process import NodeProcess
from support.waiting import wait_until
from support.wire import Wire

BATCH_BYTES = 400_000
BATCHES_MAX = 2 * DISK_BYTES // BATCH_BYTES
PATIENCE_S = 10.0

pytestmark = pytest.mark.crash


@pytest.fixture(params=small_disks())
def disk(request, tmp_path) -> Iterator[SmallDisk]:
    with small_disks()[request.param](tmp_path / "disk") as small:
        yield small


@pytest.fixture
def start(disk, tmp_path):
    """Start a node on the small disk; it is gone before the disk is."""
    nodes = []

    def start_node() -> NodeProcess:
        options = ("--data", str(disk.directory))
        node = NodeProcess(*options, logs=tmp_path / "node.log", prefix=disk.prefix)
        nodes.append(node)
        node.start()
        return node

    yield start_node
    for node in nodes:
        node.kill()


def value(number: int) -> bytes:
    return f"{number}:".encode().ljust(BATCH_BYTES, b"x")


def fill(wire: Wire, topic: Topic) -> list[bytes]:
    """Produce until it is refused; what was acknowledged."""
    acknowledged: list[bytes] = []
    for number in range(BATCHES_MAX):
        answer = produce_to(wire, topic, batch(value(number)))
        if answer.error_code != ErrorCode.NONE:
            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert answer.base_offset == -1
            return acknowledged
        assert answer.base_offset == len(acknowledged)
        acknowledged.append(value(number))
    raise AssertionError("the disk took everything")


def read(wire: Wire, topic: Topic) -> list[bytes | None]:
    found: list[bytes | None] = []
    while records := fetch_from(wire, topic, len(found)).records:
        found += values_in(records)
    return found


def test_writes_are_refused_and_reads_go_on(start):
    node = start()
    with Wire(node.bootstrap_servers) as wire:
        small, large = create_topic(wire, "small"), create_topic(wire, "large")
        assert produce_to(wire, small, batch(b"first")).base_offset == 0
        acknowledged = fill(wire, large)
        assert len(acknowledged) > 3
        for _ in range(3):  # refused again and again, on the same connection
            refused = produce_to(wire, large, batch(value(0)))
            assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert read(wire, large) == acknowledged
        assert read(wire, small) == [b"first"]
        with Wire(node.bootstrap_servers) as other:
            assert_served(other)
            assert read(other, large) == acknowledged
    assert "Traceback" not in node.log_text


def test_once_there_is_space_writes_go_on(start):
    node = start()
    with Wire(node.bootstrap_servers) as wire:
        kept, large = create_topic(wire, "kept"), create_topic(wire, "large")
        expected: list[bytes] = [value(0)]
        produce_to(wire, kept, batch(value(0)))
        fill(wire, large)
        wire.call(
            delete_topics.API, 5, DeleteTopicsRequest(topic_names=("large",), timeout_ms=10_000)
        )

        def is_taken() -> bool:
            return produce_to(wire, kept, batch(value(1))).error_code == ErrorCode.NONE

        wait_until(is_taken, PATIENCE_S, "a write after space was freed")
        expected.append(value(1))
        again = create_topic(wire, "large")
        assert produce_to(wire, again, batch(value(2))).base_offset == 0
        assert read(wire, kept) == expected
    assert node.stop() == 0
    with Wire(start().bootstrap_servers) as wire:
        assert read(wire, kept) == expected
        assert read(wire, again) == [value(2)]


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_on_the_full_disk_loses_nothing(end, start):
    node = start()
    with Wire(node.bootstrap_servers) as wire:
        large = create_topic(wire, "large")
        acknowledged = fill(wire, large)
    getattr(node, end)()
    with Wire(start().bootstrap_servers) as wire:
        assert read(wire, large) == acknowledged


def test_a_topic_that_does_not_fit_is_refused_with_an_error(start):
    """Whatever a full disk refuses, the connection stays and the error says so."""
    with Wire(start().bootstrap_servers) as wire:
        fill(wire, create_topic(wire, "large"))
        for number in range(20):
            asked = CreatableTopic(name=f"t{number}", num_partitions=50, replication_factor=1)
            (created,) = wire.call(create_topics.API, 7, CreateTopicsRequest((asked,))).topics
            assert created.error_code in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
            topic = Topic(f"t{number}", created.topic_id)
            if created.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                break
            written = produce_to(wire, topic, batch(b"v"), partition=number % 50)
            assert written.error_code in (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)
            if written.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                break
        assert_served(wire)
