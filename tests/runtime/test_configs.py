"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs; what is altered takes effect."""

import pytest

from drumbeat.protocol.apis import alter_configs, incremental_alter_configs
from drumbeat.protocol.apis.alter_configs import API as ALTER_CONFIGS
from drumbeat.protocol.apis.alter_configs import AlterConfigsRequest
from drumbeat.protocol.apis.describe_configs import API as DESCRIBE_CONFIGS
from drumbeat.protocol.apis.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from drumbeat.protocol.apis.incremental_alter_configs import API as INCREMENTAL_ALTER_CONFIGS
from drumbeat.protocol.apis.incremental_alter_configs import IncrementalAlterConfigsRequest
from drumbeat.protocol.errors import ErrorCode
from support.brokers import start_broker
from support.data_topics import batch, create_topic, lowest_and_highest, produce_to
from support.waiting import wait_until
from support.wire import Wire

NONE = ErrorCode.NONE
TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
TOPIC_CONFIG, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC_BROKER, DEFAULT = 1, 2, 3, 4, 5
LONG = 5  # config type


def describe(wire, kind, name, *keys, version=DESCRIBE_CONFIGS.versions[-1], **fields):
    """Error code and configs by name."""
    asked = DescribeConfigsResource(kind, name, keys or None)
    request = DescribeConfigsRequest((asked,), **fields)
    (result,) = wire.call(DESCRIBE_CONFIGS, version, request).results
    assert (result.resource_type, result.resource_name) == (kind, name)
    return result.error_code, {config.name: config for config in result.configs}


def value_of(wire, kind, name, key):
    error_code, configs = describe(wire, kind, name, key)
    assert error_code == NONE
    return configs[key].value if key in configs else None


def alter(wire, version, kind, name, *operations, validate_only=False):
    """The error code of an IncrementalAlterConfigs with (key, operation, value)s."""
    configs = tuple(incremental_alter_configs.AlterableConfig(*one) for one in operations)
    resource = incremental_alter_configs.AlterConfigsResource(kind, name, configs)
    request = IncrementalAlterConfigsRequest((resource,), validate_only)
    (response,) = wire.call(INCREMENTAL_ALTER_CONFIGS, version, request).responses
    assert (response.resource_type, response.resource_name) == (kind, name)
    return response.error_code


def replace(wire, version, kind, name, configs, *, validate_only=False):
    """The error code of an AlterConfigs."""
    altered = tuple(alter_configs.AlterableConfig(*one) for one in configs.items())
    resource = alter_configs.AlterConfigsResource(kind, name, altered)
    request = AlterConfigsRequest((resource,), validate_only)
    (response,) = wire.call(ALTER_CONFIGS, version, request).responses
    return response.error_code


def await_value(wire, name, key, value, kind=TOPIC):
    """Apache Kafka's brokers hear of a change after its controller has answered."""
    wait_until(lambda: value_of(wire, kind, name, key) == value, 5.0, f"{key}={value}")


# -- DescribeConfigs -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", DESCRIBE_CONFIGS.versions)
def test_a_topics_configs_and_where_they_come_from(wire, version):
    topic = create_topic(wire, retention_ms="1234")
    error_code, configs = describe(wire, TOPIC, topic.name, version=version, include_synonyms=True)
    assert error_code == NONE
    retention = configs["retention.ms"]
    assert (retention.value, retention.config_source) == ("1234", TOPIC_CONFIG)
    assert (retention.read_only, retention.is_sensitive) == (False, False)
    assert retention.synonyms[0] == ("retention.ms", "1234", TOPIC_CONFIG)
    assert retention.config_type == (LONG if version >= 3 else 0)
    policy = configs["cleanup.policy"]
    assert (policy.value, policy.config_source) == ("delete", DEFAULT)
    assert ("log.cleanup.policy", "delete", DEFAULT) in policy.synonyms


@pytest.mark.parametrize("version", lowest_and_highest(DESCRIBE_CONFIGS))
def test_chosen_keys_only(wire, version):
    topic = create_topic(wire)
    keys = ("segment.bytes", "max.message.bytes", "no.such.key")
    error_code, configs = describe(wire, TOPIC, topic.name, *keys, version=version)
    assert error_code == NONE
    assert {name: c.value for name, c in configs.items()} == {
        "segment.bytes": "1073741824",
        "max.message.bytes": "1048588",
    }
    assert all(config.synonyms == () for config in configs.values())


def test_no_keys_at_all_means_every_key(wire):
    topic = create_topic(wire)
    sizes = set()
    for keys in (None, ()):
        request = DescribeConfigsRequest((DescribeConfigsResource(TOPIC, topic.name, keys),))
        (result,) = wire.call(DESCRIBE_CONFIGS, 4, request).results
        sizes.add(len(result.configs))
    assert len(sizes) == 1
    assert sizes.pop() > 20


def test_documentation_is_told_if_asked_for(wire):
    topic = create_topic(wire)
    for asked in (True, False):
        _, configs = describe(wire, TOPIC, topic.name, "retention.ms", include_documentation=asked)
        assert bool(configs["retention.ms"].documentation) == asked


@pytest.mark.parametrize("version", lowest_and_highest(DESCRIBE_CONFIGS))
def test_the_brokers_configs(wire, version):
    error_code, configs = describe(wire, BROKER, "1", version=version)
    assert error_code == NONE
    assert (configs["node.id"].value, configs["node.id"].read_only) == ("1", True)
    assert configs["log.dirs"].config_source == STATIC_BROKER
    assert configs["message.max.bytes"].read_only is False
    assert configs["num.network.threads"].config_source == DEFAULT


UNKNOWN = [
    (TOPIC, "never-created", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
    (BROKER, "7", ErrorCode.INVALID_REQUEST),
    (BROKER, "one", ErrorCode.INVALID_REQUEST),
    (77, "x", ErrorCode.INVALID_REQUEST),
]


@pytest.mark.parametrize("version", lowest_and_highest(DESCRIBE_CONFIGS))
@pytest.mark.parametrize(("kind", "name", "error_code"), UNKNOWN)
def test_resources_that_are_not_there(wire, version, kind, name, error_code):
    assert describe(wire, kind, name, version=version) == (error_code, {})


@pytest.mark.parametrize("version", lowest_and_highest(DESCRIBE_CONFIGS))
def test_a_type_that_does_not_exist_takes_the_others_with_it(wire, version):
    named = ((TOPIC, create_topic(wire).name), (77, "x"), (TOPIC, "never-created"))
    request = DescribeConfigsRequest(tuple(DescribeConfigsResource(*one, None) for one in named))
    results = wire.call(DESCRIBE_CONFIGS, version, request).results
    assert {(r.resource_type, r.resource_name, r.error_code, r.configs) for r in results} == {
        (*one, ErrorCode.INVALID_REQUEST, ()) for one in named
    }


# -- IncrementalAlterConfigs ---------------------------------------------------------------------

VERSIONS = lowest_and_highest(INCREMENTAL_ALTER_CONFIGS)


@pytest.mark.parametrize("version", VERSIONS)
def test_single_configs_are_set_and_deleted(wire, version):
    topic = create_topic(wire, retention_ms="1234")
    operations = (("segment.bytes", SET, "2000000"), ("retention.ms", DELETE, None))
    assert alter(wire, version, TOPIC, topic.name, *operations) == NONE
    await_value(wire, topic.name, "segment.bytes", "2000000")
    await_value(wire, topic.name, "retention.ms", "604800000")


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_are_appended_to_and_subtracted_from(wire, version):
    topic = create_topic(wire)
    key = "cleanup.policy"
    for operation, operand, value in (
        (APPEND, "compact", "delete,compact"),
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, " delete", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (APPEND, ",", "compact"),
        (SET, "delete", "delete"),
    ):
        assert alter(wire, version, TOPIC, topic.name, (key, operation, operand)) == NONE
        await_value(wire, topic.name, key, value)


REFUSED = {
    "an unknown key": ([("no.such.key", SET, "1")], ErrorCode.INVALID_CONFIG),
    "no number": ([("retention.ms", SET, "soon")], ErrorCode.INVALID_CONFIG),
    "out of range": ([("segment.bytes", SET, "1")], ErrorCode.INVALID_CONFIG),
    "a choice that is none": ([("compression.type", SET, "lzma")], ErrorCode.INVALID_CONFIG),
    "an append to a number": ([("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
    "an append of nothing": ([("cleanup.policy", APPEND, "")], ErrorCode.INVALID_CONFIG),
    "no value": ([("retention.ms", SET, None)], ErrorCode.INVALID_REQUEST),
    "a key given twice": (
        [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        ErrorCode.INVALID_REQUEST,
    ),
    "one of two is wrong": (
        [("retention.ms", SET, "1"), ("segment.bytes", SET, "1")],
        ErrorCode.INVALID_CONFIG,
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("operations", "error_code"), REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_change_changes_nothing(wire, version, operations, error_code):
    topic = create_topic(wire)
    assert alter(wire, version, TOPIC, topic.name, *operations) == error_code
    assert value_of(wire, TOPIC, topic.name, "retention.ms") == "604800000"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("kind", "name", "error_code"),
    [
        (TOPIC, "never-created", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "", ErrorCode.INVALID_REQUEST),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (77, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_changes_to_what_is_not_there(wire, version, kind, name, error_code):
    assert alter(wire, version, kind, name, ("retention.ms", SET, "1")) == error_code
    assert replace(wire, version, kind, name, {"retention.ms": "1"}) == error_code


@pytest.mark.parametrize(
    ("operations", "error_code"),
    [
        ([("retention.ms", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, "1"), ("retention.ms", SET, "2")], ErrorCode.INVALID_REQUEST),
        ([("retention.ms", SET, "soon")], ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
    ids=["an append to a number", "a key given twice", "no number"],
)
def test_operations_come_before_the_name_and_values_after_it(wire, operations, error_code):
    assert alter(wire, VERSIONS[1], TOPIC, "a b", *operations) == error_code


@pytest.mark.parametrize("version", VERSIONS)
def test_validate_only_changes_nothing(wire, version):
    topic = create_topic(wire)
    operation = ("retention.ms", SET, "1")
    assert alter(wire, version, TOPIC, topic.name, operation, validate_only=True) == NONE
    assert value_of(wire, TOPIC, topic.name, "retention.ms") == "604800000"


def test_resources_are_to_be_named_once(wire):
    topic, other = create_topic(wire), create_topic(wire)
    configs = (incremental_alter_configs.AlterableConfig("retention.ms", SET, "1"),)
    resources = tuple(
        incremental_alter_configs.AlterConfigsResource(TOPIC, name, configs)
        for name in (topic.name, other.name, topic.name)
    )
    request = IncrementalAlterConfigsRequest(resources)
    responses = wire.call(INCREMENTAL_ALTER_CONFIGS, VERSIONS[1], request).responses
    assert {(r.resource_name, r.error_code) for r in responses} == {
        (topic.name, ErrorCode.INVALID_REQUEST),
        (other.name, NONE),
    }


# -- AlterConfigs --------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ALTER_CONFIGS.versions)
def test_all_configs_are_replaced(wire, version):
    topic = create_topic(wire, retention_ms="1234", segment_bytes="2000000")
    assert replace(wire, version, TOPIC, topic.name, {"retention.ms": "99"}) == NONE
    await_value(wire, topic.name, "retention.ms", "99")
    await_value(wire, topic.name, "segment.bytes", "1073741824")


@pytest.mark.parametrize("version", lowest_and_highest(ALTER_CONFIGS))
def test_a_refused_replacement_changes_nothing(wire, version):
    topic = create_topic(wire, retention_ms="1234")
    for configs, error_code in (
        ({"no.such.key": "1"}, ErrorCode.INVALID_CONFIG),
        ({"segment.bytes": "x"}, ErrorCode.INVALID_CONFIG),
        ({"segment.bytes": None}, ErrorCode.INVALID_REQUEST),
    ):
        assert replace(wire, version, TOPIC, topic.name, configs) == error_code
    assert replace(wire, version, TOPIC, topic.name, {}, validate_only=True) == NONE
    assert value_of(wire, TOPIC, topic.name, "retention.ms") == "1234"


# -- the broker's --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1", ""])
def test_a_running_broker_takes_changes(wire, name):
    """To one broker, and to all of them, whose name is empty."""
    source = DYNAMIC_BROKER if name else DYNAMIC_DEFAULT
    key = "log.retention.ms"
    assert alter(wire, VERSIONS[1], BROKER, name, (key, SET, "555000")) == NONE
    await_value(wire, "1", key, "555000", BROKER)
    _, configs = describe(wire, BROKER, name, key)
    assert (configs[key].value, configs[key].config_source) == ("555000", source)
    topic = create_topic(wire)
    await_value(wire, topic.name, "retention.ms", "555000")
    assert alter(wire, VERSIONS[1], BROKER, name, (key, DELETE, None)) == NONE
    await_value(wire, topic.name, "retention.ms", "604800000")


@pytest.mark.parametrize(
    "operation",
    [("node.id", SET, "3"), ("log.retention.ms", SET, "soon"), ("log.dirs", SET, "/elsewhere")],
)
def test_a_running_broker_refuses(wire, operation):
    assert alter(wire, VERSIONS[1], BROKER, "1", operation) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("name", ["1", ""])
@pytest.mark.parametrize("key", ["node.id", "no.such.key"])
def test_what_is_not_set_can_be_deleted(wire, name, key):
    assert alter(wire, VERSIONS[1], BROKER, name, (key, DELETE, None)) == NONE


# -- effects -------------------------------------------------------------------------------------


def test_a_changed_config_takes_effect_at_once(wire):
    topic = create_topic(wire)
    large = batch(b"x" * 2000)
    assert produce_to(wire, topic, large).error_code == NONE
    alter(wire, VERSIONS[1], TOPIC, topic.name, ("max.message.bytes", SET, "1000"))
    await_value(wire, topic.name, "max.message.bytes", "1000")
    wait_until(
        lambda: produce_to(wire, topic, large).error_code == ErrorCode.MESSAGE_TOO_LARGE,
        5.0,
        "the limit to take effect",
    )


def test_changes_outlive_a_restart(tmp_path):
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        topic = create_topic(wire, retention_ms="1234")
        alter(wire, VERSIONS[1], TOPIC, topic.name, ("max.message.bytes", SET, "1000"))
        alter(wire, VERSIONS[1], BROKER, "1", ("log.retention.bytes", SET, "777"))
        alter(wire, VERSIONS[1], BROKER, "", ("log.roll.ms", SET, "888000"))
        await_value(wire, topic.name, "max.message.bytes", "1000")
    with start_broker(tmp_path) as servers, Wire(servers) as wire:
        for key, value in (
            ("retention.ms", "1234"),
            ("max.message.bytes", "1000"),
            ("retention.bytes", "777"),
            ("segment.ms", "888000"),
        ):
            await_value(wire, topic.name, key, value)
        response = produce_to(wire, topic, batch(b"x" * 2000))
        assert response.error_code == ErrorCode.MESSAGE_TOO_LARGE
