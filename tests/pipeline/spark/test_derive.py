"""The derive job: tables are what the builders make of the log, and all of one state or another."""

import os
import shutil
from collections import Counter
from itertools import count

import pyarrow.parquet as pq
import pytest

from drumbeat.pipeline.builders import CHUNK_RECORDS
from drumbeat.pipeline.decode.listing import segments_of
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.derive import DeriveJob
from drumbeat.pipeline.deriving import DERIVED, DeriveResult, derive_partition
from drumbeat.pipeline.errors import PipelineError, WarehouseError
from drumbeat.pipeline.findings.marts import PartitionMarts
from drumbeat.pipeline.generator import write_log
from drumbeat.pipeline.inputs import Inputs
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.tables import builder
from drumbeat.pipeline.tables.coverage import ReadRange
from drumbeat.pipeline.tables.group_tables import LogFacts
from drumbeat.pipeline.tables.partition_tables import PartitionTables
from drumbeat.pipeline.warehouse import Warehouse, WarehouseWriter
from drumbeat.protocol.records import encode_batch
from pipeline.golden_log import A, B, LogWriter, generation, golden_writer
from pipeline.tables.test_golden_tables import BUILT, EXPECTED, columns_of, place, text_table
from pipeline.warehouse.test_warehouse import Killed, Mortal
from support.log_folders import (
    CLUSTER_ID,
    START_MS,
    append_commits,
    commit_batch,
    log_folder,
    segment_path,
)

GOLDEN = LogPartition("golden", 3)
IN_SNAPSHOT_INTERVALS = "group_state_snapshots"  # the golden text has shorter ones than the job


def run(spark, folder, warehouse, *options):
    with open_stage_job(str(folder), str(warehouse)) as job:
        job.run(spark)
        return DeriveJob(job.log, job.writer, *options).run(spark)


def rows_of(warehouse, table):
    warehouse = Warehouse(str(warehouse))
    files = warehouse.manifest().files(table)
    tables = [pq.ParquetFile(path).read() for path in warehouse.paths(files)]
    for file, found in zip(files, tables, strict=True):
        assert found.schema.equals(TABLES[table].arrow_schema)
        assert found.num_rows == file.rows > 0
    return [row for found in tables for row in found.to_pylist()]


def write_segment(folder, topic_partition, data, base_offset=0):
    directory = folder / topic_partition
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / segment_path(folder, 0, base_offset).name
    path.write_bytes(data)
    return path


def golden_folder(path):
    folder = log_folder(path, GOLDEN.cluster_id)
    write_segment(folder, "__consumer_offsets-3", golden_writer().segment())
    return folder


def built_in_process(folder, cluster_id, log_partition):
    """What the builders yield for a partition's segments, as rows by table."""
    segments = segments_of(str(folder / f"__consumer_offsets-{log_partition}"))
    origin = {"cluster_id": cluster_id, "log_partition": log_partition}
    batches = [batch for each in segments for batch in decode_segment(each, **origin)]
    last = batches[-1].column("log_offset")[-1].as_py()
    source = builder.LogPartition(cluster_id, log_partition)
    log = LogFacts(read_ranges=[ReadRange(0, last)], log_start_offset=0)
    tables, marts = PartitionTables(source, log), PartitionMarts(source, Watermarks(()))
    derived = []
    for batch in batches:
        derived += marts.feed("log_records", batch)
        for each in tables.feed(batch):
            derived += [each, *marts.feed(*each)]
    still_open = list(tables.finish())
    derived += [*still_open, *marts.finish(still_open)]
    return {
        table: [row for name, batch in derived if name == table for row in batch.to_pylist()]
        for table in DERIVED
    }


def comparable(rows):
    """Rows in an order of their own: how many come at a time depends on the batches."""
    return Counter(map(repr, rows))


@pytest.fixture(scope="module")
def golden(spark, tmp_path_factory):
    """A warehouse of the golden log; only for reading."""
    path = tmp_path_factory.mktemp("golden")
    report = run(spark, golden_folder(path / "data"), path / "w")
    assert (report.partitions, report.records) == (1, 58)
    return path


@pytest.mark.parametrize("table", sorted({*BUILT} - {IN_SNAPSHOT_INTERVALS}))
def test_the_golden_log_has_its_known_answers(golden, table):
    rows = sorted(rows_of(golden / "w", table), key=place)
    assert text_table(rows, columns_of(table)) == (EXPECTED / f"{table}.txt").read_text()


def test_every_table_is_there_even_without_rows(golden):
    manifest = Warehouse(str(golden / "w")).manifest()
    assert manifest.tables.keys() == TABLES.keys()
    assert rows_of(golden / "w", "watermarks") == []
    lags = rows_of(golden / "w", "lag_points")
    assert lags
    assert {(row["lag"], row["lag_method"]) for row in lags} == {(None, "none")}


def test_progress_is_a_table(golden):
    [row] = rows_of(golden / "w", "pipeline_progress")
    manifest = Warehouse(str(golden / "w")).manifest()
    assert row["batch_id"] == manifest.run_id
    assert (row["cluster_id"], row["log_partition"]) == GOLDEN
    assert (row["read_offset"], row["hw"], row["lag"], row["records"]) == (58, 58, 0, 58)


def test_tables_equal_those_of_the_builders_and_change_only_with_the_log(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    write_log(folder, records=15_000, groups=200, seed=5, segment_bytes=10_000)
    for partition in range(4, 50):
        shutil.rmtree(folder / f"__consumer_offsets-{partition}")
    *_, last = segments_of(str(folder / "__consumer_offsets-1"))
    assert last.start_offset > 0
    held_back = tmp_path / "later"
    shutil.move(last.path, held_back)
    first = run(spark, folder, tmp_path / "w").manifest
    assert_built(folder, tmp_path / "w", first)

    again = run(spark, folder, tmp_path / "w")
    assert (again.partitions, again.manifest) == (0, first)

    shutil.move(held_back, last.path)
    third = run(spark, folder, tmp_path / "w")
    assert third.partitions == 1
    assert_built(folder, tmp_path / "w", third.manifest)
    for table in DERIVED:
        for file in first.files(table):
            is_kept = file in third.manifest.files(table)
            assert is_kept == (file.log_partition != 1), file.path


def assert_built(folder, warehouse, manifest):
    partitions = sorted({source.log_partition for source in manifest.derived})
    assert len(partitions) >= 3
    expected = [built_in_process(folder, CLUSTER_ID, partition) for partition in partitions]
    for table in DERIVED:
        rows = [row for tables in expected for row in tables[table]]
        assert comparable(rows_of(warehouse, table)) == comparable(rows), table


def test_what_was_damaged_and_repaired_takes_its_place(spark, tmp_path):
    """The repaired stretch is staged last, and stands in the middle of the log."""
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(10))
    damaged = append_commits(folder, 0, 10, range(10, 40))
    append_commits(folder, 0, 40, range(40, 50))
    sound = damaged.read_bytes()
    size = len(commit_batch(range(10, 20)))
    damaged.write_bytes(sound[: size * 2 - 3] + b"???" + sound[size * 2 :])
    run(spark, folder, tmp_path / "w")
    kinds = [
        (row["first_offset"], row["last_offset"], row["kind"])
        for row in rows_of(tmp_path / "w", "log_coverage")
    ]
    assert kinds == [(0, 19, "read"), (20, 39, "never_read"), (40, 49, "read")]
    damaged.write_bytes(sound)
    run(spark, folder, tmp_path / "w")
    expected = built_in_process(folder, CLUSTER_ID, 0)
    for table in DERIVED:
        assert comparable(rows_of(tmp_path / "w", table)) == comparable(expected[table]), table


def test_an_empty_log_has_empty_tables(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(0))
    states = [run(spark, folder, tmp_path / "w") for _ in range(2)]
    assert [(state.partitions, state.manifest.number) for state in states] == [(0, 2), (0, 2)]


def test_one_record_is_a_log(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(1))
    assert run(spark, folder, tmp_path / "w").records == 1
    [commit] = rows_of(tmp_path / "w", "offset_commits")
    assert (commit["log_offset"], commit["complete"]) == (0, True)


def test_a_run_goes_on_where_the_last_one_ended(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    more = CHUNK_RECORDS + 50
    append_commits(folder, 0, 0, range(more))
    first = run(spark, folder, tmp_path / "w")
    assert first.records == more
    [state] = [derived.state for derived in first.manifest.derived.values()]
    assert state.last_offset == CHUNK_RECORDS - 1
    append_commits(folder, 0, 0, range(more, more + 10))
    second = run(spark, folder, tmp_path / "w")
    assert second.records == 60
    kept = [file for file in first.manifest.files("offset_commits") if not file.is_open]
    assert kept
    assert set(kept) < set(second.manifest.files("offset_commits"))
    expected = built_in_process(folder, CLUSTER_ID, 0)
    for table in DERIVED:
        assert comparable(rows_of(tmp_path / "w", table)) == comparable(expected[table]), table


def test_a_data_directory_tells_causes_and_ends(spark, tmp_path):
    folder = log_folder(tmp_path / "data")
    log = LogWriter()
    log.append(1_000, generation("orders", 1, 900, A))
    log.append(5_000, generation("orders", 2, 4_900, A, B))
    write_segment(folder, "__consumer_offsets-0", log.segment())
    append_commits(folder, 1, 0, range(3))
    event = (
        b'{"type":"rebalance_begun","group_id":"orders","at_ms":4000,"reason":"member_joined",'
        b'"client_reason":"scaled up"}'
    )
    records = [(0, 4_000, b"orders", event, ()), (1, 4_001, b"x", b"not ours", ())]
    write_segment(folder, "__group_events-0", encode_batch(records))
    data = [(offset, 1, None, b"v", ()) for offset in range(25)]
    write_segment(folder, "orders-0", encode_batch(data))
    write_segment(folder, "orders-0", encode_batch([(25, 1, None, b"v", ())]), 25)

    first = run(spark, folder, tmp_path / "w")
    assert [row["value"] for row in rows_of(tmp_path / "w", "group_events")] == [event.decode()]
    told = rows_of(tmp_path / "w", "rebalances")[-1]
    assert (told["cause_source"], told["client_reason"]) == ("event", "scaled up")
    ends = {
        (row["topic"], row["partition"], row["log_start"], row["high_watermark"])
        for row in rows_of(tmp_path / "w", "watermarks")
        if row["source"] == "data_directory"
    }
    assert ends == {("orders", 0, 0, 26), ("__group_events", 0, 0, 2)}
    newest = [row for row in rows_of(tmp_path / "w", "lag_points") if row["partition"] == 0][-1]
    assert (newest["committed"], newest["lag"]) == (0, 26)

    again = run(spark, folder, tmp_path / "w")
    assert (again.partitions, again.manifest) == (0, first.manifest)

    write_segment(folder, "orders-0", encode_batch([(n, 1, None, b"v", ()) for n in (25, 26)]), 25)
    third = run(spark, folder, tmp_path / "w")
    assert third.partitions == 2
    samples = rows_of(tmp_path / "w", "watermarks")
    assert sum(row["source"] == "data_directory" for row in samples) == 4
    told = {
        (row["sampled_at"], row["high_watermark"])
        for row in samples
        if row["source"] == "time_index"
    }
    assert told == {(1, 26)}, "as the records of the topic say, which came in the first millisecond"


def test_lag_of_the_past_is_told_by_the_records(spark, tmp_path):
    """A record each 100 ms, and one commit at the beginning."""
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(2))  # of offset 0, and of offset 10 of another partition
    times = [(n, START_MS - 50 + n * 100, None, b"v", ()) for n in range(50)]
    write_segment(folder, "orders-0", b"".join(encode_batch([record]) for record in times))
    run(spark, folder, tmp_path / "w", 1_000)

    points = [row for row in rows_of(tmp_path / "w", "lag_points") if row["partition"] == 0]
    passed = [(row["bucket_ts"] - START_MS, row["lag"]) for row in points[:5]]
    assert passed == [(1_000, 11), (2_000, 21), (3_000, 31), (4_000, 41), (5_000, 50)]
    assert {row["lag_method"] for row in points[:5]} == {"interpolated"}
    assert all(row["error_bound"] <= 10 for row in points[:5]), "records of one interval"

    sampled = rows_of(tmp_path / "w", "watermarks")
    again = run(spark, folder, tmp_path / "w", 2_000)
    assert again.partitions == 1, "with another interval all is derived anew"
    assert rows_of(tmp_path / "w", "watermarks") == sampled, "and nothing is sampled twice"
    points = [row for row in rows_of(tmp_path / "w", "lag_points") if row["partition"] == 0]
    assert [row["bucket_ts"] - START_MS for row in points[:2]] == [2_000, 4_000]
    kinds = {row["kind"] for row in rows_of(tmp_path / "w", "findings")}
    assert not kinds & {"TOPIC_RECREATED", "COMMIT_AHEAD_OF_LEO", "DATA_LOSS_RISK"}


# -- deaths ----------------------------------------------------------------------------------------


def test_a_failing_task_changes_nothing(spark, tmp_path):
    folder = golden_folder(tmp_path / "data")
    with open_stage_job(str(folder), str(tmp_path / "w")) as job:
        staged = job.run(spark).manifest
        os.rmdir(job.staging)
        with pytest.raises(PipelineError, match="the job failed: FileNotFoundError"):
            DeriveJob(job.log, job.writer).run(spark)
    assert Warehouse(str(tmp_path / "w")).manifest() == staged
    assert run(spark, folder, tmp_path / "w").partitions == 1


@pytest.fixture(scope="module")
def before_publishing(spark, golden):
    """A warehouse with derived tables, and a run that is about to publish those of a longer log."""
    folder, warehouse = golden / "longer", golden / "before"
    shutil.copytree(golden / "data", folder)
    shutil.copytree(golden / "w", warehouse)
    log = LogWriter(58)
    log.append(9 * 86_400_000, generation("late", 1, 1, A))
    write_segment(folder, "__consumer_offsets-3", log.segment(), 58)
    with open_stage_job(str(folder), str(warehouse)) as job:
        job.run(spark)
        derive = DeriveJob(job.log, job.writer)
        manifest = Inputs(job.log, job.writer, 1_000).gather(spark, 1)
        [task] = derive.tasks(manifest)
        result = derive_partition(task, job.staging, "1.parquet")
        shutil.copytree(warehouse, golden / "template")
        return job.log, job.writer.run_id, manifest, result


def test_a_job_that_dies_anywhere_leaves_the_old_state_or_the_new(
    golden, before_publishing, tmp_path
):
    folder, run_id, manifest, result = before_publishing
    old = Warehouse(str(golden / "template")).manifest()
    seen = set()
    for calls in count():
        warehouse = Warehouse(str(tmp_path / str(calls)))
        shutil.copytree(golden / "template", warehouse.path)
        is_dead = False
        job = DeriveJob(folder, WarehouseWriter(warehouse, run_id))
        with pytest.MonkeyPatch.context() as patch:
            Mortal(patch, calls)
            try:
                job.publish(manifest, [result])
            except Killed:
                is_dead = True
        found = warehouse.manifest()
        seen.add(found.number)
        assert found == old or found.number == old.number + 1
        groups = {row["group_id"] for row in rows_of(warehouse.path, "group_generations")}
        assert ("late" in groups) == (found != old)
        shutil.rmtree(warehouse.path)
        if not is_dead:
            break
    assert seen == {old.number, old.number + 1}
    assert calls > 30


def test_a_full_disk_is_reported_and_leaves_no_file(before_publishing, golden, tmp_path):
    folder, run_id, manifest, result = before_publishing
    os.symlink("/dev/full", tmp_path / "offset_commits-open-1.parquet")
    found = derive_partition(result.task, str(tmp_path), "1.parquet")
    assert found.is_full == "No space left on device"
    assert os.listdir(tmp_path) == []
    shutil.copytree(golden / "template", tmp_path / "w")
    writer = WarehouseWriter(Warehouse(str(tmp_path / "w")), run_id)
    with pytest.raises(WarehouseError, match="No space left on device; free some space"):
        DeriveJob(folder, writer).publish(
            manifest, [result, DeriveResult(task=result.task, is_full=found.is_full)]
        )
    assert Warehouse(writer.path).manifest() == writer.manifest


def test_partitions_of_other_clusters_are_left_alone(spark, tmp_path):
    for cluster_id in ("b", "a"):
        folder = log_folder(tmp_path / cluster_id, cluster_id)
        append_commits(folder, 0, 0, range(3))
        assert run(spark, folder, tmp_path / "w").partitions == 1
    reports = rows_of(tmp_path / "w", "compaction_report")
    assert [(row["cluster_id"], row["records"]) for row in reports] == [("a", 3), ("b", 3)]
