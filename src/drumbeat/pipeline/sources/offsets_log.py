"""The offsets log of a cluster, wherever it is read from: what the jobs ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.sources.live_answers import LiveAnswers
from drumbeat.protocol.records import Record


class LogEnds(NamedTuple):
    """Where a partition begins and ends, and where readers of committed records stop."""

    log_start: int
    log_end: int
    lso: int | None = None  # None: nobody asked


class PastEnd(NamedTuple):
    """Where a partition ended at a time, as its records tell."""

    at_ms: int
    log_end: int
    max_ts: int | None  # of the last record before the end; None if it may be older


class Between(NamedTuple):
    """Two samples of a partition's end: what lies between them is asked for."""

    from_ms: int
    until_ms: int
    start: int  # the end at the first one
    end: int


class Segment(Protocol):
    """A stretch of a log partition that is read as one."""

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int:
        """The offset behind it; the largest number of all if more is being appended."""


class LogRange(Protocol):
    """What one task reads of a log partition. Travels to executors."""

    @property
    def source(self) -> LogPartition: ...

    @property
    def segments(self) -> Sequence[Segment]: ...

    @property
    def bytes(self) -> int:
        """About how much there is to read."""

    def decoded(self, segment: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Rows of `log_records`; SegmentGone if it is to be listed again, CorruptSegment behind
        the last sound one."""


class EventReader(Protocol):
    """One partition of `__group_events`, from an offset on. Travels to executors."""

    @property
    def bytes(self) -> int: ...

    def records(self) -> Iterator[Record]: ...


class OffsetsLog(Protocol):
    """As it was when it was last looked at."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def sampler(self) -> str:
        """How `watermarks` names who has asked for ends."""

    def refreshed(self) -> OffsetsLog:
        """As it is now."""

    def sources(self) -> list[LogPartition]: ...

    def ranges(
        self, source: LogPartition, wanted: OffsetRange, read: Sequence[OffsetRange] = ()
    ) -> Iterator[LogRange]:
        """What is to be read of the wanted offsets, apart from those that were `read` before."""

    def log_start(self, source: LogPartition) -> int | None:
        """The first offset that could be read; None if nothing of the partition is here."""

    def log_end(self, source: LogPartition) -> int | None:
        """The offset behind the last one; None if nobody knows."""

    def compacted(self, source: LogPartition) -> LogRange | None:
        """The partition as it stands, to be compared with all that was ever read of it; None if
        no cleaner has been through it, or nobody knows."""

    def topic_ends(self, topics: Sequence[str]) -> Mapping[tuple[str, int], LogEnds]:
        """Now; of these topics at least, as far as there still are any."""

    def past_ends(self, place: tuple[str, int], asked: Between, every_ms: int) -> Sequence[PastEnd]:
        """In the order of time, about one for each `every_ms`; none if nobody remembers."""

    def answers(self) -> LiveAnswers | None:
        """What the coordinators say now; None if there is nobody to ask."""

    def event_partitions(self) -> list[int]:
        """Of `__group_events`; none if the cluster has no such topic."""

    def event_reader(self, partition: int, start_offset: int) -> EventReader: ...
