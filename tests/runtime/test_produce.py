"""Produce: acknowledgements, and what a batch has to be like."""

import struct

import pytest

from drumbeat.protocol.apis.find_coordinator import API as FIND_COORDINATOR
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import read_header
from drumbeat.protocol.records import BatchOptions, Record, encode_batch
from support.data_topics import (
    BASE_TIMESTAMP,
    PRODUCE,
    Topic,
    await_topic,
    batch,
    create_topic,
    fetch_from,
    lowest_and_highest,
    offset_of,
    produce_request,
    produce_to,
    records_in,
    values_in,
)
from support.topics import described
from support.unsound_batches import (
    FIRST_RECORD,
    LAST_OFFSET_DELTA_AT,
    MAX_TIMESTAMP_AT,
    RECORD_COUNT_AT,
    TWO_RECORDS,
    changed,
    holding,
)
from support.waiting import wait_until
from support.wire import Wire, request_frame

VERSIONS = lowest_and_highest(PRODUCE)
LOWEST, HIGHEST = VERSIONS


@pytest.fixture(scope="module")
def topic(bootstrap_servers):
    """For batches that are refused, and for tests that look at no offsets."""
    with Wire(bootstrap_servers) as connection:
        yield create_topic(connection)


# -- acknowledgements ----------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("version", PRODUCE.versions)
def test_an_acknowledged_batch_can_be_read(wire, version, acks):
    topic = create_topic(wire)
    for base_offset, values in ((0, (b"a", b"b")), (2, (b"c",))):
        response = produce_to(wire, topic, batch(*values), version=version, acks=acks)
        assert response.error_code == ErrorCode.NONE
        assert response.base_offset == base_offset
        assert response.log_append_time_ms == -1
        assert response.log_start_offset == (0 if version >= 5 else -1)
    assert values_in(fetch_from(wire, topic).records) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("version", VERSIONS)
def test_acks_0_is_not_answered_and_keeps_the_order(wire, version):
    topic = create_topic(wire)
    for value in (b"a", b"b", b"c"):
        request = produce_request(topic, batch(value), acks=0)
        wire.send_bytes(request_frame(PRODUCE, version, request))
    response = produce_to(wire, topic, batch(b"d"), version=version)
    assert response.base_offset == 3
    assert values_in(fetch_from(wire, topic).records) == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("partition", "data"), [(9, batch(b"a")), (0, b"")], ids=["unknown partition", "no batch"]
)
def test_with_acks_0_an_error_closes_the_connection(wire, topic, version, partition, data):
    """A producer that waits for no answer learns only in this way that something is wrong."""
    request = produce_request(topic, data, partition=partition, acks=0)
    wire.send_bytes(request_frame(PRODUCE, version, request))
    assert wire.is_closed()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("acks", [-2, 2, 32767])
def test_other_acks_are_refused(wire, topic, version, acks):
    response = produce_to(wire, topic, batch(b"a"), version=version, acks=acks)
    assert (response.error_code, response.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)


@pytest.mark.parametrize("version", VERSIONS)
def test_pipelined_requests_are_answered_in_order(wire, version):
    topic = create_topic(wire)
    for i in range(50):
        wire.send(PRODUCE, version, produce_request(topic, batch(b"%d" % i)))
    offsets = [wire.receive().responses[0].partition_responses[0].base_offset for _ in range(50)]
    assert offsets == list(range(50))
    assert values_in(fetch_from(wire, topic).records) == [b"%d" % i for i in range(50)]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_is_answered_for_itself(wire, version):
    topic, other = create_topic(wire, partitions=2), create_topic(wire)
    corrupt = bytearray(batch(b"x"))
    corrupt[-1] ^= 1
    written = (
        TopicProduceData(
            *topic,
            (
                PartitionProduceData(1, batch(b"a")),
                PartitionProduceData(7, batch(b"b")),
                PartitionProduceData(0, bytes(corrupt)),
            ),
        ),
        TopicProduceData(*other, (PartitionProduceData(0, batch(b"c", b"d")),)),
    )
    response = wire.call(
        PRODUCE, version, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=written)
    )
    answers = {
        (answered.topic_id if version >= 13 else answered.name, one.partition_index): (
            one.error_code,
            one.base_offset,
        )
        for answered in response.responses
        for one in answered.partition_responses
    }
    place = 1 if version >= 13 else 0
    assert answers == {
        (topic[place], 1): (ErrorCode.NONE, 0),
        (topic[place], 7): (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (topic[place], 0): (ErrorCode.CORRUPT_MESSAGE, -1),
        (other[place], 0): (ErrorCode.NONE, 0),
    }
    assert offset_of(wire, topic, partition=0)[0] == 0


# -- topics --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "error_code"),
    [
        (LOWEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (HIGHEST, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_an_unknown_topic_is_not_created(wire, version, error_code):
    unknown = Topic("never-created", b"\x01" * 16)
    response = produce_to(wire, unknown, batch(b"a"), version=version)
    assert (response.error_code, response.base_offset) == (error_code, -1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("partition", [1, 2**31 - 1])
def test_an_unknown_partition_of_a_known_topic(wire, topic, version, partition):
    response = produce_to(wire, topic, batch(b"a"), version=version, partition=partition)
    assert response.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", VERSIONS)
def test_internal_topics_are_not_for_clients(wire, version):
    """Kafka lets only one client id write them, its own tools' (Topic.java and KafkaApis)."""
    wait_until(
        lambda: wire.call(FIND_COORDINATOR, 0, FindCoordinatorRequest("g")).error_code == 0,
        20.0,
        "the group coordinator, which creates its topic",
    )
    offsets = Topic("__consumer_offsets", described(wire, "__consumer_offsets").topic_id)
    await_topic(wire, offsets)
    response = produce_to(wire, offsets, batch(b"a"), version=version)
    assert (response.error_code, response.base_offset) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert offset_of(wire, offsets) == (0, -1)


# -- what a batch has to be like -----------------------------------------------------------------


ONE = batch(b"value")
# A message of format v1: offset, size, crc, magic, attributes, timestamp, key, value.
MESSAGE_V1 = bytes(8) + struct.pack(">iIbbqii", 22, 0, 1, 0, BASE_TIMESTAMP, -1, -1)

# Each would keep consumers of its partition from going on. See also test_own_choices.py.
UNREADABLE = {
    "a record is missing": FIRST_RECORD,
    "bytes behind the last record": TWO_RECORDS + bytes(3),
    "the last record is cut off": TWO_RECORDS[:-3],
    "no records at all": b"",
    "zeros": bytes(40),
    "headers that are not there": TWO_RECORDS[:-1] + b"\x02",
    "a negative number of headers": TWO_RECORDS[:-1] + b"\x01",
}

REFUSED = {
    **{
        f"{name}, {codec.name}": (holding(section, codec), ErrorCode.INVALID_RECORD)
        for name, section in UNREADABLE.items()
        for codec in (Codec.NONE, Codec.GZIP, Codec.LZ4)
    },
    **{
        f"a record {wrong} than it has": (
            holding(bytes([TWO_RECORDS[0] + by]) + TWO_RECORDS[1:]),
            ErrorCode.INVALID_RECORD,
        )
        for wrong, by in (("announces more", 40), ("announces less", -2))
    },
    "no batch at all": (b"", ErrorCode.INVALID_RECORD),
    "a few bytes": (ONE[:5], ErrorCode.INVALID_RECORD),
    "half a header": (ONE[:30], ErrorCode.INVALID_RECORD),
    "a batch cut off": (ONE[:-1], ErrorCode.INVALID_RECORD),
    "two batches": (ONE + ONE, ErrorCode.INVALID_RECORD),
    "a batch, and zeros behind it": (ONE + bytes(20), ErrorCode.CORRUPT_MESSAGE),
    "zeros": (bytes(61), ErrorCode.CORRUPT_MESSAGE),
    "a batch, and an unknown magic": (ONE + ONE[:16] + b"\x03", ErrorCode.CORRUPT_MESSAGE),
    "message format v1": (MESSAGE_V1, ErrorCode.INVALID_RECORD),
    "wrong checksum": (ONE[:-1] + b"\x01", ErrorCode.CORRUPT_MESSAGE),
    "impossible length": (ONE[:8] + bytes(4) + ONE[12:], ErrorCode.CORRUPT_MESSAGE),
    "unknown magic": (ONE[:16] + b"\x03" + ONE[17:], ErrorCode.CORRUPT_MESSAGE),
    "a base offset": (
        encode_batch([Record(7, BASE_TIMESTAMP, b"k", b"v")]),
        ErrorCode.INVALID_RECORD,
    ),
    "control batch": (
        batch(b"a", options=BatchOptions(is_control=True)),
        ErrorCode.INVALID_RECORD,
    ),
    "transactional batch": (
        batch(
            b"a",
            options=BatchOptions(
                is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0
            ),
        ),
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ),
    "fewer records than offsets": (
        changed(ONE, LAST_OFFSET_DELTA_AT, ">i", 1),
        ErrorCode.INVALID_RECORD,
    ),
    "more records than offsets": (
        changed(ONE, RECORD_COUNT_AT, ">i", 2),
        ErrorCode.INVALID_RECORD,
    ),
    "a producer id without a sequence": (
        batch(b"a", options=BatchOptions(producer_id=5, producer_epoch=0)),
        ErrorCode.INVALID_RECORD,
    ),
    "larger than max.message.bytes": (batch(bytes(1 << 20)), ErrorCode.MESSAGE_TOO_LARGE),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("data", "error_code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_batch(wire, topic, version, data, error_code):
    before = offset_of(wire, topic)
    response = produce_to(wire, topic, data, version=version)
    assert (response.error_code, response.base_offset) == (error_code, -1)
    assert offset_of(wire, topic) == before


@pytest.mark.parametrize("version", VERSIONS)
def test_where_no_batch_begins_all_partitions_are_refused(wire, topic, version):
    before = offset_of(wire, topic)
    named = ((topic, ONE), (Topic("never-created", b"\x05" * 16), bytes(61)))
    data = tuple(TopicProduceData(*one, (PartitionProduceData(0, sent),)) for one, sent in named)
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=data)
    answered = wire.call(PRODUCE, version, request).responses
    assert [p.error_code for t in answered for p in t.partition_responses] == [
        ErrorCode.CORRUPT_MESSAGE
    ] * 2
    assert offset_of(wire, topic) == before


@pytest.mark.parametrize("size", [1, 12, 17, len(ONE) - 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_cut_off_behind_a_batch_is_dropped(wire, version, size):
    topic = create_topic(wire)
    for base_offset in (0, 1):
        response = produce_to(wire, topic, ONE + ONE[:size], version=version)
        assert (response.error_code, response.base_offset) == (ErrorCode.NONE, base_offset)
    assert len(fetch_from(wire, topic).records) == 2 * len(ONE)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("version", PRODUCE.versions)
def test_every_codec_is_taken_from_the_version_that_knows_it(wire, topic, version, codec):
    data = batch(b"value" * 100, options=BatchOptions(codec=codec))
    response = produce_to(wire, topic, data, version=version)
    is_known = codec is not Codec.ZSTD or version >= 7
    assert response.error_code == (
        ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    )


def test_the_largest_batch_that_is_taken(wire):
    topic = create_topic(wire, max_message_bytes="2000")
    overhead = len(batch(b"x" * 1000)) - 1000
    exact, one_more = batch(b"x" * (2000 - overhead)), batch(b"x" * (2001 - overhead))
    assert (len(exact), len(one_more)) == (2000, 2001)
    assert produce_to(wire, topic, exact).error_code == ErrorCode.NONE
    assert produce_to(wire, topic, one_more).error_code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("told", [-1, BASE_TIMESTAMP + 3_600_000])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_the_largest_timestamp_is_that_of_the_records(wire, codec, told):
    """Retention and the search by time would believe a header that tells another."""
    topic = create_topic(wire)
    honest = batch(b"a", b"b", options=BatchOptions(codec=codec))
    assert not produce_to(wire, topic, changed(honest, MAX_TIMESTAMP_AT, ">q", told)).error_code
    stored = fetch_from(wire, topic).records
    assert read_header(stored).max_timestamp == BASE_TIMESTAMP + 1
    assert [record.value for record in records_in(stored)] == [b"a", b"b"]
    assert offset_of(wire, topic, BASE_TIMESTAMP + 2) == (-1, -1)


# -- topic configs that change what is stored ----------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_log_append_time_replaces_the_producers_timestamps(wire, version):
    topic = create_topic(wire, message_timestamp_type="LogAppendTime")
    response = produce_to(wire, topic, batch(b"a", b"b"), version=version)
    appended_at = response.log_append_time_ms
    assert appended_at > BASE_TIMESTAMP
    stored = records_in(fetch_from(wire, topic).records)
    assert [record.timestamp for record in stored] == [appended_at, appended_at]
    assert offset_of(wire, topic, appended_at) == (0, appended_at)


STORED_AS = {
    "producer": (Codec.LZ4, Codec.LZ4),
    "uncompressed": (Codec.LZ4, Codec.NONE),
    "gzip": (Codec.NONE, Codec.GZIP),
    "snappy": (Codec.GZIP, Codec.SNAPPY),
    "lz4": (Codec.ZSTD, Codec.LZ4),
    "zstd": (Codec.SNAPPY, Codec.ZSTD),
}


@pytest.mark.parametrize("compression_type", STORED_AS)
def test_compression_type_decides_how_batches_are_stored(wire, compression_type):
    sent_as, stored_as = STORED_AS[compression_type]
    topic = create_topic(wire, compression_type=compression_type)
    sent = [Record(i, BASE_TIMESTAMP + i, b"k", b"v" * 50, (("h", b"%d" % i),)) for i in range(20)]
    produce_to(wire, topic, encode_batch(sent, BatchOptions(codec=sent_as)))
    data = fetch_from(wire, topic).records
    assert data[22] & 0x07 == stored_as
    assert records_in(data) == sent


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_compacted_topic_needs_keys(wire, version, codec):
    topic = create_topic(wire, cleanup_policy="compact")
    options = BatchOptions(codec=codec)
    without_key = batch(b"a", options=options, key=None)
    response = produce_to(wire, topic, without_key, version=version)
    assert response.error_code == ErrorCode.INVALID_RECORD
    assert produce_to(wire, topic, batch(b"a", options=options), version=version).base_offset == 0
