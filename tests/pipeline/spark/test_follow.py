"""`--follow`: whatever happens to the job, its tables become those of an undisturbed run."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from drumbeat.pipeline.decode.listing import segments_of
from drumbeat.pipeline.errors import PipelineError, WarehouseError
from drumbeat.pipeline.follow import Follower
from drumbeat.pipeline.generator import write_log
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.pass_over import run_pass
from drumbeat.pipeline.warehouse import Warehouse
from support.log_folders import append_commits, log_folder
from support.waiting import wait_until
from support.warehouse_tables import is_writing, table_rows

pytestmark = pytest.mark.timeout(600)  # a stream that starts loads half of Spark

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
    expected = table_rows(tmp_path / "undisturbed")
    assert expected["offset_commits"]
    assert table_rows(warehouse) == expected


# -- in this process -------------------------------------------------------------------------------


def follow(spark, folder, warehouse, tell):
    with open_stage_job(str(folder), str(warehouse)) as job:
        follower = Follower(job, spark, lambda: tell(run_pass(job, spark)))
        follower.run(str(folder), {}, interval_ms=50)
        return job.writer.manifest


def small_folder(path):
    folder = log_folder(path / "data")
    append_commits(folder, 0, 0, range(10))
    return folder


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_after_the_pass_that_is_being_made(spark, tmp_path, number):
    folder, passes = small_folder(tmp_path), []
    before = signal.getsignal(number)

    def tell(report):
        passes.append(report.staged.rows)
        if len(passes) == 1:
            append_commits(folder, 0, 0, range(10, 15))
        else:
            os.kill(os.getpid(), number)

    manifest = follow(spark, folder, tmp_path / "w", tell)
    assert passes == [10, 5]
    assert manifest.rows("offset_commits") == 15
    assert signal.getsignal(number) == before


def test_what_ends_the_stream_is_said(spark, tmp_path):
    folder = small_folder(tmp_path)
    with pytest.raises(PipelineError, match=f"SourceError: {folder} does not exist"):
        follow(spark, folder, tmp_path / "w", lambda _report: shutil.rmtree(folder))
    assert Warehouse(str(tmp_path / "w")).manifest().rows("offset_commits") == 10


def test_what_ends_a_pass_is_said(spark, tmp_path):
    def tell(_report):
        raise WarehouseError("no room")

    with pytest.raises(WarehouseError, match=r"^no room$"):
        follow(spark, small_folder(tmp_path), tmp_path / "w", tell)
