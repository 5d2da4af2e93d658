"""Configuration: Kafka's names, and messages that say what to change."""

import pytest

from drumbeat.client.config import (
    Address,
    AdminConfig,
    CommonConfig,
    ConsumerConfig,
    ProducerConfig,
)
from drumbeat.client.errors import ConfigError

SERVERS = "localhost:9092"


def test_defaults_are_kafkas():
    config = ConsumerConfig.of(bootstrap_servers=SERVERS)
    assert config.bootstrap_servers == (Address("localhost", 9092),)
    assert (config.max_poll_records, config.max_poll_interval_ms) == (500, 300_000)
    assert (config.session_timeout_ms, config.heartbeat_interval_ms) == (45_000, 3_000)
    assert config.partition_assignment_strategy == ("range", "cooperative-sticky")
    assert config.auto_offset_reset == "latest"
    assert not config.commits_automatically


def test_dotted_names_and_text_as_in_properties_files():
    config = ConsumerConfig.of(
        {"max.poll.records": "7", "enable.auto.commit": "False", "group.id": "g"}, client_id="me"
    )
    assert (config.max_poll_records, config.enable_auto_commit) == (7, False)
    assert (config.group_id, config.client_id) == ("g", "me")


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (
            ConsumerConfig,
            {"max_pol_records": 1},
            "no key 'max_pol_records': did you mean 'max_poll",
        ),
        (AdminConfig, {"zzz": 1}, "no key 'zzz': it has bootstrap_servers, client_id"),
        (ConsumerConfig, {"max_poll_records": 0}, "max_poll_records=0: .*integer from 1 to"),
        (ConsumerConfig, {"max_poll_records": "many"}, "takes an integer"),
        (ConsumerConfig, {"max_poll_records": True}, "takes an integer"),
        (ConsumerConfig, {"enable_auto_commit": 1}, "takes true or false"),
        (ConsumerConfig, {"auto_offset_reset": "first"}, "one of latest, earliest, none"),
        (ConsumerConfig, {"group_id": ""}, "group_id='': .*not empty"),
        (ConsumerConfig, {"value_deserializer": 3}, r"a function \(topic, bytes\)"),
        (ConsumerConfig, {"enable_auto_commit": True}, "needs a group_id"),
        (ConsumerConfig, {"group_instance_id": "i"}, "needs a group_id"),
        (ConsumerConfig, {"session_timeout_ms": 3_000}, "must be below session_timeout_ms=3000"),
        (ConsumerConfig, {"partition_assignment_strategy": []}, "names of assignors"),
        (CommonConfig, {"bootstrap_servers": ""}, "at least one host:port"),
        (CommonConfig, {"bootstrap_servers": "http://a"}, "without a scheme"),
        (CommonConfig, {"bootstrap_servers": "a:x"}, "a port up to 65535, not 'a:x'"),
        (CommonConfig, {"bootstrap_servers": 9092}, "takes addresses such as"),
        (CommonConfig, {"bootstrap_servers": [9092]}, "takes text such as"),
        (CommonConfig, {"retry_backoff_ms": 5, "retry_backoff_max_ms": 1}, "is above"),
        (ProducerConfig, {"acks": 2}, "all, -1, 0 or 1"),
        (ProducerConfig, {"delivery_timeout_ms": 10}, "must be at least linger_ms=5"),
        (ProducerConfig, {"enable_idempotence": True, "acks": 1}, "needs acks='all', not 1"),
        (ProducerConfig, {"compression_type": "rar"}, "one of none, gzip"),
    ],
)
def test_refusals(cls: type[CommonConfig], options: dict[str, object], message: str):
    with pytest.raises(ConfigError, match=message):
        cls.of(**options)


def test_idempotence_is_given_up_where_other_keys_rule_it_out():
    assert ProducerConfig.of().is_idempotent
    assert not ProducerConfig.of(acks="1").is_idempotent
    assert not ProducerConfig.of(retries=0).is_idempotent
