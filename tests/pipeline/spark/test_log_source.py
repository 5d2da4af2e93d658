"""`drumbeat_log`: what Spark reads is what the log holds."""

import pytest

from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.schemas import LOG_RECORDS
from drumbeat.pipeline.session import register_sources
from drumbeat.pipeline.sources import log_folder as log_folders
from drumbeat.pipeline.sources.log_source import LogReader
from support.log_folders import CLUSTER_ID, append_commits, log_folder

OPTIONS_OF_ONE_PARTITION = '{"__consumer_offsets": {"0": %d}}'


@pytest.fixture
def folder(tmp_path):
    """Partition 0 in two segments, partition 4 in one."""
    folder = log_folder(tmp_path / "data")
    append_commits(folder, 0, 0, range(40))
    append_commits(folder, 0, 40, range(40, 65))
    append_commits(folder, 4, 0, range(15))
    return folder


def read(folder, **options):
    """What a reader yields, without Spark."""
    reader = LogReader({"path": str(folder), **options})
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert all(batch.schema == LOG_RECORDS.arrow_schema for batch in batches)
    return [
        (row["log_partition"], row["log_offset"]) for batch in batches for row in batch.to_pylist()
    ]


def offsets(partition, *numbers):
    return [(partition, offset) for offset in range(*numbers)]


RANGES = [
    ({}, [*offsets(0, 65), *offsets(4, 15)]),
    (
        {"startingOffsets": "earliest", "endingOffsets": "latest"},
        [*offsets(0, 65), *offsets(4, 15)],
    ),
    ({"startingOffsets": OPTIONS_OF_ONE_PARTITION % 43}, [*offsets(0, 43, 65), *offsets(4, 15)]),
    ({"endingOffsets": OPTIONS_OF_ONE_PARTITION % 7}, [*offsets(0, 7), *offsets(4, 15)]),
    ({"startingOffsets": OPTIONS_OF_ONE_PARTITION % 999}, offsets(4, 15)),
]


@pytest.mark.parametrize(("options", "expected"), RANGES)
def test_offsets_limit_what_is_read(folder, options, expected):
    assert read(folder, **options) == expected


def test_small_segments_share_a_task_and_large_ones_do_not(folder, monkeypatch):
    reader = LogReader({"path": str(folder)})
    assert [len(part.log_range.segments) for part in reader.partitions()] == [2, 1]
    monkeypatch.setattr(log_folders, "RANGE_BYTES_MAX", 1000)
    assert [len(part.log_range.segments) for part in reader.partitions()] == [1, 1, 1]


def test_one_partition_can_be_read_alone(folder):
    assert read(folder / "__consumer_offsets-4") == offsets(4, 15)


WRONG_OPTIONS = [
    ({"startingOffsets": "latest"}, "startingOffsets is 'latest'; it may be \"earliest\""),
    ({"endingOffsets": "earliest"}, 'it may be "latest"'),
    ({"endingOffsets": '{"orders": {"0": 1}}'}, "endingOffsets is .*__consumer_offsets"),
    ({"endingOffsets": OPTIONS_OF_ONE_PARTITION % -5}, "endingOffsets is"),
    ({"failOnDataLoss": "maybe"}, "failOnDataLoss is 'maybe'; it may be true or false"),
]


@pytest.mark.parametrize(("options", "text"), WRONG_OPTIONS)
def test_wrong_options_are_named(folder, options, text):
    with pytest.raises(SourceError, match=text):
        LogReader({"path": str(folder), **options})


def test_a_source_that_is_none_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(SourceError, match="needs a path"):
        LogReader({}).partitions()
    with pytest.raises(SourceError, match="gone does not exist"):
        read(tmp_path / "gone")
    with pytest.raises(SourceError, match="holds no partition of __consumer_offsets"):
        read(tmp_path)
    append_commits(tmp_path, 0, 0, range(1))
    with pytest.raises(SourceError, match=r"no meta\.properties that names its cluster"):
        read(tmp_path)
    assert read(tmp_path, cluster="mine") == offsets(0, 1)


def test_spark_reads_typed_columns(spark, folder):
    register_sources(spark)
    frame = spark.read.format("drumbeat_log").load(str(folder))
    assert frame.columns == LOG_RECORDS.arrow_schema.names
    rows = {(row.log_partition, row.log_offset): row for row in frame.collect()}
    assert sorted(rows) == [*offsets(0, 65), *offsets(4, 15)]
    row = rows[4, 9]
    assert (row.cluster_id, row.group_id, row.topic) == (CLUSTER_ID, "group-2", "orders")
    assert (row.partition, row.committed_offset, row.key) == (0, 90, None)


def test_damage_fails_the_query_by_name_unless_told_otherwise(spark, folder):
    register_sources(spark)
    path = append_commits(folder, 0, 40, range(65, 75))
    path.write_bytes(path.read_bytes()[:-5] + b"wrong")
    append_commits(folder, 0, 75, range(75, 80))
    source = spark.read.format("drumbeat_log")
    with pytest.raises(Exception, match=r"00000000000000000040\.log, byte \d+: ") as caught:
        source.load(str(folder)).collect()
    assert "CorruptSegment" in str(caught.value)
    frame = source.option("failOnDataLoss", "false").load(str(folder))
    assert len(frame.collect()) == 65 + 5 + 15
