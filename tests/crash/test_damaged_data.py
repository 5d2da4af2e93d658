"""Damage and strangers in a data directory: named, with what helps, and nothing is deleted.

What the whole node needs keeps it from starting. What one partition needs keeps that partition
from being served, and the others are.
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drumbeat.log.journal import FILE as JOURNAL
from drumbeat.log.names import CLEAN_SHUTDOWN
from drumbeat.protocol.apis import incremental_alter_configs, init_producer_id, offset_commit
from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from drumbeat.protocol.apis.init_producer_id import InitProducerIdRequest
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.testing import Cluster
from support.data_topics import Topic, batch, create_topic, fetch_from, produce_to, values_in
from support.node_process import run
from support.topics import described
from support.waiting import wait_until
from support.wire import Wire

EXIT_START = 3
BROKER_RESOURCE = 4
LOG = "00000000000000000000.log"
EPOCHS, METADATA = "leader-epoch-checkpoint", "partition.metadata"
GROUP = "group"
ORDERS = "orders"

pytestmark = pytest.mark.crash


@contextmanager
def node_on(data: Path) -> Iterator[Wire]:
    with Cluster(data=str(data)) as cluster, Wire(cluster.bootstrap_servers) as wire:
        yield wire


def orders(wire: Wire) -> Topic:
    return Topic(ORDERS, described(wire, ORDERS).topic_id)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """One of everything that a node writes, with the logs of a process that was not stopped."""
    data = tmp_path_factory.mktemp("whole") / "data"
    with node_on(data) as wire:
        topic = create_topic(wire, ORDERS, partitions=2)
        for partition in (0, 1):
            for value in (b"first", b"second", b"third"):
                produce_to(wire, topic, batch(value), partition=partition)
        for offset in (1, 2, 3):
            assert commit(wire, offset) == ErrorCode.NONE
        wire.call(init_producer_id.API, 4, InitProducerIdRequest(transactional_id=None))
        change = AlterableConfig("log.retention.ms", 0, "1000000000")
        resource = AlterConfigsResource(BROKER_RESOURCE, "1", (change,))
        asked = IncrementalAlterConfigsRequest((resource,))
        (altered,) = wire.call(incremental_alter_configs.API, 1, asked).responses
        assert altered.error_code == ErrorCode.NONE, altered
    # Every batch is looked at when the last process did not stop in order.
    (data / CLEAN_SHUTDOWN).unlink()
    return data


@pytest.fixture
def data(whole, tmp_path) -> Path:
    return shutil.copytree(whole, tmp_path / "data")


def commit(wire: Wire, offset: int) -> int:
    partition = OffsetCommitRequestPartition(0, offset)
    topic = OffsetCommitRequestTopic(ORDERS, partitions=(partition,))
    response = wire.call(offset_commit.API, 8, OffsetCommitRequest(GROUP, topics=(topic,)))
    code: int = response.topics[0].partitions[0].error_code
    return code


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def offsets_folder(data: Path) -> Path:
    (folder,) = (path.parent for path in data.glob(f"__consumer_offsets-*/{LOG}"))
    return folder


# -- what the whole node needs -------------------------------------------------------------------

Damage = Callable[[Path], None]


def with_text(text: str) -> Damage:
    return lambda path: _write(path, text.encode())


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def flip_first(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


# What happens to which file.
NEEDED_TO_START: dict[str, tuple[str, Damage]] = {
    "a topic's description is no JSON": ("topics/orders.json", with_text("{")),
    "a topic's description is empty": ("topics/orders.json", with_text("")),
    "a description of what cannot be a topic": ("topics/a topic.json", with_text("{}")),
    "the node's identity is gone": ("meta.properties", with_text("version=1\n")),
    "the node's identity is no text": ("meta.properties", lambda path: _write(path, b"\xff\xfe\0")),
    "altered configs are no JSON": ("broker-configs.json", with_text("[")),
    "an altered config has an impossible value": (
        "broker-configs.json",
        with_text('{"broker": {"log.retention.ms": "long"}, "all_brokers": {}}'),
    ),
    "reserved producer ids are no number": ("producer-ids", with_text("many")),
    "the journal is somebody else's file": (JOURNAL, with_text("dear diary" * 1000)),
    "the journal's beginning is damaged": (JOURNAL, flip_first),
}


@pytest.mark.parametrize("what", NEEDED_TO_START)
def test_a_node_does_not_start_without_what_it_needs(data, what):
    name, damage = NEEDED_TO_START[what]
    damage(data / name)
    written_at_every_start = {".lock", JOURNAL} - {name}
    found = files(data).items()
    before = {path: content for path, content in found if path not in written_at_every_start}
    ended = run("up", "--port", "0", "--data", str(data))
    assert (ended.exit_code, ended.stdout) == (EXIT_START, ""), ended.stderr
    assert str(data / name) in ended.stderr
    assert "; " in ended.stderr, "what helps is not said"
    assert "Traceback" not in ended.stderr
    assert kept(before, data) == before


def kept(before: dict[str, bytes], data: Path) -> dict[str, bytes]:
    after = files(data)
    return {path: after[path] for path in before if path in after}


# -- what one partition needs --------------------------------------------------------------------


def spoil_second_batch(path: Path) -> None:
    content = bytearray(path.read_bytes())
    second = 12 + int.from_bytes(content[8:12], "big")
    content[second + 30] ^= 1
    path.write_bytes(content)


def spoil_last_batch(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])


def cut_last_batch(path: Path) -> None:
    """Between two batches, where nothing looks torn."""
    content = path.read_bytes()
    *_, (last, _) = iter_headers(content)
    path.write_bytes(content[:last])


def set_epoch_of_last_batch(path: Path) -> None:
    """Outside the checksum."""
    content = bytearray(path.read_bytes())
    *_, (last, _) = iter_headers(bytes(content))
    content[last + 12 : last + 16] = b"\x7f\xff\xff\xff"
    path.write_bytes(content)


# What happens to which file of the partition.
NEEDED_BY_A_PARTITION: dict[str, tuple[str, Damage]] = {
    "a batch is damaged and others follow": (LOG, spoil_second_batch),
    "the last batch at an orderly stop is damaged": (LOG, spoil_last_batch),
    "the last batch at an orderly stop is gone": (LOG, cut_last_batch),
    "the epoch file is no text": (EPOCHS, lambda path: _write(path, b"\xff\0\xff")),
    "the epoch file is cut off": (EPOCHS, with_text("0\n3\n0 0\n")),
    "the epoch file is of another version": (EPOCHS, with_text("7\n1\n0 0\n")),
    "an epoch is negative": (EPOCHS, with_text("0\n1\n-5 0\n")),
    "an epoch begins before the log": (EPOCHS, with_text("0\n1\n0 -1\n")),
    "an epoch that none can follow": (EPOCHS, with_text("0\n1\n2147483647 0\n")),
    "an epoch beyond all numbers": (EPOCHS, with_text("0\n1\n99999999999 0\n")),
    "a batch of an epoch that none can follow": (LOG, set_epoch_of_last_batch),
    "epochs go down": (EPOCHS, with_text("0\n2\n4 0\n3 2\n")),
    "epochs overlap": (EPOCHS, with_text("0\n2\n3 2\n4 1\n")),
    "the topic's id is another one": (
        METADATA,
        with_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"),
    ),
    "the topic's id is missing": (METADATA, with_text("version: 0\n")),
    "the topic's id is none": (METADATA, with_text("version: 0\ntopic_id: mine")),
    "the start offset is no number": (
        "log-start-offset-checkpoint",
        with_text("0\n1\norders 0 first\n"),
    ),
    "a compaction's result is damaged": (f"{LOG}.swap", with_text("not a batch")),
}


def assert_named(caplog: pytest.LogCaptureFixture, path: Path) -> None:
    (found,) = [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert str(path) in found.getMessage()
    assert "; " in found.getMessage(), "what helps is not said"
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("what", NEEDED_BY_A_PARTITION)
def test_a_partition_is_down_and_the_others_are_served(data, what, caplog):
    name, damage = NEEDED_BY_A_PARTITION[what]
    damage(data / "orders-0" / name)
    before = files(data / "orders-0")
    with node_on(data) as wire:
        topic = orders(wire)
        assert fetch_from(wire, topic).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        refused = produce_to(wire, topic, batch(b"more"))
        assert refused.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert values_in(fetch_from(wire, topic, partition=1).records)[0] == b"first"
        assert produce_to(wire, topic, batch(b"fourth"), partition=1).base_offset == 3
        wait_until(lambda: commit(wire, 4) == ErrorCode.NONE, 10.0, "groups are served")
    assert_named(caplog, data / "orders-0" / name)
    assert files(data / "orders-0") == before


@pytest.mark.parametrize(
    "what",
    [
        "a batch is damaged and others follow",
        "the last batch at an orderly stop is damaged",
        "the last batch at an orderly stop is gone",
        "epochs go down",
    ],
)
def test_groups_of_a_damaged_partition_are_sent_away(data, what, caplog):
    name, damage = NEEDED_BY_A_PARTITION[what]
    folder = offsets_folder(data)
    damage(folder / name)
    before = files(folder)
    with node_on(data) as wire:
        wait_until(
            lambda: commit(wire, 4) == ErrorCode.NOT_COORDINATOR, 10.0, "the damage is found"
        )
        assert produce_to(wire, orders(wire), batch(b"fourth")).base_offset == 3
    assert_named(caplog, folder / name)
    assert files(folder) == before


# -- strangers -----------------------------------------------------------------------------------

STRANGERS = (
    "notes.txt",
    "lost+found/recovered",
    "photos-2024/beach.jpg",
    "topics/README",
    "topics/orders.json.bak",
    "orders-0/notes.txt",
    "orders-0/7.log",
    "orders-0/00000000000000000000.log.bak",
    "orders-0/history/notes.txt",
    "orders-7",
)


def test_strangers_stay_and_are_not_read(data, caplog):
    for name in STRANGERS:
        path = data / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("not yours")
    (data / CLEAN_SHUTDOWN).touch()
    with node_on(data) as wire:
        topic = orders(wire)
        values = values_in(fetch_from(wire, topic).records)
        assert values[0] == b"first"
        assert described(wire, "photos").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {(data / name).read_text() for name in STRANGERS} == {"not yours"}
    assert str(data / "photos-2024") in caplog.text
    assert (data / CLEAN_SHUTDOWN).exists(), "strangers are nothing that was left open"


def test_a_stranger_in_a_partitions_place_is_named(data, caplog):
    shutil.rmtree(data / "orders-0")
    (data / "orders-0").write_text("not yours")
    with node_on(data) as wire:
        topic = orders(wire)
        assert fetch_from(wire, topic).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert produce_to(wire, topic, batch(b"fourth"), partition=1).base_offset == 3
    assert_named(caplog, data / "orders-0")
    assert (data / "orders-0").read_text() == "not yours"
