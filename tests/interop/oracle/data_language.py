"""Sequences about records: written by good and bad producers, read back, deleted."""

from interop.oracle.batches import Batch, Sequence
from interop.oracle.data_steps import (
    DeleteRecords,
    Fetch,
    InitProducerId,
    ListOffsets,
    OffsetForLeaderEpoch,
    Produce,
)
from interop.oracle.strategies import Deviation, Kind, Language
from interop.oracle.topic_steps import CreateTopics
from interop.oracle.vocabulary import Topic

SECOND, MISSING = Topic.SECOND, Topic.MISSING

_TOPICS: tuple[Deviation, ...] = (
    {"topic": SECOND},
    {"topic": MISSING},
    {"topic": Topic.INVALID},
)

PRODUCE = Kind(
    30,
    Produce,
    20,
    (
        *_TOPICS,
        {"topic": Topic.INTERNAL},
        {"partition": 1},
        {"partition": 9},
        {"acks": 1},
        {"acks": 0},
        {"acks": 2},
        *({"batch": batch} for batch in Batch if batch is not Batch.PLAIN),
        *({"sequence": sequence} for sequence in Sequence if sequence is not Sequence.NONE),
        *({"sequence": Sequence.NEXT} for _ in range(8)),
        {"at_s": 10},
        {"at_s": -10},
        {"at_s": 20},
        {"before": Batch.ONE},
        {"before": Batch.WRONG_CRC},
    ),
)
FETCH = Kind(
    20,
    Fetch,
    14,
    (
        *_TOPICS,
        {"partitions": (0, 1)},
        {"partitions": (1, 7, 0)},
        {"partitions": ()},
        {"partitions": (0, 1, 0)},
        {"offset": 1},
        {"offset": 2},
        {"offset": 5},
        {"offset": 100},
        {"offset": -1},
        {"current_leader_epoch": 0},
        {"current_leader_epoch": 3},
        {"current_leader_epoch": -2},
        {"last_fetched_epoch": 0},
        {"partition_max_bytes": 1},
        {"partition_max_bytes": 100},
        {"max_bytes": 1, "partitions": (0, 1)},
        {"max_bytes": 120},
        {"min_bytes": 1, "max_wait_ms": 30},
        {"min_bytes": 100_000, "max_wait_ms": 30},
        {"isolation_level": 1},
        {"session": (0, 0)},
        {"session": (77, 1)},
        {"session": (77, -1)},
        {"session": (0, 1)},
    ),
)
LIST_OFFSETS = Kind(
    12,
    ListOffsets,
    5,
    (
        *_TOPICS,
        {"partitions": (1, 0, 8)},
        {"partitions": (1, 0, 1)},
        {"partitions": ()},
        *({"timestamp": timestamp} for timestamp in (-2, -3, -4, -5, -6, -7, 0)),
        *({"at_s": at_s} for at_s in (-20, -10, 0, 5, 10, 99)),
        {"current_leader_epoch": 0},
        {"current_leader_epoch": 5},
        {"isolation_level": 1},
    ),
)
DELETE_RECORDS = Kind(
    4,
    DeleteRecords,
    3,
    (
        *_TOPICS,
        {"partition": 1},
        {"partition": 4},
        {"offset": 0},
        {"offset": 1},
        {"offset": 3},
        {"offset": 1000},
        {"offset": -2},
    ),
)
EPOCHS = Kind(
    4,
    OffsetForLeaderEpoch,
    3,
    (
        *_TOPICS,
        {"partition": 1},
        {"partition": 4},
        {"leader_epoch": 1},
        {"leader_epoch": -1},
        {"current_leader_epoch": 0},
        {"current_leader_epoch": 4},
    ),
)
INIT_PRODUCER_ID = Kind(4, InitProducerId, 3, ({"with_own_id": True}, {"transactional_id": ""}))

OPENING = (CreateTopics(), InitProducerId())

DATA = Language(
    casts=((0,), (0, 1)),
    kinds=(PRODUCE, FETCH, LIST_OFFSETS, DELETE_RECORDS, EPOCHS, INIT_PRODUCER_ID),
    opening=OPENING,
)
