"""A walk over records finds what reading them finds, and refuses what cannot be read."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drumbeat.protocol.record_batch import HEADER_BYTES, BatchHeader, CorruptBatch, read_header
from drumbeat.protocol.record_section import read_rows
from drumbeat.protocol.record_walk import latest_timestamp
from drumbeat.protocol.records import encode_batch

BASE_MS = 1_700_000_000_000

contents = st.none() | st.binary(max_size=20) | st.integers(100, 20_000).map(bytes)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2)
records = st.lists(
    st.tuples(st.integers(-20_000, 2_000_000), contents, contents, headers.map(tuple)), min_size=1
)


def section_of(given_records) -> tuple[bytes, BatchHeader]:
    rows = [
        (offset, BASE_MS + delta, key, value, of_record)
        for offset, (delta, key, value, of_record) in enumerate(given_records)
    ]
    batch = encode_batch(rows)
    return batch[HEADER_BYTES:], read_header(batch)


def by_reading(section: bytes, header: BatchHeader) -> int | None:
    """What the reader of whole records says; None if they are not as a producer sends them."""
    try:
        rows = read_rows(section, 0, header)
    except CorruptBatch:
        return None
    if [row[0] for row in rows] != list(range(header.record_count)):
        return None
    return max(row[1] for row in rows)


def by_walking(section: bytes, header: BatchHeader) -> int | None:
    try:
        return latest_timestamp(section, 0, header)
    except CorruptBatch:
        return None


@given(records)
def test_the_latest_timestamp_of_sound_records(given_records):
    section, header = section_of(given_records)
    assert latest_timestamp(section, 0, header) == BASE_MS + max(r[0] for r in given_records)


@given(records, st.data())
def test_damage_is_found_where_a_reader_finds_it(given_records, data):
    section, header = section_of(given_records)
    place = data.draw(st.integers(0, len(section) - 1))
    damaged = bytearray(section)
    damaged[place] = data.draw(st.integers(0, 255))
    cut = bytes(damaged[: data.draw(st.just(len(section)) | st.integers(0, len(section)))])
    assert by_walking(cut, header) == by_reading(cut, header)


@given(st.binary(max_size=60), st.integers(1, 4))
@example(b"\x0e" + bytes(7), 1)
def test_any_bytes_are_either_records_or_refused(section, count):
    header = section_of([(0, b"k", b"v", ())])[1]._replace(record_count=count)
    assert by_walking(section, header) == by_reading(section, header)


@pytest.mark.parametrize("base_timestamp", [2**63 - 1, -(2**63)])
def test_a_timestamp_that_no_header_can_hold_is_refused(base_timestamp):
    delta = 1 if base_timestamp > 0 else -1
    section, header = section_of([(0, b"k", b"v", ()), (0, b"k", b"v", ())])
    moved = bytearray(section)
    for position in (2, 2 + len(section) // 2):  # of both records' timestamp deltas
        moved[position] = (delta << 1) ^ (delta >> 63)
    with pytest.raises(CorruptBatch, match="64 bits"):
        latest_timestamp(bytes(moved), 0, header._replace(base_timestamp=base_timestamp))
