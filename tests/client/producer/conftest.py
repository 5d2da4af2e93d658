"""One node for the producer's tests of a worker, and a foreign reader of what it stored."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.brokers import start_broker

with warnings.catch_warnings():
    # kafka-python reads its message schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaConsumer, TopicPartition

READ_TIMEOUT_MS = 10_000


@pytest.fixture(scope="session")
def bootstrap_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {"num.partitions": "3", "auto.create.topics.enable": "true"}
    with start_broker(tmp_path_factory.mktemp("producer"), settings) as bootstrap_servers:
        yield bootstrap_servers


@pytest.fixture
def read_back(bootstrap_servers: str) -> Callable[..., list[Any]]:
    """All records of a topic's partitions as kafka-python reads them."""

    def read(topic: str, partitions: int = 3, servers: str = bootstrap_servers) -> list[Any]:
        tps = [TopicPartition(topic, partition) for partition in range(partitions)]
        consumer = KafkaConsumer(
            bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False
        )
        consumer.assign(tps)
        consumer.seek_to_beginning()
        missing = sum(consumer.end_offsets(tps).values())
        records: list[Any] = []
        while len(records) < missing:
            polled = consumer.poll(timeout_ms=READ_TIMEOUT_MS)
            assert polled, f"{len(records)} of {missing} records of {topic}"
            records += [record for batch in polled.values() for record in batch]
        consumer.close()
        return records

    return read
