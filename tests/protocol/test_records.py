"""Records: Kafka's own bytes, two foreign implementations, and every refusal."""

from __future__ import annotations

import struct
import warnings
from contextlib import suppress

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.protocol.compression import Codec, compress
from drumbeat.protocol.record_batch import (
    BatchHeader,
    CorruptBatch,
    assign,
    check_crc,
    read_header,
    with_log_append_time,
)
from drumbeat.protocol.record_section import read_record
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    control_record_type,
    decode_records,
    encode_batch,
    encode_control_batch,
)
from drumbeat.protocol.varint import encode_varint, encode_varlong

with warnings.catch_warnings():
    # kafka-python loads its schemas through a deprecated importlib call.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
    from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

NOW = 1_700_000_000_123

# Written by Apache Kafka 4.3.1's Java classes: leader epoch 5, producer 7, epoch 3, sequence 11.
KAFKA_RECORDS = [
    Record(42, NOW, b"k", b"value value value value value value"),
    Record(43, NOW - 3, None, None),
    Record(44, NOW + 9000, b"", b"v" * 200, (("\u00e9", b"x"), ("n", None))),
]
KAFKA_BATCHES = {
    Codec.NONE: bytes.fromhex(
        "000000000000002a0000013e00000005028f9a090b0000000000020000018bcfe5687b0000018bcfe58b"
        "a3000000000000000700030000000b0000000354000000026b4676616c75652076616c75652076616c75"
        "652076616c75652076616c75652076616c7565000c000502010100b20300d08c01040090037676767676"
        "767676767676767676767676767676767676767676767676767676767676767676767676767676767676"
        "767676767676767676767676767676767676767676767676767676767676767676767676767676767676"
        "767676767676767676767676767676767676767676767676767676767676767676767676767676767676"
        "767676767676767676767676767676767676767676767676767676767676767676767676767676767676"
        "7676767676767676767676767676767676767676767676767676760404c3a90278026e01"
    ),
    Codec.GZIP: bytes.fromhex(
        "000000000000002a000000720000000502dbba8eeb0001000000020000018bcfe5687b0000018bcfe58b"
        "a3000000000000000700030000000b000000031f8b08000000000000ff0b61606060ca762b4bcc294d55"
        "c04b32f030b0323132326c6266b8d0c3c8c23081b96c98001696c32b992a98f2180124ee5bbd0d010000"
    ),
    Codec.SNAPPY: bytes.fromhex(
        "000000000000002a00000081000000050225077d4f0002000000020000018bcfe5687b0000018bcfe58b"
        "a3000000000000000700030000000b0000000382534e415050590000000001000000010000003c8d0230"
        "54000000026b4676616c75652072060048000c000502010100b20300d08c010400900376fe0100fe0100"
        "fe01000d01200404c3a90278026e01"
    ),
    Codec.LZ4: bytes.fromhex(
        "000000000000002a0000007300000005027f0f3a240003000000020000018bcfe5687b0000018bcfe58b"
        "a3000000000000000700030000000b0000000304224d1860408233000000df54000000026b4676616c75"
        "652006000aff04000c000502010100b20300d08c0104009003760100b4900404c3a90278026e01000000"
        "00"
    ),
    Codec.ZSTD: bytes.fromhex(
        "000000000000002a0000007000000005029b6791680004000000020000018bcfe5687b0000018bcfe58b"
        "a3000000000000000700030000000b0000000328b52ffd00589c0100940254000000026b4676616c7565"
        "20000c000502010100b20300d08c0104009003760404c3a90278026e01020089382acc5dbe010000"
    ),
}
KAFKA_COMMIT_MARKER = bytes.fromhex(
    "0000000000000009000000420000000502f9c8079c0030000000000000018bcfe568000000018bcfe568"
    "0000000000000000070003ffffffff000000012000000008000000010c00000000001500"
)


@pytest.mark.parametrize("codec", Codec)
def test_kafkas_own_batches_are_read(codec):
    batch = KAFKA_BATCHES[codec]
    check_crc(batch, 0, read_header(batch))
    for wrap in (bytes, bytearray, memoryview):
        assert decode_records(wrap(batch)) == KAFKA_RECORDS


# gzip and zstd leave the encoder room; the bytes of the others are settled.
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.SNAPPY, Codec.LZ4])
def test_kafkas_own_batches_are_written(codec):
    options = BatchOptions(
        codec=codec,
        partition_leader_epoch=5,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
    )
    assert encode_batch(KAFKA_RECORDS, options) == KAFKA_BATCHES[codec]


def test_kafkas_own_commit_marker():
    (record,) = decode_records(KAFKA_COMMIT_MARKER)
    assert control_record_type(record) is ControlRecordType.COMMIT
    marker = encode_control_batch(
        ControlRecordType.COMMIT,
        coordinator_epoch=21,
        producer_id=7,
        producer_epoch=3,
        timestamp=1_700_000_000_000,
    )
    assert assign(marker, 9, 5) == KAFKA_COMMIT_MARKER


CONTROL_KEYS = [
    (struct.pack(">hh", 0, 0), ControlRecordType.ABORT),
    (struct.pack(">hh", 0, 1), ControlRecordType.COMMIT),
    (struct.pack(">hhi", 1, 1, 99), ControlRecordType.COMMIT),
    (struct.pack(">hh", 0, 2), None),
    (struct.pack(">hh", 0, -1), None),
]


@pytest.mark.parametrize(("key", "expected"), CONTROL_KEYS)
def test_control_types(key, expected):
    assert control_record_type(Record(0, NOW, key, b"")) is expected


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00"])
def test_a_control_record_without_a_type_is_corrupt(key):
    with pytest.raises(CorruptBatch, match="control record at offset 8"):
        control_record_type(Record(8, NOW, key, b""))


# What the oracles agree to write: offsets from 0, as a producer has them.
MIXED = [
    Record(0, NOW, b"key", b"value"),
    Record(1, NOW + 63, None, b"v" * 63),
    Record(2, NOW + 64, b"k" * 64, None),
    Record(3, NOW - 10_000, b"", b""),
    Record(4, NOW + 8192, b"k" * 8191, b"v" * 8192),
    Record(5, NOW + 2**33, b"k", b"v" * 70_000, (("h", b"1"), ("h", None), ("", b""))),
    *(Record(n, NOW + n, b"%d" % n, b"text " * (n % 40)) for n in range(6, 300)),
]
ORDINARY = [
    Record(0, NOW, b"k", b"v"),
    Record(1, NOW - 1, None, b"v" * 70),
    Record(2, NOW + 90, b"", None, (("h", b"1"),)),
    Record(70, NOW, b"k", b"", (("h", None), ("i", b""))),
]
# kafka-python has no snappy without another package.
ORACLES = [
    (AiokafkaBuilder, AiokafkaBatch, list(Codec)),
    (KafkaPythonBuilder, KafkaPythonBatch, [c for c in Codec if c is not Codec.SNAPPY]),
]
ORACLE_CASES = [(*oracle[:2], codec) for oracle in ORACLES for codec in oracle[2]]


def build_with(builder_class, codec: Codec) -> bytes:
    builder = builder_class(
        magic=2,
        compression_type=int(codec),
        is_transactional=1,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        batch_size=1 << 24,
    )
    for record in MIXED:
        builder.append(*record[:4], list(record.headers))
    return bytes(builder.build())


@pytest.mark.parametrize(("builder", "reader", "codec"), ORACLE_CASES)
def test_foreign_batches_are_read(builder, reader, codec):
    batch = build_with(builder, codec)
    assert read_header(batch).codec is codec
    assert decode_records(batch) == MIXED


@pytest.mark.parametrize(("builder", "reader", "codec"), ORACLE_CASES)
def test_foreign_readers_read_ours(builder, reader, codec):
    foreign = reader(encode_batch(MIXED, BatchOptions(codec=codec)))
    assert foreign.validate_crc()
    assert [
        (record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
        for record in foreign
    ] == MIXED


@pytest.mark.parametrize("builder", [AiokafkaBuilder, KafkaPythonBuilder])
def test_uncompressed_bytes_are_those_of_other_clients(builder):
    foreign = build_with(builder, Codec.NONE)
    options = BatchOptions(
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=2**31 - 2,
        is_transactional=True,
        partition_leader_epoch=read_header(foreign).partition_leader_epoch,
    )
    assert encode_batch(MIXED, options) == foreign


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
blobs = st.none() | st.binary(max_size=80) | st.just(b"x" * 9000)
timestamps = st.integers(-(2**40), 2**43) | st.integers(NOW, NOW + 200)
headers = st.lists(st.tuples(texts, st.none() | st.binary(max_size=5)), max_size=3).map(tuple)
bodies = st.tuples(st.integers(1, 200_000), timestamps, blobs, blobs, headers)


@st.composite
def record_lists(draw) -> list[Record]:
    offset = draw(st.integers(0, 2**50))
    records = []
    for gap, *body in draw(st.lists(bodies, min_size=1, max_size=30)):
        records.append(Record(offset, *body))
        offset += gap
    return records


@given(record_lists(), st.sampled_from(Codec), st.integers(0, 1000))
def test_round_trip(records, codec, lead):
    base_offset = records[0].offset - lead
    batch = encode_batch(records, BatchOptions(codec=codec, base_offset=base_offset))
    read = read_header(batch)
    check_crc(batch, 0, read)
    assert (read.base_offset, read.last_offset) == (base_offset, records[-1].offset)
    assert read.max_timestamp == max(record.timestamp for record in records)
    assert decode_records(batch) == records


OPTIONS = [
    ({}, "is_transactional is_control is_log_append_time", (False, False, False)),
    ({"is_transactional": True}, "is_transactional is_control", (True, False)),
    ({"is_control": True}, "is_transactional is_control", (False, True)),
    ({"is_log_append_time": True}, "is_log_append_time is_control", (True, False)),
    (
        {"producer_id": 5, "producer_epoch": 6, "base_sequence": 2**31 - 1},
        "producer_id producer_epoch base_sequence last_sequence",
        (5, 6, 2**31 - 1, 1),
    ),
    ({"partition_leader_epoch": 3}, "partition_leader_epoch producer_id", (3, -1)),
]


@pytest.mark.parametrize(("options", "names", "values"), OPTIONS)
def test_options_reach_the_header(options, names, values):
    batch = encode_batch(KAFKA_RECORDS, BatchOptions(**options))
    assert tuple(getattr(read_header(batch), name) for name in names.split()) == values


@pytest.mark.parametrize("codec", Codec)
def test_log_append_time_overrides_each_records_own(codec):
    batch = with_log_append_time(encode_batch(MIXED, BatchOptions(codec=codec)), NOW + 5)
    assert decode_records(batch) == [record._replace(timestamp=NOW + 5) for record in MIXED]


def test_header_keys_that_are_not_utf8_survive_a_rewrite():
    batch = batch_of(record_bytes(headers=b"\x02\x04\xff\xfe\x01"))
    (record,) = decode_records(batch)
    assert record.headers == (("\udcff\udcfe", None),)
    assert encode_batch([record])[61:] == batch[61:]


def test_varints_longer_than_they_need_to_be_are_read():
    """The second one would make sense, if another, to a reader that stops after two bytes."""
    two_bytes = batch_of(record_bytes(key=b"\x82\x00k"))
    assert decode_records(two_bytes) == [Record(0, NOW, b"k", b"v")]
    three_bytes = batch_of(record_bytes(value=b"\x02\x00", timestamp_delta=b"\x80\x80\x00"))
    assert decode_records(three_bytes) == [Record(0, NOW, b"k", b"\x00")]


UNENCODABLE = [
    ([], {}, "at least one record"),
    ([Record(5, NOW, None, None)] * 2, {}, "offset 5 does not rise"),
    ([Record(5, NOW, None, None), Record(4, NOW, None, None)], {}, "offset 4 does not rise"),
    ([Record(5, NOW, None, None)], {"base_offset": 6}, "offset 5 does not rise"),
    ([Record(0, NOW, None, None), Record(2**31, NOW, None, None)], {}, "limit is 2147483647"),
]


@pytest.mark.parametrize(("records", "options", "cause"), UNENCODABLE)
def test_what_no_batch_can_hold_is_not_encoded(records, options, cause):
    with pytest.raises(ValueError, match=cause):
        encode_batch(records, BatchOptions(**options))


def test_the_widest_batch_holds():
    records = [Record(7, NOW, None, None), Record(7 + 2**31 - 1, NOW, None, None)]
    assert decode_records(encode_batch(records)) == records


def record_bytes(
    offset_delta: int = 0,
    key: bytes = b"\x02k",
    value: bytes = b"\x02v",
    headers: bytes = b"\x00",
    timestamp_delta: bytes = b"\x00",
    length: int | None = None,
) -> bytes:
    body = b"\x00" + timestamp_delta + encode_varint(offset_delta) + key + value + headers
    return encode_varint(len(body) if length is None else length) + body


def batch_of(*records: bytes, count: int | None = None, last: int = 9, codec=Codec.NONE) -> bytes:
    section = b"".join(records)
    section = section if codec is Codec.NONE else compress(codec, section)
    counted = len(records) if count is None else count
    return (
        struct.pack(
            ">qiibIhiqqqhii",
            0,
            49 + len(section),
            0,
            2,
            0,
            codec,
            last,
            NOW,
            NOW,
            -1,
            -1,
            -1,
            counted,
        )
        + section
    )


GOOD = record_bytes()
LONG = record_bytes(timestamp_delta=encode_varlong(10**12))  # not for the inlined loop

MALFORMED = [
    ([GOOD], {"count": 2}, "2 records declared in 9 bytes"),
    ([GOOD], {"count": 2**31 - 1}, "2147483647 records declared"),
    ([GOOD], {"count": 0}, "9 bytes after the last record"),
    ([GOOD, record_bytes(1)], {"count": 1}, "9 bytes after the last record"),
    ([GOOD + b"\x00"], {"count": 1}, "1 bytes after the last record"),
    ([LONG + b"\x00"], {"count": 1}, "1 bytes after the last record"),
    ([GOOD, record_bytes(0)], {}, "offset 0 does not rise"),
    ([LONG, record_bytes(0)], {}, "offset 0 does not rise"),
    ([record_bytes(3), LONG], {}, "offset 0 does not rise"),
    ([record_bytes(-1)], {}, "offset -1 does not rise"),
    ([record_bytes(10)], {}, "offset 10 in a batch up to 9"),
    ([record_bytes(length=-1)], {}, "record 1 of 1: length -1"),
    ([record_bytes(length=-100)], {}, "record 1 of 1: length -100"),
    ([record_bytes(length=7)], {}, "header count 0 with -1 bytes left"),
    ([record_bytes(length=9)], {}, "length 9 with 8 bytes left"),
    ([record_bytes(length=9) + b"\x00"], {}, "length 9, but its fields take 8"),
    ([record_bytes(length=2**31 - 1)], {}, "length 2147483647 with 8 bytes left"),
    ([record_bytes(key=b"\x03k")], {}, "key length -2"),
    ([record_bytes(key=b"\xff\xff\xff\xff\x0fk")], {}, "key length -2147483648"),
    ([record_bytes(key=b"\x0ek")], {}, "key length 7 with 4 bytes left"),
    ([record_bytes(key=b"\xfe\xff\xff\xff\x0fk")], {}, "key length 2147483647"),
    ([record_bytes(value=b"\x03v")], {}, "value length -2"),
    ([record_bytes(value=b"\x05v")], {}, "value length -3"),
    ([record_bytes(value=b"\x06v")], {}, "value length 3 with 2 bytes left"),
    ([record_bytes(headers=b"\x01")], {}, "header count -1"),
    ([record_bytes(headers=b"\x02")], {}, "header count 1 with 0 bytes left"),
    ([record_bytes(headers=b"\xfe\xff\xff\xff\x0f")], {}, "header count 2147483647"),
    ([record_bytes(headers=b"\x02\x01\x01")], {}, "header key is null"),
    ([record_bytes(headers=b"\x02\x03\x01")], {}, "header key length -2"),
    ([record_bytes(headers=b"\x02\x06h\x01")], {}, "header key length 3 with 2 bytes left"),
    ([record_bytes(headers=b"\x02\x02h\x05")], {}, "header value length -3"),
    ([record_bytes(headers=b"\x02\x02h\x04v")], {}, "header value length 2 with 1 bytes left"),
    ([record_bytes(headers=b"\x02\x02h\x0cv", length=17)], {}, "length 17 with 12 bytes left"),
    ([record_bytes(key=b"\x80\x80\x80\x80\x80\x00")], {}, "longer than 5 bytes"),
    ([record_bytes(timestamp_delta=b"\x80" * 10 + b"\x00")], {}, "longer than 10 bytes"),
    ([b"\x80" * 9], {}, "longer than 5 bytes"),
    ([GOOD, b"\xfe" * 4 + b"\x00" * 5], {}, "record 2 of 2: "),
]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize(("records", "options", "cause"), MALFORMED)
def test_malformed_records_are_named(records, options, cause, codec):
    with pytest.raises(CorruptBatch, match=cause):
        decode_records(batch_of(*records, **options, codec=codec))


@pytest.mark.parametrize("codec", Codec)
def test_an_emptied_batch_has_no_records(codec):
    """Compaction may leave a header alone, to remember a producer's last sequence."""
    empty = bytearray(batch_of())
    struct.pack_into(">h", empty, 21, codec)
    assert decode_records(empty) == []


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_cut_anywhere_is_corrupt(codec):
    """Once as it is, once with the length adjusted, so that the records themselves end early."""
    batch = encode_batch(KAFKA_RECORDS, BatchOptions(codec=codec))
    for end in range(len(batch)):
        with pytest.raises(CorruptBatch):
            decode_records(batch[:end])
        if end >= 61:
            cut = bytearray(batch[:end])
            struct.pack_into(">i", cut, 8, end - 12)
            with pytest.raises(CorruptBatch):
                decode_records(cut)


def test_bytes_beyond_the_batch_are_refused():
    batch = encode_batch(KAFKA_RECORDS)
    with pytest.raises(CorruptBatch, match=f"{len(batch) + 1} bytes given"):
        decode_records(batch + b"\x00")


edits = st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=4)


@given(st.sampled_from(Codec), edits)
def test_any_damage_gives_records_or_the_one_error(codec, edits):
    damaged = bytearray(KAFKA_BATCHES[codec])
    for position, byte in edits:
        damaged[position % len(damaged)] = byte
    with suppress(CorruptBatch):
        assert len(decode_records(damaged)) == read_header(damaged).record_count


def read_plainly(section: bytes, header: BatchHeader) -> list[tuple]:
    rows, position = [], 0
    for _ in range(header.record_count):
        row, position = read_record(section, position, header)
        rows.append(row)
    return rows


@settings(max_examples=400)
@given(edits)
def test_the_inlined_loop_accepts_only_what_the_plain_reader_does(edits):
    damaged = bytearray(encode_batch(ORDINARY))
    for position, byte in edits:
        damaged[61 + position % (len(damaged) - 61)] = byte
    with suppress(CorruptBatch):
        records = decode_records(damaged)
        assert records == read_plainly(bytes(damaged[61:]), read_header(damaged))


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE])
def test_the_decompression_limit_is_the_callers(codec):
    batch = encode_batch([Record(0, NOW, None, bytes(1 << 20))], BatchOptions(codec=codec))
    assert len(decode_records(batch)) == 1
    with pytest.raises(CorruptBatch, match=f"{codec.name.lower()}: more than 1048576 bytes"):
        decode_records(batch, decompressed_bytes_max=1 << 20)
