"""Replay on executors is what the coordinator's reducer does, however a log is partitioned."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from drumbeat.core.state import State
from drumbeat.pipeline.derive import DeriveJob
from drumbeat.pipeline.history.replay import GroupReplay
from drumbeat.pipeline.history.store import open_history
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from drumbeat.pipeline.job import open_stage_job
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.tables.snapshots import restored
from drumbeat.protocol.record_batch import iter_headers
from pipeline.golden_log import LogWriter
from pipeline.tables.test_replay_properties import stories, written
from support.log_folders import CLUSTER_ID, log_folder, segment_path

pytestmark = pytest.mark.timeout(180)

# A story per partition, the places where its segments are cut, and Spark's own partitions of it.
logs = st.lists(st.tuples(stories, st.sets(st.integers(1, 30), max_size=4)), min_size=1, max_size=4)


def write_segments(folder: Path, partition: int, log: LogWriter, cuts: set[int]) -> None:
    """The log's batches, with a new segment at each of the cuts."""
    data = log.segment()
    path = None
    for number, (position, header) in enumerate(iter_headers(data)):
        if path is None or number in cuts:
            path = segment_path(folder, partition, header.base_offset)
            path.parent.mkdir(exist_ok=True)
        with path.open("ab") as segment:
            segment.write(data[position : position + header.size])


def states_in(warehouse: Path, partition: int) -> tuple[State, State]:
    """As replay on executors left it, and as the history answers."""
    source = LogPartition(CLUSTER_ID, partition)
    with open_history(str(warehouse)) as history:
        snapshots = history.query(
            "SELECT group_id, arg_max_null(state, log_offset) FROM group_state_snapshots"
            " WHERE log_partition = $partition GROUP BY group_id",
            {"partition": partition},
        )
        return restored(snapshots.rows), GroupReplay(history, source).state_at(END_OF_TIME_MS)


@settings(
    max_examples=5,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(logs)
def test_spark_replays_as_the_reducer_does(spark, told):
    with tempfile.TemporaryDirectory() as directory:
        folder, warehouse = log_folder(Path(directory) / "data"), Path(directory) / "warehouse"
        expected = {}
        for partition, (story, cuts) in enumerate(told):
            log, _ = written(story)
            write_segments(folder, partition, log, cuts)
            expected[partition] = log.state
        with open_stage_job(str(folder), str(warehouse)) as job:
            job.run(spark)
            DeriveJob(job.log, job.writer).run(spark)
        for partition, state in expected.items():
            assert states_in(warehouse, partition) == (state, state)
