"""History and live segments together are the log as it was written, each offset once."""

import asyncio
import os
import shutil
from itertools import pairwise

import pytest

from drumbeat.log.files import Disk
from drumbeat.log.history import history_files
from drumbeat.log.names import HISTORY, history_name, segment_stem
from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.pipeline.decode.errors import SegmentGone
from drumbeat.pipeline.decode.listing import live_segments, open_segment, segments_of
from drumbeat.protocol.record_batch import assign, read_header
from drumbeat.protocol.records import Record, encode_batch
from log.helpers import flip
from pipeline.decode.plain import plain_rows
from pipeline.decode.reading import offsets_of, read_partition, read_segment
from support.offsets_log import DAY_MS, FILLER, RECORDED, SETTINGS, TIMESTAMP, commit
from support.offsets_log import batch as batch_of

TP = TopicPartition("__consumer_offsets", 7)
KEPT = SETTINGS._replace(history_retention_ms=7 * DAY_MS)
# Before which batches the log was compacted: what the compaction before made, and some more.
CUTS = [(), (4,), (3, 6, 9)]
COMMITS = [batch_of(commit("g", n, n % 3), commit("h", n)) for n in range(12)]
OFFSET_MAX = 2**63 - 1
LOGS = {"commits": COMMITS, **RECORDED}


async def append(log, *batches):
    for data in batches:
        log.append(data, expected=log.end_offset)
        await log.sync()


async def append_and_compact(log, data, now_ms):
    """A segment ends where the next batch does not fit; what is closed is compacted."""
    log.configure(KEPT._replace(segment_bytes=len(data)))
    await append(log, data)
    log.configure(KEPT)
    await log.compact(now_ms)


async def written(directory, batches, cuts, *, expired_after_ms=None):
    """The folder of a partition with these batches, compacted by our own cleaner on the way."""
    async with LocalStore(directory) as store:
        log = await store.acquire(TP, KEPT)
        for place, data in enumerate([*batches, FILLER]):
            if place in cuts:
                await append_and_compact(log, data, TIMESTAMP + cuts.index(place) * DAY_MS)
            else:
                await append(log, data)
        if expired_after_ms is not None:
            await log.enforce_retention(TIMESTAMP + expired_after_ms)
    return os.path.join(directory, str(TP))


def rows_as_written(batches):
    offset, placed = 0, []
    for data in [*batches, FILLER]:
        placed.append(assign(data, offset, 1))
        offset = read_header(placed[-1]).next_offset
    return plain_rows(b"".join(placed))[0]


@pytest.mark.parametrize("cuts", CUTS, ids=str)
@pytest.mark.parametrize("name", LOGS)
def test_the_log_as_it_was_written_however_often_it_was_compacted(tmp_path, name, cuts):
    folder = asyncio.run(written(tmp_path, LOGS[name], cuts))
    expected = rows_as_written(LOGS[name])
    found = read_partition(folder)
    assert without_epoch(found) == without_epoch(expected)


def without_epoch(rows):
    return [row | {"leader_epoch": None} for row in rows]


def test_no_two_ranges_overlap_and_none_is_missing(tmp_path):
    folder = asyncio.run(written(tmp_path, COMMITS, CUTS[-1]))
    segments = segments_of(folder)
    assert segments[0].start_offset == 0
    for one, following in pairwise(segments):
        assert one.end_offset == following.start_offset
    assert segments[-1].superseded_ms is None
    assert {segment.superseded_ms for segment in segments} == {
        TIMESTAMP,
        TIMESTAMP + DAY_MS,
        TIMESTAMP + 2 * DAY_MS,
        None,
    }


def test_beyond_the_history_there_is_what_the_oldest_compaction_kept(tmp_path):
    """Originals of the first compaction have expired; those of the later ones have not."""
    folder = asyncio.run(written(tmp_path, COMMITS, CUTS[-1], expired_after_ms=7 * DAY_MS))
    whole = offsets_of(rows_as_written(COMMITS))
    found = offsets_of(read_partition(folder))
    lost = sorted(set(whole) - set(found))
    assert lost
    assert max(lost) < 3 * 2, "all that the second compaction superseded is there"
    assert found == sorted(set(found)), "and nothing twice"


def test_without_the_original_there_is_what_compaction_made_of_it(tmp_path):
    folder = asyncio.run(written(tmp_path, COMMITS, CUTS[1]))
    (original,) = history_files(folder)
    os.unlink(original.path)
    assert {segment.superseded_ms for segment in segments_of(folder)} == {None}
    assert 0 < len(read_partition(folder)) < len(rows_as_written(COMMITS))


class WatchedDisk(Disk):
    """Calls somebody after each renaming, from wherever that happens."""

    def __init__(self):
        self.look = lambda: None

    def rename(self, path, new_path):
        super().rename(path, new_path)
        self.look()


@pytest.mark.parametrize("name", LOGS)
def test_in_the_midst_of_a_swap_the_log_is_whole(tmp_path, name):
    """Live: what was before the swap or what is after it. As written: all of it, at any time."""
    disk, seen = WatchedDisk(), []
    folder = os.path.join(tmp_path, str(TP))

    def look():
        seen.append((rows_in(live_segments(folder)), without_epoch(read_partition(folder))))

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            log = await store.acquire(TP, KEPT._replace(segment_bytes=300))
            await append(log, *LOGS[name], FILLER)
            look()
            disk.look = look
            await log.compact(TIMESTAMP)
            disk.look = lambda: None
            look()

    asyncio.run(scenario())
    live, as_written = zip(*seen, strict=True)
    assert len(live) > 5
    assert {len(rows) for rows in live} == {len(live[0]), len(live[-1])}
    assert all(rows in (live[0], live[-1]) for rows in live)
    assert all(rows == as_written[0] for rows in as_written)


def rows_in(segments):
    return [row for segment in segments for row in read_segment(segment)[0]]


# Base offsets of files with a batch of ten offsets, by suffix; paths and starts of what is live.
SWAPS = {
    "not committed": (
        {".log": (0, 10, 20), ".log.swap": (10,), ".log.cleaned": (0,)},
        [(".log", 0), (".log", 10), (".log", 20)],
    ),
    "a stray of another compaction": (
        {".log": (0, 10, 20), ".log.swap": (0,), ".log.cleaned": (10,)},
        [(".log.swap", 0), (".log", 10), (".log", 20)],
    ),
    "all sources are there": (
        {".log": (0, 10, 20), ".log.swap": (0, 10)},
        [(".log.swap", 0), (".log.swap", 10), (".log", 20)],
    ),
    "some have retired": (
        {".log": (10, 20), ".log.swap": (0, 10)},
        [(".log.swap", 0), (".log.swap", 10), (".log", 20)],
    ),
    "all have": (
        {".log": (20,), ".log.swap": (0, 10)},
        [(".log.swap", 0), (".log.swap", 10), (".log", 20)],
    ),
    "one has its name": (
        {".log": (0, 20), ".log.swap": (10,)},
        [(".log", 0), (".log.swap", 10), (".log", 20)],
    ),
    "only the beginning was compacted": (
        {".log": (0, 10, 20), ".log.swap": (0,)},
        [(".log.swap", 0), (".log", 10), (".log", 20)],
    ),
}


@pytest.mark.parametrize("name", SWAPS)
def test_what_is_live_between_the_steps_of_a_swap(tmp_path, name):
    files, expected = SWAPS[name]
    for suffix, base_offsets in files.items():
        for base_offset in base_offsets:
            records = [Record(base_offset + n, 0, b"", b"") for n in range(10)]
            (tmp_path / (segment_stem(base_offset) + suffix)).write_bytes(encode_batch(records))
    segments = live_segments(str(tmp_path))
    found = [(os.path.basename(one.path)[20:], one.base_offset) for one in segments]
    assert found == expected
    assert [one.start_offset for one in segments] == [0, 10, 20]
    assert [one.start_offset for one in segments_of(str(tmp_path))] == [0, 10, 20]


def test_a_listed_segment_is_found_when_its_swap_is_over(tmp_path):
    name = segment_stem(0) + ".log"
    (tmp_path / (name + ".swap")).write_bytes(encode_batch([Record(0, 0, b"", b"")]))
    (listed,) = live_segments(str(tmp_path))
    (tmp_path / (name + ".swap")).rename(tmp_path / name)
    with open_segment(listed) as fd:
        assert os.fstat(fd).st_ino == (tmp_path / name).stat().st_ino


RANGES = {
    "nothing": ({}, []),
    "live only": ({"live": (0, 10)}, [("live", 0, 10), ("live", 10, None)]),
    "the beginning is in the history": (
        {"live": (0, 30), 1: (0, 10, 20)},
        [(1, 0, 10), (1, 10, 20), (1, 20, 24), ("live", 24, 30), ("live", 30, None)],
    ),
    "the middle is in the history": (
        {"live": (0, 30), 1: (10,)},
        [("live", 0, 10), (1, 10, 14), ("live", 14, 30), ("live", 30, None)],
    ),
    "what was superseded first counts": (
        {"live": (40,), 1: (8,), 2: (0, 20), 3: (0, 30)},
        [
            (2, 0, 8),
            (1, 8, 12),
            (2, 12, 20),
            (2, 20, 24),
            (3, 24, 30),
            (3, 30, 34),
            ("live", 40, None),
        ],
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_ranges(tmp_path, name):
    """Base offsets of the files, each with one batch of four offsets, by when they were retired."""
    files, expected = RANGES[name]
    (tmp_path / HISTORY).mkdir()
    for when, base_offsets in files.items():
        for base_offset in base_offsets:
            name = f"{segment_stem(base_offset)}.log"
            if when != "live":
                name = os.path.join(HISTORY, history_name(base_offset, when))
            records = [Record(base_offset + n, 0, b"", b"") for n in range(4)]
            (tmp_path / name).write_bytes(encode_batch(records))
    found = [
        (segment.superseded_ms or "live", segment.start_offset, segment.end_offset)
        for segment in segments_of(str(tmp_path))
    ]
    assert found == [(*rest, OFFSET_MAX if end is None else end) for *rest, end in expected]


def test_damage_in_the_history_is_made_up_for_and_told(tmp_path, caplog):
    folder = asyncio.run(written(tmp_path, COMMITS, CUTS[1]))
    (original,) = history_files(folder)
    flip(original.path, os.path.getsize(original.path) - 1)
    ranges = {s.superseded_ms: (s.start_offset, s.end_offset) for s in segments_of(folder)[:2]}
    assert ranges == {TIMESTAMP: (0, 6), None: (6, 8)}
    assert f"{original.path}, byte" in caplog.text
    assert "offsets from 6 on are taken from what compaction made of it" in caplog.text


def test_directories_of_kafka_have_no_history(tmp_path):
    folder = asyncio.run(written(tmp_path, COMMITS, ()))
    copy = shutil.copytree(folder, tmp_path / "kafka" / str(TP))
    for name in ("00000000000000000000.snapshot", "00000000000000000009.log.deleted", "x.log"):
        (copy / name).write_bytes(b"not a segment")
    assert [segment.base_offset for segment in segments_of(str(copy))] == [0]
    assert read_partition(str(copy)) == read_partition(folder)


def test_a_listed_segment_is_found_where_compaction_has_moved_it(tmp_path):
    """The name is taken by the compacted one, which must not be read in its stead."""

    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, KEPT)
            await append(log, *COMMITS)
            listed = segments_of(folder)
            await append_and_compact(log, FILLER, TIMESTAMP)
            return listed

    folder = os.path.join(tmp_path, str(TP))
    (listed,) = asyncio.run(scenario())
    assert os.path.exists(listed.path)
    rows, damage = read_segment(listed)
    assert damage is None
    assert offsets_of(rows) == list(range(2 * len(COMMITS)))
    shutil.rmtree(os.path.join(folder, HISTORY))
    with pytest.raises(SegmentGone, match=r"0\.log"):
        read_segment(listed)
