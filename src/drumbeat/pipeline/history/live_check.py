"""Rows of `verification` about groups for which replay and the live coordinator do not agree.

Both move on, so only what stands still is compared: the coordinator was asked first and the log
read afterwards, and what has changed in the log since the question is left for another time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from drumbeat.pipeline.findings.invariants import compare_members, compare_offsets
from drumbeat.pipeline.history.store import History, open_history
from drumbeat.pipeline.manifest import NO_PARTITION, LogPartition, Manifest
from drumbeat.pipeline.progress_rows import about_cluster
from drumbeat.pipeline.schemas import LOG_RECORDS, VERIFICATION
from drumbeat.pipeline.sources.live_answers import GroupAnswer, LiveAnswers
from drumbeat.pipeline.table_files import TableFiles
from drumbeat.pipeline.warehouse import WarehouseWriter
from drumbeat.protocol.java_hash import partition_for

_ENDS: Final = "(SELECT unnest($partitions) AS log_partition, unnest($ends) AS log_end)"
_OFFSETS: Final = """
SELECT group_id, arg_max_null(state, log_offset) FROM group_state_snapshots
WHERE cluster_id = $cluster GROUP BY group_id
"""
_MEMBERS: Final = """
SELECT group_id, list(member_id) FROM members
WHERE cluster_id = $cluster AND left_at IS NULL GROUP BY group_id
"""
_CHANGED_GROUPS: Final = f"""
SELECT DISTINCT group_id FROM log_records JOIN {_ENDS} USING (log_partition)
WHERE cluster_id = $cluster AND log_offset >= log_end AND group_id IS NOT NULL AND topic IS NULL
"""
_CHANGED_PLACES: Final = f"""
WITH later AS (
    SELECT log_partition, log_end, min(append_ts) AS since_ts
    FROM log_records JOIN {_ENDS} USING (log_partition)
    WHERE cluster_id = $cluster AND log_offset >= log_end GROUP BY ALL
)
SELECT DISTINCT group_id, topic, partition FROM offset_commits JOIN later USING (log_partition)
WHERE cluster_id = $cluster AND (log_offset >= log_end OR visible_at >= since_ts)
"""

Place = tuple[str, str, int]
"""Group, topic, partition."""


class _Replayed(NamedTuple):
    """The groups as of the end of what was read, and what changed after the question."""

    offsets: Mapping[str, Mapping[tuple[str, int], int]]
    members: Mapping[str, frozenset[str]]
    changed_groups: frozenset[str]
    changed_places: frozenset[Place]

    def offsets_of(self, group_id: str) -> dict[tuple[str, int], int]:
        return self._unchanged(group_id, self.offsets.get(group_id, {}))

    def answered(self, group_id: str, answer: GroupAnswer | None) -> dict[tuple[str, int], int]:
        offsets = {} if answer is None else answer.offsets
        return self._unchanged(group_id, {(*place,): offset for place, offset in offsets.items()})

    def _unchanged(
        self, group_id: str, offsets: Mapping[tuple[str, int], int]
    ) -> dict[tuple[str, int], int]:
        return {
            place: offset
            for place, offset in offsets.items()
            if (group_id, *place) not in self.changed_places
        }


def check_answers(writer: WarehouseWriter, cluster_id: str, answers: LiveAnswers) -> Manifest:
    """The newest state with what the answers show, in the place of what earlier ones did."""
    manifest = writer.manifest
    if not manifest.rows(LOG_RECORDS.name):
        return manifest
    with open_history(writer.path) as history:
        rows = list(live_differences(history, cluster_id, answers))
    outdated = manifest.files(VERIFICATION.name, LogPartition(cluster_id, NO_PARTITION))
    if not rows and not outdated:
        return manifest
    files = TableFiles(writer.staging, f"live-{answers.asked_ms}.parquet")
    if rows:
        batch = pa.RecordBatch.from_pylist(rows, schema=VERIFICATION.arrow_schema)
        files.add((VERIFICATION.name, batch))
    added = writer.move_in(files.close(about_cluster(cluster_id, answers.asked_ms)))
    changed = manifest.with_files(VERIFICATION.name, added, outdated)
    return writer.publish(changed, answers.asked_ms)


def live_differences(
    history: History, cluster_id: str, answers: LiveAnswers
) -> Iterator[dict[str, Any]]:
    partitions = _comparable(history, cluster_id, answers)
    replayed = _replayed(history, cluster_id, partitions)
    for group_id in sorted({*replayed.offsets, *answers.groups}):
        log_partition = partition_for(group_id, len(answers.ends))
        if log_partition not in partitions:
            continue
        source = {"cluster_id": cluster_id, "log_partition": log_partition}
        place = {"log_offset": partitions[log_partition] - 1, "at_ms": answers.asked_ms}
        answer = answers.groups.get(group_id)
        for row in _of_group(replayed, group_id, answer, place):
            yield source | row


def _of_group(
    replayed: _Replayed, group_id: str, answer: GroupAnswer | None, place: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    offsets, answered = replayed.offsets_of(group_id), replayed.answered(group_id, answer)
    yield from compare_offsets(offsets, answered, group_id=group_id, **place)
    if answer is None or answer.members is None or group_id in replayed.changed_groups:
        return
    members = replayed.members.get(group_id, frozenset())
    yield from compare_members(members, answer.members, group_id=group_id, **place)


def _comparable(history: History, cluster_id: str, answers: LiveAnswers) -> dict[int, int]:
    """Log partitions that were read at least as far as they went when the question was asked."""
    covered = history.manifest.covered
    return {
        number: end
        for number, end in answers.ends.items()
        if end == 0
        or max((part.end for part in covered.get(LogPartition(cluster_id, number), ())), default=0)
        >= end
    }


def _replayed(history: History, cluster_id: str, partitions: Mapping[int, int]) -> _Replayed:
    where = {"cluster": cluster_id}
    ends = where | {"partitions": list(partitions), "ends": list(partitions.values())}
    changed_groups = history.query(_CHANGED_GROUPS, ends).rows
    return _Replayed(
        offsets={
            group_id: _offsets_in(state)
            for group_id, state in history.query(_OFFSETS, where).rows
            if state is not None
        },
        members={
            group_id: frozenset(members)
            for group_id, members in history.query(_MEMBERS, where).rows
        },
        changed_groups=frozenset(group_id for (group_id,) in changed_groups),
        changed_places=frozenset(history.query(_CHANGED_PLACES, ends).rows),
    )


def _offsets_in(state: str) -> dict[tuple[str, int], int]:
    """Of a snapshot's JSON."""
    return {
        (offset["topic"], offset["partition"]): offset["committed_offset"]
        for offset in json.loads(state).get("offsets", ())
    }
