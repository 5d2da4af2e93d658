"""Small files become one, each row counts once, and death leaves the old state or the new."""

import shutil
from itertools import count, pairwise

import pyarrow.parquet as pq
import pytest

from drumbeat.pipeline import merge
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.job import StageJob
from drumbeat.pipeline.merge import MergeJob, MergeResult, merge_files
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.pipeline.sources.folder_log import FolderLog
from drumbeat.pipeline.staging import stage_range
from drumbeat.pipeline.warehouse import Warehouse
from pipeline.warehouse.test_warehouse import Killed, Mortal
from support.log_folders import append_commits, log_folder

TABLES = ("log_records", "pipeline_progress")


def stage(folder, warehouse, run_id):
    """What the stage job does, without Spark."""
    with Warehouse(str(warehouse)).writer(run_id) as writer:
        job = StageJob(FolderLog.open(str(folder)), writer)
        results = [
            stage_range(part, writer.staging, f"{n}.parquet") for n, part in enumerate(job.plan())
        ]
        job.publish(results)


def staged(tmp_path, runs=5):
    """A warehouse that as many runs have added ten records each to."""
    folder = log_folder(tmp_path / "data")
    for n in range(runs):
        append_commits(folder, 0, 0, range(10 * n, 10 * n + 10))
        stage(folder, tmp_path / "w", f"r{n}")
    return tmp_path / "w"


def merged(warehouse, run_id="m", files_max=3):
    with Warehouse(str(warehouse)).writer(run_id) as writer:
        job = MergeJob(writer, files_max)
        tasks = list(job.tasks())
        results = [
            merge_files(task, writer.staging, f"{n}.parquet") for n, task in enumerate(tasks)
        ]
        return job.publish(results)


def rows(warehouse, table="log_records"):
    warehouse = Warehouse(str(warehouse))
    paths = warehouse.paths(warehouse.manifest().files(table))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def test_many_small_files_become_one(tmp_path):
    warehouse = staged(tmp_path)
    before = {table: rows(warehouse, table) for table in TABLES}
    manifest = merged(warehouse)
    for table in TABLES:
        [file] = manifest.files(table)
        assert rows(warehouse, table) == before[table]
        assert file.rows == len(before[table])
    [file] = manifest.files("log_records")
    assert (file.first_offset, file.last_offset) == (0, 49)
    [path] = Warehouse(str(warehouse)).paths([file])
    assert pq.ParquetFile(path).schema_arrow.equals(LOG_RECORDS.arrow_schema)
    assert merged(warehouse, "again").number == manifest.number


def test_few_files_and_large_files_are_left_alone(tmp_path, monkeypatch):
    warehouse = staged(tmp_path)
    assert merged(warehouse, files_max=5).run_id == "r4"
    monkeypatch.setattr(merge, "SMALL_BYTES_MAX", 10)
    assert merged(warehouse).run_id == "r4"


def test_offsets_that_were_read_late_take_their_place(tmp_path):
    folder = log_folder(tmp_path / "data")
    path = append_commits(folder, 0, 0, range(10))
    middle = append_commits(folder, 0, 10, range(10, 20))
    append_commits(folder, 0, 20, range(20, 30))
    sound = middle.read_bytes()
    middle.write_bytes(sound[:-3] + b"???")
    stage(folder, tmp_path / "w", "r0")
    middle.write_bytes(sound)
    stage(folder, tmp_path / "w", "r1")
    manifest = merged(tmp_path / "w", files_max=1)
    assert len(manifest.files("log_records")) == 1
    assert [row["log_offset"] for row in rows(tmp_path / "w")] == list(range(30))
    assert path.exists()


def test_a_job_that_dies_anywhere_leaves_the_old_state_or_the_new(tmp_path):
    template = staged(tmp_path, runs=4)
    expected = rows(template)
    numbers = set()
    for calls in count():
        warehouse = tmp_path / str(calls)
        shutil.copytree(template, warehouse)
        is_dead = False
        with pytest.MonkeyPatch.context() as patch:
            Mortal(patch, calls)
            try:
                merged(warehouse)
            except Killed:
                is_dead = True
        assert rows(warehouse) == expected
        with Warehouse(str(warehouse)).writer("next"):
            numbers.add(Warehouse(str(warehouse)).manifest().number)
            assert rows(warehouse) == expected
        shutil.rmtree(warehouse)
        if not is_dead:
            break
    assert [after - before for before, after in pairwise(sorted(numbers))] == [1]


def test_a_full_disk_changes_nothing(tmp_path):
    warehouse = staged(tmp_path)
    with Warehouse(str(warehouse)).writer("m") as writer:
        job = MergeJob(writer, 3)
        [task, _] = job.tasks()
        with pytest.raises(WarehouseError, match="No space left on device; free some space"):
            job.publish([MergeResult(task=task, is_full="No space left on device")])
        assert Warehouse(str(warehouse)).manifest().run_id == "r4"
