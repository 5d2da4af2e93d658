"""A segment file in stretches of whole batches, so that memory does not grow with the file.

As when a log is opened: a batch that is cut off at the end was torn by a crash, or is being written
now, and is left out. Anything else that is not a batch is damage, and so is a batch that seems
cut off while a sound one follows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from drumbeat.log.batches import find_batch_after
from drumbeat.pipeline.decode.arena import SLACK_BYTES, Arena
from drumbeat.pipeline.decode.errors import BadBatch
from drumbeat.pipeline.decode.headers import Batches, walk
from drumbeat.protocol.record_batch import HEADER_BYTES, LOG_OVERHEAD

CHUNK_BYTES: Final = 4 << 20  # a larger batch is read alone; larger chunks leave the cache
TAIL_BYTES: Final = 1 << 20  # enough to hold a batch, as brokers limit them


class Stretch(NamedTuple):
    """Batches that stand at `position` of the file, or, in their stead, a `bad` one."""

    position: int
    arena: Arena
    batches: Batches
    bad: BadBatch | None  # at a position in the arena


def read_stretches(
    fd: int, position: int = 0, *, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Stretch]:
    """All sound batches from `position` on, where one begins; the last stretch may be bad.

    The bytes of a stretch are overwritten once the next is asked for.
    """
    size = os.fstat(fd).st_size
    data = bytearray(min(chunk_bytes, size - position) + SLACK_BYTES)
    next_offset = 0
    while position < size:
        arena = _read(fd, position, data)
        batches, end, bad = walk(arena, next_offset)
        if not len(batches):
            needed = _batch_bytes(arena) + SLACK_BYTES
            if bad is None and len(data) < needed <= size - position + SLACK_BYTES:
                data = bytearray(needed)
                continue
            found = _tail_problem(fd, position, next_offset, bad)
            if found is not None:
                yield Stretch(position, arena, batches, BadBatch(end, found))
            return
        yield Stretch(position, arena, batches, None)
        position += end
        next_offset = int(batches.last_offsets[-1]) + 1


class End(NamedTuple):
    """The offset behind a file's last sound batch, and the damage that follows it, if any."""

    offset: int
    position: int
    bad: BadBatch | None = None


def read_end(fd: int, base_offset: int) -> End:
    """Where the file ends, without reading all of it if its last part is sound."""
    size = os.fstat(fd).st_size
    if size > TAIL_BYTES:
        near = find_batch_after(fd, size - TAIL_BYTES, size, base_offset)
        if near is not None:
            end = _walk_to_end(fd, near, base_offset)
            if end.position == size:  # or it was a record that looks like a batch
                return end
    return _walk_to_end(fd, 0, base_offset)


def _walk_to_end(fd: int, position: int, base_offset: int) -> End:
    end = End(base_offset, position)
    for stretch in read_stretches(fd, position):
        if stretch.bad is not None:
            return end._replace(bad=stretch.bad)
        batches = stretch.batches
        behind = int(batches.positions[-1] + batches.sizes[-1])
        end = End(int(batches.last_offsets[-1]) + 1, stretch.position + behind)
    return end


def _read(fd: int, position: int, data: bytearray) -> Arena:
    """As much as the file has and `data` takes."""
    room = memoryview(data)[:-SLACK_BYTES]
    filled = 0
    while filled < len(room):
        count = os.preadv(fd, [room[filled:]], position + filled)
        if not count:
            break
        filled += count
    return Arena(data, filled)


def _batch_bytes(arena: Arena) -> int:
    """The size of a first batch that is not there as a whole, as far as its beginning tells."""
    if arena.size < HEADER_BYTES:
        return HEADER_BYTES
    return int.from_bytes(arena.data[8:12], "big") + LOG_OVERHEAD


def _tail_problem(fd: int, position: int, next_offset: int, bad: BadBatch | None) -> str | None:
    """What is wrong with the rest of a file that does not begin with a whole batch."""
    size = os.fstat(fd).st_size
    following = find_batch_after(fd, position, size, next_offset)
    if following is not None:
        found = f"{size - position} bytes are no whole batch" if bad is None else bad.found
        return f"{found}, yet a sound batch follows at byte {following}"
    return None if bad is None or _is_blank(fd, position, size) else bad.found


def _is_blank(fd: int, position: int, size: int) -> bool:
    """Whether only zeros are left: space that was allocated and, for a crash, never written."""
    while position < size:
        data = os.pread(fd, min(CHUNK_BYTES, size - position), position)
        if not data or data.count(0) < len(data):
            return not data
        position += len(data)
    return True
