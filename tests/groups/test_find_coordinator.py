"""FindCoordinator at every version: who serves a group, asked for one or for several."""

import pytest

from drumbeat.protocol.apis import describe_cluster, find_coordinator
from drumbeat.protocol.apis.describe_cluster import DescribeClusterRequest
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.testing import Cluster
from support.wire import Wire

VERSIONS = find_coordinator.API.versions
SEVERAL_SINCE = 4
GROUP, SHARE, UNKNOWN = 0, 2, 9
INVALID_REQUEST = 42
NOWHERE = (-1, "", -1)


@pytest.fixture(scope="module")
def wire():
    with Cluster() as cluster, Wire(cluster.bootstrap_servers) as connection:
        yield connection


def find(wire, version, *keys, key_type=GROUP):
    """(error code, where) of each key; one at a time in versions that cannot ask for more."""
    if version >= SEVERAL_SINCE:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
        found = wire.call(find_coordinator.API, version, request).coordinators
        assert tuple(coordinator.key for coordinator in found) == keys
    else:
        requests = [FindCoordinatorRequest(key, key_type) for key in keys]
        found = [wire.call(find_coordinator.API, version, request) for request in requests]
    return [(answer.error_code, (answer.node_id, answer.host, answer.port)) for answer in found]


def node_of(wire):
    (broker,) = wire.call(describe_cluster.API, 0, DescribeClusterRequest()).brokers
    return broker.broker_id, broker.host, broker.port


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("key", ["g", "", "grüße", "x" * 32_767], ids=["g", "none", "ü", "long"])
def test_any_group_has_one_whether_it_exists_or_not(wire, version, key):
    assert find(wire, version, key) == [(0, node_of(wire))]


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= SEVERAL_SINCE])
def test_several_are_answered_in_order_and_repeated(wire, version):
    assert find(wire, version, "b", "a", "b") == [(0, node_of(wire))] * 3
    assert find(wire, version) == []


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= 1])
@pytest.mark.parametrize("key_type", [UNKNOWN, -1, SHARE])
def test_other_types_of_keys_are_refused(wire, version, key_type):
    """A share group's key has three parts, and this is none."""
    assert find(wire, version, "g", key_type=key_type) == [(INVALID_REQUEST, NOWHERE)]


def test_the_first_question_of_all_makes_the_offsets_topic():
    """Kafka says COORDINATOR_NOT_AVAILABLE meanwhile; there is no need to."""
    with Cluster() as cluster, Wire(cluster.bootstrap_servers) as connection:
        assert find(connection, 4, "g")[0][0] == 0
