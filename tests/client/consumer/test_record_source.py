"""Records out of fetched bytes: the fast way and the complete way agree; what is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.client.consumer.ordinary_records import Origin, read_ordinary
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.consumer.record_source import Reading, RecordSource
from drumbeat.client.errors import CorruptRecordError, RecordTooLargeError
from drumbeat.client.values import ConsumerRecord, TimestampType, TopicPartition
from drumbeat.protocol.apis.fetch import AbortedTransaction, PartitionData
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import iter_headers, read_header, with_log_append_time
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    encode_batch,
    encode_control_batch,
)

TP = TopicPartition("t", 3)
PLAIN = Reading(False, True, None, None)
COMMITTED = Reading(True, True, None, None)


def source(data: bytes, *, offset: int = 0, reading: Reading = PLAIN, **fields) -> RecordSource:
    state = PartitionState(TP)
    state.seek(offset)
    return RecordSource(state, offset, PartitionData(records=data, **fields), reading)


def values(taken: list[ConsumerRecord]) -> list[bytes]:
    return [record.value for record in taken]


def batch(first: int, *written: bytes, **options) -> bytes:
    records = [Record(first + i, 10 + i, b"k", value) for i, value in enumerate(written)]
    return encode_batch(records, BatchOptions(partition_leader_epoch=4, **options))


# -- two ways to read ----------------------------------------------------------------------------

FIELDS = st.one_of(
    st.none(), st.binary(max_size=200), st.integers(0, 20_000).map(lambda size: b"x" * size)
)
HEADERS = st.one_of(
    st.just(()), st.lists(st.tuples(st.text(max_size=5), FIELDS), max_size=2).map(tuple)
)
ROWS = st.tuples(st.integers(0, 3), st.integers(-5, 20_000), FIELDS, FIELDS, HEADERS)


@given(st.lists(ROWS, min_size=1, max_size=8), st.integers(0, 2**40), st.sampled_from(Codec))
def test_whatever_is_in_a_batch_comes_out(rows, base_offset: int, codec: Codec):
    written, offset = [], base_offset
    for gap, delta, key, value, headers in rows:
        written.append(Record(offset + gap, 1_000 + delta, key, value, headers))
        offset += gap + 1
    data = encode_batch(written, BatchOptions(codec=codec, base_offset=base_offset))
    taken = source(data, offset=base_offset).take(100)
    assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in taken] == written
    assert all(
        (r.serialized_key_size, r.serialized_value_size)
        == (-1 if r.key is None else len(r.key), -1 if r.value is None else len(r.value))
        for r in taken
    )


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 9_000])
def test_offsets_of_every_width(count: int):
    data = encode_batch([Record(7 + i, 10, b"k", b"v") for i in range(count)])
    origin = Origin("t", 3, TimestampType.CREATE_TIME, -1)
    records = read_ordinary(data, 0, read_header(data), origin)
    assert records is not None
    assert [record.offset for record in records] == list(range(7, 7 + count))
    assert records == source(data, offset=7).take(count)


@given(st.integers(61, 200), st.integers(0, 255))
def test_damage_is_not_taken_for_records(position: int, byte: int):
    data = bytearray(batch(0, *[b"value %d" % i for i in range(8)]))
    position = min(position, len(data) - 1)
    is_changed = data[position] != byte
    data[position] = byte
    reader = source(bytes(data))
    if is_changed:
        with pytest.raises(CorruptRecordError, match=r"t-3: .* offset 0 .*CRC-32C.*seek"):
            reader.take(10)
    else:
        assert len(reader.take(10)) == 8


@given(st.integers(61, 200), st.integers(0, 255))
def test_unchecked_damage_does_no_harm(position: int, byte: int):
    """Without check_crcs it yields records or says what is wrong, and ends."""
    data = bytearray(batch(0, *[b"value %d" % i for i in range(8)]))
    data[min(position, len(data) - 1)] = byte
    try:
        taken = source(bytes(data), reading=PLAIN._replace(check_crcs=False)).take(100)
    except CorruptRecordError:
        return
    assert [record.offset for record in taken] == sorted({record.offset for record in taken})


# -- taking --------------------------------------------------------------------------------------


def test_positions_while_records_are_taken():
    data = batch(5, b"a", b"b") + batch(9, b"c", b"d")
    reader = source(data, offset=6)
    assert reader.end_offset == 11
    assert values(reader.take(2)) == [b"b", b"c"]
    assert (reader.next_offset, reader.leader_epoch, reader.is_exhausted) == (10, 4, False)
    reader.unread(1)
    assert reader.next_offset == 9
    assert values(reader.take(9)) == [b"c", b"d"]
    assert (reader.next_offset, reader.is_exhausted, reader.take(9)) == (11, True, [])


def test_a_batch_ends_where_its_header_says():
    """Compaction removes records, also the last; the offsets stay."""
    records = [Record(0, 1, None, b"a"), Record(4, 1, None, b"b")]
    kept = encode_batch(records)
    shortened = encode_batch(records[:1]) + batch(9, b"c")
    assert source(kept).end_offset == 5
    reader = source(shortened)
    assert values(reader.take(9)) == [b"a", b"c"]


def test_log_append_time():
    (record,) = source(with_log_append_time(batch(0, b"a"), 77)).take(1)
    assert (record.timestamp, record.timestamp_type) == (77, TimestampType.LOG_APPEND_TIME)


def test_a_cut_off_batch_is_left_for_the_next_fetch():
    data = batch(0, b"a") + batch(1, b"b")
    assert values(source(data[:-1]).take(9)) == [b"a"]
    with pytest.raises(RecordTooLargeError, match="max_partition_fetch_bytes"):
        source(batch(0, b"x" * 100)[:-1]).take(9)


def test_a_bad_batch_is_reported_when_it_is_reached():
    good, bad = batch(0, b"a"), bytearray(batch(1, b"b"))
    bad[-2] ^= 1
    reader = source(good + bytes(bad))
    assert values(reader.take(9)) == [b"a"]
    for _ in range(2):
        with pytest.raises(CorruptRecordError, match="offset 1"):
            reader.take(9)
    assert reader.next_offset == 1


# -- transactions --------------------------------------------------------------------------------


def transactional(first: int, producer_id: int, value: bytes) -> bytes:
    return batch(first, value, producer_id=producer_id, producer_epoch=0, is_transactional=True)


def marker(offset: int, producer_id: int, kind: ControlRecordType) -> bytes:
    return encode_control_batch(
        kind,
        coordinator_epoch=0,
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=1,
        base_offset=offset,
    )


ABORT, COMMIT = ControlRecordType.ABORT, ControlRecordType.COMMIT
LOG = b"".join(
    (
        transactional(0, 1, b"one, aborted"),
        transactional(1, 2, b"two, committed"),
        batch(2, b"plain"),
        marker(3, 1, ABORT),
        transactional(4, 1, b"one again, committed"),
        marker(5, 2, COMMIT),
        marker(6, 1, COMMIT),
        transactional(7, 2, b"two again, aborted"),
        marker(8, 2, ABORT),
    )
)
ABORTED = (AbortedTransaction(2, 7), AbortedTransaction(1, 0))


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (COMMITTED, [b"two, committed", b"plain", b"one again, committed"]),
        (
            PLAIN,
            [
                b"one, aborted",
                b"two, committed",
                b"plain",
                b"one again, committed",
                b"two again, aborted",
            ],
        ),
    ],
)
def test_isolation(reading: Reading, expected: list[bytes]):
    reader = source(LOG, reading=reading, aborted_transactions=ABORTED)
    assert values(reader.take(1)) + values(reader.take(99)) == expected
    assert (reader.take(99), reader.next_offset, reader.is_exhausted) == ([], 9, True)


def test_headers_are_walked_once():
    assert len(list(iter_headers(LOG))) == 9
