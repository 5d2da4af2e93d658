"""The groups of a partition as its log goes on: records in, changes out.

Classic groups are replayed by the coordinator's own reducer. Offsets are not: numpy does them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from drumbeat.core import reducer
from drumbeat.core.modern_codec import read_modern_value
from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    ModernGroupRecord,
    Record,
    RecordType,
)
from drumbeat.core.state import State
from drumbeat.pipeline.tables.builder import NONE, bool_column, int_column
from drumbeat.pipeline.tables.classic_groups import generation_of, ownership_changes
from drumbeat.pipeline.tables.group_changes import (
    Generation,
    GroupChange,
    GroupType,
    Owner,
    Topic,
)
from drumbeat.pipeline.tables.modern_groups import ModernGroup, change_of

_OFFSET_TYPES = (RecordType.OFFSET_COMMIT, RecordType.LEGACY_OFFSET_COMMIT)
# Their values are lists of topics with ids and names, and nothing else.
_NAMING_TYPES = (
    RecordType.CONSUMER_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA,
)


class Fact(NamedTuple):
    log_offset: int
    append_ts: int
    record: Record


class TopicLearned(NamedTuple):
    """A record that shows which topic an id belongs to."""

    log_offset: int
    topic_id: bytes
    topic: str


def facts_of(batch: pa.RecordBatch) -> Iterator[Fact]:
    """Records that are neither offset commits nor unreadable."""
    types = int_column(batch, "key_type")
    is_other = ~bool_column(batch, "is_control") & ~np.isin(types, _OFFSET_TYPES)
    is_other &= batch.column("decode_error").is_null().to_numpy(zero_copy_only=False)
    if not is_other.any():
        return
    names = ("log_offset", "append_ts", "key", "value")
    rows = batch.select(names).filter(pa.array(is_other))
    columns = [rows.column(name).to_pylist() for name in names]
    for log_offset, append_ts, key, value in zip(*columns, strict=True):
        yield Fact(log_offset, append_ts, decode(key, value))


def topics_told(facts: Iterable[Fact]) -> Iterator[TopicLearned]:
    """The topics that records about groups name."""
    for log_offset, _, record in facts:
        if not isinstance(record, ModernGroupRecord) or not record.value:
            continue
        if record.record_type in _NAMING_TYPES:
            for topics in read_modern_value(record.record_type, record.value):
                for topic in topics:
                    yield TopicLearned(log_offset, topic.topic_id, topic.topic_name)


class GroupHistory:
    def __init__(self) -> None:
        self._topics: dict[bytes, TopicLearned] = {}
        self._state = State()
        self._classic: dict[str, tuple[Generation, int]] = {}  # and the offset of its record
        self._modern: dict[str, ModernGroup] = {}

    def apply(self, fact: Fact) -> GroupChange | None:
        match fact.record:
            case GroupMetadataRecord(group_id=group_id) | GroupMetadataTombstone(group_id=group_id):
                reducer.apply(self._state, fact.record, fact.log_offset)
                return self._classic_change(group_id, fact)
            case ModernGroupRecord() as record:
                return change_of(self._modern, record, fact.log_offset, fact.append_ts)
            case _:
                return None

    def learnable(self, commits: pa.RecordBatch) -> list[TopicLearned]:
        """The topic ids among these commits that are new, in log order. Changes nothing."""
        ids = commits.column("topic_id")
        if ids.null_count == len(ids):
            return []
        encoded = ids.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        learned = []
        for code, topic_id in enumerate(encoded.dictionary.to_pylist()):
            if topic_id not in self._topics:
                row = int(np.argmax(codes == code))
                log_offset = commits.column("log_offset")[row].as_py()
                learned.append(
                    TopicLearned(log_offset, topic_id, commits.column("topic")[row].as_py())
                )
        return learned

    def learn(self, learned: TopicLearned) -> Iterator[tuple[str, int, Owner]]:
        """Group, partition and owner for everything owned that has got its topic's name by it."""
        if learned.topic_id in self._topics:
            return
        self._topics[learned.topic_id] = learned
        for group_id, group in self._modern.items():
            for (topic, partition), owner in group.owners.items():
                if topic == learned.topic_id:
                    yield group_id, partition, owner

    def topic_name(self, topic: Topic, log_offset: int) -> str | None:
        """As far as the log has told it up to that offset, however far it has been read."""
        if isinstance(topic, str):
            return topic
        learned = self._topics.get(topic)
        return None if learned is None or learned.log_offset > log_offset else learned.topic

    def _classic_change(self, group_id: str, fact: Fact) -> GroupChange | None:
        before, prev_log_offset = self._classic.pop(group_id, (None, NONE))
        group = self._state.groups.get(group_id)
        after = None if group is None else generation_of(group)
        if after is not None:
            self._classic[group_id] = (after, fact.log_offset)
        if before is None and after is None:
            return None
        old, new = before or _NOTHING, after or _NOTHING
        return GroupChange(
            group_id=group_id,
            group_type=GroupType.CLASSIC,
            log_offset=fact.log_offset,
            append_ts=fact.append_ts,
            prev_log_offset=prev_log_offset,
            before=before,
            after=after,
            joined=tuple(m for key, m in new.members.items() if key not in old.members),
            left=tuple(m for key, m in old.members.items() if key not in new.members),
            updated=tuple(m for key, m in new.members.items() if key in old.members),
            ownership=ownership_changes(old.owners, new.owners),
        )


_NOTHING = Generation(generation_id=NONE)
