"""States of groups at a moment: their part of the staged log through the coordinator's reducer.

Of a group's log partition only its own records and the ends of transactions are read, from the
newest snapshot on that the pipeline has made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from drumbeat.core.state import State, TopicPartition
from drumbeat.pipeline.history.errors import HistoryError, UnknownGroup
from drumbeat.pipeline.history.store import History, files_sql
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.schemas import (
    GROUP_STATE_SNAPSHOTS,
    LOG_COVERAGE,
    LOG_RECORDS,
    WATERMARKS,
)
from drumbeat.pipeline.tables.time_travel import state_at, usable_snapshot
from drumbeat.protocol.java_hash import partition_for

LOG_PARTITIONS_DEFAULT: Final = 50  # offsets.topic.num.partitions, which few change

_SNAPSHOTS: Final = """
SELECT log_offset, as_of, group_id, state FROM group_state_snapshots
WHERE cluster_id = $cluster AND log_partition = $partition AND as_of <= $as_of AND {mine}
QUALIFY row_number() OVER (PARTITION BY group_id ORDER BY as_of DESC, log_offset DESC) = 1
"""
_GAPS: Final = """
SELECT count(*) FROM log_coverage
WHERE cluster_id = $cluster AND log_partition = $partition AND first_offset < $end
    AND kind NOT IN ('read', 'control')
"""


class GroupReplay:
    """States of one log partition; of one group alone if it is named."""

    def __init__(self, history: History, source: LogPartition, group_id: str | None = None) -> None:
        self.source = source
        self.group_id = group_id
        self._history = history
        self._files = history.manifest.files(LOG_RECORDS.name, source)

    def state_at(self, at_ms: int) -> State:
        """After everything that was written up to then."""
        end = self._end(at_ms)
        snapshots = self._snapshots(at_ms)
        batches = self._records(usable_snapshot(snapshots, at_ms), end)
        return state_at(batches, at_ms, snapshots)

    def is_complete_at(self, at_ms: int) -> bool | None:
        """Whether no record is missing that was written up to then; None if nobody looked."""
        if not self._history.is_derived(LOG_COVERAGE):
            return None
        [(gaps,)] = self._history.query(_GAPS, {**self._names, "end": self._end(at_ms)}).rows
        return not gaps

    @property
    def _names(self) -> dict[str, str | int]:
        return {"cluster": self.source.cluster_id, "partition": self.source.log_partition}

    def _end(self, at_ms: int) -> int:
        """Offset of the first record that was written later, whichever group it is about."""
        end = self._files[-1].last_offset + 1 if self._files else 0
        if at_ms >= END_OF_TIME_MS or not self._files:
            return end
        files = files_sql(self._history.paths(self._files))
        later = f"SELECT min(log_offset) FROM {files} WHERE append_ts > $at"
        [(first,)] = self._history.query(later, {"at": at_ms}).rows
        return end if first is None else int(first)

    def _snapshots(self, at_ms: int) -> list[pa.RecordBatch]:
        if not self._history.is_derived(GROUP_STATE_SNAPSHOTS):
            return []
        parameters = {**self._names, "as_of": at_ms + 1}
        mine = "TRUE"
        if self.group_id is not None:
            mine, parameters["group"] = "group_id = $group", self.group_id
        return self._history.query_batches(_SNAPSHOTS.replace("{mine}", mine), parameters)

    def _records(self, replayed: int, end: int) -> Iterator[pa.RecordBatch]:
        wanted = (pc.field("log_offset") > replayed) & (pc.field("log_offset") < end)
        if self.group_id is not None:
            wanted &= (pc.field("group_id") == self.group_id) | pc.field("is_control")
        files = (file for file in self._files if file.last_offset > replayed)
        for path in self._history.paths(file for file in files if file.first_offset < end):
            # A file at a time: the order of the log is the order of the replay.
            dataset = ds.dataset(path, schema=LOG_RECORDS.arrow_schema, format="parquet")
            yield from dataset.to_batches(filter=wanted)


def replay_of_group(history: History, group_id: str, cluster_id: str | None = None) -> GroupReplay:
    """The replay of the log partition that the group lives in."""
    sources = history.sources(cluster_id)
    found = _homes(history, group_id, sources)
    if not found:
        raise UnknownGroup(group_id, history.group_ids())
    clusters = sorted({source.cluster_id for source in found})
    if len(clusters) > 1:
        raise HistoryError(
            f"group {group_id!r} is in several clusters; choose one with --cluster: "
            + ", ".join(clusters)
        )
    return GroupReplay(history, found[0], group_id)


def log_starts(history: History, cluster_id: str) -> dict[TopicPartition, int]:
    """Where topics began when they were last sampled; empty if they never were."""
    if not history.is_derived(WATERMARKS):
        return {}
    sql = (
        "SELECT topic, partition, arg_max(log_start, sampled_at) FROM watermarks "
        "WHERE cluster_id = $cluster GROUP BY topic, partition"
    )
    rows = history.query(sql, {"cluster": cluster_id}).rows
    return {(topic, partition): start for topic, partition, start in rows}


def _homes(history: History, group_id: str, sources: Sequence[LogPartition]) -> list[LogPartition]:
    """Where the group has records: of each cluster the partition that its name leads to.

    The log does not tell how many partitions it has, and may be only a part of a log; if the
    usual numbers do not lead to the group, all of it is searched.
    """
    counts: dict[str, set[int]] = {}
    for source in sources:
        seen = counts.setdefault(source.cluster_id, {LOG_PARTITIONS_DEFAULT})
        seen.add(source.log_partition + 1)
    likely = {
        LogPartition(cluster_id, partition_for(group_id, count))
        for cluster_id, numbers in counts.items()
        for count in {LOG_PARTITIONS_DEFAULT, max(numbers)}
    }
    found = _holding(history, group_id, [source for source in sources if source in likely])
    missing = counts.keys() - {source.cluster_id for source in found}
    others = [s for s in sources if s.cluster_id in missing and s not in likely]
    return found + _holding(history, group_id, others)


def _holding(
    history: History, group_id: str, sources: Iterable[LogPartition]
) -> list[LogPartition]:
    files = [
        file for source in sources for file in history.manifest.files(LOG_RECORDS.name, source)
    ]
    if not files:
        return []
    sql = (
        f"SELECT DISTINCT cluster_id, log_partition FROM {files_sql(history.paths(files))} "
        "WHERE group_id = $group ORDER BY ALL"
    )
    return [LogPartition(*row) for row in history.query(sql, {"group": group_id}).rows]
