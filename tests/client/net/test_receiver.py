"""Frames are the same however the bytes arrive."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.client.net.receiver import SHARED_BYTES, FrameReceiver
from drumbeat.protocol.frame import frame

SIZES = st.sampled_from(
    [0, 1, 5, 200, SHARED_BYTES - 5, SHARED_BYTES - 4, SHARED_BYTES - 3, 200_000]
)


def received(stream: bytes, chunk_sizes: list[int]) -> list[bytes]:
    receiver = FrameReceiver()
    frames: list[bytes] = []
    position, turn = 0, 0
    while position < len(stream):
        buffer = receiver.buffer()
        assert len(buffer) > 0
        count = min(len(buffer), len(stream) - position, chunk_sizes[turn % len(chunk_sizes)])
        buffer[:count] = stream[position : position + count]
        frames += receiver.received(count)
        position += count
        turn += 1
    return frames


@given(
    st.lists(SIZES, max_size=5),
    st.lists(st.integers(min_value=50, max_value=300_000), min_size=1, max_size=6),
)
def test_chunking_does_not_matter(sizes: list[int], chunk_sizes: list[int]):
    frames = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    assert received(b"".join(map(frame, frames)), chunk_sizes) == frames


@given(st.lists(st.sampled_from([0, 1, 5, 200]), max_size=5))
def test_byte_by_byte(sizes: list[int]):
    frames = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    assert received(b"".join(map(frame, frames)), [1]) == frames
