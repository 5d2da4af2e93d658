"""Putting compacted segments in the place of those they were made from, so that no crash shows.

Kafka's way and Kafka's names: (1) the new files are complete under .cleaned, worth nothing; (2)
they are renamed to .swap: once all are, they count and the sources do not; (3) the sources go to
the history; (4) the new files get their names. Whoever opens a directory with .swap files finishes
from step 3 on, or undoes step 2 if .cleaned files of the same compaction are left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from drumbeat.log.batches import read_batches, walk_headers
from drumbeat.log.errors import CorruptLog
from drumbeat.log.files import Disk, open_for_reading, sync_directory
from drumbeat.log.history import retire
from drumbeat.log.names import (
    CLEANED_SUFFIX,
    SWAP_SUFFIX,
    is_partition_file,
    parse_segment_name,
    parse_swap_name,
)
from drumbeat.log.segment import DAMAGE_ADVICE, Segment, reporting_damage

_UNFINISHED: Final = "a compaction that was never finished"
_STRAY_ADVICE: Final = (
    "nothing was changed; move the .cleaned file away to have the compaction finished, or restore "
    "the partition's directory from a copy"
)


def commit_swap(disk: Disk, directory: str, cleaned: Sequence[Segment]) -> None:
    """Step 2. The highest goes first, as in Kafka, which tells a whole set by its lowest file."""
    _discard_strangers(disk, directory, cleaned)
    for segment in reversed(cleaned):
        segment.rename(disk, SWAP_SUFFIX)
    sync_directory(directory)


def finish_swap(
    disk: Disk,
    directory: str,
    sources: Sequence[Segment],
    compacted: Sequence[Segment],
    superseded_ms: int,
) -> None:
    """Steps 3 and 4; readers may be at work in both."""
    retire(disk, directory, sources, superseded_ms)
    for segment in compacted:
        segment.rename(disk, "")
    sync_directory(directory)


def _discard_strangers(disk: Disk, directory: str, cleaned: Sequence[Segment]) -> None:
    """Remove what earlier compactions left that came to nothing: it would undo this one."""
    ours = {path for segment in cleaned for path in segment.paths}
    left = {os.path.join(directory, name) for name in _own_names(directory, CLEANED_SUFFIX)}
    for path in left - ours:
        disk.remove(path)


def recover_swap(disk: Disk, directory: str) -> list[str]:
    """Finish a swap that a crash interrupted, or undo it; returns notes for the operator."""
    names = _own_names(directory, SWAP_SUFFIX)
    if not names:
        return []
    if _is_half_committed(directory, names):
        for name in names:
            disk.remove(os.path.join(directory, name))
        sync_directory(directory)
        return [f"{directory}: took back a compaction that had not replaced anything yet"]
    bases = sorted(base for name in names if (base := parse_swap_name(name)) is not None)
    compacted = [Segment(directory, base, SWAP_SUFFIX) for base in bases]
    if compacted:
        _finish_after_crash(disk, directory, compacted)
    for name in _own_names(directory, SWAP_SUFFIX):  # of files that Kafka keeps and we do not
        path = os.path.join(directory, name)
        disk.rename(path, path.removesuffix(SWAP_SUFFIX))
    sync_directory(directory)
    return [f"{directory}: finished a compaction that was interrupted"]


def _is_half_committed(directory: str, names: Sequence[str]) -> bool:
    """Whether step 2 had not ended: the highest went first, so .cleaned files below are left.

    One that lies above was left by an older compaction and says nothing of this one.
    """
    cleaned = _own_names(directory, CLEANED_SUFFIX)
    doubtful = [name for name in names if cleaned and _base(name) >= _base(cleaned[0])]
    if doubtful and (len(doubtful) < len(names) or not _has_sources(directory, names)):
        found = f"{_UNFINISHED}, whose sources are gone, yet {cleaned[0]} says that it never began"
        raise CorruptLog(os.path.join(directory, doubtful[0]), 0, found, _STRAY_ADVICE)
    return bool(doubtful)


def _base(name: str) -> int:
    return int(name[:20])


def _has_sources(directory: str, names: Sequence[str]) -> bool:
    """Whether each batch of the .swap files is in the log without them, too."""
    bases = [
        base for name in os.listdir(directory) if (base := parse_segment_name(name)) is not None
    ]
    compacted = [base for name in names if (base := parse_swap_name(name)) is not None]
    of_log = {offset for base in bases for offset in _batch_offsets(Segment(directory, base))}
    return all(
        of_log.issuperset(_batch_offsets(Segment(directory, base, SWAP_SUFFIX)))
        for base in compacted
    )


def _batch_offsets(segment: Segment) -> Iterator[int]:
    with reporting_damage(segment.path), open_for_reading(segment.path) as fd:
        for _, header in walk_headers(fd, 0, os.fstat(fd).st_size):
            yield header.base_offset


def _own_names(directory: str, suffix: str) -> list[str]:
    names = [name for name in os.listdir(directory) if name.endswith(suffix)]
    return sorted(filter(is_partition_file, names))


def _finish_after_crash(disk: Disk, directory: str, compacted: Sequence[Segment]) -> None:
    first_offset = compacted[0].base_offset
    end_offset = max(_checked_end(segment) for segment in compacted)
    bases = map(parse_segment_name, sorted(os.listdir(directory)))
    sources = [
        Segment(directory, base)
        for base in bases
        if base is not None and first_offset <= base < end_offset
    ]
    for source in sources[-1:]:
        _check_covered(source, end_offset)
    superseded_ms = int(os.stat(compacted[0].path).st_ctime * 1000)
    finish_swap(disk, directory, sources, compacted, superseded_ms)


def _check_covered(source: Segment, end_offset: int) -> None:
    """A .swap that somebody put beside a newer log must not take that log's end away."""
    with reporting_damage(source.path), open_for_reading(source.path) as fd:
        for position, header in walk_headers(fd, 0, os.fstat(fd).st_size):
            if header.next_offset > end_offset:
                found = f"goes on, but {_UNFINISHED} and should replace it ends at {end_offset}"
                raise CorruptLog(source.path, position, found, DAMAGE_ADVICE)


def _checked_end(segment: Segment) -> int:
    """Where a segment's last batch ends; each of them is read and checked on the way."""
    next_offset = None
    with reporting_damage(segment.path), open_for_reading(segment.path) as fd:
        for header, _ in read_batches(fd, 0, os.fstat(fd).st_size):
            next_offset = header.next_offset
    if next_offset is None:
        raise CorruptLog(segment.path, 0, f"{_UNFINISHED}, and an empty file", DAMAGE_ADVICE)
    return next_offset
