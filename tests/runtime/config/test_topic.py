"""A topic's configuration: its own values, the broker's for the rest."""

from typing import get_type_hints

import pytest

from drumbeat.runtime.config import TopicConfig, load_config, topic_config
from drumbeat.runtime.config.broker import BROKER_KEYS, effective_value
from drumbeat.runtime.config.topic import TOPIC_KEYS

DEFAULTS = TopicConfig(
    cleanup_policy=("delete",),
    compression_type="producer",
    delete_retention_ms=86_400_000,
    index_interval_bytes=4096,
    max_compaction_lag_ms=2**63 - 1,
    max_message_bytes=1_048_588,
    message_timestamp_after_max_ms=3_600_000,
    message_timestamp_before_max_ms=2**63 - 1,
    message_timestamp_type="CreateTime",
    min_cleanable_dirty_ratio=0.5,
    min_compaction_lag_ms=0,
    min_insync_replicas=1,
    retention_bytes=-1,
    retention_ms=604_800_000,
    segment_bytes=1_073_741_824,
    segment_index_bytes=10_485_760,
    segment_ms=604_800_000,
)

# broker settings; topic overrides; what differs from the defaults
CASES = [
    ("", {}, {}),
    ("log.retention.hours=1", {}, {"retention_ms": 3_600_000}),
    ("log.retention.hours=1", {"retention.ms": "5"}, {"retention_ms": 5}),
    ("log.retention.minutes=-5", {}, {"retention_ms": -1}),
    ("log.roll.hours=2", {}, {"segment_ms": 7_200_000}),
    ("message.max.bytes=9", {}, {"max_message_bytes": 9}),
    ("log.cleanup.policy=compact,delete", {}, {"cleanup_policy": ("compact", "delete")}),
    ("", {"cleanup.policy": "compact"}, {"cleanup_policy": ("compact",)}),
    ("", {"segment.bytes": "1048576"}, {"segment_bytes": 1_048_576}),
    ("log.cleaner.min.cleanable.ratio=0.1", {}, {"min_cleanable_dirty_ratio": 0.1}),
    ("log.cleaner.min.compaction.lag.ms=7", {}, {"min_compaction_lag_ms": 7}),
    ("", {"max.compaction.lag.ms": "9"}, {"max_compaction_lag_ms": 9}),
    ("", {"segment.bytes": "1048576", "internal.segment.bytes": "99"}, {"segment_bytes": 99}),
    (
        "min.insync.replicas=2",
        {"compression.type": "zstd"},
        {"min_insync_replicas": 2, "compression_type": "zstd"},
    ),
    ("", {"message.timestamp.type": "LogAppendTime"}, {"message_timestamp_type": "LogAppendTime"}),
    ("", {"retention.bytes": "10", "preallocate": "true"}, {"retention_bytes": 10}),
]


@pytest.mark.parametrize(("text", "overrides", "differences"), CASES)
def test_a_topics_values_are_its_own_then_the_brokers(text, overrides, differences):
    broker = load_config(text).config
    assert topic_config(overrides, broker) == DEFAULTS._replace(**differences)


def test_cleanup_policy_reads_as_two_questions():
    both = DEFAULTS._replace(cleanup_policy=("compact", "delete"))
    neither = DEFAULTS._replace(cleanup_policy=())
    answers = [(c.is_compacted, c.is_deleted) for c in (DEFAULTS, both, neither)]
    assert answers == [(False, True), (True, True), (False, False)]


def test_every_topic_key_is_there_and_agrees_with_the_brokers_default():
    assert len(TOPIC_KEYS) == 34
    for definition in TOPIC_KEYS.values():
        if definition.server_default is not None:
            server = BROKER_KEYS[definition.server_default]
            assert definition.default is not None
            value = effective_value(server.name, {})
            assert definition.parse(definition.default) == value, definition.name


def test_every_attribute_has_its_key_in_use_and_its_type():
    hints = get_type_hints(TopicConfig)
    for attribute in TopicConfig._fields:
        expected = hints[attribute]
        assert isinstance(getattr(DEFAULTS, attribute), getattr(expected, "__origin__", expected))
        assert TOPIC_KEYS[attribute.replace("_", ".")].is_used
    used = {d.name.replace(".", "_") for d in TOPIC_KEYS.values() if d.is_used}
    assert used - set(TopicConfig._fields) == {"internal_segment_bytes"}
