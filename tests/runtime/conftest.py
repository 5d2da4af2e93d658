"""One broker for all tests that do not need their own, and a connection to it for each."""

import pytest

from support.brokers import start_broker
from support.wire import Wire


@pytest.fixture(scope="session")
def bootstrap_servers(tmp_path_factory):
    with start_broker(tmp_path_factory.mktemp("broker")) as servers:
        yield servers


@pytest.fixture
def wire(bootstrap_servers):
    with Wire(bootstrap_servers) as connection:
        yield connection
