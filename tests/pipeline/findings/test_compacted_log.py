"""The log that compaction left is compared with all that was ever read of it."""

import asyncio
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.log.store import LocalStore
from drumbeat.pipeline.builder_state import Read
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.deriving import DeriveTask, derive_partition
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.sources.log_folder import LogFolder
from drumbeat.pipeline.staged_records import RecordFile
from drumbeat.protocol.record_batch import iter_headers
from drumbeat.protocol.records import ControlRecordType
from pipeline.golden_log import DAY_MS, SOURCE, LogWriter, commit, golden_writer
from support.log_folders import log_folder, segment_path

PARTITION = LogPartition(*SOURCE)
SETTINGS = LogSettings(is_compacted=True, retention_ms=-1, history_retention_ms=-1)
NOW_MS = 20 * DAY_MS
HANGING_PRODUCER_ID = 9  # of the golden log
LAST_OFFSET = 59


@pytest.fixture(scope="module")
def writers():
    closed, active = golden_writer(), LogWriter(next_offset=LAST_OFFSET)
    # Nothing behind an open transaction is compacted.
    closed.end_transaction(8 * DAY_MS, HANGING_PRODUCER_ID, ControlRecordType.ABORT)
    active.append(9 * DAY_MS, commit("late", "orders", 0, 1, 9 * DAY_MS))
    return closed, active


@pytest.fixture(scope="module")
def full(writers, tmp_path_factory):
    """A file of all records."""
    path = str(tmp_path_factory.mktemp("staged") / "records.parquet")
    pq.write_table(pa.Table.from_batches([writer.rows() for writer in writers]), path)
    return path


@pytest.fixture
def directory(writers, tmp_path):
    folder = log_folder(tmp_path / "data", SOURCE.cluster_id)
    for writer, base_offset in zip(writers, (0, LAST_OFFSET), strict=True):
        path = segment_path(folder, SOURCE.partition, base_offset)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(writer.segment())
    return folder


def compact(directory):
    async def clean():
        async with LocalStore(directory) as store:
            log = await store.acquire(
                TopicPartition("__consumer_offsets", SOURCE.partition), SETTINGS
            )
            assert await log.compact(NOW_MS) is not None

    asyncio.run(clean())


def reported(directory, full, tmp_path, last_offset=LAST_OFFSET):
    task = DeriveTask(
        source=PARTITION, records=(RecordFile(0, last_offset, full),), watermarks=(), events=(),
        read=Read(covered=(OffsetRange(0, last_offset + 1),), log_start=0), state=None,
        fingerprint="f", bytes=0, inputs="",
        compacted=LogFolder.open(str(directory)).compacted(PARTITION),
    )  # fmt: skip
    derived = derive_partition(task, str(tmp_path), "derived.parquet")
    (file,) = (file for file in derived.staged if file.table == "compaction_report")
    (row,) = pq.read_table(tmp_path / file.name).to_pylist()
    return row


def test_a_log_that_no_cleaner_has_seen_is_not_compared(directory, full, tmp_path):
    row = reported(directory, full, tmp_path)
    assert row["actual_hash"] is None


def test_compaction_by_drumbeat_loses_nothing(directory, full, tmp_path):
    compact(directory)
    row = reported(directory, full, tmp_path)
    assert row["actual_hash"] == row["expected_hash"]
    assert [row[name] for name in ("lost_keys", "changed_keys", "returned_keys")] == [0, 0, 0]


def test_what_was_appended_since_does_not_count(directory, full, tmp_path):
    compact(directory)
    path = segment_path(directory, SOURCE.partition, LAST_OFFSET)
    later = LogWriter(next_offset=LAST_OFFSET + 1)
    later.append(9 * DAY_MS, commit("late", "orders", 0, 2, 9 * DAY_MS))
    path.write_bytes(path.read_bytes() + later.segment())
    row = reported(directory, full, tmp_path)
    assert row["actual_hash"] == row["expected_hash"]


def test_a_record_that_is_gone_is_missed(directory, full, tmp_path):
    compact(directory)
    path = segment_path(directory, SOURCE.partition, 0)
    data = path.read_bytes()
    (_, first), *_ = iter_headers(data)
    path.write_bytes(data[: first.size])
    row = reported(directory, full, tmp_path)
    assert row["actual_hash"] != row["expected_hash"]
    assert 0 < row["lost_keys"] < row["live_keys"]


def test_kafka_notes_how_far_its_cleaner_came_in_the_data_directory(directory):
    folder = LogFolder.open(str(directory))
    checkpoint = directory / "cleaner-offset-checkpoint"
    checkpoint.write_text("0\n2\norders 3 9\n__consumer_offsets 3 58\n")
    compacted = folder.compacted(PARTITION)
    assert [segment.base_offset for segment in compacted.segments] == [0, LAST_OFFSET]
    checkpoint.write_text("0\n1\n__consumer_offsets 4 58\n")
    assert folder.compacted(PARTITION) is None
    shutil.rmtree(directory / "__consumer_offsets-3")
    assert folder.compacted(LogPartition(SOURCE.cluster_id, 7)) is None
