"""A warehouse goes from one state to the next, or stays as it was, wherever a job dies."""

import os
import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.errors import WarehouseError, WarehouseHeld
from drumbeat.pipeline.manifest import DataFile, LogPartition
from drumbeat.pipeline.progress_rows import about_cluster
from drumbeat.pipeline.warehouse import KEPT_MS, MANIFESTS_KEPT, StagedFile, Warehouse

TABLE = "log_records"
SOURCE = LogPartition("c", 3)


def add(warehouse, run_id, first_offset, *, is_replaced=False):
    """A run that stages and publishes one file."""
    with warehouse.writer(run_id) as writer:
        with open(os.path.join(writer.staging, "1.parquet"), "w") as file:
            file.write(run_id)
        staged = StagedFile(
            table=TABLE,
            name="1.parquet",
            file=DataFile(
                path="",
                cluster_id="c",
                log_partition=3,
                first_offset=first_offset,
                last_offset=first_offset + 9,
                rows=10,
                bytes=len(run_id),
            ),
        )
        files = writer.move_in([staged])
        removed = writer.manifest.files(TABLE) if is_replaced else ()
        manifest = writer.manifest.with_files(TABLE, files, removed)
        read = [(SOURCE, OffsetRange(first_offset, first_offset + 10))]
        return writer.publish(manifest.with_covered(read), now_ms=1)


def files_on_disk(warehouse):
    return sorted(
        os.path.join(folder, name)
        for folder, _, names in os.walk(warehouse.path)
        for name in names
        if name.endswith(".parquet")
    )


def test_nothing_is_a_state_too(tmp_path):
    manifest = Warehouse(str(tmp_path / "new")).manifest()
    assert (manifest.number, manifest.tables) == (0, {})
    assert not (tmp_path / "new").exists()


def test_states_follow_each_other(tmp_path):
    warehouse = Warehouse(str(tmp_path / "deep" / "w"))
    first, second = add(warehouse, "a", 0), add(warehouse, "b", 10)
    assert (first.number, second.number) == (1, 2)
    assert warehouse.manifest() == second
    assert second.covered == {SOURCE: ((0, 20),)}
    paths = warehouse.paths(second.files(TABLE))
    assert [Path(path).read_text() for path in paths] == ["a", "b"]
    assert paths == files_on_disk(warehouse)
    name = "00000000000000000010-00000000000000000019.c.b.0.parquet"
    assert second.files(TABLE)[1].path == f"{TABLE}/log_partition=3/{name}"


def test_superseded_files_remain_for_readers_for_a_while(tmp_path):
    warehouse = Warehouse(str(tmp_path))
    for number in range(6):
        add(warehouse, f"r{number}", 0, is_replaced=True)
    with warehouse.writer("last"):
        kept = files_on_disk(warehouse)
    assert len(kept) == MANIFESTS_KEPT
    assert len(os.listdir(tmp_path / "_manifest")) == MANIFESTS_KEPT
    assert warehouse.paths(warehouse.manifest().files(TABLE)) == kept[-1:]


def test_a_run_that_has_no_end_removes_what_nobody_reads(tmp_path):
    warehouse = Warehouse(str(tmp_path))
    times = [0, 1, 2, KEPT_MS // 2, KEPT_MS, 2 * KEPT_MS]
    with warehouse.writer("a") as writer:
        for now_ms in times:
            with open(os.path.join(writer.staging, "1.parquet"), "w") as file:
                file.write(str(now_ms))
            about = about_cluster("c", now_ms)
            moved = writer.move_in([StagedFile(table=TABLE, name="1.parquet", file=about)])
            removed = writer.manifest.files(TABLE)
            writer.publish(writer.manifest.with_files(TABLE, moved, removed), now_ms)
        kept = sorted(Path(path).read_text() for path in files_on_disk(warehouse))
        assert kept == sorted(map(str, times[-MANIFESTS_KEPT:]))
        assert len(os.listdir(tmp_path / "_manifest")) == MANIFESTS_KEPT


class Killed(BaseException):
    """What the process would never come to know."""


class Mortal:
    """Calls that change the disk work until one is the last, and do nothing from then on."""

    CALLS = ((os, "rename"), (os, "makedirs"), (os, "fsync"), (os, "unlink"), (shutil, "rmtree"))

    def __init__(self, monkeypatch, calls_left):
        self.calls_left = calls_left
        for module, name in self.CALLS:
            monkeypatch.setattr(module, name, self._mortal(getattr(module, name)))

    def _mortal(self, call):
        def wrapped(*args, **kwargs):
            self.calls_left -= 1
            if self.calls_left < 0:
                raise Killed
            return call(*args, **kwargs)

        return wrapped


def test_a_job_that_dies_anywhere_leaves_the_old_state_or_the_new(tmp_path):
    states = set()
    for calls in count():
        warehouse = Warehouse(str(tmp_path / str(calls)))
        old = add(warehouse, "a", 0)
        is_dead = False
        with pytest.MonkeyPatch.context() as patch:
            Mortal(patch, calls)
            try:
                add(warehouse, "b", 10)
            except Killed:
                is_dead = True
        found = warehouse.manifest()
        states.add(found.number)
        assert found in (old, replace(found, number=2, run_id="b"))
        assert all(map(os.path.exists, warehouse.paths(found.files(TABLE))))
        with warehouse.writer("c") as writer:
            assert writer.manifest == found
            assert warehouse.paths(found.files(TABLE)) == files_on_disk(warehouse)
            assert os.listdir(tmp_path / str(calls) / "_staging") == ["c"]
        if not is_dead:
            break
    assert states == {1, 2}
    assert calls > 8


def test_two_jobs_do_not_share_a_warehouse(tmp_path):
    warehouse = Warehouse(str(tmp_path))
    with warehouse.writer("a"):
        with pytest.raises(
            WarehouseHeld, match=rf"process {os.getpid()}\) is writing to {tmp_path}"
        ):
            add(warehouse, "b", 0)
        assert os.listdir(tmp_path / "_staging") == ["a"]
    add(warehouse, "b", 0)


@pytest.mark.parametrize("name", ["notes.txt", "log_records"])
def test_a_directory_of_others_is_left_alone(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(WarehouseError, match="no warehouse and not empty"):
        add(Warehouse(str(tmp_path)), "a", 0)
    assert os.listdir(tmp_path) == [name]


def test_a_file_is_no_warehouse(tmp_path):
    (tmp_path / "w").write_text("")
    with pytest.raises(WarehouseError, match="not a directory"):
        add(Warehouse(str(tmp_path / "w")), "a", 0)


def test_a_damaged_manifest_stops_the_job_before_it_removes_anything(tmp_path):
    warehouse = Warehouse(str(tmp_path))
    add(warehouse, "a", 0)
    before = files_on_disk(warehouse)
    (tmp_path / "_manifest" / "000002.json").write_text("{")
    with pytest.raises(WarehouseError, match=r"000002\.json is damaged"):
        add(warehouse, "b", 10)
    assert files_on_disk(warehouse) == before
