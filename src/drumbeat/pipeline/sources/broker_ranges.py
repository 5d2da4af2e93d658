"""Which offsets a task reads, how many a batch of a stream takes, and the reading itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.sources.broker_records import record_rows
from drumbeat.pipeline.sources.brokers import Brokers
from drumbeat.pipeline.sources.fetching import read_batches
from drumbeat.pipeline.sources.offsets_spec import Offsets
from drumbeat.pipeline.sources.options import ReadOptions


class TopicRange(NamedTuple):
    """Offsets of one partition, the end excluded."""

    tp: TopicPartition
    start: int
    end: int


class RangeInput(InputPartition):
    """What one Spark task reads."""

    def __init__(self, topic_range: TopicRange) -> None:
        super().__init__(topic_range)


def plan_inputs(starts: Offsets, ends: Offsets, min_partitions: int | None) -> list[RangeInput]:
    """A task for each range that is not empty; more of them if `min_partitions` asks for it."""
    ranges = [
        TopicRange(tp, starts[tp], end) for tp, end in sorted(ends.items()) if starts[tp] < end
    ]
    if min_partitions is not None and len(ranges) < min_partitions:
        total = sum(each.end - each.start for each in ranges)
        ranges = [
            part
            for each in ranges
            for part in _split(each, ceil((each.end - each.start) * min_partitions / total))
        ]
    return [RangeInput(each) for each in ranges]


def _split(whole: TopicRange, count: int) -> Iterator[TopicRange]:
    size = whole.end - whole.start
    count = min(count, size)
    bounds = [whole.start + size * part // count for part in range(count + 1)]
    for start, end in pairwise(bounds):
        yield TopicRange(whole.tp, start, end)


def limit_ends(starts: Mapping[TopicPartition, int], ends: Offsets, limit: int) -> Offsets:
    """Ends with about `limit` offsets before them, shared out by what each partition has.

    Every partition that has something gets at least one: none may starve beside a large one.
    """
    sizes = {tp: max(0, end - starts[tp]) for tp, end in ends.items()}
    total = sum(sizes.values())
    if total <= limit:
        return dict(ends)
    shares = {tp: max(1, size * limit // total) for tp, size in sizes.items() if size}
    return {tp: starts[tp] + shares[tp] if tp in shares else end for tp, end in ends.items()}


@dataclass(frozen=True, slots=True)
class RangeReading:
    """All that executors have to know."""

    brokers: Brokers
    fails_on_data_loss: bool
    includes_headers: bool

    @classmethod
    def of(cls, options: ReadOptions) -> RangeReading:
        return cls(options.brokers, options.fails_on_data_loss, options.includes_headers)

    def rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:
            return  # what Spark plans where there is nothing to read
        tp, start, end = partition.value
        for fetched in read_batches(
            self.brokers, tp, start, end, fails_on_data_loss=self.fails_on_data_loss
        ):
            wanted = OffsetRange(fetched.start_offset, end)
            yield from record_rows(fetched, tp, wanted, includes_headers=self.includes_headers)
