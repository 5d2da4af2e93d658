"""Fetch: long polls, and the byte limits of KIP-74."""

import threading
import time

import pytest

from drumbeat.protocol.apis.fetch import FetchTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import iter_headers
from support.data_topics import (
    FETCH,
    PRODUCE,
    batch,
    create_topic,
    fetch_from,
    fetch_partition,
    fetch_request,
    lowest_and_highest,
    partitions_of,
    produce_request,
    produce_to,
    values_in,
)
from support.wire import Wire

VERSIONS = lowest_and_highest(FETCH)
LONG_MS = 8_000  # more than any test waits for data that do come
SHORT_MS = 200


@pytest.fixture
def producer(bootstrap_servers):
    with Wire(bootstrap_servers, "producer") as connection:
        yield connection


# -- long polls ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_fetch_returns_at_max_wait(wire, version):
    topic = create_topic(wire)
    began = time.monotonic()
    request = fetch_request(topic, max_wait_ms=SHORT_MS, min_bytes=1)
    (data,) = partitions_of(wire.call(FETCH, version, request))
    assert (data.error_code, data.high_watermark, data.records) == (ErrorCode.NONE, 0, b"")
    assert SHORT_MS <= (time.monotonic() - began) * 1000 + 5 < LONG_MS


@pytest.mark.parametrize("version", VERSIONS)
def test_new_records_end_a_long_poll(wire, producer, version):
    topic = create_topic(wire, partitions=2)
    began = time.monotonic()
    partitions = (fetch_partition(0, 0), fetch_partition(0, 1))
    wire.send(FETCH, version, fetch_request(topic, *partitions, max_wait_ms=LONG_MS, min_bytes=1))
    produce_to(producer, topic, batch(b"a"), partition=1)
    first, second = partitions_of(wire.receive())
    assert (first.records, values_in(second.records)) == (b"", [b"a"])
    assert second.high_watermark == 1
    assert (time.monotonic() - began) * 1000 < LONG_MS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_long_poll_waits_for_min_bytes(wire, producer, version):
    topic = create_topic(wire)
    size = len(batch(b"x" * 100))
    request = fetch_request(topic, max_wait_ms=LONG_MS, min_bytes=3 * size)
    wire.send(FETCH, version, request)
    for _ in range(3):
        produce_to(producer, topic, batch(b"x" * 100))
    (data,) = partitions_of(wire.receive())
    assert len(values_in(data.records)) == 3


def test_max_wait_returns_what_there_is_below_min_bytes(wire):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"a"))
    request = fetch_request(topic, max_wait_ms=SHORT_MS, min_bytes=1 << 20)
    (data,) = partitions_of(wire.call(FETCH, FETCH.versions[-1], request))
    assert values_in(data.records) == [b"a"]


NO_WAIT = {
    "enough is there": {"min_bytes": 1, "max_wait_ms": LONG_MS},
    "no bytes are asked for": {"offset": 1, "min_bytes": 0, "max_wait_ms": LONG_MS},
    "no wait is asked for": {"offset": 1, "min_bytes": 1, "max_wait_ms": 0},
    "one partition has an error": {
        "offset": 99,
        "min_bytes": 1,
        "max_wait_ms": LONG_MS,
    },
}


@pytest.mark.parametrize("how", NO_WAIT.values(), ids=NO_WAIT.keys())
def test_no_reason_to_wait(wire, how):
    topic = create_topic(wire)
    produce_to(wire, topic, batch(b"a"))
    how = dict(how)
    began = time.monotonic()
    request = fetch_request(topic, fetch_partition(how.pop("offset", 0)), **how)
    wire.call(FETCH, FETCH.versions[-1], request)
    assert (time.monotonic() - began) * 1000 < LONG_MS / 2


def test_a_waiting_consumer_does_not_hold_up_others(bootstrap_servers, wire, producer):
    topic = create_topic(wire)
    waiting = [Wire(bootstrap_servers) for _ in range(20)]
    for connection in waiting:
        connection.send(FETCH, 12, fetch_request(topic, max_wait_ms=LONG_MS, min_bytes=1))
    produce_to(producer, topic, batch(b"a"))
    for connection in waiting:
        with connection:
            (data,) = partitions_of(connection.receive())
            assert values_in(data.records) == [b"a"]


def test_a_consumer_that_follows_sees_every_record_once_and_in_order(bootstrap_servers, wire):
    topic = create_topic(wire)
    expected = [b"%d" % i for i in range(200)]

    def write():
        with Wire(bootstrap_servers) as connection:
            for value in expected:
                connection.send(PRODUCE, 9, produce_request(topic, batch(value)))
            for _ in expected:
                connection.receive()

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    while len(seen) < len(expected):
        request = fetch_request(topic, fetch_partition(len(seen)), max_wait_ms=LONG_MS, min_bytes=1)
        (data,) = partitions_of(wire.call(FETCH, 12, request))
        assert data.records, "the poll ran out although records were to come"
        seen += values_in(data.records)
    writer.join()
    assert seen == expected


# -- byte limits ---------------------------------------------------------------------------------

BATCH = batch(b"x" * 1000)
SIZE = len(BATCH)


@pytest.fixture(scope="module")
def limited(bootstrap_servers):
    """Three partitions with four batches of SIZE bytes each."""
    with Wire(bootstrap_servers) as connection:
        created = create_topic(connection, partitions=3)
        for partition in range(3):
            for _ in range(4):
                produce_to(connection, created, BATCH, partition=partition)
        yield created


def fetched(wire, topic, version, max_bytes, partition_max_bytes, partitions=(0, 1, 2)):
    asked = [fetch_partition(0, p, partition_max_bytes=partition_max_bytes) for p in partitions]
    response = wire.call(FETCH, version, fetch_request(topic, *asked, max_bytes=max_bytes))
    answered = partitions_of(response)
    assert [p.error_code for p in answered] == [ErrorCode.NONE] * len(partitions)
    return [len(p.records) for p in answered]


LIMITS = [
    # max_bytes, partition_max_bytes: bytes of each partition
    (1 << 20, 1 << 20, [4 * SIZE] * 3),
    (1 << 20, 2 * SIZE, [2 * SIZE] * 3),
    (5 * SIZE, 1 << 20, [4 * SIZE, SIZE, 0]),
    (4 * SIZE, 1 << 20, [4 * SIZE, 0, 0]),
    (3 * SIZE, SIZE, [SIZE, SIZE, SIZE]),
    (2 * SIZE, SIZE, [SIZE, SIZE, 0]),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("max_bytes", "partition_max_bytes", "sizes"), LIMITS)
def test_limits(wire, limited, version, max_bytes, partition_max_bytes, sizes):
    assert fetched(wire, limited, version, max_bytes, partition_max_bytes) == sizes


FIRST_BATCH = [
    # A first batch above the limits is returned whole; further partitions get nothing above them.
    (1 << 20, 1, [SIZE, 1, 1]),
    (1, 1 << 20, [SIZE, 0, 0]),
    (0, 0, [SIZE, 0, 0]),
    (SIZE - 1, SIZE - 1, [SIZE, 0, 0]),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("max_bytes", "partition_max_bytes", "most"), FIRST_BATCH)
def test_a_consumer_always_makes_progress(
    wire, limited, version, max_bytes, partition_max_bytes, most
):
    sizes = fetched(wire, limited, version, max_bytes, partition_max_bytes)
    assert sizes[0] == SIZE
    assert all(size <= bound for size, bound in zip(sizes, most, strict=True))


def test_the_first_partition_that_has_data_counts_as_first(wire, limited):
    topic = create_topic(wire)
    request = fetch_request(topic, fetch_partition(0, partition_max_bytes=1), max_bytes=1)
    request = request._replace(
        topics=(
            *request.topics,
            FetchTopic(*limited, (fetch_partition(0, 2, partition_max_bytes=1),)),
        )
    )
    empty, second = wire.call(FETCH, FETCH.versions[-1], request).responses
    assert empty.partitions[0].records == b""
    assert len(second.partitions[0].records) == SIZE


def test_a_last_batch_may_be_cut_off(wire, limited):
    """Kafka sends bytes up to the limit; clients drop an incomplete batch at the end."""
    data = fetch_from(wire, limited, partition_max_bytes=2 * SIZE + 100)
    assert len(list(iter_headers(data.records))) == 2
    assert len(data.records) <= 2 * SIZE + 100
