"""Sequences about topics: records written and read, and topics that administrators change."""

from interop.oracle.admin_steps import (
    AlterConfigs,
    ApiVersions,
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    DescribeCluster,
    DescribeConfigs,
    DescribeLogDirs,
    DescribeTopicPartitions,
    IncrementalAlterConfigs,
    Metadata,
    Operation,
)
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
from interop.oracle.vocabulary import Topic

OWN, SECOND, MISSING = Topic.OWN, Topic.SECOND, Topic.MISSING

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
        {"offset": 1},
        {"offset": 2},
        {"offset": 5},
        {"offset": 100},
        {"offset": -1},
        {"current_leader_epoch": 0},
        {"current_leader_epoch": 3},
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
    ),
)
LIST_OFFSETS = Kind(
    12,
    ListOffsets,
    5,
    (
        *_TOPICS,
        {"partitions": (1, 0, 8)},
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

CREATE = Kind(
    6,
    CreateTopics,
    5,
    (
        {"topics": (SECOND,)},
        {"topics": (OWN, SECOND)},
        {"topics": (SECOND, SECOND)},
        {"topics": (Topic.INVALID,)},
        {"topics": (Topic.NAMELESS,)},
        {"topics": ()},
        {"partitions": 1},
        {"partitions": -1},
        {"partitions": 0},
        {"replication_factor": -1},
        {"replication_factor": 0},
        {"brokers": ((1,), (1,)), "partitions": -1, "replication_factor": -1},
        {"brokers": ((7,),), "partitions": -1, "replication_factor": -1},
        {"brokers": ((1, 1),), "partitions": -1, "replication_factor": -1},
        {"brokers": ((1,), (1,))},
        {"configs": (("cleanup.policy", "compact"),)},
        {"configs": (("retention.ms", "300000000"), ("segment.bytes", "1048576"))},
        {"configs": (("message.timestamp.type", "LogAppendTime"),)},
        {"configs": (("compression.type", "gzip"),)},
        {"configs": (("max.message.bytes", "90"),)},
        {"configs": (("retention.ms", "soon"),)},
        {"configs": (("no.such.config", "1"),)},
        {"configs": (("retention.ms", None),)},
        {"validate_only": True},
    ),
)
DELETE = Kind(
    3,
    DeleteTopics,
    4,
    (
        {"topics": (SECOND,)},
        {"topics": (OWN, SECOND)},
        {"topics": (MISSING,)},
        {"topics": (OWN, OWN)},
        {"topics": ()},
        {"topics": (Topic.NAMELESS,)},
        {"by_id": True},
    ),
)
CREATE_PARTITIONS = Kind(
    4,
    CreatePartitions,
    3,
    (
        {"topics": (MISSING,)},
        {"topics": (SECOND,)},
        {"topics": (OWN, OWN)},
        {"total_count": 2},
        {"total_count": 1},
        {"total_count": 4},
        {"total_count": -1},
        {"brokers": ((1,),)},
        {"brokers": ((9,),)},
        {"brokers": ((1,), (1,), (1,))},
        {"validate_only": True},
    ),
)
METADATA = Kind(
    8,
    Metadata,
    5,
    (
        {"topics": (OWN, SECOND, MISSING)},
        {"topics": (Topic.INVALID,)},
        {"topics": (Topic.NAMELESS,)},
        {"topics": ()},
        {"topics": None},
        {"by_id": True},
        {"topics": (MISSING,), "by_id": True},
        {"include_topic_authorized_operations": True},
        {"include_cluster_authorized_operations": True},
    ),
)
DESCRIBE_CONFIGS = Kind(
    6,
    DescribeConfigs,
    5,
    (
        {"topic": SECOND},
        {"topic": MISSING},
        {"keys": ("retention.ms", "cleanup.policy", "no.such.config")},
        {"keys": ()},
        {"include_synonyms": True},
        {"include_documentation": True},
        {"resource": (4, "9")},
        {"resource": (4, "one")},
        {"resource": (3, "x")},
        {
            "resource": (4, "1"),
            "keys": ("log.retention.ms", "num.partitions", "log.cleanup.policy"),
        },
    ),
)
ALTER_CONFIGS = Kind(
    3,
    AlterConfigs,
    3,
    (
        {"topic": SECOND},
        {"topic": MISSING},
        {"configs": ()},
        {"configs": (("cleanup.policy", "compact"), ("segment.bytes", "1048576"))},
        {"configs": (("cleanup.policy", "shred"),)},
        {"configs": (("no.such.config", "1"),)},
        {"configs": (("retention.ms", None),)},
        {"validate_only": True},
    ),
)
INCREMENTAL_ALTER_CONFIGS = Kind(
    6,
    IncrementalAlterConfigs,
    4,
    (
        {"topic": SECOND},
        {"topic": MISSING},
        {"operation": Operation.DELETE},
        {"operation": Operation.APPEND},
        {"operation": Operation.UNKNOWN},
        {"operation": Operation.APPEND, "configs": (("cleanup.policy", "compact"),)},
        {"operation": Operation.SUBTRACT, "configs": (("cleanup.policy", "delete"),)},
        {"configs": (("cleanup.policy", "compact,delete"),)},
        {"configs": (("cleanup.policy", "shred"),)},
        {"configs": (("retention.ms", None),)},
        {"configs": (("retention.ms", "-2"),)},
        {"configs": (("no.such.config", "1"),)},
        {"configs": (("message.timestamp.type", "LogAppendTime"),)},
        {"configs": (("compression.type", "zstd"),)},
        {"configs": (("retention.ms", "100000000"), ("retention.ms", "200000000"))},
        {"configs": ()},
        {"validate_only": True},
    ),
)
PAGES = Kind(
    3,
    DescribeTopicPartitions,
    3,
    (
        {"topics": (OWN, MISSING)},
        {"topics": (SECOND, OWN), "limit": 1},
        {"topics": (OWN, SECOND), "cursor": (OWN, 1)},
        {"limit": 1},
    ),
)
LOG_DIRS = Kind(
    2,
    DescribeLogDirs,
    2,
    ({"partitions": None}, {"partitions": (0, 9)}, {"partitions": ()}, {"topic": MISSING}),
)
CLUSTER = Kind(
    1, DescribeCluster, 2, ({"include_authorized_operations": True}, {"endpoint_type": 2})
)
VERSIONS = Kind(1, ApiVersions, 2, ({"software": ("", "1")}, {"software": ("no spaces", "1")}))

OPENING = (CreateTopics(), InitProducerId())

DATA = Language(
    casts=((0,), (0, 1)),
    kinds=(PRODUCE, FETCH, LIST_OFFSETS, DELETE_RECORDS, EPOCHS, INIT_PRODUCER_ID),
    opening=OPENING,
)
ADMIN = Language(
    casts=((0,),),
    kinds=(
        CREATE,
        DELETE,
        CREATE_PARTITIONS,
        METADATA,
        DESCRIBE_CONFIGS,
        ALTER_CONFIGS,
        INCREMENTAL_ALTER_CONFIGS,
        PAGES,
        LOG_DIRS,
        CLUSTER,
        VERSIONS,
        PRODUCE._replace(weight=4),
        FETCH._replace(weight=3),
        LIST_OFFSETS._replace(weight=1),
    ),
    opening=OPENING,
)
