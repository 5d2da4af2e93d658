"""kafkajs: groups of its consumers, its administration; it speaks old versions of every API."""

import pytest

from interop import scenarios
from interop.node_programs import member_of, node_command
from interop.programs import steps_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

ADMINISTRATION = {
    "describe_cluster": {"nodes": [1], "controller": 1, "has_id": True},
    "create_topic": {
        "created": True,
        "again": False,
        "partitions": 3,
        "is_listed": True,
        "fewer": "INVALID_PARTITIONS",
    },
    "alter_configs": {"altered": "4000", "replaced": "1048588"},
    "produce": {"None": 0, "GZIP": 20},
    "consume": {
        "in_order": True,
        "state": "Stable",
        "protocol": "RoundRobinAssigner",
        "members": 1,
        "delete": "NON_EMPTY_GROUP",
    },
    "list_offsets": {"low": [0, 0, 0], "high": [40, 0, 0], "middle": [25, 0, 0]},
    # What it commits for "earliest" is not an offset; it asks for one when it reads from there.
    "reset_offsets": {"before": [40, -1, -1], "set": [7, -1, -1], "reset": [-2, -2, -2]},
    "list_groups": {
        "protocol_type": "consumer",
        "states": {"node-group": "Empty", "missing": "Dead"},
    },
    "delete_group": {
        "is_listed": False,
        "committed": [-1, -1, -1],
        "again": "GROUP_ID_NOT_FOUND",
    },
    "delete_records": {"low": 30},
    "delete_topic": {"is_listed": False},
}


@pytest.fixture
def client(node_modules):
    return member_of(node_modules)


def test_members_come_and_go(stage):
    scenarios.members_come_and_go(stage, "roundrobin")


def test_eager_members_give_up_everything(stage):
    scenarios.everything_is_revoked(stage, "roundrobin")


def test_administration(node_modules, servers, tmp_path):
    command = node_command(node_modules, "admin.js", servers, "node-topic", "node-group")
    assert steps_of(command, tmp_path) == ADMINISTRATION
