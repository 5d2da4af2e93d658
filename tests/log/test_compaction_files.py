"""Compaction on disk: atomic whatever breaks, stopped when asked, and superseded segments kept."""

import asyncio
import errno
import os
import shutil
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from drumbeat.log.batches import read_batches
from drumbeat.log.errors import CorruptLog, Fenced, LogError, LogFull
from drumbeat.log.files import Disk, open_for_reading
from drumbeat.log.history import history_files
from drumbeat.log.port import CompactionBudget
from drumbeat.log.store import LocalStore
from drumbeat.protocol.record_batch import iter_headers
from log.compaction_helpers import DAY_MS
from log.helpers import TP, FaultyDisk
from log.test_compaction_contract import (
    COMPACTED,
    NOW_MS,
    contents_of,
    newest,
    texts_of,
    write,
    write_rounds,
)

KEPT = COMPACTED._replace(history_retention_ms=7 * DAY_MS)
SWAP_NAMES = (".cleaned", ".swap")


@asynccontextmanager
async def opened(directory, settings=KEPT, disk=None):
    async with LocalStore(directory, disk=disk) as store:
        yield await store.acquire(TP, settings)


def folder_of(directory):
    return os.path.join(directory, str(TP))


def names(directory, *suffixes):
    return sorted(n for n in os.listdir(folder_of(directory)) if n.endswith(suffixes))


async def load(directory):
    async with opened(directory) as log:
        return newest(log)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A log of several segments, most of whose records are superseded."""
    directory = tmp_path_factory.mktemp("compaction") / "data"

    async def scenario():
        async with opened(directory) as log:
            await write(log, "gone=1", *[f"k{n:02}=1" for n in range(12)], "gone=")
            await write_rounds(log, 8)

    asyncio.run(scenario())
    return directory


@pytest.mark.parametrize("kind", ["write_errors", "create_errors"])
@pytest.mark.parametrize("nth", [0, 1, 2])
def test_a_full_disk_refuses_and_leaves_nothing(template, tmp_path, kind, nth):
    directory = shutil.copytree(template, tmp_path / "data")
    disk = FaultyDisk()

    async def scenario():
        async with opened(directory, disk=disk) as log:
            before = contents_of(log)
            getattr(disk, kind).extend([*[None] * nth, errno.ENOSPC])
            with pytest.raises(LogFull):
                await log.compact(NOW_MS)
            assert names(directory, *SWAP_NAMES) == []
            assert contents_of(log) == before
            assert await log.compact(NOW_MS) is not None, "there is space again"
            assert len(contents_of(log)) < len(before)

    asyncio.run(scenario())


@pytest.mark.parametrize("nth", [0, 1, 4])
def test_after_a_failed_swap_this_handle_reads_and_writes_but_compacts_no_more(
    template, tmp_path, nth
):
    directory = shutil.copytree(template, tmp_path / "data")
    disk = FaultyRenames(nth)

    async def scenario():
        async with opened(directory, disk=disk) as log:
            for _ in range(2):
                with pytest.raises(LogError):
                    await log.compact(NOW_MS)
            await write_rounds(log)
            return newest(log)

    expected = asyncio.run(scenario())
    assert asyncio.run(load(directory)) == expected


class FaultyRenames(Disk):
    """All renames fail after the first few."""

    def __init__(self, good: int) -> None:
        self.good = good

    def rename(self, path, new_path):
        if not self.good:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.good -= 1
        super().rename(path, new_path)


# -- stopping ------------------------------------------------------------------------------------

SLOW = CompactionBudget(bytes_per_second=1.0)


@pytest.mark.parametrize("turns", [1, 2, 5])
@pytest.mark.parametrize("how", ["release", "newer owner", "trim", "cancel", "delete", "close"])
def test_a_compaction_is_stopped_at_once_and_leaves_nothing(template, tmp_path, how, turns):
    directory = shutil.copytree(template, tmp_path / "data")

    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, KEPT._replace(segment_bytes=1 << 20))
            await write(log, *[f"x={'y' * 9000}"] * 4)  # more than is read between two pauses
            log.configure(KEPT)
            await write_rounds(log)
            compacting = asyncio.ensure_future(log.compact(NOW_MS, SLOW))
            for _ in range(turns):
                await asyncio.sleep(0)
            assert await log.enforce_retention(NOW_MS) == 0, "that does not wait"
            await {
                "release": log.release,
                "newer owner": lambda: store.acquire(TP, KEPT),
                "trim": lambda: log.delete_records_before(1),
                "cancel": lambda: cancel(compacting),
                "delete": lambda: store.delete(TP),
                "close": store.close,
            }[how]()
            return await asyncio.gather(compacting, return_exceptions=True)

    (outcome,) = asyncio.run(asyncio.wait_for(scenario(), 20))
    assert outcome is None or isinstance(outcome, asyncio.CancelledError | Fenced)
    if how != "delete":
        assert names(directory, *SWAP_NAMES) == []


async def cancel(task):
    task.cancel()
    await asyncio.wait([task])


def test_a_compaction_that_waits_for_its_turn_can_be_cancelled(template, tmp_path):
    directory = shutil.copytree(template, tmp_path / "data")

    async def scenario():
        async with opened(directory) as log:
            async with log._upkeep._maintenance:
                compacting = asyncio.ensure_future(log.compact(NOW_MS))
                await asyncio.sleep(0)
                compacting.cancel()
                await asyncio.sleep(0)
            await asyncio.wait([compacting])
            assert compacting.cancelled()
            return log.cleanable(NOW_MS).dirty_ratio

    assert asyncio.run(scenario()) == 1.0


# -- history -------------------------------------------------------------------------------------


def history_of(directory):
    return [(file.base_offset, file.superseded_ms) for file in history_files(folder_of(directory))]


def test_superseded_segments_stay_in_the_history_until_their_time_is_over(tmp_path):
    async def scenario():
        async with opened(tmp_path) as log:
            await write_rounds(log)
            first = [segment.base_offset for segment in log._segments.closed]
            await log.compact(NOW_MS)
            assert history_of(tmp_path) == [(base, NOW_MS) for base in first]
            await write_rounds(log)
            await log.compact(NOW_MS + DAY_MS)
            second = history_of(tmp_path)[len(first) :]
            assert {superseded_ms for _, superseded_ms in second} == {NOW_MS + DAY_MS}
            assert second[0][0] == 0, "the first compaction's result is superseded too"
            await log.enforce_retention(NOW_MS + 7 * DAY_MS - 1)
            assert history_of(tmp_path)[0] == (0, NOW_MS)
            await log.enforce_retention(NOW_MS + 7 * DAY_MS)
            assert history_of(tmp_path) == second
            await log.enforce_retention(NOW_MS + 8 * DAY_MS)

    asyncio.run(scenario())
    assert not os.path.exists(os.path.join(folder_of(tmp_path), "history"))


def test_history_and_log_together_hold_everything_that_was_ever_written(tmp_path):
    async def scenario():
        async with opened(tmp_path) as log:
            everything = []
            for now_ms in (NOW_MS, NOW_MS, NOW_MS + 1):
                before = log.end_offset
                await write_rounds(log)
                everything += texts_of(log.batches_from(before))
                await log.compact(now_ms)
            found = dict(contents_of(log))
            found |= dict(past_of(tmp_path))
            return everything, sorted(found.items())

    everything, found = asyncio.run(scenario())
    assert found == everything


def past_of(directory):
    """The records of all history files: each is a segment like any other."""
    found = []
    for file in history_files(folder_of(directory)):
        with open_for_reading(file.path) as fd:
            found += texts_of(read_batches(fd, 0, os.fstat(fd).st_size))
    return found


@pytest.mark.parametrize(("retention_ms", "is_kept"), [(0, False), (1, True), (-1, True)])
def test_how_long_the_history_is_kept(tmp_path, retention_ms, is_kept):
    async def scenario():
        async with opened(tmp_path, KEPT._replace(history_retention_ms=retention_ms)) as log:
            await write_rounds(log)
            await log.compact(NOW_MS)
            return bool(history_of(tmp_path))

    assert asyncio.run(scenario()) is is_kept


def test_nothing_is_removed_that_somebody_still_reads(tmp_path):
    async def scenario():
        async with opened(tmp_path, COMPACTED) as log:
            await write_rounds(log)
            expected = contents_of(log)
            reader = log.batches_from(0)
            seen = [next(reader)]
            await log.compact(NOW_MS)
            assert history_of(tmp_path), "kept although the retention is 0"
            found = texts_of([*seen, *reader])
            await log.enforce_retention(NOW_MS)
            assert history_of(tmp_path) == []
            return found == expected

    assert asyncio.run(scenario())


def test_a_deleted_partition_takes_its_history_along(tmp_path):
    async def scenario():
        async with LocalStore(tmp_path) as store:
            log = await store.acquire(TP, KEPT)
            await write_rounds(log)
            await log.compact(NOW_MS)
            await store.delete(TP)

    asyncio.run(scenario())
    assert [n for n in os.listdir(tmp_path) if n.startswith(TP.topic)] == []


def test_what_is_not_ours_in_the_history_stays(tmp_path):
    async def scenario():
        async with opened(tmp_path) as log:
            await write_rounds(log)
            await log.compact(NOW_MS)
            for name in strangers:
                (folder / name).touch()
            await log.enforce_retention(NOW_MS + 30 * DAY_MS)

    folder = tmp_path / str(TP) / "history"
    strangers = [f"{0:020}.1.log.gz", f"{0:020}.log", "notes.txt"]
    asyncio.run(scenario())
    assert sorted(os.listdir(folder)) == strangers


# -- what compaction does not touch --------------------------------------------------------------


def set_offset(path, number, offset):
    """Of one batch; nothing but the neighbours tell that it is wrong."""
    data = bytearray(path.read_bytes())
    position = [at for at, _ in iter_headers(bytes(data))][number]
    data[position : position + 8] = offset.to_bytes(8, "big")
    path.write_bytes(data)
    return position


@pytest.mark.parametrize(("number", "offset"), [(1, 0), (1, 5_000), (0, 1 << 40)])
def test_a_segment_whose_offsets_are_out_of_order_is_not_compacted(
    template, tmp_path, number, offset
):
    directory = shutil.copytree(template, tmp_path / "data")
    second = Path(folder_of(directory), names(directory, ".log")[1])

    async def scenario():
        async with opened(directory) as log:
            position = set_offset(second, number, offset)
            named = rf"{second.name}, byte {position}: offsets {offset} to"
            with pytest.raises(CorruptLog, match=named):
                await log.compact(NOW_MS)

    asyncio.run(scenario())
    assert names(directory, *SWAP_NAMES) == []
    assert names(directory, ".log") == names(template, ".log")


def test_a_file_in_the_place_of_the_history_is_named_before_anything_is_replaced(
    template, tmp_path
):
    directory = shutil.copytree(template, tmp_path / "data")
    stranger = Path(folder_of(directory), "history")
    stranger.write_text("not yours")
    logs = names(directory, ".log")

    async def refused():
        async with opened(directory) as log:
            with pytest.raises(CorruptLog, match=f"{stranger}.*move it away"):
                await log.compact(NOW_MS)
            assert names(directory, *SWAP_NAMES, ".log") == logs
            await log.enforce_retention(NOW_MS)

    async def compacted():
        async with opened(directory) as log:
            return await log.compact(NOW_MS)

    asyncio.run(refused())
    assert stranger.read_text() == "not yours"
    stranger.unlink()
    assert asyncio.run(compacted()) is not None


def test_a_folder_named_like_superseded_segments_stays(template, tmp_path):
    directory = shutil.copytree(template, tmp_path / "data")
    for name in (f"{0:020}.1.log", f"{0:020}.{NOW_MS}.log"):
        Path(folder_of(directory), "history", name, "mine").mkdir(parents=True)

    async def scenario():
        async with opened(directory, COMPACTED) as log:
            expected = newest(log)
            assert await log.compact(NOW_MS) is not None
            await log.enforce_retention(NOW_MS)
            assert newest(log) == expected

    asyncio.run(scenario())
    assert len(list(Path(folder_of(directory), "history").glob("*/mine"))) == 2


class KeepingDisk(Disk):
    """What is in the history cannot be removed."""

    def remove(self, path):
        if "/history/" in path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        super().remove(path)


def test_a_history_that_cannot_be_removed_is_told_and_compaction_goes_on(
    template, tmp_path, caplog
):
    directory = shutil.copytree(template, tmp_path / "data")

    async def scenario():
        async with opened(directory, COMPACTED, KeepingDisk()) as log:
            assert await log.compact(NOW_MS) is not None
            await log.enforce_retention(NOW_MS + 10 * DAY_MS)

    asyncio.run(scenario())
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert all("could not be removed" in text and "/history/" in text for text in told)
