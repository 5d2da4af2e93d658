"""The configuration a running broker reads: one typed attribute per key it acts on.

An attribute is its key with underscores for dots. Keys that only help to say another one have no
attribute of their own: ``log.retention.hours`` ends up in ``log_retention_ms``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from drumbeat.runtime.config.broker import synonyms_of
from drumbeat.runtime.config.listeners import Endpoint

_NOTHING: Mapping[str, str] = MappingProxyType({})


class ConfigLayers(NamedTuple):
    """What has been set explicitly, and where; DescribeConfigs reports it layer by layer."""

    static: Mapping[str, str] = _NOTHING
    """server.properties and the command line."""
    dynamic_default: Mapping[str, str] = _NOTHING
    """AlterConfigs for all brokers."""
    dynamic_broker: Mapping[str, str] = _NOTHING
    """AlterConfigs for this broker."""

    def merged(self) -> dict[str, str]:
        """What is in force of all that is set."""
        settings = dict(self.static)
        for layer in (self.dynamic_default, self.dynamic_broker):
            for key in layer:
                # A change wins over every name its value goes by, whatever their precedence.
                for synonym in synonyms_of(key):
                    settings.pop(synonym, None)
            settings.update(layer)
        return settings

    def __repr__(self) -> str:
        # Values may be passwords; names never are.
        return f"ConfigLayers({', '.join(f'{k}: {sorted(v)}' for k, v in self._asdict().items())})"


class BrokerConfig(NamedTuple):
    """Every value in force. Frozen: a change makes a new one."""

    node_id: int
    broker_rack: str | None
    listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    log_dir: str

    metrics_port: int | None
    metrics_host: str | None
    logging_level: str
    logging_format: str

    connections_max_idle_ms: int
    max_connections: int
    max_connections_per_ip: int
    socket_request_max_bytes: int
    socket_send_buffer_bytes: int
    queued_max_requests: int
    queued_max_request_bytes: int
    fetch_max_bytes: int

    num_partitions: int
    default_replication_factor: int
    auto_create_topics_enable: bool
    delete_topic_enable: bool
    message_max_bytes: int
    compression_type: str
    min_insync_replicas: int

    log_retention_ms: int
    log_retention_bytes: int
    log_retention_check_interval_ms: int
    log_cleanup_policy: tuple[str, ...]
    log_cleaner_enable: bool
    log_cleaner_backoff_ms: int
    log_cleaner_min_cleanable_ratio: float
    log_cleaner_min_compaction_lag_ms: int
    log_cleaner_max_compaction_lag_ms: int
    log_cleaner_delete_retention_ms: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_max_bytes_per_second: float
    log_segment_bytes: int
    log_roll_ms: int
    log_index_interval_bytes: int
    log_index_size_max_bytes: int
    log_message_timestamp_after_max_ms: int
    log_message_timestamp_before_max_ms: int
    log_message_timestamp_type: str

    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_initial_rebalance_delay_ms: int
    group_max_size: int
    group_coordinator_rebalance_protocols: tuple[str, ...]
    group_coordinator_append_linger_ms: int

    group_consumer_session_timeout_ms: int
    group_consumer_min_session_timeout_ms: int
    group_consumer_max_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_min_heartbeat_interval_ms: int
    group_consumer_max_heartbeat_interval_ms: int
    group_consumer_max_size: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str
    group_consumer_assignment_interval_ms: int
    group_consumer_min_assignment_interval_ms: int
    group_consumer_max_assignment_interval_ms: int
    group_consumer_regex_refresh_interval_ms: int

    offsets_topic_num_partitions: int
    offsets_topic_segment_bytes: int
    offsets_topic_compression_codec: int
    offsets_load_buffer_size: int
    offsets_commit_timeout_ms: int
    offset_metadata_max_bytes: int
    offsets_retention_minutes: int
    offsets_retention_check_interval_ms: int
    offsets_history_retention_ms: int

    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    transactional_id_expiration_ms: int
    transaction_max_timeout_ms: int
    transaction_state_log_num_partitions: int
    transaction_state_log_segment_bytes: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int

    layers: ConfigLayers
    """What was set explicitly, in Kafka's text form."""

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000


# Used keys that say another attribute's value.
FOLDED_KEYS = {
    "broker.id": "node_id",
    "log.dirs": "log_dir",
    "log.retention.minutes": "log_retention_ms",
    "log.retention.hours": "log_retention_ms",
    "log.roll.hours": "log_roll_ms",
    "listener.security.protocol.map": "listeners",
    "controller.listener.names": "listeners",
}

# Attributes that take more than their own key's text to work out.
DERIVED_ATTRIBUTES = frozenset(
    {
        "node_id",
        "listeners",
        "advertised_listeners",
        "log_dir",
        "log_retention_ms",
        "group_consumer_assignors",
        "layers",
    }
)
