"""The stage job: each record once, whatever happened before and wherever the log is damaged."""

import os
import shutil

import pyarrow.parquet as pq
import pytest

from drumbeat.pipeline import staging
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.errors import PipelineError, WarehouseError
from drumbeat.pipeline.generator import write_log
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.pipeline.sources.log_folder import LogFolder
from drumbeat.pipeline.staging import stage_range
from drumbeat.pipeline.warehouse import Warehouse
from support.log_folders import CLUSTER_ID, append_commits, commit_batch, log_folder

EVERYTHING = OffsetRange.of(None, None)


def run(spark, folder, warehouse):
    with open_stage_job(str(folder), str(warehouse)) as job:
        return job.run(spark)


def staged_rows(warehouse):
    """All rows of the newest state, file by file."""
    warehouse = Warehouse(str(warehouse))
    files = warehouse.manifest().files("log_records")
    tables = [pq.ParquetFile(path).read() for path in warehouse.paths(files)]
    for file, table in zip(files, tables, strict=True):
        offsets = table["log_offset"].to_pylist()
        assert offsets == sorted(offsets)
        assert (offsets[0], offsets[-1]) == (file.first_offset, file.last_offset)
        assert len(offsets) == file.rows
        assert table.schema.equals(LOG_RECORDS.arrow_schema)
    return [row for table in tables for row in table.to_pylist()]


def staged_offsets(warehouse):
    return [(row["log_partition"], row["log_offset"]) for row in staged_rows(warehouse)]


def decoded_rows(folder):
    return [
        row
        for path in sorted(folder.glob("__consumer_offsets-*/*.log"), key=_place)
        for batch in decode_segment(str(path), cluster_id=CLUSTER_ID, log_partition=_place(path)[0])
        for row in batch.to_pylist()
    ]


def _place(path):
    return int(path.parent.name.rsplit("-", 1)[1]), path.name


def offsets(partition, *numbers):
    return [(partition, offset) for offset in range(*numbers)]


def test_the_table_holds_what_the_log_holds(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    write_log(folder, records=20_000, groups=40, seed=3, segment_bytes=20_000)
    for partition in range(5, 50):
        shutil.rmtree(folder / f"__consumer_offsets-{partition}")
    report = run(spark, folder, tmp_path / "w")
    rows = staged_rows(tmp_path / "w")
    assert rows == decoded_rows(folder)
    assert (report.rows, report.damage) == (len(rows), ())
    assert len(rows) > 500
    assert report.manifest == Warehouse(str(tmp_path / "w")).manifest()


def test_a_run_reads_only_what_is_new(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(20))
    append_commits(folder, 1, 0, range(5))
    assert run(spark, folder, tmp_path / "w").rows == 25
    again = run(spark, folder, tmp_path / "w")
    assert (again.rows, again.files, again.manifest.number) == (0, 0, 1)
    append_commits(folder, 0, 0, range(20, 31))
    append_commits(folder, 0, 31, range(31, 33))
    third = run(spark, folder, tmp_path / "w")
    assert (third.rows, third.files, third.manifest.number) == (13, 1, 2)
    assert staged_offsets(tmp_path / "w") == [*offsets(0, 33), *offsets(1, 5)]


def test_a_batch_that_is_still_being_written_is_read_when_it_is_whole(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    path = append_commits(folder, 0, 0, range(10))
    whole = path.read_bytes() + commit_batch(range(10, 20))
    path.write_bytes(whole[:-7])
    assert run(spark, folder, tmp_path / "w").rows == 10
    path.write_bytes(whole)
    assert run(spark, folder, tmp_path / "w").rows == 10
    assert staged_offsets(tmp_path / "w") == offsets(0, 20)


def test_damage_is_named_the_rest_is_read_and_repair_is_noticed(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(10))
    damaged = append_commits(folder, 0, 10, range(10, 40))
    append_commits(folder, 0, 40, range(40, 50))
    append_commits(folder, 7, 0, range(5))
    sound = damaged.read_bytes()
    batch = len(commit_batch(range(10, 20)))
    damaged.write_bytes(sound[: batch * 2 - 3] + b"???" + sound[batch * 2 :])
    for expected in (35, 0):
        report = run(spark, folder, tmp_path / "w")
        assert report.rows == expected
        assert len(report.damage) == 1
        assert report.damage[0].startswith(f"{damaged}, byte {batch}: ")
    held = [*offsets(0, 20), *offsets(0, 40, 50), *offsets(7, 5)]
    assert staged_offsets(tmp_path / "w") == held
    covered = Warehouse(str(tmp_path / "w")).manifest().covered
    assert covered[LogPartition(CLUSTER_ID, 0)] == ((0, 20), (40, 50))

    damaged.write_bytes(sound)
    report = run(spark, folder, tmp_path / "w")
    assert (report.rows, report.damage) == (20, ())
    assert sorted(staged_offsets(tmp_path / "w")) == [*offsets(0, 50), *offsets(7, 5)]


def test_an_empty_log_is_no_error(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(0))
    (folder / "__consumer_offsets-1").mkdir()
    for _ in range(2):
        report = run(spark, folder, tmp_path / "w")
        assert (report.rows, report.manifest.number) == (0, 1)


def test_logs_of_two_clusters_share_a_warehouse(spark, tmp_path):
    for cluster_id in ("b", "a"):
        folder = log_folder(tmp_path / cluster_id, cluster_id)
        append_commits(folder, 0, 0, range(3))
        assert run(spark, folder, tmp_path / "w").rows == 3
    rows = [(row["cluster_id"], row["log_offset"]) for row in staged_rows(tmp_path / "w")]
    assert rows == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)]


def test_a_failing_task_changes_nothing(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(3))
    run(spark, folder, tmp_path / "w")
    append_commits(folder, 0, 0, range(3, 6))
    with open_stage_job(str(folder), str(tmp_path / "w")) as job:
        os.rmdir(job.staging)
        with pytest.raises(PipelineError, match="the job failed: FileNotFoundError"):
            job.run(spark)
    assert staged_offsets(tmp_path / "w") == offsets(0, 3)
    assert run(spark, folder, tmp_path / "w").rows == 3


# -- a task on its own -----------------------------------------------------------------------------


def test_a_file_is_written_in_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "ROW_GROUP_ROWS", 25)
    folder = log_folder(tmp_path / "data")
    for base_offset in range(0, 100, 10):
        append_commits(folder, 0, base_offset, range(base_offset, base_offset + 10))
    result = stage_range(only_range(folder), str(tmp_path), "1.parquet")
    assert result.rows == 100
    written = pq.ParquetFile(tmp_path / "1.parquet")
    assert written.num_row_groups == 4
    assert written.read().to_pylist() == decoded_rows(folder)


def only_range(folder):
    opened = LogFolder.open(str(folder))
    [log_range] = [r for source in opened.sources() for r in opened.ranges(source, EVERYTHING)]
    return log_range


def test_a_full_disk_is_reported_and_leaves_no_file(tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(100))
    os.symlink("/dev/full", tmp_path / "1.parquet")
    result = stage_range(only_range(folder), str(tmp_path), "1.parquet")
    assert result.is_full == "No space left on device"
    assert (result.staged, result.read) == (None, ())
    assert not os.path.lexists(tmp_path / "1.parquet")


def test_a_full_disk_stops_the_job_with_what_to_do(tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(100))
    with open_stage_job(str(folder), str(tmp_path / "w")) as job:
        result = staging.RangeResult(
            log_range=only_range(folder), is_full="No space left on device"
        )
        with pytest.raises(WarehouseError, match="No space left on device; free some space"):
            job.publish([result])
    assert Warehouse(str(tmp_path / "w")).manifest().number == 0


def test_a_segment_that_expires_meanwhile_is_not_counted_as_read(tmp_path):
    folder = log_folder(tmp_path / "data")
    path = append_commits(folder, 0, 0, range(10))
    append_commits(folder, 0, 10, range(10, 20))
    log_range = only_range(folder)
    path.unlink()
    result = stage_range(log_range, str(tmp_path), "1.parquet")
    assert result.is_gone
    assert [tuple(r) for r in result.read if r.start < r.end] == [(10, 20)]
