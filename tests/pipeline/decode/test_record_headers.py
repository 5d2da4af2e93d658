"""Records with headers: found where they are, and refused where the protocol's reader does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.pipeline.decode.arena import Arena
from drumbeat.pipeline.decode.headers import walk
from drumbeat.pipeline.decode.records import index_records
from drumbeat.pipeline.decode.sections import sections
from drumbeat.protocol.record_batch import HEADER_BYTES, CorruptBatch, read_header, seal
from drumbeat.protocol.record_section import read_rows
from drumbeat.protocol.records import Record, encode_batch

BYTES = st.one_of(st.none(), st.binary(max_size=6))
HEADERS = st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=4).map(tuple)
RECORDS = st.lists(st.tuples(BYTES, BYTES, HEADERS), min_size=1, max_size=4)


def encoded(contents):
    return encode_batch([Record(place, 1, *content) for place, content in enumerate(contents)])


def index(batch):
    arena = Arena.of(batch)
    (portion,) = sections(arena, walk(arena).batches)
    return index_records(portion)


def keys_and_values(batch, found):
    def text(start, length):
        return None if length < 0 else batch[start : start + length]

    return [
        (text(*place[:2]), text(*place[2:]))
        for place in zip(*(column.tolist() for column in found[3:]), strict=True)
    ]


@given(RECORDS)
def test_headers_are_no_reason_for_doubt(contents):
    batch = encoded(contents)
    found = index(batch)
    assert found.bad is None
    assert keys_and_values(batch, found.records) == [content[:2] for content in contents]


@settings(max_examples=300)
@given(RECORDS, st.data())
def test_damage_is_found_where_the_protocols_reader_finds_it(contents, data):
    batch = encoded(contents)
    header, section = read_header(batch), bytearray(batch[HEADER_BYTES:])
    place = data.draw(st.integers(0, len(section) - 1))
    section[place] = data.draw(st.integers(0, 255))
    damaged = seal(header, section)
    try:
        rows = read_rows(bytes(section), 0, header)
    except CorruptBatch:
        rows = []
    is_sound = bool(rows) and rows[-1][0] <= header.last_offset
    assert (index(damaged).bad is None) == is_sound


NO_KEY_NO_VALUE = b"\x00\x00\x00\x01\x01"  # attributes, two deltas, null key, null value
HEADER = b"\x02a\x02b"
IMPOSSIBLE = [
    (b"\x04" + HEADER, "fewer headers than the count says"),
    (b"\x02" + HEADER + HEADER, "more headers than the count says"),
    (b"\x01" + HEADER, "a negative count"),
    (b"\x02\x01\x02b", "a null key"),
    (b"\x02\x02a\x7fb", "a value longer than the record"),
    (b"\x02\x02a\x03", "a length below null's"),
]


@pytest.mark.parametrize(("headers", "_what"), IMPOSSIBLE)
def test_headers_that_cannot_be(headers, _what):
    record = NO_KEY_NO_VALUE + headers
    header = read_header(encoded([(None, None, ())]))
    batch = seal(header, bytes([2 * len(record)]) + record)
    assert index(batch).bad is not None
