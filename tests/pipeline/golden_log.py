"""A small log with a known history, in Kafka's bytes: what the tables of groups are tested with.

Offsets and times are few and round, so that expected rows can be checked by eye. See `golden_log`
for the story that each group tells.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from drumbeat.core import modern_records as modern
from drumbeat.core import reducer
from drumbeat.core.record_codec import encode
from drumbeat.core.records import (
    GroupMetadataRecord,
    GroupMetadataTombstone,
    MemberMetadata,
    ModernGroupRecord,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
    RecordType,
    UnknownRecord,
)
from drumbeat.core.state import State
from drumbeat.pipeline.decode.batches import decode_batches
from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.tables.builder import LogPartition, TableBuilder
from drumbeat.protocol.compiler import encoder
from drumbeat.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
    encode_assignment,
    encode_subscription,
)
from drumbeat.protocol.records import (
    BatchOptions,
    ControlRecordType,
    encode_batch,
    encode_control_batch,
)

SOURCE = LogPartition("golden", 3)
DAY_MS = 24 * 60 * 60 * 1_000
SESSION_TIMEOUT_MS = 10_000
REBALANCE_TIMEOUT_MS = 60_000
ORDERS_ID, EVENTS_ID = bytes([1]) * 16, bytes([2]) * 16
_TOPIC_IDS = {"orders": ORDERS_ID, "events": EVENTS_ID}
_INT16 = struct.Struct(">h")


class Client(NamedTuple):
    """A consumer, and the partitions of its topic that it is given."""

    member_id: str
    client_id: str
    partitions: tuple[int, ...]
    instance_id: str | None = None
    topic: str = "orders"


class LogWriter:
    """Batches, one after the other; `skip` leaves offsets out, as compaction does.

    `state` is what the coordinator's reducer makes of the log, record by record.
    """

    def __init__(self, next_offset: int = 0) -> None:
        self.state = State()
        self._batches: list[bytes] = []
        self._next_offset = next_offset

    def append(self, at_ms: int, *records: Record, producer_id: int = -1) -> None:
        first = self._next_offset
        rows = [(first + n, at_ms, *encode(record), ()) for n, record in enumerate(records)]
        is_txn = producer_id != -1
        options = BatchOptions(
            producer_id=producer_id,
            producer_epoch=0 if is_txn else -1,
            is_transactional=is_txn,
        )
        self._batches.append(encode_batch(rows, options))
        for n, record in enumerate(records):
            reducer.apply(self.state, record, first + n, producer_id)
        self._next_offset += len(records)

    def end_transaction(self, at_ms: int, producer_id: int, marker: ControlRecordType) -> None:
        batch = encode_control_batch(
            marker,
            coordinator_epoch=0,
            producer_id=producer_id,
            producer_epoch=0,
            timestamp=at_ms,
            base_offset=self._next_offset,
        )
        self._batches.append(batch)
        reducer.end_transaction(self.state, producer_id, marker is ControlRecordType.COMMIT)
        self._next_offset += 1

    def skip(self, offsets: int) -> None:
        self._next_offset += offsets

    def segment(self) -> bytes:
        """The log as its file holds it."""
        return b"".join(self._batches)

    def rows(self) -> pa.RecordBatch:
        """The log as `log_records`."""
        cluster_id, partition = SOURCE
        decoded = decode_batches(self.segment(), cluster_id=cluster_id, log_partition=partition)
        return pa.concat_batches(list(decoded))


def commit(group_id: str, topic: str, partition: int, offset: int, at_ms: int) -> Record:
    return OffsetCommitRecord(
        group_id=group_id,
        topic=topic,
        partition=partition,
        committed_offset=offset,
        leader_epoch=4,
        metadata="",
        commit_timestamp_ms=at_ms,
        topic_id=_TOPIC_IDS[topic],
    )


def generation(
    group_id: str, generation_id: int, state_ts: int, *clients: Client
) -> GroupMetadataRecord:
    """A generation led by its first client; Empty without any."""
    return GroupMetadataRecord(
        group_id=group_id,
        protocol_type="consumer",
        generation_id=generation_id,
        protocol_name="range" if clients else None,
        leader=clients[0].member_id if clients else None,
        state_timestamp_ms=state_ts,
        members=tuple(map(_member, clients)),
    )


def _member(client: Client) -> MemberMetadata:
    assigned = TopicPartitions(client.topic, client.partitions)
    return MemberMetadata(
        member_id=client.member_id,
        group_instance_id=client.instance_id,
        client_id=client.client_id,
        client_host=f"/{client.client_id}",
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        subscription=encode_subscription(Subscription((client.topic,))),
        assignment=encode_assignment(Assignment((assigned,))),
    )


def modern_record(
    record_type: RecordType, key: tuple[str, ...], value: Any = None
) -> ModernGroupRecord:
    layout = modern.LAYOUTS[record_type]
    key_bytes = encoder(layout.key, 0, False)(layout.key(*key))
    body = None if value is None else _INT16.pack(0) + encoder(layout.value, 0, True)(value)
    return ModernGroupRecord(record_type, key[0], _INT16.pack(record_type) + key_bytes, body)


def epoch(group_id: str, number: int | None) -> Record:
    value = None if number is None else modern.ConsumerGroupMetadataValue(number)
    return modern_record(RecordType.CONSUMER_GROUP_METADATA, (group_id,), value)


def naming(group_id: str, topic: str) -> Record:
    """What groups told of their topics before Kafka 4.1."""
    value = modern.ConsumerGroupPartitionMetadataValue(
        (modern.TopicMetadata(topic_id=_TOPIC_IDS[topic], topic_name=topic),)
    )
    return modern_record(RecordType.CONSUMER_GROUP_PARTITION_METADATA, (group_id,), value)


def member(group_id: str, member_id: str, *topics: str) -> Record:
    """Without topics, its tombstone."""
    value = modern.ConsumerGroupMemberMetadataValue(
        client_id=f"client-{member_id}",
        client_host="/h",
        subscribed_topic_names=topics,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        server_assignor="uniform",
    )
    key = (group_id, member_id)
    return modern_record(RecordType.CONSUMER_GROUP_MEMBER_METADATA, key, value if topics else None)


def current(
    group_id: str, member_id: str, member_epoch: int | None, owned: tuple[int, ...] = (),
    revoking: tuple[int, ...] = (),
) -> Record:  # fmt: skip
    """What a member has of the topic events; its tombstone without an epoch."""
    value = modern.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member_epoch or 0,
        assigned_partitions=_partitions(owned),
        partitions_pending_revocation=_partitions(revoking),
    )
    record_type = RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT
    return modern_record(record_type, (group_id, member_id), value if member_epoch else None)


def _partitions(numbers: tuple[int, ...]) -> tuple[modern.TopicPartitionsWithEpochs, ...]:
    return (modern.TopicPartitionsWithEpochs(EVENTS_ID, numbers),) if numbers else ()


A, A2 = Client("a", "app-a", (0, 1, 2, 3)), Client("a2", "app-a", (0, 1, 2, 3))
B, C = Client("b", "app-b", (2, 3)), Client("c", "app-c", (2, 3))
HALF_A = A._replace(partitions=(0, 1))


def golden_log() -> pa.RecordBatch:
    return golden_writer().rows()


def golden_writer() -> LogWriter:
    log = LogWriter()
    _orders(log)
    _static(log)
    _payments(log)
    _modern(log)
    _others(log)
    _expired(log)
    return log


def _orders(log: LogWriter) -> None:
    """Offsets 0 to 21: joins, a leave, a session timeout, a restart, two failed rebalances."""
    log.append(1_000, generation("orders", 1, 900, A))
    log.append(
        2_000, commit("orders", "orders", 0, 10, 2_000), commit("orders", "orders", 1, 20, 2_000)
    )
    log.append(3_000, generation("orders", 2, 2_950, HALF_A, B))
    log.append(
        4_000,
        *(commit("orders", "orders", p, offset, 4_000) for p, offset in ((0, 15), (2, 5), (3, 7))),
    )
    log.append(6_000, generation("orders", 3, 5_900, A))
    log.append(7_000, commit("orders", "orders", 0, 30, 7_000))
    log.append(8_000, generation("orders", 4, 7_900, HALF_A, C))
    log.append(9_000, commit("orders", "orders", 2, 9, 9_000))
    log.append(25_000, commit("orders", "orders", 0, 40, 25_000))
    log.append(26_000, generation("orders", 5, 25_900, A))
    log.append(27_000, commit("orders", "orders", 1, 25, 27_000))
    log.append(28_000, generation("orders", 6, 27_900, A2))
    log.append(29_000, commit("orders", "orders", 0, 45, 29_000))
    log.append(40_000, generation("orders", 9, 39_900, A2))
    log.append(41_000, commit("orders", "orders", 0, 30, 41_000))  # a member rewinds
    log.append(42_000, generation("orders", 10, 42_000))
    log.append(
        50_000, commit("orders", "orders", 0, 0, 50_000), commit("orders", "orders", 1, 25, 50_000)
    )
    log.append(60_000, UnknownRecord(99, _INT16.pack(99) + b"?", b"!"))


def _static(log: LogWriter) -> None:
    """Offsets 22 to 27: a static member is replaced without and with a rebalance; deletion."""
    first = Client("s1", "app-s", (0,), "i-1", "events")
    log.append(61_000, generation("static", 1, 60_900, first))
    log.append(61_500, commit("static", "events", 0, 3, 61_500))
    log.append(62_000, generation("static", 1, 60_900, first._replace(member_id="s2")))
    log.append(63_000, generation("static", 2, 62_900, first._replace(member_id="s3")))
    log.append(
        64_000, OffsetCommitTombstone("static", "events", 0), GroupMetadataTombstone("static")
    )


def _payments(log: LogWriter) -> None:
    """Offsets 28 to 35: a simple group. A transaction is overtaken in partition 1; one is
    aborted; one never ends.
    """
    log.append(
        70_000, commit("payments", "orders", 0, 100, 70_000),
        commit("payments", "orders", 1, 200, 70_000), producer_id=7,
    )  # fmt: skip
    log.append(71_000, commit("payments", "orders", 1, 250, 71_000))
    log.end_transaction(72_000, 7, ControlRecordType.COMMIT)
    log.append(73_000, commit("payments", "orders", 0, 500, 73_000), producer_id=8)
    log.end_transaction(74_000, 8, ControlRecordType.ABORT)
    log.append(75_000, commit("payments", "orders", 0, 300, 75_000), producer_id=9)
    log.append(75_500, commit("payments", "orders", 0, 110, 75_500))


def _modern(log: LogWriter) -> None:
    """Offsets 36 to 49: a consumer group of one member, of two, of one."""
    log.append(
        80_000, member("modern", "m1", "events"), epoch("modern", 1),
        current("modern", "m1", 1, owned=(0, 1)),
    )  # fmt: skip
    log.append(81_000, commit("modern", "events", 1, 1, 81_000))
    log.append(82_000, member("modern", "m2", "events"), epoch("modern", 2))
    log.append(82_500, current("modern", "m1", 1, owned=(0,), revoking=(1,)))
    log.append(83_000, commit("modern", "events", 1, 2, 83_000))
    log.append(84_000, current("modern", "m1", 2, owned=(0,)))
    log.append(85_000, current("modern", "m2", 2, owned=(1,)))
    log.append(86_000, commit("modern", "events", 1, 3, 86_000))
    log.append(87_000, current("modern", "m2", None), member("modern", "m2"), epoch("modern", 3))


def _others(log: LogWriter) -> None:
    """Offsets 50 to 52: a share group with a member, and an empty streams group."""
    share_member = modern.ShareGroupMemberMetadataValue(
        client_id="sharer", client_host="/h", subscribed_topic_names=("orders",)
    )
    key = ("shared", "x1")
    log.append(
        90_000,
        modern_record(RecordType.SHARE_GROUP_MEMBER_METADATA, key, share_member),
        modern_record(
            RecordType.SHARE_GROUP_METADATA, ("shared",), modern.GroupEpochAndHashValue(1)
        ),
    )
    flow = modern.StreamsGroupMetadataValue(4)
    log.append(91_000, modern_record(RecordType.STREAMS_GROUP_METADATA, ("flow",), flow))


def _expired(log: LogWriter) -> None:
    """Offsets 53 to 57: the offsets of the group orders expire, and it with them."""
    tombstones = (OffsetCommitTombstone("orders", "orders", partition) for partition in range(4))
    log.append(8 * DAY_MS, *tombstones, GroupMetadataTombstone("orders"))


def built(
    builder: TableBuilder, batches: Iterable[pa.RecordBatch]
) -> dict[str, list[dict[str, Any]]]:
    """All rows that a builder makes of these batches, by table."""
    rows: dict[str, list[dict[str, Any]]] = {}
    outputs = [*(out for batch in batches for out in builder.feed(batch)), *builder.finish()]
    for name, batch in outputs:
        assert batch.schema == TABLES[name].arrow_schema
        batch.validate(full=True)
        rows.setdefault(name, []).extend(batch.to_pylist())
    return rows


def text_table(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> str:
    """Rows as aligned text, to be compared with what a test says; null is a dash."""
    names = list(columns)
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value) or "()"
    if isinstance(value, bytes):
        return value[:1].hex()
    return "-" if value is None else str(value)
