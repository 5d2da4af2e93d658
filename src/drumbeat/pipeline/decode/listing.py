"""Which files hold the history of a partition, and which offsets to take from each.

Compaction moves what it supersedes to `history/`, all files of one compaction under the same time.
Each offset is taken from the file that was superseded first, and from the live log if none was:
before its first compaction a record stands where it was written, and every later file that covers
its offset has it only if it was still the newest of its key. So the list is the log as written, as
far back as the history reaches; beyond that it is what the oldest compaction kept.

A file covers the offsets from its own base offset up to that of the next file of the same
compaction; the last one, up to the end of its last batch; the last one of the live log, everything.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from drumbeat.log.files import open_for_reading
from drumbeat.log.history import history_files
from drumbeat.log.names import (
    CLEANED_SUFFIX,
    SWAP_SUFFIX,
    parse_segment_name,
    parse_swap_name,
)
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.errors import SegmentGone
from drumbeat.pipeline.decode.stretches import read_end
from drumbeat.pipeline.offset_ranges import outside

_OFFSET_MAX: Final = 2**63 - 1

_logger = logging.getLogger(__name__)


class SegmentFile(NamedTuple):
    """A file, and the offsets to take from it: from `start_offset` to below `end_offset`."""

    path: str
    base_offset: int
    start_offset: int
    end_offset: int
    superseded_ms: int | None = None  # None: part of the live log
    inode: int = 0


class _Found(NamedTuple):
    path: str
    base_offset: int
    superseded_ms: int | None = None
    inode: int = 0


def segments_of(directory: str) -> list[SegmentFile]:
    """Files and offset ranges that make up the partition in `directory`, in order of offsets.

    No two ranges overlap. A file stands in the list as often as it has ranges of its own.
    """
    # In this order: a segment that retires meanwhile is seen twice, and never not at all.
    found = _files(directory)
    # What was compacted stands in only where its sources are gone, for they are as written.
    live = _in_order({file.base_offset: file for file in (*found.swapped, *found.live)}.values())
    retired = [_Found(*file) for file in history_files(directory)]
    compactions = groupby(retired, key=attrgetter("superseded_ms"))
    segments: list[SegmentFile] = []
    for files in (*(list(group) for _, group in compactions), live):
        segments += list(_new_ranges(files, segments))
        segments.sort(key=attrgetter("start_offset"))
    return segments


def live_segments(directory: str) -> list[SegmentFile]:
    """The log as it stands, without what compaction has moved to the history."""
    return list(_new_ranges(_without_sources(_files(directory)), ()))


class _Files(NamedTuple):
    """The .log files of a partition's folder, each kind in order of offsets."""

    live: list[_Found]
    swapped: list[_Found]  # compacted, not in their place yet: they count, and not their sources


def _files(directory: str) -> _Files:
    live, swapped, cleaned = [], [], []
    with os.scandir(directory) as entries:
        for entry in entries:
            if (base_offset := parse_segment_name(entry.name)) is not None:
                live.append(_Found(entry.path, base_offset, None, entry.inode()))
            elif (base_offset := parse_swap_name(entry.name)) is not None:
                swapped.append(_Found(entry.path, base_offset, None, entry.inode()))
            elif (base_offset := parse_segment_name(_uncleaned(entry.name))) is not None:
                cleaned.append(base_offset)
    # As `log/swap.py` has it: the highest is renamed first, so of a swap that does not count yet a
    # .cleaned file is left below; one above is of another compaction.
    counts = not cleaned or all(file.base_offset < min(cleaned) for file in swapped)
    return _Files(_in_order(live), _in_order(swapped) if counts else [])


def _uncleaned(name: str) -> str:
    """The name that a .cleaned file is to have; of any other, none that a segment has."""
    return name.removesuffix(CLEANED_SUFFIX) if name.endswith(CLEANED_SUFFIX) else ""


def _in_order(files: Iterable[_Found]) -> list[_Found]:
    return sorted(files, key=attrgetter("base_offset"))


def _without_sources(files: _Files) -> list[_Found]:
    """What is compacted in the place of the segments that it was made from."""
    live, swapped = files
    if not swapped:
        return live
    with open_segment(swapped[-1]) as fd:
        end_offset = read_end(fd, swapped[-1].base_offset).offset
    replaced = range(swapped[0].base_offset, end_offset)
    return _in_order([*swapped, *(file for file in live if file.base_offset not in replaced)])


def _new_ranges(files: Sequence[_Found], before: Sequence[SegmentFile]) -> Iterator[SegmentFile]:
    """What the files of one compaction, or of the live log, cover and none before did."""
    for file, following in pairwise([*files, None]):
        assert file is not None  # only the last has nothing that follows
        end = _end_offset(file) if following is None else following.base_offset
        taken = (OffsetRange(segment.start_offset, segment.end_offset) for segment in before)
        for new_range in outside(OffsetRange(file.base_offset, end), taken):
            yield SegmentFile(
                file.path, file.base_offset, *new_range, file.superseded_ms, file.inode
            )


def _end_offset(last: _Found) -> int:
    """Where the coverage of the last file ends. A file without a batch covers nothing."""
    if last.superseded_ms is None:
        return _OFFSET_MAX
    with open_for_reading(last.path) as fd:
        end = read_end(fd, last.base_offset)
    if end.bad is not None:
        _logger.warning(
            "%s, byte %d: %s; offsets from %d on are taken from what compaction made of it",
            *(last.path, end.position, end.bad.found, end.offset),
        )
    return end.offset


@contextmanager
def open_segment(segment: SegmentFile | _Found) -> Iterator[int]:
    """A descriptor on the very file that was listed, wherever compaction has moved it meanwhile."""
    with ExitStack() as stack:
        for path in _candidates(segment):
            try:
                fd = stack.enter_context(open_for_reading(path))
            except FileNotFoundError:
                continue
            if segment.superseded_ms is not None or os.fstat(fd).st_ino == segment.inode:
                yield fd
                return
    raise SegmentGone(segment.path)


def _candidates(segment: SegmentFile | _Found) -> Iterator[str]:
    yield segment.path
    if segment.superseded_ms is None:
        yield segment.path.removesuffix(SWAP_SUFFIX)
        for file in history_files(os.path.dirname(segment.path)):
            if file.base_offset == segment.base_offset:
                yield file.path
