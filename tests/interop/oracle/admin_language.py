"""Sequences about topics and their configurations, with some records in between."""

from interop.oracle.cluster_steps import (
    AlterConfigs,
    ApiVersions,
    DescribeCluster,
    DescribeConfigs,
    DescribeLogDirs,
    IncrementalAlterConfigs,
    Operation,
)
from interop.oracle.data_language import FETCH, LIST_OFFSETS, OPENING, PRODUCE
from interop.oracle.strategies import Kind, Language
from interop.oracle.topic_steps import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    DescribeTopicPartitions,
    Metadata,
)
from interop.oracle.vocabulary import Topic

OWN, SECOND, MISSING = Topic.OWN, Topic.SECOND, Topic.MISSING

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
        {"configs": (("retention.ms", " 300000000 "), ("preallocate", "TRUE"))},
        {"configs": (("no.such.config", "1"),)},
        {"configs": (("retention.ms", None),)},
        {"validate_only": True},
        {"timeout_ms": 0},
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
        {"also_by_id": True},
        {"timeout_ms": 0},
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
        {"timeout_ms": -1},
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
        {"with_type": 3},
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
        {"operation": Operation.SUBTRACT, "configs": (("cleanup.policy", " delete"),)},
        {"operation": Operation.APPEND, "configs": (("cleanup.policy", ""),)},
        {"topic": Topic.NAMELESS},
        {"topic": Topic.INVALID},
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
        {"topics": (OWN, SECOND), "cursor": (OWN, 7), "limit": 1},
        {"cursor": (OWN, -1)},
        {"cursor": (MISSING, 0)},
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
