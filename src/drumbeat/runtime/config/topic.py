"""A topic's configuration: Kafka 4.3's topic keys, and the values in force for one topic.

A key without a value of its own takes the broker's, under the broker's name for it (``server=``).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from drumbeat.runtime.config.broker import effective_value
from drumbeat.runtime.config.broker_config import BrokerConfig
from drumbeat.runtime.config.rules import ConfigValue
from drumbeat.runtime.config.table import ConfigTable, Section

_USED = """
cleanup.policy list delete {compact,delete} server=log.cleanup.policy
    What becomes of old records: deleted, compacted to the newest of each key, or both.
compression.type string producer {uncompressed,zstd,lz4,snappy,gzip,producer} \
server=compression.type
    The compression batches are stored in; producer keeps what the producer chose.
delete.retention.ms long 86400000 0.. server=log.cleaner.delete.retention.ms
    How long a compacted topic keeps a deletion marker, from the first compaction that meets it.
index.interval.bytes int 4096 0.. server=log.index.interval.bytes
    How many bytes of log lie between two index entries.
internal.segment.bytes int null internal
    A segment size below the minimum of segment.bytes, for tests; overrides it when set.
max.compaction.lag.ms long 9223372036854775807 1.. server=log.cleaner.max.compaction.lag.ms
    How long a record stays uncompacted at most; a segment is closed at this age.
max.message.bytes int 1048588 0.. server=message.max.bytes
    The largest record batch the topic takes.
message.timestamp.after.max.ms long 3600000 0.. server=log.message.timestamp.after.max.ms
    How far in the future a record's timestamp may lie; more is refused.
message.timestamp.before.max.ms long 9223372036854775807 0.. \
server=log.message.timestamp.before.max.ms
    How far in the past a record's timestamp may lie; more is refused.
message.timestamp.type string CreateTime {CreateTime,LogAppendTime} \
server=log.message.timestamp.type
    Whether records carry the producer's time or the time of the append.
min.cleanable.dirty.ratio double 0.5 0..1 server=log.cleaner.min.cleanable.ratio
    The share of closed segments that must be new since the last compaction for the next.
min.compaction.lag.ms long 0 0.. server=log.cleaner.min.compaction.lag.ms
    How long a record stays uncompacted at least.
min.insync.replicas int 1 1.. server=min.insync.replicas
    Accepted and reported. A partition here has one replica, which is always in sync.
retention.bytes long -1 server=log.retention.bytes
    How many bytes a partition keeps; -1 is no limit.
retention.ms long 604800000 -1.. server=log.retention.ms
    How long records are kept; -1 is for ever.
segment.bytes int 1073741824 1048576.. server=log.segment.bytes
    The size at which a segment is closed and a new one begun.
segment.index.bytes int 10485760 4.. server=log.index.size.max.bytes
    The most bytes an offset index takes; a segment is closed when its index is full.
segment.ms long 604800000 1.. server=log.roll.ms
    The age at which a segment is closed and a new one begun.
"""

_ACCEPTED = """
compression.gzip.level int -1 -1|1..9 server=compression.gzip.level
compression.lz4.level int 9 1..17 server=compression.lz4.level
compression.zstd.level int 3 -131072..22 server=compression.zstd.level
file.delete.delay.ms long 60000 0.. server=log.segment.delete.delay.ms
flush.messages long 9223372036854775807 1.. server=log.flush.interval.messages
flush.ms long 9223372036854775807 0.. server=log.flush.interval.ms
follower.replication.throttled.replicas list "" replicas
leader.replication.throttled.replicas list "" replicas
local.retention.bytes long -2 -2.. server=log.local.retention.bytes
local.retention.ms long -2 -2.. server=log.local.retention.ms
preallocate boolean false server=log.preallocate
remote.log.copy.disable boolean false
remote.log.delete.on.disable boolean false
remote.storage.enable boolean false
segment.jitter.ms long 0 0.. server=log.roll.jitter.ms
unclean.leader.election.enable boolean false server=unclean.leader.election.enable
"""

TOPIC_KEYS = ConfigTable(
    used=(Section("Topic keys", _USED),), accepted=(Section("Topic keys", _ACCEPTED),)
)


class TopicConfig(NamedTuple):
    """The values in force for one topic, for the keys that take effect."""

    cleanup_policy: tuple[str, ...]
    compression_type: str
    delete_retention_ms: int
    index_interval_bytes: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_after_max_ms: int
    message_timestamp_before_max_ms: int
    message_timestamp_type: str
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_ms: int

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Whether retention deletes old segments."""
        return "delete" in self.cleanup_policy


def topic_config(overrides: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
    """The configuration of a topic with `overrides`, which must be valid."""
    settings = broker.layers.merged()
    values: dict[str, Any] = {
        attribute: topic_value(attribute.replace("_", "."), overrides, settings)
        for attribute in TopicConfig._fields
    }
    internal_segment_bytes = topic_value("internal.segment.bytes", overrides, settings)
    if internal_segment_bytes is not None:
        values["segment_bytes"] = internal_segment_bytes
    return TopicConfig(**values)


def topic_value(
    name: str, overrides: Mapping[str, str], settings: Mapping[str, str]
) -> ConfigValue:
    """The value in force for topic key `name`, given what the topic and the broker set."""
    definition = TOPIC_KEYS[name]
    if name in overrides:
        return definition.parse(overrides[name])
    if definition.server_default is not None:
        value = effective_value(definition.server_default, settings)
        return max(value, -1) if name == "retention.ms" and isinstance(value, int) else value
    return None if definition.default is None else definition.parse(definition.default)
