"""Fetched bytes to rows: the records that the protocol's own reader finds, minus what is void."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.client.errors import CorruptRecordError
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.sources.broker_records import ROWS, record_rows
from drumbeat.pipeline.sources.fetching import Fetched
from drumbeat.protocol.apis.fetch import AbortedTransaction
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    encode_batch,
    encode_control_batch,
)

TP = TopicPartition("t", 3)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVERYTHING = OffsetRange(0, 1 << 60)


def rows_of(data, wanted=EVERYTHING, aborted=(), includes_headers=True):
    fetched = Fetched(data, aborted, 0, 0, 0)
    found = record_rows(fetched, TP, wanted, includes_headers=includes_headers)
    rows = []
    for batch in found:
        batch.validate(full=True)
        rows += batch.to_pylist()
    return rows


def row_of(record, timestamp_type=0):
    return {
        "key": record.key,
        "value": record.value,
        "topic": "t",
        "partition": 3,
        "offset": record.offset,
        "timestamp": EPOCH + timedelta(milliseconds=record.timestamp),
        "timestampType": timestamp_type,
        "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
    }


BYTES = st.one_of(st.none(), st.binary(max_size=300))
HEADERS = st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=4).map(tuple)
CONTENTS = st.tuples(st.integers(0, 10**12), BYTES, BYTES, HEADERS)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.lists(CONTENTS, min_size=1, max_size=5), st.sampled_from(Codec))),
    st.data(),
)
def test_rows_are_the_records_within_the_offsets(batches, data):
    offset, records, encoded = 0, [], []
    for contents, codec in batches:
        some = [Record(offset + place, *content) for place, content in enumerate(contents)]
        encoded.append(encode_batch(some, BatchOptions(codec=codec)))
        records += some
        offset += len(some)
    start, end = sorted(data.draw(st.tuples(st.integers(0, offset), st.integers(0, offset))))
    expected = [row_of(record) for record in records[start:end]]
    assert rows_of(b"".join(encoded), OffsetRange(start, end)) == expected


def test_the_brokers_time_if_the_topic_says_so():
    records = [Record(0, 50, None, b"a"), Record(1, 70, None, b"b")]
    data = encode_batch(records, BatchOptions(is_log_append_time=True))
    found = rows_of(data)
    assert found == [row_of(record._replace(timestamp=70), 1) for record in records]


def test_headers_are_left_out_unless_wanted():
    data = encode_batch([Record(0, 1, b"k", b"v", (("h", b"x"),))])
    (row,) = rows_of(data, includes_headers=False)
    assert set(row) == set(ROWS.names)


class Log:
    """Batches one after the other, as transactions leave them."""

    def __init__(self):
        self.data = b""
        self.offset = 0

    def put(self, *values, producer_id=-1):
        options = BatchOptions(producer_id=producer_id, is_transactional=producer_id >= 0)
        records = [
            Record(self.offset + place, 1, None, value) for place, value in enumerate(values)
        ]
        self.data += encode_batch(records, options)
        self.offset += len(values)
        return self

    def end(self, kind, producer_id):
        self.data += encode_control_batch(
            kind,
            coordinator_epoch=0,
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=1,
            base_offset=self.offset,
        )
        self.offset += 1
        return self


COMMIT, ABORT = ControlRecordType.COMMIT, ControlRecordType.ABORT
INTERLEAVED = (
    Log()
    .put(b"plain")
    .put(b"a1", producer_id=7)  # offset 1, aborted at 5
    .put(b"b1", b"b2", producer_id=8)
    .put(b"a2", producer_id=7)
    .end(ABORT, 7)
    .put(b"a3", producer_id=7)  # offset 6: the next transaction of the same producer
    .end(COMMIT, 8)
    .put(b"b3", producer_id=8)  # offset 8, aborted at 10
    .end(COMMIT, 7)
    .end(ABORT, 8)
    .put(b"last")
)
BOTH_ABORTED = (AbortedTransaction(8, 8), AbortedTransaction(7, 1))
VISIBLE = [
    ((), [b"plain", b"a1", b"b1", b"b2", b"a2", b"a3", b"b3", b"last"]),
    (BOTH_ABORTED, [b"plain", b"b1", b"b2", b"a3", b"last"]),
    (BOTH_ABORTED[1:], [b"plain", b"b1", b"b2", b"a3", b"b3", b"last"]),
]


@pytest.mark.parametrize(("aborted", "expected"), VISIBLE)
def test_what_was_aborted_is_void_and_markers_are_no_rows(aborted, expected):
    assert [row["value"] for row in rows_of(INTERLEAVED.data, aborted=aborted)] == expected


def test_a_response_that_begins_within_an_aborted_transaction():
    log = Log()
    log.offset = 40
    log.put(b"void", producer_id=7).end(ABORT, 7).put(b"kept", producer_id=7)
    found = rows_of(log.data, aborted=(AbortedTransaction(7, 12),))
    assert [row["value"] for row in found] == [b"kept"]


def test_damage_is_told_after_what_is_sound():
    good = encode_batch([Record(0, 1, None, b"good")])
    bad = bytearray(encode_batch([Record(1, 1, None, b"bad")]))
    bad[-1] ^= 1
    fetched = Fetched(good + bytes(bad), (), 0, 0, 0)
    found = record_rows(fetched, TP, EVERYTHING, includes_headers=False)
    assert next(found).column("value").to_pylist() == [b"good"]
    with pytest.raises(CorruptRecordError, match=r"t-3: a fetched batch cannot be read: .* CRC"):
        next(found)


def test_a_header_key_that_is_no_text():
    data = encode_batch([Record(0, 1, None, b"v", (("\udcff\udcfe!", b"x"),))])
    (row,) = rows_of(data)
    assert row["headers"] == [{"key": "\ufffd\ufffd!", "value": b"x"}]
