"""`--follow`: whatever happens to the job, its tables become those of an undisturbed run."""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pyarrow.parquet as pq
import pytest

from drumbeat.pipeline.decode.listing import segments_of
from drumbeat.pipeline.deriving import DERIVED
from drumbeat.pipeline.generator import write_log
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.pass_over import run_pass
from drumbeat.pipeline.warehouse import STAGING, Warehouse
from support.log_folders import log_folder
from support.waiting import wait_until

TIMEOUT_S = 180.0
PARTITIONS = 3


@contextmanager
def following(folder, warehouse, out):
    """A process that follows; killed at the end if it still does."""
    command = [sys.executable, "-m", "drumbeat.cli.main", "pipeline", "run", "--follow"]
    command += ["--source", str(folder), "--warehouse", str(warehouse)]
    command += ["--master", "local[2]", "--interval", "0.1"]
    with open(out, "wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process, condition, out, what):
    def is_met():
        assert process.poll() is None, out.read_text()
        return condition()

    wait_until(is_met, TIMEOUT_S, what)


def growing_folder(path):
    """A log of a few partitions, and segments of it that are not there yet."""
    folder = log_folder(path / "data")
    write_log(folder, records=30_000, groups=300, seed=7, segment_bytes=20_000)
    for partition in range(PARTITIONS, 50):
        shutil.rmtree(folder / f"__consumer_offsets-{partition}")
    held_back = []
    for partition in range(PARTITIONS):
        segments = segments_of(str(folder / f"__consumer_offsets-{partition}"))
        for segment in segments[len(segments) // 2 :]:
            aside = path / f"{partition}-{os.path.basename(segment.path)}"
            shutil.move(segment.path, aside)
            held_back.append((aside, segment.path))
    assert len(held_back) > PARTITIONS
    return folder, held_back


def read_to(warehouse):
    covered = Warehouse(str(warehouse)).manifest().covered.values()
    return sum(offsets.end for ranges in covered for offsets in ranges)


def is_writing(warehouse):
    """Whether a task is at work that has not been published."""
    staging = warehouse / STAGING
    return staging.exists() and any(os.listdir(run) for run in staging.iterdir())


def tables(path):
    warehouse = Warehouse(str(path))
    manifest = warehouse.manifest()
    found = {}
    for table in ("log_records", *DERIVED):
        rows = Counter()
        for file in warehouse.paths(manifest.files(table)):
            rows.update(map(repr, pq.ParquetFile(file).read().to_pylist()))
        found[table] = rows
    return found


def test_killed_and_restarted_it_has_the_tables_of_an_undisturbed_run(spark, tmp_path):
    folder, held_back = growing_folder(tmp_path)
    warehouse, out = tmp_path / "w", tmp_path / "out"
    with following(folder, warehouse, out) as process:  # killed while it stages
        wait_for(process, lambda: is_writing(warehouse), out, "a task at work")
    with following(folder, warehouse, out) as process:  # killed while it derives
        wait_for(process, lambda: read_to(warehouse) > 0, out, "a first state")
    half = read_to(warehouse)
    for aside, path in held_back:
        shutil.move(aside, path)
    with following(folder, warehouse, out) as process:
        wait_for(process, lambda: read_to(warehouse) > half, out, "the rest of the log")
        wait_for(process, lambda: "state" in out.read_text(), out, "a line about it")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0, out.read_text()
    *_, line, ended = out.read_text().splitlines()
    assert " records/s, " in line
    assert ended == f"ended; state {Warehouse(str(warehouse)).manifest().number}"

    with open_stage_job(str(folder), str(tmp_path / "undisturbed")) as job:
        run_pass(job, spark)
    expected = tables(tmp_path / "undisturbed")
    assert expected["offset_commits"]
    assert tables(warehouse) == expected


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_what_fails_ends_the_job_and_says_why(tmp_path, number):
    folder, _ = growing_folder(tmp_path)
    warehouse, out = tmp_path / "w", tmp_path / "out"
    with following(folder, warehouse, out) as process:
        wait_for(process, lambda: "state" in (out.read_text()), out, "a first line")
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 0, out.read_text()
