"""Opening after a crash: a torn tail is cut, any other damage is reported, indexes are rebuilt."""

import asyncio
import os
import random
import shutil

import pytest

from drumbeat.log.errors import CorruptLog
from drumbeat.log.store import LocalStore
from drumbeat.protocol.record_batch import assign
from log.helpers import (
    SETTINGS,
    SMALL,
    TP,
    batch,
    contents,
    copy_killed,
    flip,
    segment_files,
    write,
)

LOG = "00000000000000000000.log"
VALUES = [b"first", b"second", b"third", b"fourth", b"the fifth and last"]
SIZES = [len(batch(value)) for value in VALUES]
WHOLE = list(enumerate(VALUES))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A partition of five batches in one segment, as a killed process leaves it."""
    path = tmp_path_factory.mktemp("written")

    async def scenario():
        async with LocalStore(path / "open") as store:
            log = await store.acquire(TP, SETTINGS)
            for value in VALUES:
                await write(log, value)
            copy_killed(path / "open", path / "killed")

    asyncio.run(scenario())
    return path / "killed"


@pytest.fixture
def killed(written, tmp_path):
    return shutil.copytree(written, tmp_path / "killed")


def reopen(directory, settings=SETTINGS):
    """What the next process finds, its notes, and what it finds after one more append."""

    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, settings)
            found, notes = contents(log), log.notes
            await write(log, b"after")
            assert contents(log) == [*found, (log.end_offset - 1, b"after")]
            return found, notes

    return asyncio.run(scenario())


def log_path(directory):
    return directory / str(TP) / LOG


def test_an_untouched_log_is_whole(killed):
    assert reopen(killed) == (WHOLE, ())


def test_a_tail_torn_at_any_byte_is_cut(written, tmp_path):
    whole = log_path(written).read_bytes()
    last = sum(SIZES[:-1])
    for size in range(last + 1, len(whole)):
        directory = shutil.copytree(written, tmp_path / str(size))
        os.truncate(log_path(directory), size)
        found, notes = reopen(directory)
        assert found == WHOLE[:-1], size
        assert f"cut {size - last} bytes of a torn batch at byte {last}, offset 4" in notes[0]


def test_a_tail_of_which_any_byte_never_reached_the_disk_is_cut(written, tmp_path):
    """The base offset and the leader epoch are outside the checksum, in Kafka's format too."""
    last = sum(SIZES[:-1])
    whole = log_path(written).read_bytes()
    for position in [*range(8, 12), *range(16, SIZES[-1])]:
        directory = shutil.copytree(written, tmp_path / str(position))
        flip(log_path(directory), last + position)
        found, notes = reopen(directory)
        assert found == WHOLE[:-1], position
        assert notes
    assert log_path(written).read_bytes() == whole


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 4096, b"\0" * 70_000, b"\xff" * 100, b"\2" * 300])
def test_a_tail_that_is_no_batch_is_cut(killed, tail):
    with log_path(killed).open("ab") as file:
        file.write(tail)
    found, notes = reopen(killed)
    assert found == WHOLE
    assert f"cut {len(tail)} bytes" in notes[0]


def test_a_log_of_nothing_but_a_torn_batch_is_empty(killed):
    os.truncate(log_path(killed), SIZES[0] - 1)
    found, notes = reopen(killed)
    assert found == []
    assert "at byte 0, offset 0" in notes[0]


@pytest.mark.parametrize("number", [0, 1, 3])
def test_damage_before_a_sound_batch_stops_the_partition(written, tmp_path, number):
    start = sum(SIZES[:number])
    for position in [*range(8, 12), *range(16, SIZES[number], 7)]:
        directory = shutil.copytree(written, tmp_path / str(position))
        flip(log_path(directory), start + position, bits=0x40)
        damaged = log_path(directory).read_bytes()
        with pytest.raises(CorruptLog) as caught:
            reopen(directory)
        following = start + SIZES[number]
        assert caught.value.path == str(log_path(directory))
        assert caught.value.position == start
        assert f"a sound batch follows at byte {following}" in str(caught.value)
        assert log_path(directory).read_bytes() == damaged


def test_a_hole_in_the_middle_stops_the_partition(killed):
    with log_path(killed).open("r+b") as file:
        file.write(b"\0" * (SIZES[0] + SIZES[1]))
    with pytest.raises(CorruptLog, match="a sound batch follows"):
        reopen(killed)


def test_a_sound_batch_with_an_old_offset_is_not_cut_away(killed):
    with log_path(killed).open("ab") as file:
        file.write(assign(batch(b"again"), 2, 0))
    with pytest.raises(CorruptLog, match="offset 2 follows 4"):
        reopen(killed)


def test_a_torn_batch_that_carries_batches_inside_is_still_torn(tmp_path):
    inner = batch(b"inner")

    async def scenario():
        async with LocalStore(tmp_path / "open") as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, b"before")
            await write(log, inner + b"and more")
            copy_killed(tmp_path / "open", tmp_path / "killed")

    asyncio.run(scenario())
    path = log_path(tmp_path / "killed")
    os.truncate(path, path.stat().st_size - 3)
    found, _ = reopen(tmp_path / "killed")
    assert found == [(0, b"before")]


def test_gaps_left_by_compaction_are_no_damage(killed):
    data = log_path(killed).read_bytes()
    kept = data[: SIZES[0]] + data[sum(SIZES[:3]) :]
    log_path(killed).write_bytes(kept)
    found, notes = reopen(killed)
    assert (found, notes) == ([WHOLE[0], *WHOLE[3:]], ())


@pytest.mark.parametrize("batch_bytes", [100, (1 << 20) - 40, 1 << 20, 3 << 20])
def test_batches_larger_than_a_chunk_are_scanned(tmp_path, batch_bytes):
    values = [b"x" * batch_bytes, b"y" * (batch_bytes + 1), b"z"]

    async def scenario():
        async with LocalStore(tmp_path / "open") as store:
            log = await store.acquire(TP, settings)
            for value in values:
                await write(log, value)
            copy_killed(tmp_path / "open", tmp_path / "killed")

    settings = type(SETTINGS)(batch_bytes_max=8 << 20)
    asyncio.run(scenario())
    assert reopen(tmp_path / "killed", settings) == (list(enumerate(values)), ())


@pytest.fixture
def many(tmp_path):
    """A partition of several segments, as a killed process leaves it."""

    async def scenario():
        async with LocalStore(tmp_path / "open") as store:
            log = await store.acquire(TP, SMALL)
            for number in range(30):
                await write(log, b"%d" % number, timestamps=[1000 + number])
            copy_killed(tmp_path / "open", tmp_path / "killed")

    asyncio.run(scenario())
    return tmp_path / "killed" / str(TP)


def test_damage_in_a_closed_segment_is_found_when_it_is_read(many):
    second = segment_files(many)[1]
    flip(many / second, 100)

    async def scenario():
        async with LocalStore(many.parent) as store:
            log = await store.acquire(TP, SMALL)
            with pytest.raises(CorruptLog, match=second):
                contents(log)
            third = int(segment_files(many)[2][:20])
            assert [found.header.base_offset for found in log.batches_from(third)][-1] == 29
            assert await write(log, b"still writable") == 30

    asyncio.run(scenario())


def test_a_closed_segment_that_is_missing_is_reported_when_it_is_read(many):
    async def scenario():
        async with LocalStore(many.parent) as store:
            log = await store.acquire(TP, SMALL)
            os.unlink(many / segment_files(many)[1])
            with pytest.raises(CorruptLog, match="No such file"):
                contents(log)

    asyncio.run(scenario())


def shift(path):
    """Entries that could be true and are not: the last number of each is one too large."""
    size = 8 if path.suffix == ".index" else 12
    data = bytearray(path.read_bytes())
    for position in range(size - 1, len(data), size):
        data[position] += 1
    path.write_bytes(data)


def negate(path):
    """The top bit of each entry's last number is set: a position or an offset below zero."""
    size = 8 if path.suffix == ".index" else 12
    data = bytearray(path.read_bytes())
    for position in range(size - 4, len(data), size):
        data[position] |= 0x80
    path.write_bytes(data)


def negate_all_but_last(path):
    """What an opening, which looks at the last entry, does not see."""
    size = 8 if path.suffix == ".index" else 12
    last = path.read_bytes()[-size:]
    negate(path)
    path.write_bytes(path.read_bytes()[: -size or None] + last)


def postpone(path):
    """All entries but the last say what the last one says of its offset or position."""
    size = 8 if path.suffix == ".index" else 12
    data = path.read_bytes()
    entries = [data[at : at + size - 4] + data[-4:] for at in range(0, len(data), size)]
    path.write_bytes(b"".join(entries))


def randomize(seed):
    return lambda path: path.write_bytes(random.Random(seed).randbytes(path.stat().st_size))


DAMAGES = {
    "negative": negate,
    "negative, but the last": negate_all_but_last,
    "postponed": postpone,
    **{f"random {seed}": randomize(seed) for seed in range(5)},
    "shifted": shift,
    "missing": os.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "odd size": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "garbage": lambda path: path.write_bytes(b"\x01\x7f\x03" * 8),
    "zeros behind": lambda path: path.write_bytes(path.read_bytes() + b"\0" * 24 * 1000),
    "entries swapped": lambda path: path.write_bytes(path.read_bytes()[::-1]),
}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("which", [0, 2, -1])
def test_damaged_indexes_change_no_answer(many, suffix, damage, which):
    DAMAGES[damage](many / segment_files(many, suffix)[which])

    async def scenario():
        async with LocalStore(many.parent) as store:
            log = await store.acquire(TP, SMALL)
            assert contents(log) == [(n, b"%d" % n) for n in range(30)]
            for offset in range(30):
                assert next(log.batches_from(offset)).header.base_offset == offset
                assert log.offset_for_timestamp(1000 + offset) == (1000 + offset, offset)
            assert log.max_timestamp() == (1029, 29)

    asyncio.run(scenario())


def test_missing_indexes_of_closed_segments_are_rebuilt_byte_for_byte(many):
    def indexes():
        names = segment_files(many, "index")
        return {name: (many / name).read_bytes() for name in names[:-2]}

    before = indexes()
    for name in before:
        os.unlink(many / name)

    async def scenario():
        async with LocalStore(many.parent) as store:
            return (await store.acquire(TP, SMALL)).notes

    notes = asyncio.run(scenario())
    assert indexes() == before
    assert len(notes) == len(before) // 2
    assert all("rebuilt its indexes" in note for note in notes)
