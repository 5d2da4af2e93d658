"""Generated logs: sound to the last byte, as large as asked for, the same for the same seed."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
)
from drumbeat.pipeline.generator import plan_of, watermark_samples, write_log
from drumbeat.pipeline.generator.plan import Behaviour, GroupType
from drumbeat.pipeline.schemas import WATERMARKS
from drumbeat.protocol.java_hash import partition_for
from drumbeat.protocol.record_batch import check_crc, iter_headers
from drumbeat.protocol.records import control_record_type, decode_records

RECORDS = 30_000
GROUPS = 120


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    directory = tmp_path_factory.mktemp("log")
    summary = write_log(directory, records=RECORDS, groups=GROUPS, seed=5, segment_bytes=65_536)
    return directory, summary


def batches_of(path):
    data = path.read_bytes()
    for position, header in iter_headers(data):
        check_crc(data, position, header)
        yield header, decode_records(data[position : position + header.size])


def partitions_of(directory):
    for path in sorted(directory.iterdir()):
        yield int(path.name.rsplit("-", 1)[1]), sorted(path.glob("*.log"))


def digest(directory: Path) -> str:
    files = sorted(path for path in directory.rglob("*.log"))
    total = hashlib.sha256()
    for path in files:
        total.update(str(path.relative_to(directory)).encode() + path.read_bytes())
    return total.hexdigest()


def test_log_is_sound_and_exactly_as_large_as_asked_for(log):
    directory, summary = log
    records = batches = size = 0
    for _, segments in partitions_of(directory):
        next_offset = 0
        previous_ms = 0
        for segment in segments:
            assert segment.name == f"{next_offset:020d}.log"
            assert segment.stat().st_size <= 65_536
            size += segment.stat().st_size
            for header, rows in batches_of(segment):
                assert header.base_offset == next_offset
                assert header.max_timestamp >= previous_ms
                previous_ms = header.max_timestamp
                next_offset += len(rows)
                batches += 1
        records += next_offset
    assert (records, batches, size) == (RECORDS, summary.batches, summary.bytes)
    assert summary.end_ms > summary.start_ms


def test_every_record_can_be_read_and_stands_in_its_groups_partition(log):
    directory, _ = log
    kinds = Counter()
    for log_partition, segments in partitions_of(directory):
        for segment in segments:
            for header, rows in batches_of(segment):
                for row in rows:
                    if header.is_control:
                        kinds[control_record_type(row).name] += 1
                        continue
                    record = decode(row.key, row.value)
                    kinds[type(record)] += 1
                    assert partition_for(record.group_id, 50) == log_partition
    for kind in (
        OffsetCommitRecord,
        OffsetCommitTombstone,
        GroupMetadataRecord,
        GroupMetadataTombstone,
        ModernGroupRecord,
        "COMMIT",
        "ABORT",
    ):
        assert kinds[kind], kind
    assert kinds[OffsetCommitRecord] > RECORDS * 0.7


def test_commits_say_what_the_batch_says(log):
    """Stamped batches are what the encoder would have written."""
    directory, _ = log
    _, segments = max(partitions_of(directory), key=lambda each: len(each[1]))
    for header, rows in batches_of(segments[0]):
        for row in rows:
            assert row.timestamp == header.max_timestamp
            record = None if header.is_control else decode(row.key, row.value)
            if isinstance(record, OffsetCommitRecord):
                assert record.commit_timestamp_ms == row.timestamp
                assert record.committed_offset > 0


def test_same_seed_same_bytes_other_seed_other_bytes(tmp_path):
    digests = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_log(tmp_path / name, records=3_000, groups=40, seed=seed)
        digests.append(digest(tmp_path / name))
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(("records", "groups"), [(0, 1), (1, 1), (7, 3), (999, 1)])
def test_small_logs(tmp_path, records, groups):
    summary = write_log(tmp_path / "log", records=records, groups=groups)
    found = sum(
        len(rows)
        for _, segments in partitions_of(tmp_path / "log")
        for segment in segments
        for _, rows in batches_of(segment)
    )
    assert summary.records == found == records
    assert len(list((tmp_path / "log").iterdir())) == 50


@pytest.mark.parametrize(("records", "groups"), [(-1, 1), (1, 0)])
def test_impossible_sizes_are_refused(tmp_path, records, groups):
    with pytest.raises(ValueError, match="at least"):
        write_log(tmp_path / "log", records=records, groups=groups)


def test_plan_has_every_type_and_behaviour():
    plan = plan_of(records=10**6, groups=2_000, seed=0)
    assert {group.type for group in plan.groups} == set(GroupType)
    assert {group.behaviour for group in plan.groups} == set(Behaviour)
    assert len({group.group_id for group in plan.groups}) == 2_000
    assert max(len(slot) for group in plan.groups for slot in group.slots) <= 20


def test_watermarks_are_never_behind_the_commits(log):
    directory, _ = log
    ends = {}
    for batch in watermark_samples(records=RECORDS, groups=GROUPS, seed=5, every_ms=1_000):
        assert batch.schema == WATERMARKS.arrow_schema
        for row in batch.to_pylist():
            ends[row["topic"], row["partition"]] = row["high_watermark"]
            last_ms = row["sampled_at"]
    checked = 0
    for _, segments in partitions_of(directory):
        for segment in segments:
            for header, rows in batches_of(segment):
                if header.is_control or header.max_timestamp > last_ms:
                    continue
                commits = [decode(row.key, row.value) for row in rows]
                for commit in commits:
                    if isinstance(commit, OffsetCommitRecord):
                        assert commit.committed_offset <= ends[commit.topic, commit.partition]
                        checked += 1
    assert checked > 1_000
