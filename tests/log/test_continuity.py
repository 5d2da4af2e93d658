"""Closed segments that are gone, empty or shorter: a log with a hole is not served as if whole."""

import asyncio
import os
import shutil

import pytest

from drumbeat.log.errors import CorruptLog
from drumbeat.log.store import LocalStore
from log.helpers import SMALL, TP, contents, segment_files, write

COMPACTED = SMALL._replace(is_compacted=True)
CLEANED = "cleaner-offset-checkpoint"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A partition of several segments, closed in order."""
    data = tmp_path_factory.mktemp("written") / "data"

    async def scenario():
        async with LocalStore(data) as store:
            log = await store.acquire(TP, SMALL)
            for number in range(30):
                await write(log, b"%d" % number, timestamps=[1000 + number])

    asyncio.run(scenario())
    return data


@pytest.fixture
def folder(written, tmp_path):
    return shutil.copytree(written, tmp_path / "data") / str(TP)


def bases(folder):
    return [int(name[:20]) for name in segment_files(folder)]


def reopen(folder, settings=SMALL):
    async def scenario():
        async with LocalStore(folder.parent) as store:
            log = await store.acquire(TP, settings)
            return [offset for offset, _ in contents(log)], log.notes

    return asyncio.run(scenario())


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def empty(path):
    path.write_bytes(b"")


def empty_with_indexes(path):
    for suffix in (".log", ".index", ".timeindex"):
        empty(path.with_suffix(suffix))


def cut_behind_first_batch(path):
    os.truncate(path, 12 + int.from_bytes(path.read_bytes()[8:12], "big"))


def remove_with_indexes(path):
    for suffix in (".log", ".index", ".timeindex"):
        path.with_suffix(suffix).unlink()


LOSSES = {
    "empty": empty,
    "empty with its indexes": empty_with_indexes,
    "cut behind a batch": cut_behind_first_batch,
    "gone": os.unlink,
    "gone with its indexes": remove_with_indexes,
}


def check_refused(folder, match, settings=SMALL):
    before = files_in(folder)
    with pytest.raises(CorruptLog, match=match):
        reopen(folder, settings)
    after = files_in(folder)
    assert {name: data for name, data in after.items() if name.endswith(".log")} == {
        name: data for name, data in before.items() if name.endswith(".log")
    }


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("which", [1, 3, -2])
def test_a_lost_closed_segment_stops_the_partition(folder, loss, which):
    path = folder / segment_files(folder)[which]
    before = path.with_name(segment_files(folder)[which - 1])
    LOSSES[loss](path)
    named = path if path.exists() else before
    check_refused(folder, rf"{named.name}, byte \d+: .*; nothing was changed; restore")


def test_the_missing_offsets_are_named(folder):
    _, second, third, *_ = bases(folder)
    remove_with_indexes(folder / f"{second:020d}.log")
    check_refused(folder, f"offsets {second} to {third - 1} are missing .* and {third:020d}.log")


def test_a_torn_end_is_not_cut_off_a_log_with_a_hole(folder):
    (folder.parent / ".kafka_cleanshutdown").unlink()
    with (folder / segment_files(folder)[-1]).open("ab") as file:
        file.write(b"torn")
    os.unlink(folder / segment_files(folder)[1])
    check_refused(folder, "are missing")


def test_a_segment_under_a_lower_name_stops_the_partition(folder):
    second, *_ = segment_files(folder)[1:]
    os.rename(folder / second, folder / f"{1:020d}.log")
    check_refused(folder, f"goes on to offset [0-9]+, but {1:020d}.log comes next")


def test_an_empty_file_with_the_name_of_a_later_segment_stops_the_partition(folder):
    (folder / f"{999:020d}.log").touch()
    last = segment_files(folder)[-2]
    check_refused(folder, f"{last}.*offsets 30 to 998 are missing .* and {999:020d}.log")


def test_the_oldest_segments_may_go(folder):
    for name in segment_files(folder)[:2]:
        remove_with_indexes(folder / name)
    assert reopen(folder) == (list(range(bases(folder)[0], 30)), ())


def test_whoever_follows_the_advice_goes_on_behind_the_hole(folder):
    remove_with_indexes(folder / segment_files(folder)[2])
    check_refused(folder, "move the older segments away")
    for name in segment_files(folder)[:2]:
        remove_with_indexes(folder / name)
    assert reopen(folder) == (list(range(bases(folder)[0], 30)), ())


def test_below_the_start_offset_nothing_is_missed(folder):
    """As when the power goes while segments are removed."""
    fourth = bases(folder)[3]
    (folder / "log-start-offset-checkpoint").write_text(
        f"0\n1\n{TP.topic} {TP.partition} {fourth}\n"
    )
    remove_with_indexes(folder / segment_files(folder)[1])
    assert reopen(folder) == (list(range(fourth, 30)), ())


def compact_now(folder):
    return COMPACTED


def compacted_once(folder):
    (folder / CLEANED).write_text(f"0\n1\n{TP.topic} {TP.partition} 1\n")
    return SMALL


def compacted_by_kafka(folder):
    (folder.parent / CLEANED).write_text(f"0\n1\n{TP.topic} {TP.partition} 1\n")
    return SMALL


def written_by_kafka(folder):
    (folder / f"{30:020d}.snapshot").write_bytes(b"\0\1")
    return SMALL


@pytest.mark.parametrize("why", [compact_now, compacted_once, compacted_by_kafka, written_by_kafka])
def test_a_gap_that_compaction_may_have_left_is_told(folder, why):
    _, second, third, *_ = bases(folder)
    remove_with_indexes(folder / f"{second:020d}.log")
    settings = why(folder)
    found, notes = reopen(folder, settings)
    assert found == [*range(second), *range(third, 30)]
    (note,) = notes
    assert f"offsets {second} to {third - 1} are missing" in note


def test_a_gap_in_what_was_compacted_is_in_order(folder):
    _, second, third, *_ = bases(folder)
    (folder / CLEANED).write_text(f"0\n1\n{TP.topic} {TP.partition} {third}\n")
    remove_with_indexes(folder / f"{second:020d}.log")
    assert reopen(folder) == ([*range(second), *range(third, 30)], ())
