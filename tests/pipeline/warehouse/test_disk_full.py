"""A warehouse on a disk that is full: the state before remains, and it is said what to do."""

import os
import resource
from contextlib import contextmanager

import pytest

from crash.disks import can_mount, small_file_system
from drumbeat.pipeline.derive import DeriveJob
from drumbeat.pipeline.deriving import derive_partition
from drumbeat.pipeline.errors import WarehouseError
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.merge import MergeJob, merge_files
from drumbeat.pipeline.staging import stage_range
from drumbeat.pipeline.warehouse import Warehouse
from support.log_folders import append_commits, log_folder
from support.warehouse_tables import table_rows


def stage(job):
    job.publish([stage_range(*args) for args in numbered(job.plan(), job.writer)])


def derive(job):
    derive_job = DeriveJob(job.log, job.writer)
    manifest = job.writer.manifest
    tasks = numbered(derive_job.tasks(manifest), job.writer)
    derive_job.publish(manifest, [derive_partition(*args) for args in tasks])


def merge(job):
    merge_job = MergeJob(job.writer, files_max=1)
    merge_job.publish([merge_files(*args) for args in numbered(merge_job.tasks(), job.writer)])


def numbered(tasks, writer):
    return [(task, writer.staging, f"{n}.parquet") for n, task in enumerate(tasks)]


@contextmanager
def no_room(directory):
    """Until the last byte, as others may use it up."""
    room = os.statvfs(directory)
    (directory / "ballast").write_bytes(bytes(room.f_bavail * room.f_frsize))
    yield


@contextmanager
def no_large_files(_directory):
    """Where no file system can be mounted: the same code meets another error of the same kind."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def disk(tmp_path):
    """A directory, and how to fill its disk up."""
    if not can_mount():
        yield tmp_path, no_large_files
        return
    with small_file_system(tmp_path / "small"):
        yield tmp_path / "small", no_room


@pytest.mark.parametrize("step", [stage, derive, merge])
def test_a_step_that_finds_no_room_leaves_what_was(disk, tmp_path, step):
    directory, filled_up = disk
    folder, warehouse = log_folder(tmp_path / "data"), directory / "w"
    for n in range(2):
        append_commits(folder, 0, 0, range(100 * n, 100 * n + 100))
        with open_stage_job(str(folder), str(warehouse)) as job:
            stage(job)
            derive(job)
    append_commits(folder, 0, 0, range(200, 300))
    with open_stage_job(str(folder), str(warehouse)) as job:
        if step is derive:
            stage(job)
    before, tables = Warehouse(str(warehouse)).manifest(), table_rows(warehouse)
    with (
        pytest.raises(WarehouseError, match=f"cannot write to {warehouse}: "),
        open_stage_job(str(folder), str(warehouse)) as job,
        filled_up(directory),
    ):
        step(job)
    for ballast in directory.glob("ballast"):
        ballast.unlink()
    assert Warehouse(str(warehouse)).manifest() == before
    assert table_rows(warehouse) == tables
    with open_stage_job(str(folder), str(warehouse)) as job:
        assert all(not os.listdir(run) for run in (warehouse / "_staging").iterdir())
        for work in (stage, derive, merge):
            work(job)
    assert Warehouse(str(warehouse)).manifest().rows("offset_commits") == 300
