"""Whether a segment's two indexes lead to the batches they name.

An entry is right if a look-up that starts from it cannot miss anything; Kafka's versions differ
in which offset of a batch they name, and all of them are taken.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator

from drumbeat.cli.log.files import SegmentFile
from drumbeat.cli.log.findings import Finding
from drumbeat.log.files import read_file
from drumbeat.log.index import OffsetIndex, TimeIndex
from drumbeat.log.names import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from drumbeat.protocol.record_batch import BatchHeader


class BatchMap:
    """Where the batches of a segment are; numbers only, since there may be millions."""

    def __init__(self) -> None:
        self.positions = array("q")
        self.base_offsets = array("q")
        self.last_offsets = array("q")
        self.max_timestamps = array("q")

    def add(self, position: int, header: BatchHeader) -> None:
        self.positions.append(position)
        self.base_offsets.append(header.base_offset)
        self.last_offsets.append(header.last_offset)
        self.max_timestamps.append(header.max_timestamp)

    def at(self, position: int) -> int | None:
        """The number of the batch that begins there."""
        slot = bisect_left(self.positions, position)
        is_start = slot < len(self.positions) and self.positions[slot] == position
        return slot if is_start else None

    def holding(self, offset: int) -> int | None:
        """The number of the batch that the offset is in."""
        slot = bisect_left(self.last_offsets, offset)
        is_held = slot < len(self.last_offsets) and self.base_offsets[slot] <= offset
        return slot if is_held else None


def check_indexes(segment: SegmentFile, batches: BatchMap) -> Iterator[Finding]:
    """The first thing wrong in each; an index that is missing is rebuilt and nothing wrong."""
    if segment.is_last and not batches.positions:
        return  # Kafka reserves 20 MB for the indexes of each empty segment
    for suffix, entry, problem_of in (
        (INDEX_SUFFIX, OffsetIndex.entry, _offset_problem),
        (TIME_INDEX_SUFFIX, TimeIndex.entry, _time_problem),
    ):
        path = segment.stem + suffix
        data = read_file(path)
        if data is None:
            continue
        used = _used_bytes(data, entry.size) if segment.is_last else len(data)
        if used % entry.size:
            yield Finding(path, used - used % entry.size, f"no whole entry of {entry.size} bytes")
            continue
        before = (-1, -1)
        for position in range(0, used, entry.size):
            first, second = entry.unpack_from(data, position)
            problem = problem_of((first, second), before, segment.base_offset, batches)
            if problem is not None:
                yield Finding(path, position, problem)
                break
            before = first, second


def _used_bytes(data: bytes, entry_bytes: int) -> int:
    """Without the zeros that Kafka keeps behind the entries of a segment that grows."""
    used = len(data.rstrip(b"\0"))
    return min(len(data), -(-used // entry_bytes) * entry_bytes)


def _offset_problem(
    entry: tuple[int, int], before: tuple[int, int], base_offset: int, batches: BatchMap
) -> str | None:
    relative, position = entry
    offset = base_offset + relative
    if relative <= before[0] or position <= before[1]:
        return f"the entry for offset {offset} does not follow the one before"
    slot = batches.at(position)
    if slot is None:
        return f"offset {offset} points to byte {position} of the log, where no batch begins"
    if not batches.base_offsets[slot] <= offset:
        first = batches.base_offsets[slot]
        return f"offset {offset} points to byte {position}, where a batch from {first} begins"
    return None


def _time_problem(
    entry: tuple[int, int], before: tuple[int, int], base_offset: int, batches: BatchMap
) -> str | None:
    timestamp, relative = entry
    offset = base_offset + relative
    if timestamp <= before[0] or relative < before[1]:
        return f"the entry for time {timestamp} does not follow the one before"
    slot = batches.holding(offset)
    if slot is None:
        return f"time {timestamp} points to offset {offset}, which no batch holds"
    if batches.max_timestamps[slot] != timestamp:
        latest = batches.max_timestamps[slot]
        return f"time {timestamp} points to offset {offset}, whose batch is of time {latest}"
    return None
