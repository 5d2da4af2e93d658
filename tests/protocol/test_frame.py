"""Frames come out whole however their bytes were cut, and lies about length cost nothing."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.frame import FrameDecoder, frame


@given(st.lists(st.binary(max_size=50), max_size=8), st.lists(st.integers(1, 20), min_size=1))
def test_chunking_never_matters(bodies, sizes):
    stream = b"".join(frame(body) for body in bodies)
    decoder, found, position = FrameDecoder(1000), [], 0
    buffer = memoryview(stream)  # with what is not received yet behind what is
    for size in sizes * (len(stream) + 1):
        if position >= len(stream):
            break
        found += decoder.feed(buffer[position:], min(size, len(stream) - position))
        position += size
    assert found == bodies
    assert not decoder.partial


@pytest.mark.parametrize(
    ("first", "says"),
    [
        (struct.pack(">i", -1), "frame of -1 bytes"),
        (struct.pack(">i", 101), "the limit is 100"),
        (struct.pack(">i", 2**31 - 1), "the limit is 100"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /x", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (b"SSH-2.0-x", "SSH"),
    ],
)
def test_absurd_lengths_name_the_likely_cause(first, says):
    with pytest.raises(ProtocolError, match=says):
        FrameDecoder(100).feed(first, len(first))


def test_an_announced_length_allocates_nothing():
    decoder = FrameDecoder(2**31 - 1)
    assert decoder.feed(struct.pack(">i", 2**31 - 1), 4) == []
    assert len(decoder.partial) == 4


def test_limit_is_inclusive():
    whole = frame(b"abc")
    assert FrameDecoder(3).feed(whole, len(whole)) == [b"abc"]
