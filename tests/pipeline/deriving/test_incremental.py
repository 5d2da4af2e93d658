"""However many runs there are, and wherever they stop, tables are those of a single run."""

import json
import os
import pickle
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.pipeline import deriving
from drumbeat.pipeline.builder_state import Read
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.deriving import DERIVED, DeriveTask, derive_partition
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.schemas import LOG_RECORDS, WATERMARKS
from drumbeat.pipeline.staged_records import RecordFile
from drumbeat.pipeline.tables.group_events import read_group_events
from pipeline.golden_log import A, LogWriter
from pipeline.tables.test_replay_properties import GROUPS, PARTITIONS, TOPICS, cuts, split, steps
from pipeline.tables.test_replay_properties import write as write_step

SOURCE = LogPartition("golden", 3)
STEP_MS = 240_000  # lag is looked at four times an hour
CHUNK = 4
PLACES = [(topic, partition) for topic in TOPICS for partition in PARTITIONS]


class Runs:
    """A warehouse of one log partition, without Spark."""

    def __init__(self, directory, *, chunk=CHUNK):
        self.directory = Path(directory)
        self.chunk = chunk
        self.task = DeriveTask(
            source=SOURCE, records=(), watermarks=(), events=(),
            read=Read(covered=(), log_start=0), state=None, fingerprint="f", bytes=0, inputs="",
        )  # fmt: skip
        self.kept = []
        self.serial = 0
        self.is_anew = []  # of each run
        self.records = []

    def stage(self, rows, *, log_start=0):
        if not len(rows):
            return
        offsets = rows.column("log_offset")
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        file = RecordFile(first, last, self.write("log_records", rows.to_pylist(), LOG_RECORDS))
        covered = (OffsetRange(0, last + 1),)
        self.task = replace(
            self.task,
            records=(*self.task.records, file),
            read=Read(covered=covered, log_start=log_start),
        )

    def sample(self, at_ms, ends):
        rows = [
            {
                "cluster_id": SOURCE.cluster_id, "topic": topic, "partition": partition,
                "sampled_at": at_ms, "log_start": 0, "high_watermark": end, "source": "test",
            }
            for (topic, partition), end in ends.items()
        ]  # fmt: skip
        if rows:
            path = self.write("watermarks", rows, WATERMARKS)
            self.task = replace(self.task, watermarks=(*self.task.watermarks, path))

    def tell(self, group_id, at_ms, reason="member_joined"):
        event = {"type": "rebalance_begun", "group_id": group_id, "at_ms": at_ms, "reason": reason}
        path = self.path("group_events")
        rows = read_group_events([json.dumps(event).encode()])
        pq.write_table(pa.Table.from_batches([rows]), path)
        self.task = replace(self.task, events=(*self.task.events, path))

    def write(self, name, rows, table):
        path = self.path(name)
        pq.write_table(pa.Table.from_pylist(rows, schema=table.arrow_schema), path)
        return path

    def path(self, name):
        self.serial += 1
        return str(self.directory / f"{name}-{self.serial}.parquet")

    def run(self):
        """Tables that one more run leaves."""
        result = self.derive(self.task)
        self.is_anew.append(result.is_anew)
        self.records.append(result.rows)
        kept = [] if result.is_anew else [file for file in self.kept if not file.file.is_open]
        self.kept = [*kept, *result.staged]
        if result.state is not None:
            self.task = replace(self.task, state=str(self.directory / result.state.name))
        elif result.is_anew:
            self.task = replace(self.task, state=None)
        return self.tables(self.kept)

    def derive(self, task):
        self.serial += 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(deriving, "CHUNK_RECORDS", self.chunk)
            return derive_partition(task, str(self.directory), f"{self.serial}.parquet")

    def derived_anew(self):
        return self.tables(self.derive(replace(self.task, state=None)).staged)

    def tables(self, staged):
        rows = {table: Counter() for table in DERIVED}
        for file in staged:
            found = pq.ParquetFile(self.directory / file.name).read().to_pylist()
            rows[file.table].update(map(repr, found))
        return rows


def written(story):
    log = LogWriter()
    for n, step in enumerate([("commit", "g", "orders", 0, 0), *story]):
        write_step(log, STEP_MS * n, step)
    return log.rows()


# Where topics end. Mostly all are there, and the sampler's clock is right.
everywhere = st.fixed_dictionaries(dict.fromkeys(PLACES, st.integers(0, 12)))
somewhere = st.fixed_dictionaries({}, optional=dict.fromkeys(PLACES, st.integers(0, 12)))
run_inputs = st.tuples(
    st.sampled_from((1, 1, 1, -600_000, 90_000)),
    st.one_of(everywhere, everywhere, somewhere),
    st.lists(st.tuples(st.sampled_from(GROUPS), st.integers(0, 30)), max_size=1),  # events
)


@settings(max_examples=8)
@given(
    story=st.lists(steps, min_size=1, max_size=25),
    cuts=cuts,
    inputs=st.lists(run_inputs, min_size=7, max_size=7),
)
def test_tables_after_many_runs_are_those_of_one(story, cuts, inputs):
    rows = written(story)
    parts = split(rows, cuts)
    newest = [0, *accumulate((max(p["append_ts"].to_pylist(), default=0) for p in parts), max)]
    sampled_at = 0
    with tempfile.TemporaryDirectory() as directory:
        runs = Runs(directory)
        for part, newest_ms, (skew_ms, ends, events) in zip(
            parts, newest[1:], inputs, strict=False
        ):
            runs.stage(part)
            if not runs.task.records:
                continue
            sampled_at = max(sampled_at + 1, newest_ms + skew_ms)
            runs.sample(sampled_at, ends)
            for group_id, n in events:
                runs.tell(group_id, STEP_MS * n)
            assert runs.run() == runs.derived_anew()


def commits(count):
    return [("commit", "g", "orders", 0, offset) for offset in range(1, count + 1)]


def grown(tmp_path, story=None, **options):
    """After a run over half of the log, with a state, and with the other half staged."""
    runs = Runs(tmp_path)
    rows = written(commits(23) if story is None else story)
    runs.stage(rows.slice(0, 12), **options)
    for hour in (0, 1, 2):
        runs.sample(hour * 3_600_000, {("orders", 0): 20 + hour})
    runs.run()
    assert runs.task.state is not None
    runs.stage(rows.slice(12), **options)
    return runs


def check(runs, *, is_anew):
    assert runs.run() == runs.derived_anew()
    assert runs.is_anew == [True, is_anew]


def test_a_run_feeds_only_what_is_new(tmp_path):
    runs = Runs(tmp_path)
    rows = written(commits(39))
    for first in range(0, 40, 10):
        runs.stage(rows.slice(first, 10))
        runs.run()
    assert runs.is_anew == [True, False, False, False]
    assert runs.records == [10, 12, 10, 12]  # what did not fill a chunk is looked at again
    assert runs.tables(runs.kept) == runs.derived_anew()


def test_later_samples_of_a_topic_that_is_sampled_change_nothing(tmp_path):
    runs = grown(tmp_path)
    runs.sample(3 * 3_600_000, {("orders", 0): 90})
    check(runs, is_anew=False)


def test_rows_are_open_until_their_ends_are_known(tmp_path):
    """A sample after them may show that the end was further than the last one said."""
    runs = Runs(tmp_path)
    rows = written(commits(23))
    runs.stage(rows)
    runs.sample(0, {("orders", 0): 10})
    runs.sample(120_000, {("orders", 0): 20})
    before = runs.run()
    assert runs.task.state is None
    runs.sample(3 * 3_600_000, {("orders", 0): 500})
    assert runs.run() == runs.derived_anew() != before
    assert runs.task.state is not None


def test_rows_are_open_until_a_pace_is_known(tmp_path):
    runs = Runs(tmp_path)
    runs.stage(written(commits(23)))
    runs.sample(3 * 3_600_000, {("orders", 0): 100})
    before = runs.run()
    assert runs.task.state is None
    runs.sample(4 * 3_600_000, {("orders", 0): 220})
    assert runs.run() == runs.derived_anew() != before
    assert runs.task.state is not None


def test_the_first_sample_of_a_topic_changes_what_was_said_of_it(tmp_path):
    runs = grown(tmp_path, [("commit", "g", "events", 0, n) for n in range(23)])
    runs.sample(3 * 3_600_000, {("orders", 0): 90, ("events", 0): 7})
    check(runs, is_anew=True)


def test_an_event_that_comes_late_tells_the_cause(tmp_path):
    story = [("generation", "g", n, [A]) for n in range(1, 24)]
    runs = grown(tmp_path, story)
    runs.tell("g", 5 * STEP_MS - 1)
    runs.tell("h", 5 * STEP_MS - 1)
    check(runs, is_anew=True)


def test_an_event_about_what_follows_is_used_there(tmp_path):
    story = [("generation", "g", n, [A]) for n in range(1, 24)]
    runs = grown(tmp_path, story)
    runs.tell("g", 20 * STEP_MS - 1)
    check(runs, is_anew=False)
    assert any("'event'" in row for row in runs.tables(runs.kept)["rebalances"])


def test_a_log_that_begins_later_than_before_changes_nothing(tmp_path):
    runs = grown(tmp_path)
    runs.task = replace(runs.task, read=replace(runs.task.read, log_start=20))
    check(runs, is_anew=False)


def test_what_was_damaged_and_repaired_changes_what_follows(tmp_path):
    runs = Runs(tmp_path)
    rows = written(commits(23))
    runs.stage(rows.slice(0, 4))
    runs.stage(rows.slice(8, 8))
    hole = (OffsetRange(0, 4), OffsetRange(8, 16))
    runs.task = replace(runs.task, read=replace(runs.task.read, covered=hole))
    runs.run()
    assert runs.task.state is not None
    runs.stage(rows.slice(4, 4))
    runs.task = replace(runs.task, read=replace(runs.task.read, covered=(OffsetRange(0, 16),)))
    check(runs, is_anew=True)


def test_a_hole_that_is_below_the_beginning_by_now_has_another_reason(tmp_path):
    runs = Runs(tmp_path)
    rows = written(commits(23))
    runs.stage(rows.slice(0, 4))
    runs.stage(rows.slice(8, 8))
    hole = (OffsetRange(0, 4), OffsetRange(8, 16))
    runs.task = replace(runs.task, read=replace(runs.task.read, covered=hole))
    runs.run()
    runs.task = replace(runs.task, read=replace(runs.task.read, log_start=8))
    check(runs, is_anew=True)


@pytest.mark.parametrize("damage", ["other code", "cut off", "gone", "strange"])
def test_a_state_that_cannot_be_read_is_not_needed(tmp_path, damage):
    runs = grown(tmp_path)
    path = Path(runs.task.state)
    if damage == "other code":
        runs.task = replace(runs.task, fingerprint="g")
    elif damage == "cut off":
        path.write_bytes(path.read_bytes()[:-20])
    elif damage == "gone":
        path.unlink()
    else:
        header = path.read_bytes().partition(b"\n")[0]
        path.write_bytes(header + b"\n" + pickle.dumps(os.system))
    check(runs, is_anew=True)
