"""Partition logs in numbers, under the names that Kafka gives them."""

from collections.abc import Callable, Iterator

from drumbeat.log.port import PartitionLog
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.metrics.exposition import (
    Family,
    Sample,
    counter,
    gauge,
    histogram_samples,
)
from drumbeat.runtime.partition import Partition

# name -> what it is, and where a log has it
_OF_A_LOG: dict[str, tuple[str, Callable[[PartitionLog], int]]] = {
    "size": ("Bytes of a partition's log.", lambda log: log.size_bytes),
    "logstartoffset": ("The first offset of a partition.", lambda log: log.start_offset),
    "logendoffset": ("The offset that the next record gets.", lambda log: log.end_offset),
}


def collect_logs(broker: Broker) -> Iterator[Family]:
    opened = broker.partitions.opened()
    yield gauge(
        "kafka_server_replicamanager_partitioncount", "Partitions that are open.", len(opened)
    )
    for name, (help_text, measure) in _OF_A_LOG.items():
        yield Family(f"kafka_log_log_{name}", "gauge", help_text, _of_each(opened, measure))
    if (sync_times := broker.storage.sync_times) is not None:
        yield Family(
            "drumbeat_log_sync_duration_seconds",
            "histogram",
            "Syncs of data files and of the commit journal: what a durable answer waits for.",
            histogram_samples({}, sync_times),
        )
    yield from _cleaner(broker)


def _of_each(
    opened: list[tuple[tuple[str, int], Partition]], measure: Callable[[PartitionLog], int]
) -> Iterator[Sample]:
    for (topic, index), partition in opened:
        yield Sample({"topic": topic, "partition": index}, measure(partition.log))


def _cleaner(broker: Broker) -> Iterator[Family]:
    cleaner = broker.cleaner
    yield counter("drumbeat_log_compactions_total", "Compactions completed.", cleaner.compactions)
    yield counter(
        "drumbeat_log_compacted_bytes_total",
        "Bytes that compaction made superfluous.",
        cleaner.compacted_bytes,
    )
    yield gauge(
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        "Partitions that compaction failed on and leaves alone.",
        cleaner.uncleanable_count,
    )
