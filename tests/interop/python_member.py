"""A member on one of Python's libraries that reports as Kafka's VerifiableConsumer does.

Run as a program: LIBRARY SERVERS GROUP TOPIC ASSIGNOR SESSION_TIMEOUT_MS [GROUP_INSTANCE_ID]
"""

import json
import signal
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))  # tests/, of which this is run alone

from support.kafka_python_joins import JoinReminder

HEARTBEAT_INTERVAL_MS = 300
POLL_S = 0.1

TopicPartition = tuple[str, int]


class Options(NamedTuple):
    servers: str
    group_id: str
    topic: str
    assignor: str
    session_timeout_ms: int
    group_instance_id: str | None = None


def report(name: str, **facts: Any) -> None:
    print(json.dumps({"name": name, **facts}), flush=True)


def report_partitions(name: str, partitions: Iterable[Any]) -> None:
    named = [{"topic": part.topic, "partition": part.partition} for part in partitions]
    report(name, partitions=named)


def report_read(ends: dict[TopicPartition, list[int]]) -> None:
    read = [
        {
            "topic": topic,
            "partition": partition,
            "count": len(offsets),
            "minOffset": offsets[0],
            "maxOffset": offsets[-1],
        }
        for (topic, partition), offsets in ends.items()
    ]
    report("records_consumed", count=sum(part["count"] for part in read), partitions=read)


def report_committed(ends: dict[TopicPartition, list[int]]) -> None:
    offsets = [
        {"topic": topic, "partition": partition, "offset": offsets[-1] + 1}
        for (topic, partition), offsets in ends.items()
    ]
    report("offsets_committed", success=True, offsets=offsets)


def run_confluent_kafka(options: Options, stopping: threading.Event) -> None:
    from confluent_kafka import Consumer

    assert options.group_instance_id is None
    consumer = Consumer(
        {
            "bootstrap.servers": options.servers,
            "group.id": options.group_id,
            "partition.assignment.strategy": options.assignor,
            "session.timeout.ms": options.session_timeout_ms,
            "heartbeat.interval.ms": HEARTBEAT_INTERVAL_MS,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(
        [options.topic],
        on_assign=lambda _, partitions: report_partitions("partitions_assigned", partitions),
        on_revoke=lambda _, partitions: report_partitions("partitions_revoked", partitions),
    )
    while not stopping.is_set():
        read: dict[TopicPartition, list[int]] = {}
        for message in consumer.consume(100, POLL_S):
            assert message.error() is None, message.error()
            read.setdefault((message.topic(), message.partition()), []).append(message.offset())
        if read:
            report_read(read)
            consumer.commit(asynchronous=False)
            report_committed(read)
    consumer.close()


def run_kafka_python(options: Options, stopping: threading.Event) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer
    from kafka.coordinator.assignors.range import RangePartitionAssignor

    class Listener(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Any) -> None:
            report_partitions("partitions_assigned", assigned)

        def on_partitions_revoked(self, revoked: Any) -> None:
            report_partitions("partitions_revoked", revoked)

    assert (options.assignor, options.group_instance_id) == ("range", None)
    consumer = KafkaConsumer(
        bootstrap_servers=options.servers,
        group_id=options.group_id,
        partition_assignment_strategy=[RangePartitionAssignor],
        session_timeout_ms=options.session_timeout_ms,
        heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    consumer.subscribe([options.topic], listener=Listener())
    joins = JoinReminder(consumer)
    while not stopping.is_set():
        joins.remind()
        polled = consumer.poll(timeout_ms=int(POLL_S * 1000))
        read = {
            (partition.topic, partition.partition): [record.offset for record in records]
            for partition, records in polled.items()
        }
        if read:
            report_read(read)
            consumer.commit()
            report_committed(read)
    consumer.close()


def run_drumbeat(options: Options, stopping: threading.Event) -> None:
    from drumbeat.client import RebalanceListener, SyncConsumer
    from drumbeat.client.errors import CommitFailedError, RebalanceInProgressError

    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions: Any) -> None:
            report_partitions("partitions_assigned", partitions)

        def on_partitions_revoked(self, partitions: Any) -> None:
            report_partitions("partitions_revoked", partitions)

    consumer = SyncConsumer(
        bootstrap_servers=options.servers,
        group_id=options.group_id,
        group_instance_id=options.group_instance_id,
        partition_assignment_strategy=options.assignor,
        session_timeout_ms=options.session_timeout_ms,
        heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    with consumer:
        consumer.subscribe([options.topic], listener=Listener())
        while not stopping.is_set():
            polled = consumer.poll(int(POLL_S * 1000))
            read = {tp: [record.offset for record in records] for tp, records in polled.items()}
            if not read:
                continue
            report_read(read)
            try:
                consumer.commit()
            except (CommitFailedError, RebalanceInProgressError) as problem:
                report("offsets_committed", success=False, error=str(problem), offsets=[])
            else:
                report_committed(read)


LIBRARIES = {
    "confluent-kafka": run_confluent_kafka,
    "kafka-python": run_kafka_python,
    "drumbeat": run_drumbeat,
}


def main() -> None:
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    library, servers, group_id, topic, assignor, session_timeout_ms, *instance = sys.argv[1:]
    options = Options(servers, group_id, topic, assignor, int(session_timeout_ms), *instance)
    LIBRARIES[library](options, stopping)


if __name__ == "__main__":
    main()
