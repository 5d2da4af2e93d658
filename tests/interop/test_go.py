"""franz-go: groups of its consumers, its administration, its producer with every codec."""

import pytest

from interop import scenarios
from interop.go_programs import member_of
from interop.programs import steps_of

# The first build compiles franz-go.
pytestmark = [pytest.mark.interop, pytest.mark.timeout(400)]

ADMINISTRATION = {
    "describe_cluster": {"nodes": [1], "controller": 1, "has_id": True},
    "create_topic": {
        "has_id": True,
        "partitions": 2,
        "again": "TOPIC_ALREADY_EXISTS",
        "fewer": "INVALID_PARTITIONS",
    },
    "alter_configs": {"error": "NONE", "max.message.bytes": "4000", "retention.ms": "-1"},
    "produce": {"none": 19, "gzip": 39, "snappy": 59, "lz4": 79, "zstd": 99},
    "read": {"counts": {"none": 20, "gzip": 20, "snappy": 20, "lz4": 20, "zstd": 20}},
    "list_offsets": {"start": [0, 0, 0], "end": [100, 0, 0], "middle": [42, 0, 0]},
    "commit_offsets": {
        "offset": 70,
        "metadata": "seventy",
        "leader_epoch": 0,
        "partitions": [0, 1],
        "lag": 30,
    },
    "describe_group": {
        "state": "Empty",
        "coordinator": 1,
        "missing": "Dead",
        "missing_error": "GROUP_ID_NOT_FOUND",
        "is_listed": True,
        "is_listed_empty": True,
        "is_listed_stable": False,
        "missing_is_listed": False,
    },
    "protect_group": {
        "state": "Stable",
        "protocol": "range",
        "instance": "instance-1",
        "assigned": 3,
        "commit": "UNKNOWN_MEMBER_ID",
        "delete_offsets": "GROUP_SUBSCRIBED_TO_TOPIC",
        "delete": "NON_EMPTY_GROUP",
    },
    "remove_member": {"error": "NONE", "again": "UNKNOWN_MEMBER_ID", "state": "Empty"},
    "delete_group": {
        "delete_offsets": "NONE",
        "left": [1],
        "again": "GROUP_ID_NOT_FOUND",
        "gone": [],
    },
    "delete_records": {"low_watermark": 30, "start": [30, 0, 0], "has_size": True},
    "delete_topic": {"again": "UNKNOWN_TOPIC_OR_PARTITION"},
}


@pytest.fixture
def client(go_binary):
    return member_of(go_binary)


def test_members_come_and_go(stage):
    scenarios.members_come_and_go(stage)


def test_a_static_member_bounces(stage):
    scenarios.static_member_bounces(stage)


def test_a_static_member_is_replaced(stage):
    scenarios.static_member_is_replaced(stage, fenced="FENCED_INSTANCE_ID")


def test_cooperative_members_keep_what_they_keep(stage):
    scenarios.only_what_moves_is_revoked(stage)


def test_eager_members_give_up_everything(stage):
    scenarios.everything_is_revoked(stage)


def test_administration(go_binary, servers, tmp_path):
    steps = steps_of([go_binary, "admin", servers, "go-topic", "go-group"], tmp_path)
    assert steps == ADMINISTRATION
