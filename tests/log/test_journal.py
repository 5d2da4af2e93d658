"""One sync for many partitions; what only the journal has is written again after a crash."""

import asyncio
import os
import random
import shutil
import struct
import threading

import pytest
from crc32c import crc32c

from drumbeat.log.commit import SMALL_BYTES_MAX
from drumbeat.log.errors import AppendFailed, CorruptLog, LogError
from drumbeat.log.files import Disk
from drumbeat.log.journal import FILE, Journal
from drumbeat.log.journal_format import Entry, encode_header, read_entries
from drumbeat.log.journal_replay import replay
from drumbeat.log.port import TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.protocol.record_batch import assign
from log.helpers import SETTINGS, FaultyDisk, append, batch, contents, flip, write

SEGMENT = "00000000000000000000.log"
PARTITIONS = [TopicPartition("orders", number) for number in range(4)]


class CountingDisk(Disk):
    """Counts the writes and syncs of each file."""

    def __init__(self):
        self.writes = []
        self.syncs = []

    def write(self, fd, buffers, position):
        self.writes.append(name_of(fd))
        return super().write(fd, buffers, position)

    def sync(self, fd):
        self.syncs.append(name_of(fd))
        super().sync(fd)


class HeldDisk(Disk):
    """Syncs of the journal wait until they are let go."""

    def __init__(self):
        self.held = threading.Event()
        self.held.set()
        self.is_waiting = threading.Event()

    def sync(self, fd):
        if name_of(fd) == FILE and not self.held.is_set():
            self.is_waiting.set()
            self.held.wait()
        super().sync(fd)


def name_of(fd):
    return os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))


def segment_of(directory, topic_partition):
    return directory / str(topic_partition) / SEGMENT


def test_commits_of_many_partitions_share_one_sync(tmp_path):
    disk = CountingDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            logs = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS]
            await asyncio.gather(*(write(log, b"first") for log in logs))
            disk.syncs.clear()
            await asyncio.gather(*(write(log, b"second") for log in logs))
            return list(disk.syncs)

    assert asyncio.run(scenario()) == [FILE]


def test_a_round_takes_what_partitions_have_when_it_begins(tmp_path):
    """Commits that meet in one turn of the loop are written once per partition."""
    disk = CountingDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            logs = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS]
            await asyncio.gather(*(write(log, b"first") for log in logs))
            disk.writes.clear()
            disk.syncs.clear()
            for number in range(3):
                for log in logs:
                    append(log, b"%d" % number)
                    log.request_sync()
            await asyncio.gather(*(log.sync() for log in logs))
            return disk.writes[:], disk.syncs[:], contents(logs[0])

    writes, syncs, found = asyncio.run(scenario())
    assert (writes, syncs) == ([SEGMENT] * len(PARTITIONS) + [FILE], [FILE])
    assert found == [(0, b"first"), (1, b"0"), (2, b"1"), (3, b"2")]


def test_a_large_commit_does_not_wait_for_a_round(tmp_path):
    disk = HeldDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            small, large = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS[:2]]
            await write(small, b"first")
            disk.held.clear()
            append(small, b"second")
            waiting = asyncio.ensure_future(small.sync())
            await asyncio.to_thread(disk.is_waiting.wait)
            assert await write(large, bytes(SMALL_BYTES_MAX)) == 0
            assert not waiting.done()
            disk.held.set()
            return await waiting

    assert asyncio.run(scenario()) == 2


@pytest.mark.parametrize(
    ("size", "synced"),
    [(SMALL_BYTES_MAX - 1000, [FILE]), (SMALL_BYTES_MAX, [SEGMENT] * len(PARTITIONS))],
)
def test_large_commits_are_synced_where_they_belong(tmp_path, size, synced):
    disk = CountingDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            logs = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS]
            await asyncio.gather(*(write(log, bytes(size)) for log in logs))
            await asyncio.gather(*(write(log, bytes(size)) for log in logs))
            disk.syncs.clear()
            await asyncio.gather(*(write(log, bytes(size)) for log in logs))
            return list(disk.syncs)

    syncs = asyncio.run(scenario())
    assert [name for name in syncs if name in (FILE, SEGMENT)][-len(synced) :] == synced


def test_entries_of_many_buffers_are_replayed(tmp_path):
    """More than is copied into one piece."""
    data, crashed = tmp_path / "data", tmp_path / "crashed"
    values = [[bytes([number + n]) * 20_000 for n in range(3)] for number in range(4)]

    async def scenario():
        store = LocalStore(data)
        await store.open()
        logs = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS]
        await asyncio.gather(*(write(log, b"first") for log in logs))
        for log, of_log in zip(logs, values, strict=True):
            for value in of_log:
                append(log, value)
        await asyncio.gather(*(log.sync() for log in logs))
        shutil.copytree(data, crashed)
        await store.close()

    asyncio.run(scenario())
    for topic_partition in PARTITIONS:
        os.truncate(segment_of(crashed, topic_partition), 100)
    assert reread(crashed) == [list(enumerate([b"first", *of_log])) for of_log in values]


def written(directory, rounds=5):
    """A store that was not closed: what a killed process leaves."""

    async def scenario():
        store = LocalStore(directory)
        await store.open()
        logs = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS]
        for number in range(rounds):
            await asyncio.gather(*(write(log, b"%d" % number) for log in logs))
        shutil.copytree(directory, f"{directory}-crashed")
        await store.close()

    asyncio.run(scenario())
    return directory.parent / f"{directory.name}-crashed"


def reread(directory):
    async def scenario():
        async with LocalStore(directory) as store:
            return [contents(await store.acquire(tp, SETTINGS)) for tp in PARTITIONS]

    return asyncio.run(scenario())


EXPECTED = [(number, b"%d" % number) for number in range(5)]


@pytest.mark.parametrize("seed", range(5))
def test_a_power_cut_may_take_any_unsynced_part_of_the_segments(tmp_path, seed):
    """Tails cut off, or kept in length and filled with zeros: the journal has it all."""
    rng = random.Random(seed)
    crashed = written(tmp_path / "data")
    for topic_partition in PARTITIONS:
        path = segment_of(crashed, topic_partition)
        data = path.read_bytes()
        keep = rng.randrange(len(data) + 1)
        path.write_bytes(data[:keep] + bytes(rng.choice((0, len(data) - keep))))
    assert reread(crashed) == [EXPECTED] * len(PARTITIONS)
    assert reread(crashed) == [EXPECTED] * len(PARTITIONS)


def test_a_torn_journal_keeps_what_stands_before_the_tear(tmp_path):
    crashed = written(tmp_path / "data")
    entries = read_entries(os.open(crashed / FILE, os.O_RDONLY))
    assert len(entries) == 5 * len(PARTITIONS)
    with open(crashed / FILE, "r+b") as file:
        data = file.read()
        file.seek(data.rindex(entries[-1].buffers[0]))
        file.write(b"torn")
    whole_rounds = entries[: -len(PARTITIONS)]
    assert read_entries(os.open(crashed / FILE, os.O_RDONLY)) == whole_rounds


def test_a_closed_store_leaves_nothing_to_replay(tmp_path):
    written(tmp_path / "data")
    assert replay(Disk(), str(tmp_path / "data")) == 0


@pytest.mark.parametrize("place", [0, 8, 12, 20])
def test_a_damaged_beginning_is_named_and_left_as_it_is(tmp_path, place):
    """Whether entries follow that nothing else holds, nobody can tell."""
    crashed = written(tmp_path / "data")
    flip(crashed / FILE, place)
    damaged = (crashed / FILE).read_bytes()
    for is_exclusive in (True, False):
        with pytest.raises(CorruptLog, match=FILE):
            asyncio.run(opened(crashed, exclusive=is_exclusive))
    assert (crashed / FILE).read_bytes() == damaged


def test_a_journal_of_another_version_is_named_and_left_as_it_is(tmp_path):
    fields = struct.pack(">8sIQ", b"DRUMJRNL", 1, 7)
    older = fields + struct.pack(">I", crc32c(fields)) + bytes(4096)
    (tmp_path / FILE).write_bytes(older)
    with pytest.raises(CorruptLog, match=r"of version 1; .* stop in order"):
        asyncio.run(opened(tmp_path, exclusive=True))
    assert (tmp_path / FILE).read_bytes() == older


@pytest.mark.parametrize("size", [1, 4, 23])
def test_a_journal_that_was_cut_off_is_named_and_left_as_it_is(tmp_path, size):
    """Its first megabyte is durable before its header is, so that no crash leaves this."""
    crashed = written(tmp_path / "data")
    os.truncate(crashed / FILE, size)
    damaged = (crashed / FILE).read_bytes()
    for is_exclusive in (True, False):
        with pytest.raises(CorruptLog, match=FILE):
            asyncio.run(opened(crashed, exclusive=is_exclusive))
    assert (crashed / FILE).read_bytes() == damaged


def test_a_journal_whose_header_alone_is_gone_still_holds_something(tmp_path):
    crashed = written(tmp_path / "data")
    with open(crashed / FILE, "r+b") as file:
        file.write(bytes(24))
    with pytest.raises(CorruptLog, match=FILE):
        asyncio.run(opened(crashed, exclusive=True))


@pytest.mark.parametrize("size", range(1, 24))
def test_a_header_that_was_torn_before_the_first_round_holds_nothing(tmp_path, size):
    (tmp_path / FILE).write_bytes(encode_header(1)[:size] + bytes((1 << 20) - size))
    asyncio.run(opened(tmp_path, exclusive=True))


@pytest.mark.parametrize("content", [b"", bytes(100), bytes(2 << 20)])
def test_a_journal_that_was_never_begun_holds_nothing(tmp_path, content):
    """A crash may come between its creation and its first entry."""
    (tmp_path / FILE).write_bytes(content)
    asyncio.run(opened(tmp_path, exclusive=True))


async def opened(directory, *, exclusive):
    async with LocalStore(directory, exclusive=exclusive):
        pass


def test_processes_that_share_a_directory_refuse_another_ones_journal(tmp_path):
    crashed = written(tmp_path / "data")

    with pytest.raises(LogError, match="to itself"):
        asyncio.run(opened(crashed, exclusive=False))
    assert reread(crashed) == [EXPECTED] * len(PARTITIONS)
    asyncio.run(opened(crashed, exclusive=False))


def test_a_deleted_partition_does_not_come_back_under_its_name(tmp_path):
    async def scenario():
        store = LocalStore(tmp_path / "data")
        await store.open()
        log = await store.acquire(PARTITIONS[0], SETTINGS)
        await write(log, b"of the old topic")
        await store.delete(PARTITIONS[0])
        again = await store.acquire(PARTITIONS[0], SETTINGS)
        shutil.copytree(tmp_path / "data", tmp_path / "crashed")
        await again.release()
        await store.close()

    asyncio.run(scenario())
    assert reread(tmp_path / "crashed")[0] == []


def test_a_full_journal_begins_anew_after_the_segments_are_synced(tmp_path, monkeypatch):
    monkeypatch.setattr("drumbeat.log.journal.FILE_BYTES", 6000)
    crashed = written(tmp_path / "data", rounds=40)
    assert len(read_entries(os.open(crashed / FILE, os.O_RDONLY))) < 40
    assert reread(crashed) == [[(n, b"%d" % n) for n in range(40)]] * len(PARTITIONS)


def test_a_failed_sync_of_the_journal_ends_the_round_and_not_the_store(tmp_path):
    disk = FaultyDisk()

    async def scenario():
        async with LocalStore(tmp_path, disk=disk) as store:
            first, second = [await store.acquire(tp, SETTINGS) for tp in PARTITIONS[:2]]
            await write(first, b"kept")
            disk.sync_errors.append(5)
            with pytest.raises(AppendFailed):
                await write(first, b"lost")
            assert await write(second, b"later") == 0
            again = await store.acquire(PARTITIONS[0], SETTINGS)
            assert await write(again, b"more") == 1
            shutil.copytree(tmp_path, f"{tmp_path}-crashed")

    asyncio.run(scenario())
    assert reread(f"{tmp_path}-crashed")[:2] == [[(0, b"kept"), (1, b"more")], [(0, b"later")]]


def test_a_segment_that_is_shorter_than_the_journal_knows_is_damage(tmp_path):
    crashed = written(tmp_path / "data")
    journal = Journal(Disk(), str(crashed))
    fd = os.open(segment_of(crashed, PARTITIONS[0]), os.O_RDWR)
    journal.append([Entry("orders-0", 0, 10_000, [b"beyond the end"])], [fd])
    os.close(fd)
    with pytest.raises(CorruptLog, match=r"continues it at 10000; .* or move it away"):
        replay(Disk(), str(crashed))


def journalled_from(directory, first, values):
    """A killed store whose journal continues partition 0 behind what an orderly stop left."""

    async def scenario():
        async with LocalStore(directory / "data") as store:
            log = await store.acquire(PARTITIONS[0], SETTINGS)
            for value in first:
                await write(log, value)
        store = LocalStore(directory / "data")
        await store.open()
        log = await store.acquire(PARTITIONS[0], SETTINGS)
        for value in values:
            await write(log, value)
        shutil.copytree(directory / "data", directory / "crashed")
        await store.close()

    asyncio.run(scenario())
    return directory / "crashed"


FIRST, JOURNALLED = [b"a", b"b"], [b"c", b"d", b"e"]
# By what somebody put in the segment's place: values of batches, one record each but the lists.
OTHERS = {
    "batches that end elsewhere": [b"longer than those", b"that were there", b"!", b"!"],
    "other offsets": [[b"", b""], b"*", b"*", b"*"],
    "other batches where the entries go": [b"a", b"b", b"x", b"y", b"z"],
    "one other batch among them": [b"a", b"b", b"c", b"y", b"e"],
}


@pytest.mark.parametrize("first", [FIRST, []], ids=["continued", "begun"])
@pytest.mark.parametrize("what", OTHERS)
def test_a_log_that_is_not_the_journals_is_not_overwritten(tmp_path, what, first):
    crashed = journalled_from(tmp_path, first, [*FIRST, *JOURNALLED][len(first) :])
    other, at = b"", 0
    for value in OTHERS[what]:
        values = value if isinstance(value, list) else [value]
        other += assign(batch(*values), at, 0)
        at += len(values)
    segment = segment_of(crashed, PARTITIONS[0])
    segment.write_bytes(other)
    journal = (crashed / FILE).read_bytes()
    for _ in range(2):
        with pytest.raises(CorruptLog, match=f"{SEGMENT}.*nothing was changed; .* move it away"):
            asyncio.run(opened(crashed, exclusive=True))
        assert segment.read_bytes() == other
        assert (crashed / FILE).read_bytes() == journal


def test_an_older_copy_of_the_same_log_is_continued(tmp_path):
    crashed = journalled_from(tmp_path, FIRST, JOURNALLED)
    segment = segment_of(crashed, PARTITIONS[0])
    for count in range(2, 6):
        os.truncate(segment, count * len(batch(b"a")))
        again = shutil.copytree(crashed, tmp_path / str(count))
        assert reread(again)[0] == list(enumerate([*FIRST, *JOURNALLED]))


def test_without_the_partition_the_others_start(tmp_path):
    """What the error advises."""
    crashed = written(tmp_path / "data")
    segment_of(crashed, PARTITIONS[0]).write_bytes(assign(batch(b"other"), 0, 0))
    with pytest.raises(CorruptLog, match="move it away"):
        asyncio.run(opened(crashed, exclusive=True))
    (crashed / str(PARTITIONS[0])).rename(tmp_path / "away")
    assert reread(crashed) == [[], *[EXPECTED] * 3]


def opened_journal(directory):
    """A journal that has been begun, a segment beside it, and what is synced from here on."""
    disk = CountingDisk()
    journal = Journal(disk, str(directory))
    fd = os.open(directory / SEGMENT, os.O_RDWR | os.O_CREAT)
    journal.append([Entry("orders-0", 0, 0, [b"first"])], [fd])
    disk.syncs.clear()
    return journal, fd, disk.syncs


def test_what_is_written_without_waiting_is_durable_once_it_is_synced(tmp_path):
    journal, fd, syncs = opened_journal(tmp_path)
    assert journal.try_write([Entry("orders-0", 0, 5, [b"second"])], [fd])
    assert syncs == []
    journal.sync()
    assert syncs == [FILE]
    entries = read_entries(os.open(tmp_path / FILE, os.O_RDONLY))
    assert [b"".join(entry.buffers) for entry in entries] == [b"first", b"second"]
    os.close(fd)


def test_a_journal_that_begins_anew_before_a_sync_has_synced_the_segments_itself(tmp_path):
    """As when another partition is deleted meanwhile."""
    journal, fd, syncs = opened_journal(tmp_path)
    assert journal.try_write([Entry("orders-1", 0, 0, [b"second"])], [fd])
    journal.forget("orders-0")
    assert syncs == [SEGMENT, SEGMENT, FILE]
    journal.sync()
    assert read_entries(os.open(tmp_path / FILE, os.O_RDONLY)) == []
    os.close(fd)


def test_what_would_have_to_wait_is_left_to_a_worker(tmp_path, monkeypatch):
    assert not Journal(Disk(), str(tmp_path)).try_write([Entry("orders-0", 0, 0, [b"x"])], [0])
    journal, fd, _ = opened_journal(tmp_path)
    assert not journal.try_write([Entry("orders-0", 0, 0, [bytes(2 << 20)])], [fd])
    monkeypatch.setattr("drumbeat.log.journal.FILE_BYTES", 4100)
    assert not journal.try_write([Entry("orders-0", 0, 0, [bytes(100)])], [fd])
    os.close(fd)
