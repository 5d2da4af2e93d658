"""Data directories with an offsets log of known records, written segment by segment."""

from pathlib import Path

from drumbeat.core.record_codec import encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.log.names import LOG_SUFFIX, segment_stem
from drumbeat.protocol.records import encode_batch

CLUSTER_ID = "cluster-1"
START_MS = 1_700_000_000_000
BATCH_RECORDS = 10


def log_folder(path: Path, cluster_id: str = CLUSTER_ID) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\n")
    return path


def segment_path(folder: Path, partition: int, base_offset: int) -> Path:
    return folder / f"__consumer_offsets-{partition}" / f"{segment_stem(base_offset)}{LOG_SUFFIX}"


def append_commits(folder: Path, partition: int, base_offset: int, offsets: range) -> Path:
    """Commits at these offsets of the log, behind those in the segment, which may be new."""
    path = segment_path(folder, partition, base_offset)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for first in range(offsets.start, offsets.stop, BATCH_RECORDS):
            file.write(commit_batch(range(first, min(first + BATCH_RECORDS, offsets.stop))))
    return path


def commit_batch(offsets: range) -> bytes:
    return encode_batch(
        [(offset, START_MS + offset, *encode(commit_at(offset)), ()) for offset in offsets]
    )


def commit_at(offset: int) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        group_id=f"group-{offset % 7}",
        topic="orders",
        partition=offset % 3,
        committed_offset=offset * 10,
        leader_epoch=-1,
        metadata="",
        commit_timestamp_ms=START_MS + offset,
    )
