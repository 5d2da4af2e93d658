"""A node that is killed and started again, under clients of every language."""

import pytest

from interop.stage import Stage
from support.brokers import IS_KAFKA
from support.node_process import NodeProcess
from support.ports import free_ports

pytestmark = [
    pytest.mark.interop,
    pytest.mark.timeout(400),
    pytest.mark.skipif(IS_KAFKA, reason="starts Drumbeat itself"),
]


@pytest.fixture
def node(tmp_path):
    options = ("--data", str(tmp_path / "data"), "--set", "group.initial.rebalance.delay.ms=0")
    (port,) = free_ports(1)
    with NodeProcess(*options, logs=tmp_path / "node.log", port=port) as node:
        yield node


@pytest.mark.parametrize("name", ["java", "go", "node", "confluent-kafka", "kafka-python"])
def test_a_group_outlives_its_coordinator(node, clients, name, tmp_path):
    with Stage(node.bootstrap_servers, tmp_path, clients[name]) as stage:
        members = [stage.start() for _ in range(3)]
        stage.settle(*members)
        stage.produce()
        stage.consume(*members)
        before = [member.rebalances for member in members]

        node.kill()
        node.start()
        stage.reconnect()
        stage.produce()
        stage.consume(*members)
        stage.settle(*members)
        print(name, [m.rebalances for m in members] == before)
        stage.assert_each_record_once(*members)
        assert 0
