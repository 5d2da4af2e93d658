"""Programs of ours on Kafka's Java client: what no tool of it calls, and the order of callbacks."""

import pytest

from interop.callbacks import CALLBACKS, expected_steps
from interop.java_programs import ASSIGNORS, compile_ours, java_command, member_command
from interop.programs import steps_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

ADMINISTRATION = {
    "describe_cluster": {"nodes": [1], "controller": 1, "has_id": True},
    "create_topic": {
        "partitions": 2,
        "replication_factor": 1,
        "retention_ms": "-1",
        "has_id": True,
        "again": "TopicExistsException",
    },
    "create_partitions": {
        "fewer": "InvalidPartitionsException",
        "unknown": "UnknownTopicOrPartitionException",
    },
    "alter_configs": {
        "appended": "delete,compact",
        "subtracted": "delete",
        "set": "4000",
        "deleted": "1048588",
        "source": "DEFAULT_CONFIG",
        "wrong": "InvalidConfigurationException",
    },
    "produce": {"last_offset": 9},
    "list_offsets": {
        "earliest": 0,
        "latest": 10,
        "max_timestamp": 9,
        "at_the_fifth": 4,
        "in_the_future": -1,
    },
    "delete_records": {"low_watermark": 3, "earliest": 3, "too_far": "OffsetOutOfRangeException"},
    "describe_log_dirs": {"partitions": [0, 1, 2], "has_data": True},
    "alter_group_offsets": {"offset": 7, "metadata": "seven", "leader_epoch": 0, "second": 0},
    "describe_group": {
        "state": "Empty",
        "type": "Classic",
        "is_simple": True,
        "coordinator": 1,
        "members": 0,
        "is_listed": True,
        "unknown": "GroupIdNotFoundException",
    },
    "delete_group_offsets": {"left": [1]},
    "delete_group": {"left": 0, "again": "GroupIdNotFoundException"},
    "delete_topic": {"again": "UnknownTopicOrPartitionException"},
}


@pytest.fixture
def client():
    return member_command


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    compile_ours(folder)
    return folder


def test_administration(classes, servers, tmp_path):
    arguments = (servers, "java-topic", "java-group")
    steps = steps_of(java_command("AdminSteps", *arguments, classes=classes), tmp_path)
    assert steps == ADMINISTRATION


@pytest.mark.parametrize("assignor", CALLBACKS)
def test_the_order_of_callbacks(classes, stage, assignor, tmp_path):
    arguments = (stage.servers, stage.topic.name, stage.group_id, ASSIGNORS[assignor])
    steps = steps_of(java_command("ConsumerSteps", *arguments, classes=classes), tmp_path)
    assert steps == expected_steps(assignor)
