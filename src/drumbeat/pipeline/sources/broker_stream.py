"""Topics as a stream: which offsets there are, how many a batch takes, what has been processed.

Offsets are kept in the checkpoint as {"topic": {"partition": offset}}. With a `group.id`, progress
is committed as that group's as well. Partitions that come later are read from their beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.sources.broker_ranges import (
    RangeInput,
    RangeReading,
    limit_ends,
    plan_inputs,
)
from drumbeat.pipeline.sources.brokers import PartitionEnds, ends_of
from drumbeat.pipeline.sources.group_progress import GroupProgress
from drumbeat.pipeline.sources.offsets_spec import Offsets, format_offsets, read_offsets
from drumbeat.pipeline.sources.options import ReadOptions

Told: TypeAlias = dict[str, dict[str, int]]


class BrokerStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in a process beside the driver for as long as the query runs; executors get a copy
    that has asked brokers nothing yet.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._reading = RangeReading.of(options)
        self._isolation_level = options.brokers.isolation_level
        self._started: SyncAdmin | None = None
        self._initial: Offsets | None = None
        self._latest: Offsets | None = None
        self._target: Offsets | None = None  # of a run that ends with what there was at its start
        self._progress = None if options.group_id is None else GroupProgress(options.group_id)

    # -- what there is ---------------------------------------------------------------------------

    def initialOffset(self) -> Told:  # noqa: N802 - Spark's name
        ends = self._ends()
        self._initial = self._options.start.resolve(self._admin(), ends)
        return format_offsets(self._initial)

    def latestOffset(self, start: Told, limit: ReadLimit) -> Told:  # noqa: N802 - Spark's name
        begun = read_offsets(start)
        if begun != self._initial:
            self._done(begun)  # Spark asks for more only when all before it is done
        ends = self._ends()
        self._check_loss(begun, ends)
        starts = {tp: begun.get(tp, one.log_start) for tp, one in ends.items()}
        latest = self._latest = {tp: one.end for tp, one in ends.items()}
        if self._target is not None:
            latest = self._before_target(starts, latest, self._target)
        if isinstance(limit, ReadMaxRows):
            latest = limit_ends(starts, latest, limit.max_rows)
        return format_offsets(latest)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = {tp: one.end for tp, one in self._ends().items()}

    def reportLatestOffset(self) -> Told | None:  # noqa: N802 - Spark's name
        return None if self._latest is None else format_offsets(self._latest)

    @staticmethod
    def _before_target(starts: Offsets, latest: Offsets, target: Offsets) -> Offsets:
        """Nothing that came after the run began, be it records or partitions."""
        return {
            tp: min(end, max(starts[tp], target[tp])) for tp, end in latest.items() if tp in target
        }

    def _ends(self) -> Mapping[TopicPartition, PartitionEnds]:
        admin = self._admin()
        return ends_of(admin, self._options.choice.partitions(admin), self._isolation_level)

    def _check_loss(self, begun: Offsets, ends: Mapping[TopicPartition, PartitionEnds]) -> None:
        if not self._options.fails_on_data_loss:
            return
        for tp, offset in begun.items():
            known = ends.get(tp)
            if known is not None and known.log_start <= offset <= known.end:
                continue
            there = "is gone" if known is None else f"has {known.log_start} up to {known.end}"
            raise SourceError(
                f"the stream has read {tp} up to offset {offset}, but the partition {there}: "
                "records are lost that should have been read. Begin anew with another checkpoint, "
                "or go on without them with the option failOnDataLoss=false"
            )

    # -- what is read ----------------------------------------------------------------------------

    def partitions(self, start: Told, end: Told) -> Sequence[RangeInput]:
        starts, ends = read_offsets(start), read_offsets(end)
        new = ends.keys() - starts.keys()
        if new:
            found = ends_of(self._admin(), sorted(new), self._isolation_level)
            starts |= {tp: one.log_start for tp, one in found.items()}
        return plan_inputs(starts, ends, self._options.min_partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading.rows(partition)

    # -- what is done ----------------------------------------------------------------------------

    def commit(self, end: Told) -> None:
        self._done(read_offsets(end))

    def stop(self) -> None:
        admin, self._started = self._started, None
        if admin is not None:
            admin.close()

    def _done(self, offsets: Offsets) -> None:
        if self._progress is not None:
            self._progress.commit(self._admin(), offsets)

    def _admin(self) -> SyncAdmin:
        if self._started is None:
            admin = self._options.brokers.admin()
            admin.start()
            self._started = admin
            if self._progress is not None:
                self._progress.check(admin)
        return self._started
