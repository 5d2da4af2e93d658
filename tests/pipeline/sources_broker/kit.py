"""Topics with known records, and what a reader makes of them without Spark."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql.types import StructType

from drumbeat.client import SyncAdmin, SyncProducer
from drumbeat.client.admin import NewTopic
from drumbeat.pipeline.sources.broker_source import BrokerDataSource
from drumbeat.pipeline.sources.broker_stream import BrokerStreamReader
from support.data_topics import fresh_name

FIRST_TIMESTAMP = 1_000_000
NO_SCHEMA = StructType([])


def new_topic(admin: SyncAdmin, partitions: int = 1, **configs: str) -> str:
    name = fresh_name()
    topic = NewTopic(name=name, num_partitions=partitions, replication_factor=1, configs=configs)
    admin.create_topics([topic])
    return name


def produce(
    servers: str, topic: str, numbers: Iterable[int], partition: int = 0, **options: Any
) -> None:
    """Record n: value b"n", key b"k<n>" or null for every third, timestamp FIRST_TIMESTAMP + n."""
    with SyncProducer(bootstrap_servers=servers, **options) as producer:
        sent = [
            producer.send(
                topic,
                b"%d" % n,
                key=None if n % 3 == 0 else b"k%d" % n,
                partition=partition,
                timestamp_ms=FIRST_TIMESTAMP + n,
            )
            for n in numbers
        ]
        producer.flush()
    for one in sent:
        one.result()


def options_for(servers: str, topic: str, **options: Any) -> dict[str, str]:
    told = {name: str(value) for name, value in options.items()}
    return {"kafka.bootstrap.servers": servers, "subscribe": topic, **told}


def read_rows(options: Mapping[str, str]) -> list[dict[str, Any]]:
    """What a batch reader yields, task by task."""
    reader = BrokerDataSource(dict(options)).reader(NO_SCHEMA)
    return [
        row
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for row in batch.to_pylist()
    ]


def places(rows: Iterable[Mapping[str, Any]]) -> list[tuple[int, int]]:
    return [(row["partition"], row["offset"]) for row in rows]


def stream_reader(options: Mapping[str, str]) -> BrokerStreamReader:
    return BrokerDataSource(dict(options)).streamReader(NO_SCHEMA)
