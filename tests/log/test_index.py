"""The two indexes: entries as Kafka's LogSegment writes them, and look-ups."""

import asyncio
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.log.index import (
    OffsetIndex,
    TimeIndex,
    offset_entries_problem,
    time_entries_problem,
)
from drumbeat.log.port import LogSettings
from drumbeat.log.store import LocalStore
from log.helpers import TP, batch, segment_files, write

OFFSET_LOOKUPS = """
asked  found
99     None
104    None
105    (105, 4200)
106    (105, 4200)
119    (105, 4200)
120    (120, 8500)
999    (120, 8500)
"""
TIME_LOOKUPS = """
asked  found
0      None
499    None
500    (500, 101)
501    (500, 101)
700    (700, 115)
9999   (700, 115)
"""


def rows(table):
    return [line.split(maxsplit=1) for line in table.strip().split("\n")[1:]]


def filled(kind, path, entries):
    index = kind(str(path), 100)
    index.hold()
    for entry in entries:
        (index.append if kind is OffsetIndex else index.maybe_append)(*entry)
    return index


@pytest.fixture(params=["memory", "file"])
def place(request):
    def put(index, path):
        if request.param == "file":
            path.write_bytes(index.data())
            index.leave_to_file()
        return index

    return put


@pytest.mark.parametrize(("asked", "found"), rows(OFFSET_LOOKUPS))
def test_offset_lookup_finds_the_last_entry_at_or_below(tmp_path, place, asked, found):
    path = tmp_path / "x.index"
    index = place(filled(OffsetIndex, path, [(105, 4200), (120, 8500)]), path)
    result = index.lookup(int(asked))
    assert repr(result and tuple(result)) == found
    assert index.last() == (120, 8500)


@pytest.mark.parametrize(("asked", "found"), rows(TIME_LOOKUPS))
def test_time_lookup_finds_the_last_entry_at_or_below(tmp_path, place, asked, found):
    path = tmp_path / "x.timeindex"
    entries = [(500, 101), (500, 109), (400, 110), (700, 115)]
    index = place(filled(TimeIndex, path, entries), path)
    result = index.lookup(int(asked))
    assert repr(result and tuple(result)) == found
    assert index.last() == (700, 115)


@pytest.mark.parametrize("kind", [OffsetIndex, TimeIndex])
def test_an_empty_or_missing_index_finds_nothing(tmp_path, kind):
    index = kind(str(tmp_path / "missing"), 0)
    assert index.lookup(5) is None
    assert index.last() is None
    index.hold()
    assert index.last() is None


@pytest.mark.parametrize(
    ("kind", "bytes_max", "entries"), [(OffsetIndex, 31, 3), (TimeIndex, 47, 2), (TimeIndex, 48, 3)]
)
def test_an_index_is_full_at_its_limit(tmp_path, kind, bytes_max, entries):
    """A time index keeps one slot for the entry that closes the segment."""
    index = filled(kind, tmp_path, [(101 + n, 102 + n) for n in range(entries - 1)])
    assert not index.is_full(bytes_max)
    index = filled(kind, tmp_path, [(101 + n, 102 + n) for n in range(entries)])
    assert index.is_full(bytes_max)


OFFSETS, TIMES = struct.Struct(">ii"), struct.Struct(">qi")


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], None),
        ([(0, 1)], None),
        ([(5, 100), (6, 999)], None),
        ([(5, 100), (5, 200)], "do not grow"),
        ([(5, 100), (6, 100)], "do not grow"),
        ([(5, 100), (0, 0)], "do not grow"),
        ([(5, 100), (6, 1000)], "outside"),
        ([(-1, 100)], "outside"),
        ([(0, 0)], "outside"),
    ],
)
def test_offset_entries_are_checked(entries, problem):
    found = offset_entries_problem(b"".join(OFFSETS.pack(*e) for e in entries), 1000)
    assert found is None if problem is None else problem in found


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], None),
        ([(1, 0)], None),
        ([(1, 0), (2, 50)], None),
        ([(1, 0), (1, 50)], "do not grow"),
        ([(2, 5), (3, 5)], "do not grow"),
        ([(1, 0), (2, 51)], "outside"),
        ([(1, -1)], "outside"),
    ],
)
def test_time_entries_are_checked(entries, problem):
    found = time_entries_problem(b"".join(TIMES.pack(*e) for e in entries), 50)
    assert found is None if problem is None else problem in found


@pytest.mark.parametrize("check", [offset_entries_problem, time_entries_problem])
def test_half_entries_are_noticed(check):
    assert "no multiple" in check(b"\1" * 13, 1000)


def kafkas_entries(batches, interval):
    """Kafka's rule, written down once more: before a batch that comes more than the interval after
    the last entry's batch began, both indexes may get an entry; closing adds the last timestamp."""
    offsets, times, since, position = [], [], 0, 0
    largest, largest_offset = -1, 0

    def add_time():
        if largest > (times[-1][0] if times else -1):
            times.append((largest, largest_offset))

    for last_offset, timestamp, size in batches:
        if timestamp > largest:
            largest, largest_offset = timestamp, last_offset
        if since > interval:
            offsets.append((last_offset, position))
            add_time()
            since = 0
        position += size
        since += size
    add_time()
    return offsets, times


@given(
    sizes=st.lists(
        st.tuples(st.integers(0, 300), st.integers(0, 50), st.integers(1, 3)), min_size=1
    ),
    interval=st.sampled_from([0, 100, 500]),
)
def test_index_files_hold_the_entries_kafka_would_write(tmp_path_factory, sizes, interval):
    directory = tmp_path_factory.mktemp("index")
    batches = []

    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, LogSettings(index_interval_bytes=interval))
            for size, timestamp, count in sizes:
                values, times = [b"x" * size] * count, [timestamp] * count
                await write(log, *values, timestamps=times)
                encoded = batch(*values, timestamps=times)
                batches.append((log.end_offset - 1, timestamp, len(encoded)))

    asyncio.run(scenario())
    folder = directory / str(TP)
    (index,), (timeindex,) = segment_files(folder, ".index"), segment_files(folder, ".timeindex")
    offsets, times = kafkas_entries(batches, interval)
    assert list(OFFSETS.iter_unpack((folder / index).read_bytes())) == offsets
    assert list(TIMES.iter_unpack((folder / timeindex).read_bytes())) == times
