"""Offsets logs as a busy cluster writes them, of any size, always the same for the same seed.

`write_log` makes partition directories of `__consumer_offsets` in Kafka's file format: thousands
of groups of all types with commits, rebalances, storms, stalls, resets, transactions, deletions.
`watermark_samples` gives the end offsets of the topics that those groups consume.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

import pyarrow as pa

from drumbeat.log.names import directory_name
from drumbeat.log.port import TopicPartition
from drumbeat.pipeline.generator.partition import PartitionLog
from drumbeat.pipeline.generator.plan import DEFAULT_START_MS, LogPlan, make_plan
from drumbeat.pipeline.generator.segments import SegmentWriter
from drumbeat.pipeline.generator.watermarks import CLUSTER_ID, samples
from drumbeat.pipeline.sources.log_folder import META_PROPERTIES

TOPIC: Final = "__consumer_offsets"
LOG_PARTITIONS: Final = 50
SEGMENT_BYTES: Final = 100 * 1024 * 1024  # Kafka's offsets.topic.segment.bytes

__all__ = ["LogSummary", "watermark_samples", "write_data_directory", "write_log"]


class LogSummary(NamedTuple):
    records: int
    batches: int
    bytes: int
    groups: int
    start_ms: int
    end_ms: int


def write_log(
    directory: str | os.PathLike[str],
    *,
    records: int,
    groups: int = 2_000,
    seed: int = 0,
    segment_bytes: int = SEGMENT_BYTES,
) -> LogSummary:
    """Writes exactly `records` records below `directory`, whose partitions must not exist yet."""
    if records < 0 or groups < 1:
        raise ValueError(f"{records} records of {groups} groups: at least 0 of at least 1")
    plan = plan_of(records=records, groups=groups, seed=seed)
    batches = size = last_ms = 0
    for log_partition, quota in enumerate(_quotas(plan, records)):
        name = directory_name(TopicPartition(TOPIC, log_partition))
        log = PartitionLog(plan, plan.groups_of(log_partition), quota)
        with SegmentWriter(os.path.join(directory, name), segment_bytes) as writer:
            log.write(writer)
        batches += log.batches
        size += writer.bytes_written
        last_ms = max(last_ms, log.last_ms)
    end_ms = plan.start_ms + last_ms
    return LogSummary(records, batches, size, groups, plan.start_ms, end_ms)


def write_data_directory(
    directory: str | os.PathLike[str], *, records: int, groups: int, seed: int
) -> LogSummary:
    """The log in a new directory that names its cluster, as that of a node does."""
    os.makedirs(directory, exist_ok=True)
    if os.listdir(directory):
        raise FileExistsError(f"{directory} is not empty")
    with open(os.path.join(directory, META_PROPERTIES), "x", encoding="utf-8") as file:
        file.write(f"version=1\ncluster.id={CLUSTER_ID}\n")
    return write_log(directory, records=records, groups=groups, seed=seed)


def watermark_samples(
    *, records: int, groups: int = 2_000, seed: int = 0, every_ms: int = 30_000
) -> Iterator[pa.RecordBatch]:
    """What a sampler would have seen beside the log that the same arguments give."""
    return samples(plan_of(records=records, groups=groups, seed=seed), every_ms)


def plan_of(*, records: int, groups: int, seed: int) -> LogPlan:
    return make_plan(
        records=records,
        groups=groups,
        seed=seed,
        log_partitions=LOG_PARTITIONS,
        start_ms=DEFAULT_START_MS,
    )


def _quotas(plan: LogPlan, records: int) -> list[int]:
    """How many records each log partition gets: in proportion to what its groups write."""
    paces = [0.0] * plan.log_partitions
    for group in plan.groups:
        paces[group.log_partition] += group.records_per_ms
    total = sum(paces)
    quotas = [int(records * pace / total) for pace in paces]
    busiest = max(range(plan.log_partitions), key=paces.__getitem__)
    quotas[busiest] += records - sum(quotas)
    return quotas
