"""A process that dies at any step of a compaction leaves the old log or the new one, never half."""

import asyncio
import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from drumbeat.log.cleaner import LogCleaner
from drumbeat.log.errors import CorruptLog, LogError
from drumbeat.log.files import Disk
from drumbeat.log.opening import OpenRequest, open_partition
from drumbeat.log.port import UNLIMITED_BUDGET
from drumbeat.log.store import LocalStore
from drumbeat.log.workers import Workers
from log.compaction_helpers import DAY_MS
from log.helpers import TP, flip
from log.test_compaction_contract import COMPACTED, NOW_MS, texts_of, write

SETTINGS = COMPACTED._replace(history_retention_ms=7 * DAY_MS, segment_bytes=300)
NEVER = 10_000


class DyingDisk(Disk):
    """Fails from one step on at everything that would change the disk, as for a dead process.

    Nothing is really synced: what a copy of the directory shows does not depend on it.
    """

    def __init__(self, dies_at: int = NEVER, dies_on: str = "") -> None:
        self.dies_at = dies_at
        self.dies_on = dies_on
        self.steps: list[str] = []

    @property
    def is_dead(self) -> bool:
        return len(self.steps) > self.dies_at

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if name == self.dies_on:
            self.dies_at = 0
        if self.is_dead:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def create(self, path, *, flags=0):
        self._step("create")
        return super().create(path, flags=flags)

    def write(self, fd, buffers, position):
        self._step("write")
        return super().write(fd, buffers, position)

    def sync(self, fd):
        self._step("sync")

    def rename(self, path, new_path):
        self._step("rename")
        super().rename(path, new_path)

    def remove(self, path):
        self._step("remove")
        super().remove(path)


class Found(NamedTuple):
    records: list[tuple[int, str]]
    notes: tuple[str, ...]
    names: list[str]

    @property
    def state(self) -> dict[str, str]:
        """The newest record of each key; a tombstone is as good as none."""
        pairs = dict(text.split("=") for _, text in self.records)
        return {key: value for key, value in pairs.items() if value}


@contextmanager
def opened(directory, disk=None):
    request = OpenRequest(disk or Disk(), os.fspath(directory), TP, SETTINGS, False, None)
    partition = open_partition(request)
    try:
        yield partition
    finally:
        partition.segments.close()
        os.close(partition.lock)


def records_of(partition):
    segments = partition.segments
    return texts_of(segments.batches(0, segments.synced_offset, chunk_bytes=1 << 20))


def find(directory) -> Found:
    with opened(directory) as partition:
        return Found(records_of(partition), partition.notes, names(directory))


def names(directory, *suffixes):
    return sorted(n for n in os.listdir(folder_of(directory)) if n.endswith(suffixes or ""))


def folder_of(directory):
    return os.path.join(directory, str(TP))


def compact(directory, disk) -> bool:
    """Whether the process outlived it; if so or not, its readers see a whole log."""
    with opened(directory) as partition, ThreadPoolExecutor(1) as executor:
        _, folder, _, segments, *_ = partition
        before = Found(records_of(partition), (), [])
        cleaner = LogCleaner(TP, folder, segments, Workers(disk, executor), 0)

        async def run():
            with cleaner.begin(NOW_MS, UNLIMITED_BUDGET) as one:
                return await cleaner.run(SETTINGS, one)

        try:
            is_alive = asyncio.run(run()) is not None
        except LogError:
            is_alive = False
        assert Found(records_of(partition), (), []).state == before.state
        return is_alive


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A log of several segments that compacts into two, one key being deleted."""
    directory = tmp_path_factory.mktemp("compaction") / "data"

    async def scenario():
        async with LocalStore(directory) as store:
            log = await store.acquire(TP, SETTINGS)
            await write(log, "gone=1", *[f"k{n:02}=1" for n in range(6)])
            await write(log, *[f"k{n:02}=2" for n in range(3)], "gone=", "k05=3", "active=1")

    asyncio.run(scenario())
    return directory


def crashed_copy(template, directory, disk):
    shutil.copytree(template, directory)
    return directory if not compact(directory, disk) else None


def test_a_crash_at_any_step_leaves_the_old_log_or_the_new(template, tmp_path):
    old = find(shutil.copytree(template, tmp_path / "old"))
    whole = DyingDisk()
    shutil.copytree(template, tmp_path / "new")
    assert compact(tmp_path / "new", whole)
    new = find(tmp_path / "new")
    assert len(names(tmp_path / "new", ".log")) == 3, "two compacted, one active"
    outcomes = []
    for dies_at in range(len(whole.steps)):
        directory = tmp_path / str(dies_at)
        if crashed_copy(template, directory, DyingDisk(dies_at)) is None:
            break  # from here on only what a compaction may lose is missing
        found = find(directory)
        assert found.records in (old.records, new.records)
        assert names(directory, ".swap") == []
        assert compact(directory, DyingDisk()), "what the crash left is no obstacle"
        assert find(directory).state == old.state
        assert names(directory, ".swap", ".cleaned") == []
        outcomes.append(found.records == new.records)
    assert outcomes == sorted(outcomes), "there is one turning point"
    assert set(outcomes) == {True, False}
    assert len(outcomes) > 30


def test_the_operator_is_told_what_was_done(template, tmp_path):
    kinds = {}
    for name in ("rename", "remove"):
        directory = crashed_copy(template, tmp_path / name, DyingDisk(dies_on=name))
        kinds[name] = find(directory).notes
    assert kinds["rename"] == ()  # nothing was renamed: nothing has happened
    assert ["finished" in note for note in kinds["remove"]] == [True]
    directory = tmp_path / "two renames"
    shutil.copytree(template, directory)
    shutil.copytree(folder_of(tmp_path / "rename"), folder_of(directory), dirs_exist_ok=True)
    (first, *_) = names(directory, ".log.cleaned")
    path = os.path.join(folder_of(directory), first)
    os.rename(path, path.removesuffix(".cleaned") + ".swap")
    assert ["took back" in note for note in find(directory).notes] == [True]
    assert names(directory, ".swap") == []


# -- what may be found instead -------------------------------------------------------------------


@pytest.fixture
def interrupted(template, tmp_path):
    """A directory whose compaction counts, but has replaced nothing yet."""
    directory = crashed_copy(template, tmp_path / "data", DyingDisk(dies_on="remove"))
    assert names(directory, ".swap")
    assert not names(directory, ".cleaned")
    return directory


def snapshot(directory):
    found = {}
    for parent, _, files in os.walk(folder_of(directory)):
        for name in files:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


def check_refused(directory, match):
    before = snapshot(directory)
    with pytest.raises(CorruptLog, match=match):
        find(directory)
    assert snapshot(directory) == before


def test_a_damaged_swap_file_is_named_and_nothing_is_changed(interrupted):
    path = os.path.join(folder_of(interrupted), names(interrupted, ".log.swap")[0])
    flip(path, os.path.getsize(path) - 1)
    check_refused(interrupted, r"\.log\.swap")


def test_an_old_swap_file_does_not_take_the_end_of_a_newer_log_away(interrupted):
    *_, last_source, active = names(interrupted, ".log")
    folder = folder_of(interrupted)
    with (
        open(os.path.join(folder, active), "rb") as newer,
        open(os.path.join(folder, last_source), "ab") as older,
    ):
        older.write(newer.read())
    check_refused(interrupted, last_source)


def test_a_compaction_that_kafka_left_unfinished_is_finished(interrupted):
    """Kafka has a transaction index too, and may have renamed some of the files."""
    folder = folder_of(interrupted)
    first = names(interrupted, ".log.swap")[0].removesuffix(".log.swap")
    with open(os.path.join(folder, f"{first}.txnindex.swap"), "wb"):
        pass
    for name in names(interrupted, ".index.swap", ".timeindex.swap")[:2]:
        os.rename(os.path.join(folder, name), os.path.join(folder, name.removesuffix(".swap")))
    found = find(interrupted)
    assert f"{first}.txnindex" in found.names
    assert names(interrupted, ".swap") == []
    assert found.state == {f"k{n:02}": "2" if n < 3 else "1" for n in range(5)} | {
        "k05": "3",
        "active": "1",
    }


def test_a_damaged_note_of_how_far_compaction_came_is_named(template, tmp_path):
    directory = shutil.copytree(template, tmp_path / "data")
    for text in ("1\n0\n", "0\n2\norders 3 7\n", "0\n1\norders three 7\n"):
        with open(os.path.join(folder_of(directory), "cleaner-offset-checkpoint"), "w") as file:
            file.write(text)
        check_refused(directory, "cleaner-offset-checkpoint.*compacted from its beginning")


def test_a_note_that_cannot_be_of_this_log_is_not_believed(template, tmp_path):
    directory = shutil.copytree(template, tmp_path / "data")
    with open(os.path.join(folder_of(directory), "cleaner-offset-checkpoint"), "w") as file:
        file.write("0\n1\norders 3 99999\n")
    with opened(directory) as partition:
        assert partition.cleaned_offset == 0


def test_leftovers_of_an_older_compaction_do_not_undo_a_newer_one(template, tmp_path):
    directory = shutil.copytree(template, tmp_path / "data")
    stranger = os.path.join(folder_of(directory), f"{7:020}.log.cleaned")
    with open(stranger, "w") as file:
        file.write("half a batch")
    assert compact(directory, DyingDisk())
    assert not os.path.exists(stranger)


@pytest.fixture
def replaced(template, tmp_path):
    """A directory whose compaction counts, and whose sources have begun to go."""
    sources = len(names(template, ".log")) - 1
    steps = DyingDisk()
    assert compact(shutil.copytree(template, tmp_path / "whole"), steps)
    before = steps.steps.index("remove") + 3 * (sources - 1)
    directory = crashed_copy(template, tmp_path / "data", DyingDisk(before))
    assert names(directory, ".swap")
    assert len(names(directory, ".log")) < sources
    return directory


def put(directory, name):
    with open(os.path.join(folder_of(directory), name), "wb"):
        pass


@pytest.mark.parametrize("name", [f"{90:020}.log.cleaned", f"{90:020}.timeindex.cleaned"])
def test_a_stray_file_does_not_undo_a_compaction_below_it(replaced, tmp_path, name):
    whole = find(tmp_path / "whole").records
    put(replaced, name)
    found = find(replaced)
    assert found.records == whole
    assert ["finished" in note for note in found.notes] == [True]
    assert name in found.names


@pytest.mark.parametrize("offset", [0, 1])
def test_a_compaction_whose_sources_are_gone_is_not_undone(replaced, tmp_path, offset):
    whole = find(tmp_path / "whole").records
    stray = f"{offset:020}.log.cleaned"
    put(replaced, stray)
    check_refused(replaced, rf"\.swap.* {stray}.*; move the \.cleaned file away")
    os.unlink(os.path.join(folder_of(replaced), stray))
    assert find(replaced).records == whole
