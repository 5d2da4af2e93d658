"""One broker for the tests that do not need their own, with the golden observations' settings."""

from pathlib import Path

import pytest
from groups.wire_coordinator import WireCoordinator
from support.brokers import start_broker
from support.data_topics import Topic, create_topic
from support.wire import Wire

GOLDEN_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
}
GOLDEN_TOPICS = ("t1", "t2", "t3")


def create_golden_topics(bootstrap_servers: str) -> dict[str, Topic]:
    with Wire(bootstrap_servers) as wire:
        return {name: create_topic(wire, name, partitions=4) for name in GOLDEN_TOPICS}


@pytest.fixture(scope="session")
def golden_broker(tmp_path_factory: pytest.TempPathFactory):
    """Bootstrap servers and topics."""
    with start_broker(tmp_path_factory.mktemp("golden"), GOLDEN_SETTINGS) as bootstrap_servers:
        yield bootstrap_servers, create_golden_topics(bootstrap_servers)


@pytest.fixture
def own_broker(tmp_path: Path):
    """Start a broker with these settings, for this test only; bootstrap servers and topics."""
    from contextlib import ExitStack

    with ExitStack() as brokers:

        def start(settings: dict[str, str]) -> tuple[str, dict[str, Topic]]:
            servers = brokers.enter_context(start_broker(tmp_path, {**GOLDEN_SETTINGS, **settings}))
            return servers, create_golden_topics(servers)

        yield start


@pytest.fixture
def coordinator(golden_broker):
    with WireCoordinator(golden_broker[0]) as connected:
        yield connected
