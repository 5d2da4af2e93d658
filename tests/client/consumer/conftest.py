from collections.abc import Iterator

import pytest

from client.consumer.stage import Stage
from support.brokers import start_broker


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    settings = {"group.min.session.timeout.ms": "100", "auto.create.topics.enable": "false"}
    with start_broker(tmp_path_factory.mktemp("broker"), settings) as servers:
        yield Stage(servers)
