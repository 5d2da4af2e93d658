"""Lives of groups as batches of `__consumer_offsets`, and ways to write and compact them.

A scenario is what one partition's log gets to hold, batch by batch. A shape says when it is
compacted on the way. Whatever the shape, who loads the log must find the same state.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from drumbeat.core.modern_records import LAYOUTS
from drumbeat.core.offsets.expiry import sweep
from drumbeat.core.record_codec import encode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    RecordType,
    UnknownRecord,
)
from drumbeat.core.records import Record as Fact
from drumbeat.log.port import UNLIMITED_BUDGET, CompactionBudget, LogSettings, PartitionLog
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.protocol.compiler import encoder
from drumbeat.protocol.record_batch import HEADER_BYTES
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    Record,
    encode_batch,
    encode_control_batch,
)
from support.coordinator import Coordinator
from support.groups import Clients

DAY_MS = 86_400_000
TIMESTAMP = 1_700_000_000_000
SETTINGS = LogSettings(is_compacted=True, segment_bytes=1 << 20, index_interval_bytes=200)


def batch(*facts: Fact, **options: Any) -> bytes:
    records = [Record(n, TIMESTAMP, *encode(fact)) for n, fact in enumerate(facts)]
    return encode_batch(records, BatchOptions(**options))


def transactional(producer_id: int, *facts: Fact) -> bytes:
    return batch(
        *facts, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )


def marker(producer_id: int, kind: ControlRecordType) -> bytes:
    return encode_control_batch(
        kind, coordinator_epoch=0, producer_id=producer_id, producer_epoch=0, timestamp=TIMESTAMP
    )


def commit(group_id: str, offset: int, partition: int = 0) -> OffsetCommitRecord:
    return OffsetCommitRecord(group_id, "t1", partition, offset, -1, "", TIMESTAMP)


def modern(record_type: RecordType, group_id: str, *, is_tombstone: bool = False) -> Fact:
    """A record of a consumer group, with whatever defaults its fields have."""
    layout = LAYOUTS[record_type]
    key = record_type.to_bytes(2, "big") + encoder(layout.key, 0, False)(layout.key(group_id))
    value = b"\0\0" + encoder(layout.value, 0, True)(layout.value())
    return ModernGroupRecord(record_type, group_id, key, None if is_tombstone else value)


FILLER = batch(UnknownRecord(99, b"\0\x63filler", b"x"))  # closes a segment, says nothing


# -- scenarios -----------------------------------------------------------------------------------


def groups_come_and_go(coordinator: Coordinator) -> None:
    """Groups that commit, rebalance, are deleted, and come back as something else (KAFKA-4704)."""
    members, simple = Clients(coordinator, "members"), Clients(coordinator, "simple")
    leader, follower = members.stable("a", "b")
    members.commit(1, leader, members.live.generation_id)
    simple.commit(10)
    members.commit(2, follower, members.live.generation_id)
    members.leave(leader, follower)
    members.commit(3)
    simple.commit(11)
    delete_offset(simple)
    simple.delete()
    members.delete()
    simple.commit(12)
    members.commit(5)
    simple.stable("c")
    simple.commit(4, simple.member_id_of("c"), simple.live.generation_id)


def delete_offset(group: Clients) -> None:
    topic = OffsetDeleteRequestTopic("t1", (OffsetDeleteRequestPartition(0),))
    group.coordinator.send(OffsetDeleteRequest(group.group_id, (topic,)))


def last_offsets_are_deleted(coordinator: Coordinator) -> None:
    """Groups without members lose all they have; some come back, one was never more than that."""
    members, simple = Clients(coordinator, "members"), Clients(coordinator, "simple")
    back = Clients(coordinator, "back")
    members.leave(*members.stable("a"))
    for offset in (1, 2):
        for group in (members, simple, back):
            group.commit(offset)
    for group in (members, simple, back):
        delete_offset(group)
    back.commit(3)


def members_stall_and_offsets_expire(coordinator: Coordinator) -> None:
    """Sessions time out, static members are replaced, retention removes offsets and groups."""
    group, other = Clients(coordinator, "g"), Clients(coordinator, "other")
    group.stable("a", "b")
    group.commit(1, group.member_id_of("a"), group.live.generation_id)
    other.enter(group_instance_id="i1")
    other.sync(other.member_id_of("i1"), other.live.generation_id, {})
    other.commit(7, other.member_id_of("i1"), other.live.generation_id)
    other.join("", group_instance_id="i1")
    coordinator.advance(60_000)
    group.commit(2)
    coordinator.advance(8 * DAY_MS)
    other.commit(8)
    for outcome in sweep(coordinator.view, coordinator.context()):
        coordinator.carry_out(outcome)
    group.stable("d")
    coordinator.advance(60_000)


LIVES: dict[str, Callable[[Coordinator], None]] = {
    "groups come and go": groups_come_and_go,
    "last offsets are deleted": last_offsets_are_deleted,
    "members stall and offsets expire": members_stall_and_offsets_expire,
}

_GROUP = RecordType.CONSUMER_GROUP_METADATA
_MEMBER = RecordType.CONSUMER_GROUP_MEMBER_METADATA
_CLASSIC = GroupMetadataRecord("g", "consumer", 3, "range", None, TIMESTAMP, ())

# Logs that this version cannot write yet, as Kafka writes them.
RECORDED: dict[str, list[bytes]] = {
    "transactions among plain commits": [
        batch(commit("g", 1), commit("g", 1, partition=1)),
        transactional(7, commit("g", 2)),
        batch(commit("g", 3)),
        transactional(8, commit("h", 1), commit("g", 9, partition=1)),
        marker(7, ControlRecordType.COMMIT),
        transactional(7, commit("g", 4)),
        marker(8, ControlRecordType.ABORT),
        batch(OffsetCommitTombstone("g", "t1", 1)),
        marker(7, ControlRecordType.COMMIT),
        transactional(8, commit("h", 2)),
        batch(commit("h", 3)),
        marker(8, ControlRecordType.COMMIT),
        batch(OffsetCommitTombstone("h", "t1", 0), GroupMetadataTombstone("h")),
        transactional(8, commit("g", 5)),
        batch(commit("g", 6, partition=2)),
    ],
    # KAFKA-17306, KAFKA-20254, KAFKA-21117: records of a group in an order that only a whole log
    # has, tombstones without what they remove, and offsets that outlive both.
    "a group changes its protocol and back": [
        batch(modern(_GROUP, "g"), modern(_MEMBER, "g")),
        batch(commit("g", 1)),
        batch(modern(_MEMBER, "g", is_tombstone=True)),
        batch(modern(_GROUP, "g", is_tombstone=True), _CLASSIC),
        batch(commit("g", 2)),
        batch(GroupMetadataTombstone("g"), modern(_GROUP, "g"), modern(_MEMBER, "g")),
        batch(commit("g", 3), commit("h", 1)),
        batch(modern(_MEMBER, "g", is_tombstone=True), modern(_GROUP, "g", is_tombstone=True)),
        batch(_CLASSIC._replace(generation_id=9)),
        batch(modern(_GROUP, "h"), commit("h", 2)),
        batch(OffsetCommitTombstone("h", "t1", 0), modern(_GROUP, "h", is_tombstone=True)),
    ],
}


# -- shapes --------------------------------------------------------------------------------------


class Pass(NamedTuple):
    """One compaction: of all batches before the `cut`-th, so long after the first one."""

    cut: int
    after_ms: int = 0
    budget: CompactionBudget = UNLIMITED_BUDGET


Shape = tuple[Pass, ...]
TIGHT = CompactionBudget(dedupe_buffer_bytes=1)


def shapes(batch_count: int) -> Iterator[Shape]:
    """Every length of the closed part, compacted once, twice and thrice, tombstones gone or not."""
    for cut in range(1, batch_count + 1):
        half = cut // 2 or 1
        yield (Pass(cut),)
        yield (Pass(cut), Pass(cut + 1, DAY_MS))
        yield (Pass(half), Pass(cut + 1))
        yield (Pass(half), Pass(half + 1, DAY_MS), Pass(cut + 2, 2 * DAY_MS))
        yield (Pass(cut, 0, TIGHT), Pass(cut + 1, DAY_MS, TIGHT))


async def write(log: PartitionLog, batches: list[bytes], shape: Shape) -> int:
    """Write the batches and compact on the way; returns how many compactions found work."""
    passes = {one.cut: one for one in shape}
    compacted = 0
    for place, data in enumerate([*batches, FILLER, FILLER, FILLER]):
        if place in passes:  # a segment ends where the next batch does not fit
            log.configure(SETTINGS._replace(segment_bytes=len(data)))
        log.append(data, expected=log.end_offset)
        await log.sync()
        log.configure(SETTINGS)
        if place in passes:
            compacted += await compact(log, passes[place])
    return compacted


async def compact(log: PartitionLog, one: Pass) -> int:
    """As often as the budget makes it take."""
    count = 0
    while await log.compact(TIMESTAMP + one.after_ms, one.budget) is not None:
        count += 1
    return count


@dataclass
class Interrupted:
    """As much of a log as the loader needs, with something done to it after some batches."""

    log: PartitionLog
    after: int
    interrupt: Callable[[], None]

    @property
    def topic_partition(self) -> object:
        return self.log.topic_partition

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    def chunks_from(self, offset: int) -> Iterator[bytes]:
        chunks = self.log.chunks_from(offset, chunk_bytes=HEADER_BYTES)  # a batch in each
        for place, found in enumerate(chunks):
            if place == self.after:
                self.interrupt()
            yield found
