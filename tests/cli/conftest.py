"""One node for the command line's tests of a worker, and `drumbeat` against it."""

from collections.abc import Iterator

import pytest

from cli.running import Drumbeat, filled_topic
from drumbeat.client.admin import SyncAdmin
from drumbeat.testing import Cluster


@pytest.fixture(scope="session")
def servers() -> Iterator[str]:
    with Cluster({"log.retention.ms": "-1"}) as cluster:  # records of 1970 have to stay
        yield cluster.bootstrap_servers


@pytest.fixture(scope="session")
def drumbeat(servers: str) -> Drumbeat:
    return Drumbeat(servers)


@pytest.fixture(scope="session")
def admin(servers: str) -> Iterator[SyncAdmin]:
    with SyncAdmin(bootstrap_servers=servers) as admin:
        yield admin


@pytest.fixture
def orders(admin: SyncAdmin, drumbeat: Drumbeat) -> str:
    """A topic with ten records in each of two partitions, at the milliseconds 0, 100, 200 ..."""
    return filled_topic(admin, drumbeat.producer)
