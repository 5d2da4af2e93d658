"""Builds `verification`: promises of a group coordinator, checked record by record.

Group metadata is read with the coordinator's own codec. Offset commits are only counted, many at
a time: what is checked of them is that a group does not leave any behind when it is deleted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.core.modern_codec import read_modern_key, read_modern_value
from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    Record,
    RecordType,
)
from drumbeat.pipeline.findings.rule import rows_of
from drumbeat.pipeline.schemas import VERIFICATION
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch, batch_of_rows
from drumbeat.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
)
from drumbeat.protocol.errors import ProtocolError


class Invariant(Enum):
    GENERATION_GROWS = "generation_grows"
    LEADER_IS_MEMBER = "leader_is_member"
    ONE_OWNER = "one_owner"
    ASSIGNED_IS_SUBSCRIBED = "assigned_is_subscribed"
    MEMBER_EPOCH_WITHIN_GROUP = "member_epoch_within_group"
    DELETED_LEAVES_NO_OFFSETS = "deleted_leaves_no_offsets"
    COMMIT_HAS_OWNER = "commit_has_owner"
    STATE_EQUALS_ANSWER = "state_equals_answer"


VIOLATION: Final = "violation"
SUSPECT: Final = "suspect"
_PLACE: Final = ["group_id", "topic", "partition"]

_GROUP_EPOCHS: Final = frozenset(
    {
        RecordType.CONSUMER_GROUP_METADATA,
        RecordType.SHARE_GROUP_METADATA,
        RecordType.STREAMS_GROUP_METADATA,
    }
)
_MEMBER_EPOCHS: Final = frozenset(
    {
        RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    }
)


class _Place(NamedTuple):
    log_offset: int
    at_ms: int


class _Deleted(NamedTuple):
    """A group's tombstone, until its batch is over."""

    place: _Place
    batch_base_offset: int


class Verification:
    """Fed with batches of `log_records`, and of `offset_commits` for owners."""

    tables: Final = frozenset({"log_records", "offset_commits"})

    def __init__(self, source: LogPartition) -> None:
        self._source = source
        self._generations: dict[str, int] = {}
        self._epochs: dict[str, int] = {}
        self._standing: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
        self._deleted: dict[str, _Deleted] = {}
        self._unowned: set[tuple[str, str, int]] = set()

    def feed(self, table: str, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        check = self._commits if table == "offset_commits" else self._records
        yield from batch_of_rows(VERIFICATION, self._source, check(batch))

    def finish(self) -> Iterator[TableBatch]:
        rows = [row for each in list(self._deleted) for row in self._left_behind(each)]
        yield from batch_of_rows(VERIFICATION, self._source, rows)

    def _records(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        for part in _parts(batch):
            yield from self._batch_over(part.column("batch_base_offset")[0].as_py())
            self._offsets(part)
            yield from self._others(part)

    def _offsets(self, batch: pa.RecordBatch) -> None:
        # A transaction may still be aborted, so its commits prove nothing.
        kept = pc.and_(pc.is_valid(batch.column("topic")), pc.invert(batch.column("is_txn")))
        table = pa.table(batch.select([*_PLACE, "is_tombstone"])).filter(kept)
        places = table.group_by(_PLACE, use_threads=False)
        last = places.aggregate([("is_tombstone", "last")])
        columns = (column.to_pylist() for column in last.columns)
        for group_id, topic, partition, is_gone in zip(*columns, strict=True):
            change = self._standing[group_id].discard if is_gone else self._standing[group_id].add
            change((topic, partition))

    def _others(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Records that are not about offsets; those that cannot be read are told elsewhere."""
        is_other = pc.and_(pc.is_null(batch.column("topic")), pc.is_valid(batch.column("key")))
        is_sound = pc.is_null(batch.column("decode_error"))
        is_data = pc.and_(is_sound, pc.invert(batch.column("is_control")))
        names = ("log_offset", "append_ts", "batch_base_offset", "key", "value")
        others = batch.select(names).filter(pc.and_(is_other, is_data))
        for log_offset, at_ms, base_offset, key, value in rows_of(others, *names):
            place = _Place(log_offset, at_ms)
            yield from self._record(decode(key, value), place, base_offset)

    def _record(self, record: Record, place: _Place, base_offset: int) -> Iterator[dict[str, Any]]:
        match record:
            case GroupMetadataRecord():
                self._deleted.pop(record.group_id, None)
                yield from self._group(record, place)
            case GroupMetadataTombstone():
                self._generations.pop(record.group_id, None)
                self._deleted[record.group_id] = _Deleted(place, base_offset)
            case ModernGroupRecord():
                # A classic group that became another type keeps its offsets.
                self._deleted.pop(record.group_id, None)
                yield from self._modern(record, place)
            case _:
                pass

    def _group(self, record: GroupMetadataRecord, place: _Place) -> Iterator[dict[str, Any]]:
        group_id, before = record.group_id, self._generations.get(record.group_id)
        if before is not None and record.generation_id < before:
            detail = f"generation {record.generation_id} after {before}"
            yield _row(Invariant.GENERATION_GROWS, place, group_id, detail)
        self._generations[group_id] = record.generation_id
        ids = {member.member_id for member in record.members}
        if ids and record.leader not in ids:
            detail = f"leader {record.leader} is none of {len(ids)} members"
            yield _row(Invariant.LEADER_IS_MEMBER, place, group_id, detail)
        if record.protocol_type == PROTOCOL_TYPE:
            for invariant, detail in _assignment_problems(record.members):
                yield _row(invariant, place, group_id, detail)

    def _modern(self, record: ModernGroupRecord, place: _Place) -> Iterator[dict[str, Any]]:
        group_id, kind = record.group_id, record.record_type
        if record.value is None:
            if kind in _GROUP_EPOCHS:
                self._epochs.pop(group_id, None)
            return
        if kind in _GROUP_EPOCHS:
            epoch = read_modern_value(kind, record.value)[0]
            if epoch < self._epochs.get(group_id, epoch):
                detail = f"epoch {epoch} after {self._epochs[group_id]}"
                yield _row(Invariant.GENERATION_GROWS, place, group_id, detail)
            self._epochs[group_id] = epoch
        elif kind in _MEMBER_EPOCHS and group_id in self._epochs:
            epoch = read_modern_value(kind, record.value)[0]
            if epoch > self._epochs[group_id]:
                member_id = read_modern_key(kind, record.key)[1]
                detail = f"member {member_id} has epoch {epoch} in {self._epochs[group_id]}"
                yield _row(Invariant.MEMBER_EPOCH_WITHIN_GROUP, place, group_id, detail)

    def _batch_over(self, base_offset: int) -> Iterator[dict[str, Any]]:
        """What a deleted group had to be rid of by the end of the batch that deleted it."""
        over = [
            group_id
            for group_id, deleted in self._deleted.items()
            if deleted.batch_base_offset < base_offset
        ]
        for group_id in over:
            yield from self._left_behind(group_id)
            del self._deleted[group_id]

    def _left_behind(self, group_id: str) -> Iterator[dict[str, Any]]:
        if left := self._standing.get(group_id):
            detail = f"{len(left)} offsets without a tombstone"
            place = self._deleted[group_id].place
            yield _row(Invariant.DELETED_LEAVES_NO_OFFSETS, place, group_id, detail)

    def _commits(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """Members may commit what they do not own; it is legal, and usually a mistake.

        Only classic groups name the topics that they assign, and once per partition is enough.
        """
        is_live = pc.equal(batch.column("actor"), "member")
        strange = pc.and_(is_live, pc.is_null(batch.column("owner_member_id")))
        names = ("log_offset", "append_ts", "group_id", "topic", "partition")
        for log_offset, at_ms, *unowned in rows_of(batch.select(names).filter(strange), *names):
            group_id, topic, partition = unowned
            if group_id in self._generations and tuple(unowned) not in self._unowned:
                self._unowned.add((group_id, topic, partition))
                place, detail = _Place(log_offset, at_ms), f"nobody owned {topic}-{partition}"
                yield _row(Invariant.COMMIT_HAS_OWNER, place, group_id, detail, SUSPECT)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut where a record batch ends that deletes a group: then its offsets have to be gone."""
    is_group = pc.equal(batch.column("key_type"), int(RecordType.GROUP_METADATA))
    deletes = pc.and_(is_group, batch.column("is_tombstone")).fill_null(False)
    bases = batch.column("batch_base_offset").to_numpy()
    ends = np.searchsorted(bases, bases[deletes.to_numpy(zero_copy_only=False)], side="right")
    cuts = sorted({0, *ends.tolist(), len(batch)})
    for begin, end in pairwise(cuts):
        yield batch.slice(begin, end - begin)


def compare_offsets(
    replayed: Mapping[tuple[str, int], int],
    answered: Mapping[tuple[str, int], int],
    *,
    group_id: str,
    log_offset: int,
    at_ms: int,
) -> Iterator[dict[str, Any]]:
    """Rows about partitions for which replay and a live OffsetFetch do not agree."""
    for topic, partition in sorted(replayed.keys() | answered.keys()):
        ours, theirs = (each.get((topic, partition)) for each in (replayed, answered))
        if ours != theirs:
            detail = f"{topic}-{partition}: replay has {ours}, the coordinator {theirs}"
            place = _Place(log_offset, at_ms)
            yield _row(Invariant.STATE_EQUALS_ANSWER, place, group_id, detail)


def compare_members(
    replayed: frozenset[str],
    answered: frozenset[str],
    *,
    group_id: str,
    log_offset: int,
    at_ms: int,
) -> Iterator[dict[str, Any]]:
    """A row, if replay and a live DescribeGroups do not agree on who is in a group."""
    if replayed != answered:
        ours, theirs = (sorted(ids) for ids in (replayed - answered, answered - replayed))
        detail = f"members only in replay: {ours}, only at the coordinator: {theirs}"
        place = _Place(log_offset, at_ms)
        yield _row(Invariant.STATE_EQUALS_ANSWER, place, group_id, detail)


def _assignment_problems(
    members: tuple[MemberMetadata, ...],
) -> Iterator[tuple[Invariant, str]]:
    owners: Counter[tuple[str, int]] = Counter()
    for member in members:
        try:
            subscribed = set(decode_subscription(member.subscription).topics)
            assigned = decode_assignment(member.assignment) if member.assignment else None
        except ProtocolError:
            continue  # opaque to the coordinator: its promises end here
        given = () if assigned is None else assigned.assigned_partitions
        owners.update((topic, partition) for topic, ids in given for partition in ids)
        if strange := sorted({topic for topic, _ in given} - subscribed):
            detail = f"{member.member_id} has {', '.join(strange)} without asking"
            yield Invariant.ASSIGNED_IS_SUBSCRIBED, detail
    for (topic, partition), count in owners.items():
        if count > 1:
            yield Invariant.ONE_OWNER, f"{topic}-{partition} has {count} owners"


def _row(
    invariant: Invariant,
    place: _Place,
    group_id: str,
    detail: str,
    certainty: str = VIOLATION,
) -> dict[str, Any]:
    return {
        "log_offset": place.log_offset,
        "invariant": invariant.value,
        "certainty": certainty,
        "group_id": group_id,
        "violated_at": place.at_ms,
        "detail": detail,
    }
