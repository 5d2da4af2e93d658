"""Ends of the past, from indexes and headers: true, fine enough, and not too many."""

import struct
import tempfile
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.pipeline.sources import past_ends as module
from drumbeat.pipeline.sources.offsets_log import Between, PastEnd
from drumbeat.pipeline.sources.past_ends import STRETCHES_MAX, past_ends
from drumbeat.protocol.record_batch import with_log_append_time
from drumbeat.protocol.records import encode_batch

START = 1_700_000_000_000
FAR = START + 10**12
SECOND = 1_000


def batch(base_offset, at_ms, count=1):
    return encode_batch([(base_offset + n, at_ms, None, b"v" * 20, ()) for n in range(count)])


def write_log(folder, batches, base_offset=0, *, index_bytes=None, padding=0):
    """A segment of (timestamp, records); indexed each so many bytes, as brokers do."""
    log, index, times = b"", b"", b""
    offset, indexed_at, newest = base_offset, 0, 0
    for at_ms, count in batches:
        last = offset + count - 1
        is_newer = at_ms > newest
        newest = max(newest, at_ms)
        if index_bytes is not None and len(log) - indexed_at > index_bytes:
            index += struct.pack(">ii", last - base_offset, len(log))
            if is_newer:
                times += struct.pack(">qi", at_ms, last - base_offset)
            indexed_at = len(log)
        log += batch(offset, at_ms, count)
        offset = last + 1
    stem = Path(folder) / f"{base_offset:020d}"
    stem.with_suffix(".log").write_bytes(log)
    if index_bytes is not None:
        stem.with_suffix(".index").write_bytes(index + bytes(8 * padding))
        stem.with_suffix(".timeindex").write_bytes(times + bytes(12 * padding))
    return offset


def asked(end, from_ms=0, start=0, until_ms=FAR):
    return Between(from_ms, until_ms, start, end)


def test_every_batch_if_there_is_no_index(tmp_path):
    end = write_log(tmp_path, [(START, 2), (START + 1_500, 1), (START + 9_000, 3)])
    assert past_ends(str(tmp_path), asked(end), SECOND) == [
        PastEnd(START - 1, 0, None),
        PastEnd(START, 2, START),
        PastEnd(START + 1_499, 2, None),
        PastEnd(START + 1_500, 3, START + 1_500),
        PastEnd(START + 8_999, 3, None),
        PastEnd(START + 9_000, 6, START + 9_000),
    ]


def test_only_what_is_between_two_samples(tmp_path):
    end = write_log(tmp_path, [(START + n * SECOND, 1) for n in range(10)])
    found = past_ends(str(tmp_path), asked(end - 2, START + 4_500, 5, START + 8_500), SECOND)
    assert [(step.at_ms - START, step.log_end) for step in found] == [
        (4_999, 5),
        (5_999, 6),
        (6_999, 7),
        (7_999, 8),
    ]


def test_segments_follow_each_other_and_old_ones_are_not_opened(tmp_path):
    middle = write_log(tmp_path, [(START, 5)])
    end = write_log(tmp_path, [(START + 5_000, 5)], middle)
    found = past_ends(str(tmp_path), asked(end), SECOND)
    assert [(step.at_ms - START, step.log_end) for step in found] == [
        (-1, 0),
        (0, 5),
        (4_999, 5),
        (5_000, 10),
    ]
    (tmp_path / f"{0:020d}.log").write_bytes(b"not a batch")
    assert past_ends(str(tmp_path), asked(end, START, middle), SECOND) == found[2:]


def test_clocks_that_go_back_or_ahead_are_not_believed(tmp_path):
    times = [START, START + 50_000, START + 10_000, FAR + 1, START + 60_000]
    end = write_log(tmp_path, [(at, 1) for at in times])
    found = past_ends(str(tmp_path), asked(end), SECOND)
    assert [(step.at_ms - START, step.log_end) for step in found if step.max_ts] == [
        (0, 1),
        (50_000, 2),
        (60_000, 5),
    ]
    assert past_ends(str(tmp_path), asked(end, from_ms=FAR - 1), SECOND) == []


def test_of_log_append_time_only_the_append_counts(tmp_path):
    data = bytearray(batch(0, START, 2))
    with_time = with_log_append_time(bytes(data), START + 7_000)
    (tmp_path / f"{0:020d}.log").write_bytes(with_time)
    assert past_ends(str(tmp_path), asked(2), SECOND) == [
        PastEnd(START + 6_999, 0, None),
        PastEnd(START + 7_000, 2, START + 7_000),
    ]


def test_a_torn_or_damaged_end_is_left_out(tmp_path):
    end = write_log(tmp_path, [(START, 2), (START + 5_000, 1)])
    whole = past_ends(str(tmp_path), asked(end), SECOND)
    path = tmp_path / f"{0:020d}.log"
    path.write_bytes(path.read_bytes() + batch(3, START + 9_000)[:40])
    assert past_ends(str(tmp_path), asked(end), SECOND) == whole
    assert past_ends(str(tmp_path / "gone"), asked(end), SECOND) == []


def test_there_are_never_too_many(tmp_path):
    end = write_log(tmp_path, [(START + n * 10, 1) for n in range(5_000)])
    found = past_ends(str(tmp_path), asked(end, until_ms=START + 50_000), 1)
    assert STRETCHES_MAX < len(found) <= 2 * STRETCHES_MAX


def test_a_long_stretch_without_index_is_probed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WALK_BYTES_MAX", 10_000)
    monkeypatch.setattr(module, "PROBES", 16)
    end = write_log(tmp_path, [(START + n * SECOND, 1) for n in range(1_000)])
    found = past_ends(str(tmp_path), asked(end), SECOND)
    assert 16 <= len(found) <= 2 * 16 + 1
    assert all(step.at_ms - START == (step.log_end - 1) * SECOND for step in found if step.max_ts)


@pytest.mark.parametrize("padding", [0, 10_000])
def test_an_index_spares_the_headers(tmp_path, padding):
    batches = [(START + n * 100, 1) for n in range(1_000)]
    end = write_log(tmp_path, batches, index_bytes=300, padding=padding)
    with_headers = past_ends(str(tmp_path), asked(end), SECOND)
    path = tmp_path / f"{0:020d}.log"
    data = path.read_bytes()
    path.write_bytes(data[:1_000] + bytes(len(data) - 2_000) + data[-1_000:])
    assert past_ends(str(tmp_path), asked(end), SECOND) == with_headers
    assert 100 <= len(with_headers) <= 110


@given(
    gaps=st.lists(st.sampled_from((1, 50, 400, 1_500, 20_000)), min_size=1, max_size=60),
    counts=st.lists(st.integers(1, 4), min_size=60, max_size=60),
    index_bytes=st.sampled_from((None, 0, 150, 1_000)),
    padding=st.sampled_from((0, 3)),
)
def test_all_are_true_and_none_is_missing(gaps, counts, index_bytes, padding):
    times = [START + passed for passed in accumulate(gaps)]
    batches = list(zip(times, counts, strict=False))
    with tempfile.TemporaryDirectory() as folder:
        end = write_log(folder, batches, index_bytes=index_bytes, padding=padding)
        found = past_ends(folder, asked(end), SECOND)
    for step in found:
        assert step.log_end == sum(count for at_ms, count in batches if at_ms <= step.at_ms)
    for before, after in pairwise(found):
        assert before.at_ms < after.at_ms
        assert before.log_end <= after.log_end
        if after.at_ms - before.at_ms > 2 * SECOND:
            assert before.log_end == after.log_end, "nothing came in a pause"
    assert (found[0].log_end, found[-1].log_end) == (0, end)
