"""The pipeline on a standalone Spark cluster that loses a worker: the tables of a local run."""

import subprocess
import sys

import pytest

from drumbeat.pipeline.generator import write_data_directory
from support.spark_cluster import spark_cluster
from support.waiting import wait_until
from support.warehouse_tables import is_writing, table_rows

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

TIMEOUT_S = 300.0


def pipeline(source, warehouse, master):
    command = [sys.executable, "-m", "drumbeat.cli.main", "pipeline", "run", "--master", master]
    command += ["--source", str(source), "--warehouse", str(warehouse)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_a_worker_killed_in_the_middle_changes_nothing(tmp_path):
    source = tmp_path / "data"
    write_data_directory(source, records=100_000, groups=300, seed=11)
    with (
        spark_cluster(tmp_path / "spark") as cluster,
        pipeline(source, tmp_path / "w", cluster.master) as job,
    ):
        wait_until(
            lambda: is_writing(tmp_path / "w") or job.poll() is not None, TIMEOUT_S, "tasks at work"
        )
        cluster.kill_worker(0)
        said, _ = job.communicate(timeout=TIMEOUT_S)
        assert job.returncode == 0, said
    assert "staged 100,000 records" in said
    with pipeline(source, tmp_path / "local", "local[2]") as job:
        said, _ = job.communicate(timeout=TIMEOUT_S)
        assert job.returncode == 0, said
    assert table_rows(tmp_path / "w") == table_rows(tmp_path / "local")
