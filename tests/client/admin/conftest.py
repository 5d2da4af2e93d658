"""One node for the admin's tests of a worker."""

from collections.abc import Iterator

import pytest

from drumbeat.client.admin import SyncAdmin
from support.brokers import start_broker


@pytest.fixture(scope="session")
def bootstrap_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with start_broker(tmp_path_factory.mktemp("admin")) as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture(scope="session")
def admin(bootstrap_servers: str) -> Iterator[SyncAdmin]:
    """The synchronous one, whose methods are the asynchronous one's."""
    with SyncAdmin(bootstrap_servers=bootstrap_servers) as admin:
        yield admin
