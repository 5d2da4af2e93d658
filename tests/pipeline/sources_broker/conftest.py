"""One broker for all tests of a pytest worker; each test has topics of its own."""

from collections.abc import Iterator

import pytest

from drumbeat.client import SyncAdmin
from drumbeat.testing import Cluster


@pytest.fixture(scope="session")
def servers() -> Iterator[str]:
    with Cluster() as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture(scope="session")
def admin(servers: str) -> Iterator[SyncAdmin]:
    with SyncAdmin(bootstrap_servers=servers) as admin:
        yield admin
