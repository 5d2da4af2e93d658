"""Fetch: what is there up to the high watermark, or a wait until there is enough.

Fetch sessions (KIP-227) are optional for a broker: every answer carries session id 0, so clients
send whole requests.
"""

import asyncio
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias, cast

from drumbeat.log.errors import LogError, OffsetOutOfRange
from drumbeat.log.port import Records
from drumbeat.protocol.apis.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.handlers.named_once import named_once, names_a_partition_twice
from drumbeat.runtime.handlers.opening import when_open
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.topics import Topic

IDS_SINCE = 13
LEADERS_SINCE = 16
NO_LEADER = LeaderIdAndEpoch()
NO_DIVERGENCE = EpochEndOffset()
READ_COMMITTED = 1
FULL_FETCH_EPOCHS = (-1, 0)
NO_EPOCH = -1  # nor is anything below

_Answered: TypeAlias = tuple[tuple[str, bytes], PartitionData]  # name and id of the topic, and data


class Read(NamedTuple):
    response: FetchResponse
    record_bytes: int
    is_urgent: bool  # something has to be said at once


def handle(broker: Broker, request: Request, body: FetchRequest) -> object:
    if body.session_epoch not in FULL_FETCH_EPOCHS:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if names_a_partition_twice(body.topics):
        body = body._replace(topics=named_once(body.topics))
    if unopened := _unopened(broker, body):
        return when_open(broker, unopened, partial(_fetch, broker, request, body))
    return _fetch(broker, request, body)


def _unopened(broker: Broker, body: FetchRequest) -> list[tuple[Topic, int]]:
    return [
        (topic, asked.partition)
        for wanted in body.topics
        if (topic := broker.find_topic(wanted.topic, wanted.topic_id)) is not None
        for asked in wanted.partitions
        if 0 <= asked.partition < topic.partition_count
        and broker.partitions.get(topic.name, asked.partition) is None
        and broker.partitions.failure(topic.name, asked.partition) is None
    ]


def _fetch(broker: Broker, request: Request, body: FetchRequest) -> FetchResponse | Deferred:
    read = _read_all(broker, request, body)
    if read.is_urgent or read.record_bytes >= body.min_bytes or body.max_wait_ms <= 0:
        return read.response
    return _LongPoll(broker, request, body).deferred


def _read_all(broker: Broker, request: Request, body: FetchRequest) -> Read:
    """Partitions that do not exist come last, as in Kafka, which sorts them out first."""
    left = min(body.max_bytes, broker.config.fetch_max_bytes)
    record_bytes = 0
    found: list[_Answered] = []
    unknown: list[_Answered] = []
    for wanted in body.topics:
        name = (wanted.topic, wanted.topic_id)
        topic = broker.find_topic(*name)
        for asked in wanted.partitions:
            if topic is None or not 0 <= asked.partition < topic.partition_count:
                unknown.append((name, _unknown(request, topic, asked.partition)))
                continue
            data = _read_partition(broker, request, topic, asked, (left, record_bytes == 0))
            found.append((name, _with_isolation(data, body.isolation_level)))
            record_bytes += len(data.records or b"")
            left -= len(data.records or b"")
    is_urgent = bool(unknown) or any(map(_is_urgent, found))
    return Read(_response(broker, found + unknown, is_urgent), record_bytes, is_urgent)


def _response(broker: Broker, answered: list[_Answered], is_urgent: bool) -> FetchResponse:
    topics = _by_topic(answered)
    if not is_urgent or all(data.current_leader == NO_LEADER for _, data in answered):
        return FetchResponse(responses=topics)
    here = NodeEndpoint(broker.node_id, *broker.advertised, broker.config.broker_rack)
    return FetchResponse(responses=topics, node_endpoints=(here,))


def _by_topic(answered: list[_Answered]) -> tuple[FetchableTopicResponse, ...]:
    return tuple(
        FetchableTopicResponse(topic, topic_id, tuple(data for _, data in answers))
        for (topic, topic_id), answers in groupby(answered, key=itemgetter(0))
    )


def _is_urgent(answered: _Answered) -> bool:
    _, data = answered
    return data.error_code != 0 or data.diverging_epoch != NO_DIVERGENCE


def _with_isolation(data: PartitionData, isolation_level: int) -> PartitionData:
    """Read-committed consumers are told which transactions were aborted: none."""
    if isolation_level == READ_COMMITTED and data.error_code == ErrorCode.NONE:
        return data._replace(aborted_transactions=())
    return data


def _read_partition(
    broker: Broker,
    request: Request,
    topic: Topic,
    asked: FetchPartition,
    budget: tuple[int, bool],
) -> PartitionData:
    index = asked.partition
    partition = broker.partitions.get(topic.name, index)
    if partition is None:
        return _error(index, ErrorCode.KAFKA_STORAGE_ERROR)
    if error_code := partition.check_epoch(max(asked.current_leader_epoch, NO_EPOCH)):
        refused = _error(index, error_code)
        if error_code is ErrorCode.FENCED_LEADER_EPOCH and request.api_version >= LEADERS_SINCE:
            # A client that is behind is told who leads now (KIP-951).
            leader = LeaderIdAndEpoch(broker.node_id, partition.leader_epoch)
            refused = refused._replace(current_leader=leader)
        return refused
    bytes_left, is_first = budget
    diverging_epoch = NO_DIVERGENCE
    try:
        if asked.last_fetched_epoch >= 0:
            diverging_epoch = _diverging_epoch(partition, asked)
        has_diverged = diverging_epoch != NO_DIVERGENCE
        records = b"" if has_diverged else _records(partition, asked, bytes_left, is_first)
    except OffsetOutOfRange:
        return _error(index, ErrorCode.OFFSET_OUT_OF_RANGE)
    except LogError:
        return _error(index, ErrorCode.KAFKA_STORAGE_ERROR)
    high_watermark = partition.high_watermark
    return PartitionData(
        partition_index=index,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=partition.log.start_offset,
        diverging_epoch=diverging_epoch,
        aborted_transactions=None,
        records=cast("bytes", records),  # the encoder wants their length and no more
    )


def _diverging_epoch(partition: Partition, asked: FetchPartition) -> EpochEndOffset:
    """Where the reader's log and this one part (KIP-595), or the default if they do not."""
    found = partition.log.end_offset_for_epoch(asked.last_fetched_epoch)
    epoch, end_offset = found.epoch, found.start_offset
    if epoch < 0 or end_offset < 0:
        raise OffsetOutOfRange(asked.fetch_offset, partition.log.start_offset, end_offset)
    if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
        return EpochEndOffset(epoch, end_offset)
    return NO_DIVERGENCE


def _records(
    partition: Partition, asked: FetchPartition, bytes_left: int, is_first: bool
) -> Records:
    """KIP-74: limits are exceeded by at most the first batch of the first partition with data."""
    bytes_max = max(0, min(asked.partition_max_bytes, bytes_left))
    return partition.log.read(asked.fetch_offset, bytes_max, whole_first_batch=is_first)


def _unknown(request: Request, topic: Topic | None, index: int) -> PartitionData:
    is_unknown_id = request.api_version >= IDS_SINCE and topic is None
    error_code = (
        ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    return _error(index, error_code)._replace(aborted_transactions=())


def _error(index: int, error_code: ErrorCode) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error_code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )


class _LongPoll:
    """A fetch that waits for min bytes or max wait, whichever comes first."""

    def __init__(self, broker: Broker, request: Request, body: FetchRequest) -> None:
        self._broker = broker
        self._request = request
        self._body = body
        self.deferred = Deferred(mutes=True)
        self.deferred.on_abandoned = self._forget
        self._partitions = [p for topic in body.topics for p in self._partitions_of(topic)]
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(body.max_wait_ms / 1000, self._give_up)
        self._check: asyncio.Handle | None = None
        for partition in self._partitions:
            partition.watch(self._on_growth)

    def _partitions_of(self, wanted: FetchTopic) -> list[Partition]:
        topic = self._broker.find_topic(wanted.topic, wanted.topic_id)
        if topic is None:
            return []
        found = [self._broker.partitions.get(topic.name, p.partition) for p in wanted.partitions]
        return [partition for partition in found if partition is not None]

    def _on_growth(self) -> None:
        # Several partitions may grow in one turn of the loop; one look at the end serves all.
        if self._check is None:
            self._check = asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._check = None
        read = _read_all(self._broker, self._request, self._body)
        if read.is_urgent or read.record_bytes >= self._body.min_bytes:
            self._finish(read)

    def _give_up(self) -> None:
        self._finish(_read_all(self._broker, self._request, self._body))

    def _finish(self, read: Read) -> None:
        self._forget()
        self.deferred.resolve(read.response)

    def _forget(self) -> None:
        self._timer.cancel()
        if self._check is not None:
            self._check.cancel()
        for partition in self._partitions:
            partition.unwatch(self._on_growth)
