"""What compaction keeps of a log, batch by batch."""

import tracemalloc

import pytest

from drumbeat.log.compaction import ENTRY_BYTES, OffsetMap
from drumbeat.log.port import LogBatch
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.record_batch import check_crc
from drumbeat.protocol.records import decode_records
from log.compaction_helpers import (
    DAY_MS,
    TIMESTAMP,
    as_text,
    compacted,
    log_of,
    surveyed,
)

# what it is about: the log | what is left
CASES = {
    "the newest record of each key": (
        ["a=1 b=1", "a=2", "b=2 c=1"],
        ["2-2: a=2@2", "3-4: b=2@3 c=1@4"],
    ),
    "offsets stay, with gaps inside a batch": (
        ["a=1 b=1 c=1 d=1", "b=2 d=2", "e=1"],
        ["0-3: a=1@0 c=1@2", "4-5: b=2@4 d=2@5", "6-6: e=1@6"],
    ),
    "within one batch": (["a=1 a=2 a=3"], ["0-2: a=3@2"]),
    "a record without a key goes": (["=1 a=1", "=2", "b=1"], ["0-1: a=1@1", "3-3: b=1@3"]),
    "a tombstone stays at first, and what it removed goes": (
        ["a=1 b=1", "a=", "c=1"],
        ["0-1: b=1@1", "2-2: a=@2", "3-3: c=1@3"],
    ),
    "a key that comes back": (["a=1", "a=", "a=2"], ["2-2: a=2@2"]),
    "the last batch stays although it is empty": (["a=1", "=1"], ["0-0: a=1@0", "1-1:"]),
    "a producer's last batch stays although it is empty": (
        ["p7#0 a=1", "p7#1 b=1 c=1", "a=2 b=2 c=2", "d=1"],
        ["1-2: p7#1", "3-5: a=2@3 b=2@4 c=2@5", "6-6: d=1@6"],
    ),
    "committed records count as any others": (
        ["a=1", "t7#0 a=2 b=1", "commit7", "b=2"],
        ["1-2: t7#0 a=2@1", "3-3: commit", "4-4: b=2@4"],
    ),
    "aborted records go, and what they seemed to supersede stays": (
        ["a=1", "t7#0 a=2", "abort7", "b=1"],
        ["0-0: a=1@0", "1-1: t7#0", "2-2: abort", "3-3: b=1@3"],
    ),
    "aborted records of a producer that went on": (
        ["a=1", "t7#0 a=2", "abort7", "t7#1 b=1", "commit7"],
        ["0-0: a=1@0", "2-2: abort", "3-3: t7#1 b=1@3", "4-4: commit"],
    ),
    "two transactions at a time": (
        ["t7#0 a=1", "t8#0 b=1", "t7#1 a=2", "abort7", "commit8", "c=1"],
        ["1-1: t8#0 b=1@1", "2-2: t7#1", "3-3: abort", "4-4: commit", "5-5: c=1@5"],
    ),
    "a plain record inside a transaction's span": (
        ["t7#0 a=1", "a=2", "commit7", "b=1"],
        ["0-0: t7#0", "1-1: a=2@1", "2-2: commit", "3-3: b=1@3"],
    ),
    "nothing to do": (["a=1", "b=1"], ["0-0: a=1@0", "1-1: b=1@1"]),
}


@pytest.mark.parametrize(("texts", "left"), CASES.values(), ids=CASES.keys())
def test_what_is_left(texts, left):
    found = compacted(log_of(*texts))
    assert list(map(as_text, found)) == left
    for header, data in found:
        check_crc(data, 0, header)


@pytest.mark.parametrize(("texts", "left"), CASES.values(), ids=CASES.keys())
def test_compacting_again_changes_nothing(texts, left):
    once = compacted(log_of(*texts))
    again = compacted(once, now_ms=6_000, first_dirty=once[-1].header.next_offset)
    # A marker's time begins to run once its transaction's batches are gone, which is now.
    assert list(map(as_text, again)) == left


def test_a_tombstone_goes_when_its_time_is_over():
    log = log_of("a=1", "a= b=1", "c=1")
    first = compacted(log, now_ms=5_000)
    (header, data), *_ = first
    assert header.delete_horizon_ms == 5_000 + DAY_MS
    assert [record.timestamp for record in decode_records(data)] == [TIMESTAMP, TIMESTAMP + 1]
    assert header.max_timestamp == TIMESTAMP + 1
    for now_ms, left in ((5_000 + DAY_MS - 1, "a=@1 b=1@2"), (5_000 + DAY_MS, "b=1@2")):
        (found, *_) = compacted(first, now_ms=now_ms, first_dirty=4)
        assert as_text(found) == f"1-2: {left}"
        assert found.header.delete_horizon_ms == 5_000 + DAY_MS, "the time does not begin anew"


def test_a_tombstone_never_goes_before_what_it_removes():
    """The map is full before the tombstone: the older record stays, so the tombstone must."""
    first = compacted(log_of("a=1", "b=1", "a="), now_ms=5_000)
    late = compacted(
        [*log_of("a=1"), *first[1:]], now_ms=9 * DAY_MS, bytes_max=ENTRY_BYTES, first_dirty=0
    )
    assert as_text(late[-1]) == "2-2: a=@2"


def test_a_marker_outlives_its_transaction_as_long_as_a_tombstone():
    log = log_of("t7#0 a=1", "commit7", "a=2", "t7#1 b=1", "commit7", "b=2")
    horizon_ms = 5_000 + DAY_MS
    passes = [
        (5_000, ["commit", "commit"]),
        (5_000, ["commit", "commit"]),
        (horizon_ms, ["commit"]),
    ]
    found = log
    for now_ms, markers in passes:
        found = compacted(found, now_ms=now_ms)
        left = [one for one in found if one.header.is_control]
        assert [as_text(one).split()[-1] for one in left] == markers
    # The second marker stays: the producer's last batch, empty, is still part of its transaction.
    assert as_text(found[1]) == "3-3: t7#1"


def test_an_empty_control_batch_goes():
    log = log_of("commit7", "a=1")
    emptied = compacted(log, now_ms=9 * DAY_MS)  # gets its horizon ...
    emptied = compacted(emptied, now_ms=19 * DAY_MS)  # ... and is kept empty, for its epoch
    assert list(map(as_text, emptied)) == ["0-0:", "1-1: a=1@1"]
    gone = compacted(emptied, now_ms=29 * DAY_MS, active_since_ms=9 * DAY_MS)
    assert list(map(as_text, gone)) == ["1-1: a=1@1"]


@pytest.mark.parametrize(
    ("active_since_ms", "left"), [(TIMESTAMP, ["0-0: p7#0", "1-1: a=2@1"]), (1_001, ["1-1: a=2@1"])]
)
def test_a_producer_that_is_forgotten_leaves_nothing(active_since_ms, left):
    found = compacted(log_of("p7#0 a=1", "a=2"), active_since_ms=active_since_ms)
    assert list(map(as_text, found)) == left


@pytest.mark.parametrize("codec", Codec)
def test_a_rewritten_batch_keeps_its_codec_and_identity(codec):
    log = log_of("p7#3 a=1 b=1", "a=2", codec=codec)
    (header, data), *_ = compacted(log)
    original = log[0].header
    assert as_text(LogBatch(header, data)) == "0-1: p7#3 b=1@1"
    assert header.codec is codec
    assert header.partition_leader_epoch == original.partition_leader_epoch == 4
    assert header.last_sequence == original.last_sequence
    assert header.base_timestamp == header.max_timestamp == TIMESTAMP + 1


def test_log_append_time_is_kept():
    log = log_of("a=1 b=1", "a=", is_log_append_time=True)
    found = compacted(log)
    for before, after in zip(log, found, strict=True):
        assert after.header.is_log_append_time
        times = {record.timestamp for record in decode_records(after.data)}
        assert times <= {before.header.max_timestamp}


def test_batches_that_lose_nothing_are_not_touched():
    log = log_of("a=1 b=1", "c=1")
    for before, after in zip(log, compacted(log), strict=True):
        assert after.data is before.data


def test_only_the_dirty_part_is_mapped_and_the_clean_part_is_judged_by_it():
    log = log_of("a=1 b=1", "c=1", "a=2")
    offset_map = OffsetMap(2, 1 << 20)
    for one in log:
        offset_map.add(one, surveyed(log))
    assert offset_map.offsets == {b"c": 2, b"a": 3}
    assert next(map(as_text, compacted(log, first_dirty=2))) == "0-1: b=1@1"


def test_a_full_map_ends_behind_a_whole_batch_and_the_rest_stays_as_it_is():
    log = log_of("a=1 b=1", "a=2", "a=3 b=2", "=1")
    left = compacted(log, bytes_max=2 * (ENTRY_BYTES + 1))
    assert list(map(as_text, left)) == [
        "0-1: a=1@0 b=1@1",
        "2-2: a=2@2",
        "3-4: a=3@3 b=2@4",
        "5-5: =1@5",
    ]
    left = compacted(log, bytes_max=2 * (ENTRY_BYTES + 1) + 1)
    assert list(map(as_text, left)) == ["3-4: a=3@3 b=2@4", "5-5:"]


def test_the_map_takes_no_more_memory_than_it_counts():
    count, survey = 20_000, surveyed([])
    texts = [" ".join(f"{n:020d}=1" for n in range(at, at + 100)) for at in range(0, count, 100)]
    log = log_of(*texts)
    tracemalloc.start()
    offset_map = OffsetMap(0, 1 << 30)
    for one in log:
        offset_map.add(one, survey)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(offset_map.offsets) == count
    assert taken < count * (ENTRY_BYTES + 20)
