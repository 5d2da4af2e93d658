"""The offsets log of a running cluster, read through its brokers, as the jobs ask for it.

Compaction has removed records before a broker serves them, and what it removed between two runs is
not seen: a folder with its `history/` tells more. For lag it is the better source, since brokers
also know where read_committed readers stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import pyarrow as pa

from drumbeat.client.admin.sync import SyncAdmin
from drumbeat.client.clock import now_ms
from drumbeat.client.errors import (
    CorruptRecordError,
    DrumbeatError,
    OffsetOutOfRangeError,
    UnknownTopicOrPartitionError,
)
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.decode.arena import Arena
from drumbeat.pipeline.decode.batches import OffsetRange, decode_walked
from drumbeat.pipeline.decode.errors import CorruptSegment, SegmentGone
from drumbeat.pipeline.decode.headers import walk
from drumbeat.pipeline.decode.table import Origin
from drumbeat.pipeline.errors import SourceError
from drumbeat.pipeline.manifest import LogPartition
from drumbeat.pipeline.offset_ranges import outside
from drumbeat.pipeline.sources.brokers import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    Brokers,
    PartitionEnds,
    ends_of,
    partitions_of,
)
from drumbeat.pipeline.sources.event_log import EVENTS_TOPIC, records_of
from drumbeat.pipeline.sources.fetching import NothingThere, read_batches
from drumbeat.pipeline.sources.live_answers import LiveAnswers, ask_groups
from drumbeat.pipeline.sources.log_folder import OFFSETS_TOPIC
from drumbeat.pipeline.sources.offsets_log import Between, LogEnds, PastEnd
from drumbeat.protocol.record_batch import CorruptBatch
from drumbeat.protocol.records import Record

RANGE_OFFSETS_MAX: Final = 1_000_000
_RECORD_BYTES: Final = 100  # a guess, for progress
_MET: Final = (CorruptRecordError, NothingThere)


class Stretch(NamedTuple):
    start_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class BrokerRange:
    """A stretch of one partition, fetched from its leader."""

    source: LogPartition
    brokers: Brokers
    segments: tuple[Stretch, ...]

    @property
    def bytes(self) -> int:
        return sum(end - start for start, end in self.segments) * _RECORD_BYTES

    def decoded(self, segment: Stretch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        origin, offset = Origin(*self.source), segment.start_offset
        tp = TopicPartition(OFFSETS_TOPIC, origin.log_partition)
        try:
            for fetched in read_batches(self.brokers, tp, *segment):
                arena = Arena.of(fetched.records)
                walked, wanted = walk(arena), OffsetRange(offset, segment.end_offset)
                bad = yield from decode_walked(origin, arena, walked.batches, wanted, schema)
                bad = bad or walked.bad
                if bad is not None:
                    raise CorruptSegment(f"{tp} from offset {offset} on", *bad)
                offset = fetched.next_offset
        except OffsetOutOfRangeError as problem:
            raise SegmentGone(str(problem)) from problem
        except _MET as problem:
            raise CorruptSegment(f"{tp} from offset {offset} on", 0, str(problem)) from problem


@dataclass(frozen=True, slots=True)
class BrokerEvents:
    """New records of one partition of `__group_events`."""

    brokers: Brokers
    tp: TopicPartition
    offsets: OffsetRange

    @property
    def bytes(self) -> int:
        return max(self.offsets.end - self.offsets.start, 0) * _RECORD_BYTES

    def records(self) -> Iterator[Record]:
        """As far as they can be read."""
        try:
            fetches = read_batches(self.brokers, self.tp, *self.offsets, fails_on_data_loss=False)
            for fetched in fetches:
                arena = Arena.of(fetched.records)
                yield from records_of(arena, walk(arena).batches)
        except (*_MET, CorruptBatch):
            return


@dataclass(frozen=True, slots=True)
class ClusterLog:
    brokers: Brokers
    cluster_id: str
    ends: Mapping[TopicPartition, PartitionEnds]  # of the offsets log, and of events

    @classmethod
    def open(
        cls, bootstrap_servers: str, cluster_id: str | None = None, **options: Any
    ) -> ClusterLog:
        """SourceError if no broker answers, or if none has an offsets log."""
        brokers = Brokers.at(bootstrap_servers, **options)
        with _asking(brokers) as admin:
            found = cluster_id or admin.describe_cluster().cluster_id
            if not found:
                raise SourceError(
                    f"{bootstrap_servers} does not say which cluster it is; say it with "
                    "--cluster-id"
                )
            ends = _internal_ends(admin)
            if not any(tp.topic == OFFSETS_TOPIC for tp in ends):
                raise SourceError(
                    f"the cluster at {bootstrap_servers} has no topic {OFFSETS_TOPIC} yet: no "
                    "group has ever joined or committed"
                )
            return cls(brokers, found, ends)

    @property
    def sampler(self) -> str:
        return "brokers"

    def refreshed(self) -> ClusterLog:
        with _asking(self.brokers) as admin:
            return ClusterLog(self.brokers, self.cluster_id, _internal_ends(admin))

    def sources(self) -> list[LogPartition]:
        return [
            LogPartition(self.cluster_id, tp.partition)
            for tp in sorted(self.ends)
            if tp.topic == OFFSETS_TOPIC
        ]

    def ranges(
        self, source: LogPartition, wanted: OffsetRange, read: Sequence[OffsetRange] = ()
    ) -> Iterator[BrokerRange]:
        for start, end in outside(wanted.within(OffsetRange(*self._ends(source))), read):
            for first in range(start, end, RANGE_OFFSETS_MAX):
                stretch = Stretch(first, min(first + RANGE_OFFSETS_MAX, end))
                yield BrokerRange(source, self.brokers, (stretch,))

    def log_start(self, source: LogPartition) -> int | None:
        return self._ends(source).log_start

    def log_end(self, source: LogPartition) -> int | None:
        return self._ends(source).end

    def compacted(self, _source: LogPartition) -> None:
        """Brokers do not tell how far their cleaners came."""

    def topic_ends(self, topics: Sequence[str]) -> Mapping[tuple[str, int], LogEnds]:
        with _asking(self.brokers) as admin:
            known = set(admin.list_topics(include_internal=True))
            partitions = partitions_of(admin, known.intersection(topics))
            uncommitted = ends_of(admin, partitions, READ_UNCOMMITTED)
            committed = ends_of(admin, partitions, READ_COMMITTED)
        return {tp: LogEnds(*ends, lso=committed[tp].end) for tp, ends in uncommitted.items()}

    def past_ends(
        self, _place: tuple[str, int], _asked: Between, _every_ms: int
    ) -> tuple[PastEnd, ...]:
        """Brokers would have to be asked once for each time and partition."""
        return ()

    def answers(self) -> LiveAnswers:
        with _asking(self.brokers) as admin:
            asked_ms, ends = now_ms(), _internal_ends(admin)
            groups = ask_groups(admin)
        of_log = {tp.partition: end.end for tp, end in ends.items() if tp.topic == OFFSETS_TOPIC}
        return LiveAnswers(asked_ms, of_log, groups)

    def event_partitions(self) -> list[int]:
        return sorted(tp.partition for tp in self.ends if tp.topic == EVENTS_TOPIC)

    def event_reader(self, partition: int, start_offset: int) -> BrokerEvents:
        tp = TopicPartition(EVENTS_TOPIC, partition)
        log_start, end = self.ends[tp]
        return BrokerEvents(self.brokers, tp, OffsetRange(max(start_offset, log_start), end))

    def _ends(self, source: LogPartition) -> PartitionEnds:
        return self.ends.get(TopicPartition(OFFSETS_TOPIC, source.log_partition), _NOWHERE)


_NOWHERE: Final = PartitionEnds(0, 0)


@contextmanager
def _asking(brokers: Brokers) -> Iterator[SyncAdmin]:
    try:
        with brokers.admin() as admin:
            yield admin
    except DrumbeatError as problem:
        servers = brokers.options["bootstrap.servers"]
        raise SourceError(f"cannot read from brokers at {servers}: {problem}") from problem


def _internal_ends(admin: SyncAdmin) -> dict[TopicPartition, PartitionEnds]:
    known = set(admin.list_topics(include_internal=True))
    try:
        partitions = partitions_of(admin, known & {OFFSETS_TOPIC, EVENTS_TOPIC})
    except UnknownTopicOrPartitionError:
        return {}
    return ends_of(admin, partitions, READ_UNCOMMITTED)
