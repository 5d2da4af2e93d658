"""Varints: known encodings, round trips, and every way to be malformed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.protocol.varint import (
    MalformedVarint,
    encode_uvarint,
    encode_varint,
    encode_varlong,
    read_uvarint,
    read_varint,
    read_varlong,
    short_varints,
)

KINDS = {
    "uvarint": (encode_uvarint, read_uvarint, 0, 2**32 - 1),
    "varint": (encode_varint, read_varint, -(2**31), 2**31 - 1),
    "varlong": (encode_varlong, read_varlong, -(2**63), 2**63 - 1),
}

KNOWN = [
    ("uvarint", 0, "00"),
    ("uvarint", 127, "7f"),
    ("uvarint", 128, "8001"),
    ("uvarint", 16383, "ff7f"),
    ("uvarint", 16384, "808001"),
    ("uvarint", 2**32 - 1, "ffffffff0f"),
    ("varint", 0, "00"),
    ("varint", -1, "01"),
    ("varint", 1, "02"),
    ("varint", 63, "7e"),
    ("varint", -64, "7f"),
    ("varint", 64, "8001"),
    ("varint", -65, "8101"),
    ("varint", 8191, "fe7f"),
    ("varint", 8192, "808001"),
    ("varint", 2**31 - 1, "feffffff0f"),
    ("varint", -(2**31), "ffffffff0f"),
    ("varlong", -1, "01"),
    ("varlong", 2**31, "8080808010"),
    ("varlong", 2**63 - 1, "feffffffffffffffff01"),
    ("varlong", -(2**63), "ffffffffffffffffff01"),
]

MALFORMED = [
    ("uvarint", "", "cut off"),
    ("uvarint", "80", "cut off"),
    ("uvarint", "ffffffff", "cut off"),
    ("uvarint", "808080808000", "longer than 5 bytes"),
    ("uvarint", "8080808080", "longer than 5 bytes"),
    ("uvarint", "ffffffff10", "exceeds 0xffffffff"),
    ("varint", "", "cut off"),
    ("varint", "ff", "cut off"),
    ("varint", "808080808000", "longer than 5 bytes"),
    ("varint", "ffffffff1f", "exceeds 0xffffffff"),
    ("varlong", "", "cut off"),
    ("varlong", "ffffffffffffffffff", "cut off"),
    ("varlong", "8080808080808080808000", "longer than 10 bytes"),
    ("varlong", "ffffffffffffffffff02", "exceeds 0xffffffffffffffff"),
]


@pytest.mark.parametrize(("kind", "value", "encoded"), KNOWN)
def test_known_encodings_both_ways(kind, value, encoded):
    encode, read, _, _ = KINDS[kind]
    wire = bytes.fromhex(encoded)
    assert encode(value) == wire
    for buffer in (wire, bytearray(wire), memoryview(wire)):
        assert read(buffer, 0) == (value, len(wire))
    assert read(b"\xff\xff" + wire + b"\xff", 2) == (value, 2 + len(wire))


@pytest.mark.parametrize(("kind", "encoded", "cause"), MALFORMED)
def test_malformed_input_is_named(kind, encoded, cause):
    _, read, _, _ = KINDS[kind]
    with pytest.raises(MalformedVarint, match=f"at position 1 .*{cause}"):
        read(b"\x00" + bytes.fromhex(encoded), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_values_outside_the_type_are_not_encoded(kind):
    encode, _, low, high = KINDS[kind]
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match="out of range"):
            encode(value)


def test_padding_within_the_byte_limit_is_read_as_kafka_does():
    assert read_uvarint(b"\x80\x80\x00", 0) == (0, 3)
    assert read_varlong(b"\x81\x80\x80\x00", 0) == (-1, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind):
    encode, read, low, high = KINDS[kind]

    @given(st.integers(low, high), st.binary(max_size=3))
    def check(value, prefix):
        wire = prefix + encode(value)
        assert read(wire, len(prefix)) == (value, len(wire))

    check()


def test_short_varints_hold_all_of_two_bytes_and_the_null_length():
    table = short_varints()
    assert table[-1] == encode_varint(-1)
    assert table[:-1] == tuple(map(encode_varint, range(8192)))
    assert {len(encoded) for encoded in table} == {1, 2}
    assert len(encode_varint(len(table) - 1)) == 3
