"""What `partition_assignment_strategy` takes, and what the answer to anything else says."""

import pytest

from drumbeat.client.assignors import assignor, assignors
from drumbeat.client.assignors.port import Assignor, RebalanceProtocol
from drumbeat.client.assignors.range import RangeAssignor
from drumbeat.client.assignors.sticky import StickyAssignor
from drumbeat.client.errors import ConfigError

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
BUILT_IN = {
    "range": ("RangeAssignor", (EAGER,)),
    "roundrobin": ("RoundRobinAssignor", (EAGER,)),
    "sticky": ("StickyAssignor", (EAGER,)),
    "cooperative-sticky": ("CooperativeStickyAssignor", (COOPERATIVE, EAGER)),
}


class Own:
    """An application's own: everything to the first member."""

    name = "own"
    protocols = (EAGER,)
    version = 3

    def subscription_user_data(self, topics):
        return None

    def assign(self, cluster, members):
        return {member_id: [] for member_id in members}

    def on_assignment(self, partitions, generation_id):
        pass


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in(name):
    class_name, protocols = BUILT_IN[name]
    one = assignor(name)
    assert isinstance(one, Assignor)
    assert (type(one).__name__, one.name, one.protocols, one.version) == (
        *(class_name, name, protocols),
        0,
    )
    assert type(assignor(f"org.apache.kafka.clients.consumer.{class_name}")) is type(one)
    assert assignor(name) is not one


def test_of_your_own():
    instance = Own()
    assert assignor(instance) is instance
    assert isinstance(assignor(Own), Own)
    chosen = assignors(["range", StickyAssignor, instance])
    assert [one.name for one in chosen] == ["range", "sticky", "own"]


REFUSED = [
    (["rnage"], "'rnage'"),
    ([], "empty"),
    (["range", RangeAssignor], "range, range"),
    ([object], "object"),
    ([5], "5 "),
]


@pytest.mark.parametrize(("strategy", "text"), REFUSED)
def test_refused(strategy, text):
    with pytest.raises(ConfigError, match=text) as refused:
        assignors(strategy)
    assert "partition_assignment_strategy" in str(refused.value)
