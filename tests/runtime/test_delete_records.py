"""DeleteRecords: the start of a log moves up."""

import pytest

from drumbeat.protocol.apis.delete_records import API as DELETE_RECORDS
from drumbeat.protocol.apis.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from drumbeat.protocol.errors import ErrorCode
from support.brokers import start_broker
from support.data_topics import (
    BASE_TIMESTAMP,
    EARLIEST,
    LATEST,
    batch,
    create_topic,
    fetch_from,
    lowest_and_highest,
    offset_of,
    produce_to,
    records_in,
)
from support.wire import Wire

VERSIONS = lowest_and_highest(DELETE_RECORDS)
NONE = ErrorCode.NONE


def delete(wire, version, name, *offsets):
    """(error code, low watermark) for each (partition, offset)."""
    asked = DeleteRecordsTopic(name, tuple(DeleteRecordsPartition(*pair) for pair in offsets))
    request = DeleteRecordsRequest((asked,), timeout_ms=5000)
    (answered,) = wire.call(DELETE_RECORDS, version, request).topics
    assert answered.name == name
    found = {p.partition_index: (p.error_code, p.low_watermark) for p in answered.partitions}
    return [found[partition] for partition, _ in offsets]


def filled(wire, **configs):
    """Two batches of three records."""
    topic = create_topic(wire, **configs)
    for values in ((b"0", b"1", b"2"), (b"3", b"4", b"5")):
        produce_to(wire, topic, batch(*values))
    return topic


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("offset", "start"), [(0, 0), (2, 2), (3, 3), (6, 6), (-1, 6)])
def test_everything_below_the_offset_is_gone(wire, version, offset, start):
    topic = filled(wire)
    assert delete(wire, version, topic.name, (0, offset)) == [(NONE, start)]
    assert offset_of(wire, topic, EARLIEST)[0] == start
    assert offset_of(wire, topic, LATEST)[0] == 6
    assert fetch_from(wire, topic, start).log_start_offset == start
    if start:
        below = fetch_from(wire, topic, start - 1)
        assert below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    # What is in the middle of a batch stays in the bytes; consumers skip what they did not ask for.
    left = [r.offset for r in records_in(fetch_from(wire, topic, start).records)]
    assert [offset for offset in left if offset >= start] == list(range(start, 6))
    assert produce_to(wire, topic, batch(b"6")).base_offset == 6


@pytest.mark.parametrize("version", VERSIONS)
def test_a_start_never_moves_back(wire, version):
    topic = filled(wire)
    assert delete(wire, version, topic.name, (0, 4)) == [(NONE, 4)]
    assert delete(wire, version, topic.name, (0, 2)) == [(NONE, 4)]
    assert offset_of(wire, topic, EARLIEST)[0] == 4


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("offset", [7, -2, 2**62])
def test_offsets_beyond_the_end_are_refused(wire, version, offset):
    topic = filled(wire)
    assert delete(wire, version, topic.name, (0, offset)) == [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    assert offset_of(wire, topic, EARLIEST)[0] == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_is_answered_for_itself(wire, version):
    topic = filled(wire, partitions=2)
    assert delete(wire, version, topic.name, (0, 3), (1, 0), (5, 0)) == [
        (NONE, 3),
        (NONE, 0),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert delete(wire, version, "never-created", (0, 0)) == [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topic_that_is_only_compacted_keeps_its_records(wire, version):
    topic = filled(wire, cleanup_policy="compact")
    assert delete(wire, version, topic.name, (0, 3)) == [(ErrorCode.POLICY_VIOLATION, -1)]


def test_deleted_records_are_not_found_by_timestamp(wire):
    topic = filled(wire)
    delete(wire, VERSIONS[-1], topic.name, (0, 2))
    offset, timestamp = offset_of(wire, topic, 0)
    assert (offset, timestamp) == (2, BASE_TIMESTAMP + 2)


def test_a_restart_brings_nothing_back(tmp_path):
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        topic = filled(wire)
        delete(wire, VERSIONS[-1], topic.name, (0, 4))
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        assert offset_of(wire, topic, EARLIEST)[0] == 4
        assert fetch_from(wire, topic, 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert records_in(fetch_from(wire, topic, 4).records)[-1].offset == 5
