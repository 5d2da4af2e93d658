"""All tables about the groups of one log partition, in one pass over its records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias

import pyarrow as pa

from drumbeat.pipeline.schemas import (
    ASSIGNMENTS,
    GROUP_GENERATIONS,
    MEMBERS,
    REBALANCES,
    Table,
)
from drumbeat.pipeline.tables.assignments import Assignments
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch, batch_of_rows
from drumbeat.pipeline.tables.coverage import Coverage, ReadRange
from drumbeat.pipeline.tables.generations import Generations
from drumbeat.pipeline.tables.group_changes import GroupChange
from drumbeat.pipeline.tables.group_events import GroupEvents
from drumbeat.pipeline.tables.group_history import (
    Fact,
    GroupHistory,
    TopicLearned,
    facts_of,
    topics_told,
)
from drumbeat.pipeline.tables.members import Members
from drumbeat.pipeline.tables.numbering import Slots
from drumbeat.pipeline.tables.offset_commits import OffsetCommits, commits_of
from drumbeat.pipeline.tables.ownership import LastCommits, Ownership
from drumbeat.pipeline.tables.rebalances import Rebalances
from drumbeat.pipeline.tables.transactions import Transactions, markers_of

OFFSETS_RETENTION_MS: Final = 7 * 24 * 60 * 60 * 1_000  # offsets.retention.minutes' default


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts:
    """What is known about the log besides its records. All of it is optional."""

    read_ranges: Sequence[ReadRange] = ()
    log_start_offset: int | None = None
    offsets_retention_ms: int = OFFSETS_RETENTION_MS


UNKNOWN: Final = LogFacts()

_Step: TypeAlias = GroupChange | TopicLearned


class GroupTables:
    """Builder of log_coverage, offset_commits, txn_offset_commits, group_generations, assignments,
    members and rebalances. With `events`, causes are told instead of inferred where they can be.
    """

    def __init__(
        self, source: LogPartition, log: LogFacts = UNKNOWN, events: GroupEvents | None = None
    ) -> None:
        self._source = source
        slots = Slots()
        self._coverage = Coverage(source, log.read_ranges, log.log_start_offset)
        self._history = GroupHistory()
        self._ownership = Ownership(slots)
        self._transactions = Transactions(source, self._coverage)
        self._commits = OffsetCommits(source, self._coverage, slots, log.offsets_retention_ms)
        self._generations = Generations(self._coverage, self._history)
        self._assignments = Assignments(self._coverage, self._history)
        self._members = Members(self._coverage)
        self._rebalances = Rebalances(self._coverage, events or GroupEvents(), self._history)

    def resume(self, log: LogFacts) -> None:
        """Go on where the same builder ended, with a log that has grown."""
        self._coverage.resume(log.read_ranges, log.log_start_offset)

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        yield from self._coverage.feed(batch)
        commits = commits_of(batch)
        changes = self._changes(batch, commits)
        settled = self._transactions.settle(commits, markers_of(batch))
        yield from self._commits.feed(settled, self._ownership)
        yield from self._transactions.feed(batch, settled)
        committed = self._ownership.happened(self._commits.committed_at)
        self._rebalances.resumed(self._commits.resumptions)
        yield from self._changed(changes, committed)

    def finish(self) -> Iterator[TableBatch]:
        yield from self._coverage.finish()
        yield from self._commits.pending(self._transactions)
        yield from self._transactions.finish()
        yield from self._batch(GROUP_GENERATIONS, self._generations.open_rows())
        yield from self._batch(ASSIGNMENTS, self._assignments.open_rows())
        yield from self._batch(MEMBERS, self._members.open_rows())
        yield from self._batch(REBALANCES, self._rebalances.open_rows())

    def _changes(self, batch: pa.RecordBatch, commits: pa.RecordBatch) -> list[_Step]:
        """What the batch does to groups, in log order; `ownership` expects it."""
        facts = list(facts_of(batch))
        steps: list[Fact | TopicLearned] = [
            *topics_told(facts),
            *facts,
            *self._history.learnable(commits),
        ]
        changes: list[_Step] = []
        for step in sorted(steps, key=attrgetter("log_offset")):
            if isinstance(step, TopicLearned):
                for group_id, partition, owner in self._history.learn(step):
                    place = (step.topic, partition)
                    self._ownership.hand_over(group_id, place, step.log_offset, owner)
                changes.append(step)
            elif (change := self._history.apply(step)) is not None:
                self._ownership.expect(change, self._history.topic_name)
                changes.append(change)
        return changes

    def _changed(
        self, changes: Iterable[_Step], committed: dict[int, LastCommits]
    ) -> Iterator[TableBatch]:
        rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _TABLES}
        for change in changes:
            if isinstance(change, TopicLearned):
                rows[GROUP_GENERATIONS.name] += self._generations.on_topic(change)
                rows[ASSIGNMENTS.name] += self._assignments.on_topic(change)
                continue
            commits = committed.get(change.log_offset, {})
            rows[GROUP_GENERATIONS.name] += self._generations.on_change(change)
            rows[ASSIGNMENTS.name] += self._assignments.on_change(change)
            rows[MEMBERS.name] += self._members.on_change(change, commits)
            rows[REBALANCES.name] += self._rebalances.on_change(
                change, commits, self._commits.resumptions
            )
        for table in _TABLES:
            yield from self._batch(table, rows[table.name])

    def _batch(self, table: Table, rows: list[dict[str, Any]]) -> Iterator[TableBatch]:
        return batch_of_rows(table, self._source, rows)


_TABLES: Final = (GROUP_GENERATIONS, ASSIGNMENTS, MEMBERS, REBALANCES)
