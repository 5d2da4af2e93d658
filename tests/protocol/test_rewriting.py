"""Batches that lose records keep everything else."""

import pytest

from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import check_crc, read_header, seal
from drumbeat.protocol.records import (
    BatchOptions,
    Record,
    decode_records,
    decode_rows,
    encode_batch,
)
from drumbeat.protocol.rewriting import empty_batch, retain_records

RECORDS = [
    Record(100, 5_000, b"a", b"1", (("h", b"x"),)),
    Record(101, 4_000, b"b", None),
    Record(103, 6_000, None, b"3"),
]
OPTIONS = BatchOptions(
    partition_leader_epoch=7,
    producer_id=11,
    producer_epoch=2,
    base_sequence=40,
    is_transactional=True,
)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("horizon_ms", [None, 0, 9_000, 10**15])
@pytest.mark.parametrize("kept", [[0], [1], [2], [0, 2], [0, 1, 2]])
def test_a_batch_with_fewer_records(codec, horizon_ms, kept):
    original = encode_batch(RECORDS, OPTIONS._replace(codec=codec))
    before = read_header(original)
    rows = decode_rows(original, before)
    found = retain_records(before, [rows[n] for n in kept], horizon_ms)
    after = read_header(found)
    check_crc(found, 0, after)
    assert decode_records(found) == [RECORDS[n] for n in kept]
    assert after.delete_horizon_ms == horizon_ms
    assert after.max_timestamp == max(RECORDS[n].timestamp for n in kept)
    assert after.record_count == len(kept)
    assert after.codec is codec
    unchanged = ("base_offset", "last_offset", "last_sequence", "producer_epoch", "producer_id")
    for name in (*unchanged, "partition_leader_epoch", "is_transactional", "is_control"):
        assert getattr(after, name) == getattr(before, name)


def test_a_horizon_that_is_taken_away_leaves_no_flag():
    before = read_header(encode_batch(RECORDS, OPTIONS))
    with_horizon = retain_records(before, RECORDS, 9_000)
    without = retain_records(read_header(with_horizon), RECORDS, None)
    assert without == encode_batch(RECORDS, OPTIONS)


def test_log_append_time_stays_every_records_time():
    original = encode_batch(RECORDS, OPTIONS._replace(is_log_append_time=True))
    before = read_header(original)
    found = retain_records(before, decode_rows(original, before)[:1], 9_000)
    assert [record.timestamp for record in decode_records(found)] == [before.max_timestamp]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_without_records(codec):
    before = read_header(encode_batch(RECORDS, OPTIONS._replace(codec=codec)))
    found = empty_batch(before)
    after = read_header(found)
    check_crc(found, 0, after)
    assert decode_records(found) == []
    assert (after.size, after.codec, after.base_timestamp) == (61, Codec.NONE, -1)
    assert after.max_timestamp == before.max_timestamp
    assert (after.last_offset, after.last_sequence) == (before.last_offset, before.last_sequence)


def test_sealing_a_batch_gives_it_length_and_checksum():
    original = encode_batch(RECORDS, OPTIONS)
    header = read_header(original)._replace(batch_length=0, crc=0)
    assert seal(header, original[61:]) == original
