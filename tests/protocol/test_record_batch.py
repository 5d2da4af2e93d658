"""The batch header: fields, checksum, walking, stamping, and refusals."""

from __future__ import annotations

import struct
from itertools import accumulate

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from crc32c import crc32c

from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    CorruptBatch,
    assign,
    assigned_prefix,
    check_crc,
    iter_headers,
    iter_producer_headers,
    outline_of,
    read_header,
    sound_end,
    with_log_append_time,
)

BASE_TIMESTAMP = 1_700_000_000_123


def make_batch(records: int = 3, **overrides: int) -> bytes:
    """A batch of another implementation."""
    settings = {
        "compression_type": 0,
        "is_transactional": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
    }
    builder = DefaultRecordBatchBuilder(magic=2, batch_size=1 << 20, **(settings | overrides))
    for offset in range(records):
        builder.append(
            offset, timestamp=BASE_TIMESTAMP + offset, key=b"key", value=b"value", headers=[]
        )
    return bytes(builder.build())


# Field: where it sits and how it is packed.
LAYOUT = {
    "base_offset": (0, ">q"),
    "batch_length": (8, ">i"),
    "partition_leader_epoch": (12, ">i"),
    "magic": (16, ">b"),
    "crc": (17, ">I"),
    "attributes": (21, ">h"),
    "last_offset_delta": (23, ">i"),
    "base_timestamp": (27, ">q"),
    "max_timestamp": (35, ">q"),
    "producer_id": (43, ">q"),
    "producer_epoch": (51, ">h"),
    "base_sequence": (53, ">i"),
    "record_count": (57, ">i"),
}


def patched(batch: bytes, **fields: int) -> bytes:
    """`batch` with header fields replaced and the checksum left as it was."""
    changed = bytearray(batch)
    for field, value in fields.items():
        position, layout = LAYOUT[field]
        struct.pack_into(layout, changed, position, value)
    return bytes(changed)


def header(**fields: int) -> BatchHeader:
    return read_header(make_batch())._replace(**fields)


def test_a_foreign_batch_is_read_field_by_field():
    batch = make_batch(
        5, compression_type=3, is_transactional=1, producer_id=77, producer_epoch=4, base_sequence=9
    )
    read = read_header(b"before" + batch, 6)
    assert read._replace(crc=0, batch_length=0) == BatchHeader(
        base_offset=0,
        batch_length=0,
        partition_leader_epoch=-1,
        magic=MAGIC,
        crc=0,
        attributes=0x13,
        last_offset_delta=4,
        base_timestamp=BASE_TIMESTAMP,
        max_timestamp=BASE_TIMESTAMP + 4,
        producer_id=77,
        producer_epoch=4,
        base_sequence=9,
        record_count=5,
    )
    assert (read.size, read.codec) == (len(batch), Codec.LZ4)
    assert read.batch_length == len(batch) - LOG_OVERHEAD
    check_crc(b"before" + batch, 6, read)


@pytest.mark.parametrize("field", [field for field in LAYOUT if field not in ("magic", "crc")])
def test_each_field_sits_where_kafka_puts_it(field):
    assert getattr(read_header(patched(make_batch(), **{field: 1000})), field, None) == 1000


FLAGS = [
    (0x08, "is_log_append_time"),
    (0x10, "is_transactional"),
    (0x20, "is_control"),
    (0x40, "has_delete_horizon"),
]


@pytest.mark.parametrize(("bit", "name"), FLAGS)
def test_attribute_flags(bit, name):
    assert getattr(header(attributes=bit), name) is True
    assert getattr(header(attributes=0x7F & ~bit & ~0x07), name) is False


def test_the_codec_is_in_the_low_three_bits():
    assert [header(attributes=0x78 | codec).codec for codec in Codec] == list(Codec)


def test_offsets_follow_from_the_delta_not_from_the_count():
    compacted = header(base_offset=100, last_offset_delta=9, record_count=2)
    assert (compacted.last_offset, compacted.next_offset) == (109, 110)


SEQUENCES = [
    (0, 0, 0),
    (5, 2, 7),
    (2**31 - 1, 0, 2**31 - 1),
    (2**31 - 1, 1, 0),
    (2**31 - 3, 5, 2),
    (-1, 4, -1),
]


@pytest.mark.parametrize(("base", "delta", "last"), SEQUENCES)
def test_sequences_wrap_to_zero(base, delta, last):
    assert header(base_sequence=base, last_offset_delta=delta).last_sequence == last


REFUSED = [
    ({"magic": 0}, "message format v0 is not supported"),
    ({"magic": 1}, "message format v1 is not supported"),
    ({"magic": 3}, "unknown magic byte 3"),
    ({"magic": -1}, "unknown magic byte -1"),
    ({"batch_length": 48}, "batch length 48 below 49"),
    ({"batch_length": -1}, "batch length -1 below 49"),
    ({"last_offset_delta": -1}, "negative last offset delta -1"),
    ({"record_count": -2}, "negative record count -2"),
    ({"attributes": 5}, "unknown compression codec 5"),
    ({"attributes": 7}, "unknown compression codec 7"),
]


@pytest.mark.parametrize(("fields", "cause"), REFUSED)
def test_nonsense_is_refused_by_name_and_place(fields, cause):
    log = make_batch() + patched(make_batch(), **fields)
    position = len(make_batch())
    with pytest.raises(CorruptBatch, match=f"{cause}.* at position {position}"):
        read_header(log, position)
    with pytest.raises(CorruptBatch, match=f"{cause}.* at position {position}"):
        list(iter_headers(log))


def test_the_outline_says_what_the_header_says():
    batch = patched(make_batch(5), base_offset=70, partition_leader_epoch=6)
    assert outline_of(batch) == (70, 6, 4, BASE_TIMESTAMP + 4)


@pytest.mark.parametrize(("fields", "cause"), REFUSED)
def test_an_outline_is_refused_as_the_header_is(fields, cause):
    with pytest.raises(CorruptBatch, match=f"{cause}.* at position 0"):
        outline_of(patched(make_batch(), **fields))


@pytest.mark.parametrize("difference", [-1, 1])
def test_an_outline_is_of_a_whole_batch(difference):
    batch = make_batch()
    given = (batch + b"x")[: len(batch) + difference]
    message = f"^{len(given)} bytes given, but the batch says it has {len(batch)}"
    with pytest.raises(CorruptBatch, match=message):
        outline_of(given)
    with pytest.raises(CorruptBatch, match=r"^60 bytes at position 0"):
        outline_of(batch[: HEADER_BYTES - 1])


@pytest.mark.parametrize("length", [0, 1, 16, 17, 60])
def test_a_short_header_is_refused(length):
    with pytest.raises(CorruptBatch, match=f"^{length} bytes at position 0"):
        read_header(make_batch()[:length])


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_shorter_than_a_v2_header_is_recognised(magic):
    message = struct.pack(">qiIbb", 0, 14, 0, magic, 0) + struct.pack(">ii", -1, -1)
    for read in (read_header, lambda buffer: list(iter_headers(buffer))):
        with pytest.raises(CorruptBatch, match=f"message format v{magic} is not supported"):
            read(message)


def test_the_checksum_covers_every_byte_from_the_attributes_on():
    batch = make_batch()
    for position in range(21, len(batch)):
        damaged = bytearray(batch)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptBatch, match="CRC-32C of the batch at position 0"):
            check_crc(damaged, 0, read_header(batch))


def test_the_checksum_of_a_cut_off_batch_is_not_computed():
    batch = make_batch()
    with pytest.raises(CorruptBatch, match=f"of {len(batch)} bytes .* cut off after 70"):
        check_crc(batch[:70], 0, read_header(batch))


def test_walking_stops_quietly_at_every_cut():
    batches = [make_batch(n) for n in (1, 3, 2)]
    log = b"".join(batches)
    ends = [len(batches[0]), len(batches[0] + batches[1]), len(log)]
    starts = [0, *ends[:2]]
    for cut in range(len(log) + 1):
        complete = sum(end <= cut for end in ends)
        for walk in (iter_headers(log[:cut]), iter_headers(memoryview(log), 0, cut)):
            walked = list(walk)
            assert [position for position, _ in walked] == starts[:complete]
            assert [read.record_count for _, read in walked] == [1, 3, 2][:complete]


def test_sound_batches_end_where_one_is_cut_off():
    batches = [make_batch(n) for n in (1, 3, 2)]
    log = b"".join(batches)
    ends = list(accumulate(map(len, batches), initial=0))
    for cut in range(len(log) + 1):
        assert sound_end(log[:cut]) == max(end for end in ends if end <= cut)


@pytest.mark.parametrize(("fields", "cause"), REFUSED)
def test_sound_batches_end_where_one_is_nonsense(fields, cause):
    nonsense = bytearray(patched(make_batch(), **fields))
    struct.pack_into(">I", nonsense, 17, crc32c(bytes(nonsense[21:])))
    assert sound_end(make_batch() + nonsense + make_batch()) == len(make_batch()), cause


def test_sound_batches_end_where_a_checksum_does_not_fit():
    first, second = make_batch(1), make_batch(3)
    for position in range(21, len(second)):
        damaged = bytearray(second)
        damaged[position] ^= 0x10
        assert sound_end(first + damaged) == len(first)


def test_headers_of_producers_with_an_id():
    plain, idempotent = make_batch(), make_batch(2, producer_id=7, producer_epoch=1)
    found = list(iter_producer_headers(plain + idempotent + plain + idempotent))
    assert found == [read_header(idempotent)] * 2
    assert list(iter_producer_headers(plain)) == []


def test_walking_starts_at_a_position():
    log = make_batch(1) + make_batch(2)
    assert [read.record_count for _, read in iter_headers(log, len(make_batch(1)))] == [2]


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_assigning_changes_only_offset_and_epoch(wrap):
    batch = make_batch(4)
    assigned = assign(wrap(batch), 2**40, 12)
    assert assigned == patched(batch, base_offset=2**40, partition_leader_epoch=12)
    assert assigned_prefix(wrap(batch), 2**40, 12) + batch[16:] == assigned
    check_crc(assigned, 0, read_header(assigned))


def test_log_append_time_changes_type_and_maximum_only():
    batch = make_batch(4, is_transactional=1, producer_id=1, producer_epoch=0, base_sequence=0)
    stamped = with_log_append_time(batch, 1_800_000_000_000)
    expected = patched(batch, attributes=0x18, max_timestamp=1_800_000_000_000)
    assert stamped == patched(expected, crc=crc32c(expected[21:]))
    check_crc(stamped, 0, read_header(stamped))
    assert read_header(stamped).base_timestamp == BASE_TIMESTAMP


def test_the_layout_above_is_the_whole_header():
    assert sum(struct.calcsize(layout) for _, layout in LAYOUT.values()) == HEADER_BYTES
