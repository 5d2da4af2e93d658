"""The broker that wire-level tests talk to.

It is Drumbeat in this process. With DRUMBEAT_TEST_BROKER=kafka it is Apache Kafka instead, so that
`make interop` can check that what these tests expect is what Kafka answers.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from drumbeat.testing import Cluster

BROKER_VARIABLE = "DRUMBEAT_TEST_BROKER"
IS_KAFKA = os.environ.get(BROKER_VARIABLE) == "kafka"


@contextmanager
def start_broker(data_dir: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Bootstrap servers of a broker whose data are in `data_dir` and outlive it."""
    if IS_KAFKA:
        from interop.kafka_jars import start_kafka

        with start_kafka(data_dir, settings) as bootstrap_servers:
            yield bootstrap_servers
    else:
        with Cluster(settings, data=str(data_dir)) as cluster:
            yield cluster.bootstrap_servers
