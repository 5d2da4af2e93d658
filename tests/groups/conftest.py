"""One broker for the tests that do not need their own, with the golden observations' settings."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from drumbeat.protocol.apis import find_coordinator, heartbeat
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.testing import Cluster
from groups.wire_coordinator import WireCoordinator
from support.brokers import IS_KAFKA, start_broker
from support.data_topics import Topic, create_topic
from support.waiting import wait_until
from support.wire import Wire

GOLDEN_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
}
GOLDEN_TOPICS = ("t1", "t2", "t3")


def create_golden_topics(bootstrap_servers: str) -> dict[str, Topic]:
    with Wire(bootstrap_servers) as wire:
        return {name: create_topic(wire, name, partitions=4) for name in GOLDEN_TOPICS}


def await_coordinator(bootstrap_servers: str) -> None:
    """Kafka makes the offsets topic when it is first asked for it, and serves it a little later."""

    def is_served() -> bool:
        wire.call(find_coordinator.API, 0, FindCoordinatorRequest("any"))
        answer = wire.call(heartbeat.API, 0, HeartbeatRequest("any", 1, "m"))
        return bool(answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID)

    with Wire(bootstrap_servers) as wire:
        wait_until(is_served, 20.0, "groups are served")


@contextmanager
def golden(folder: Path, settings: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Topic]]]:
    """Bootstrap servers and topics of a broker in which nothing has happened yet."""
    with ExitStack() as stack:
        chosen = {**GOLDEN_SETTINGS, **settings}
        if IS_KAFKA:
            one_partition = {**chosen, "offsets.topic.num.partitions": "1"}
            servers = stack.enter_context(start_broker(folder, one_partition))
        else:
            servers = stack.enter_context(Cluster(chosen)).bootstrap_servers
        topics = create_golden_topics(servers)
        await_coordinator(servers)
        yield servers, topics


@pytest.fixture(scope="session")
def golden_broker(tmp_path_factory: pytest.TempPathFactory):
    with golden(tmp_path_factory.mktemp("golden"), {}) as broker:
        yield broker


@pytest.fixture
def own_broker(tmp_path: Path):
    """Start a broker with these settings, for this test only."""
    with ExitStack() as brokers:
        yield lambda settings: brokers.enter_context(golden(tmp_path, settings))


@pytest.fixture
def coordinator(golden_broker):
    with WireCoordinator(golden_broker[0]) as connected:
        yield connected


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory):
    """A node for clients of any library; what they do with it does not depend on whose it is."""
    settings = {"group.min.session.timeout.ms": "100"}
    with ExitStack() as stack:
        if IS_KAFKA:
            folder = tmp_path_factory.mktemp("clients")
            yield stack.enter_context(start_broker(folder, settings))
        else:
            yield stack.enter_context(Cluster(settings)).bootstrap_servers
