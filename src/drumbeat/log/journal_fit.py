"""Whether a segment is the one that the journal speaks of, before anything is written to it.

Somebody may have put another log in its place since the crash. What stands before the first entry
was durable when that was written: whole batches that end where the entry begins, in the file and in
offsets. From there on a crash leaves what the entries say, or parts of it, and no other batch.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Final, NoReturn

from drumbeat.log.batches import BadBatch, walk_headers
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import open_for_reading, read_exactly
from drumbeat.log.journal_format import Entry
from drumbeat.log.segment import Segment
from drumbeat.protocol.record_batch import HEADER_BYTES, CorruptBatch, check_crc, read_header

_ADVICE: Final = (
    "nothing was changed; restore the partition's directory as the crash left it, or move it away "
    "and lose what the journal alone holds of it"
)
_CHECKSUM_AT: Final = 17  # it and what it covers; offset and epoch stand before


def check_continues(segment: Segment, entries: Sequence[Entry]) -> None:
    """Raises CorruptLog for a file that the entries do not continue."""
    with open_for_reading(segment.path) as fd:
        size = os.fstat(fd).st_size
        segment.extent = segment.extent._replace(size=size)
        _check_length(segment, size, entries)
        _check_before(segment, fd, entries[0])
        places = Counter(entry.position for entry in entries)
        for entry in entries:
            if places[entry.position] == 1 and _is_other_batch(fd, entry):
                _refuse(segment, entry.position, "another batch than the one in the journal")


def _check_length(segment: Segment, size: int, entries: Sequence[Entry]) -> None:
    for entry in entries:
        if size < entry.position:
            _refuse(
                segment, size, f"the file ends, but the journal continues it at {entry.position}"
            )
        size = max(size, entry.position + sum(map(len, entry.buffers)))


def _check_before(segment: Segment, fd: int, entry: Entry) -> None:
    """Up to the first entry."""
    next_offset = segment.base_offset
    try:
        first = read_header(b"".join(entry.buffers))
        start = segment.indexed_position(fd, entry.position)
        for _, header in walk_headers(fd, start, entry.position):
            next_offset = header.next_offset
    except BadBatch as bad:
        found = f"{bad.found}, and the journal continues the file at {entry.position}"
        _refuse(segment, bad.position, found)
    except CorruptBatch as error:
        _refuse(segment, entry.position, f"the journal has no batch for it: {error}")
    if first.base_offset != next_offset:
        found = f"offset {next_offset} comes next, but the journal goes on with {first.base_offset}"
        _refuse(segment, entry.position, found)


def _is_other_batch(fd: int, entry: Entry) -> bool:
    """A whole batch in the entry's place that is not its own: nothing that a crash leaves."""
    try:
        header = read_header(read_exactly(fd, HEADER_BYTES, entry.position))
        found = read_exactly(fd, header.size, entry.position)
        check_crc(found, 0, header)
    except CorruptBatch:
        return False
    return found[_CHECKSUM_AT:] != b"".join(entry.buffers)[_CHECKSUM_AT : header.size]


def _refuse(segment: Segment, position: int, found: str) -> NoReturn:
    raise CorruptLog(segment.path, position, found, _ADVICE)
