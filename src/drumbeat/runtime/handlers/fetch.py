"""Fetch: what is there up to the high watermark, or a wait until there is enough.

Fetch sessions (KIP-227) are optional for a broker: every answer carries session id 0, so clients
send whole requests.
"""

import asyncio
from typing import NamedTuple

from drumbeat.log.errors import LogError, OffsetOutOfRange
from drumbeat.protocol.apis.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.topics import Topic

IDS_SINCE = 13
READ_COMMITTED = 1
NO_SESSION = 0
FULL_FETCH_EPOCHS = (-1, 0)


class Read(NamedTuple):
    topics: tuple[FetchableTopicResponse, ...]
    record_bytes: int
    has_error: bool

    @property
    def response(self) -> FetchResponse:
        return FetchResponse(responses=self.topics)


def handle(broker: Broker, request: Request, body: FetchRequest) -> object:
    if body.session_id != NO_SESSION and body.session_epoch not in FULL_FETCH_EPOCHS:
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if unopened := _unopened(broker, body):
        return broker.tasks.defer(_open_then_fetch(broker, request, body, unopened))
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


async def _open_then_fetch(
    broker: Broker, request: Request, body: FetchRequest, unopened: list[tuple[Topic, int]]
) -> FetchResponse:
    for topic, index in unopened:
        await broker.open_partition(topic, index)
    result = _fetch(broker, request, body)
    if isinstance(result, FetchResponse):
        return result
    response: FetchResponse = await result.wait()
    return response


def _fetch(broker: Broker, request: Request, body: FetchRequest) -> FetchResponse | Deferred:
    read = _read_all(broker, request, body)
    if read.has_error or read.record_bytes >= body.min_bytes or body.max_wait_ms <= 0:
        return read.response
    return _LongPoll(broker, request, body).deferred


def _read_all(broker: Broker, request: Request, body: FetchRequest) -> Read:
    left = min(body.max_bytes, broker.config.fetch_max_bytes)
    record_bytes, has_error = 0, False
    topics = []
    for wanted in body.topics:
        topic = broker.find_topic(wanted.topic, wanted.topic_id)
        partitions = []
        for asked in wanted.partitions:
            data = _read_partition(broker, request, topic, asked, (left, record_bytes == 0))
            data = _with_isolation(data, body.isolation_level)
            partitions.append(data)
            has_error |= data.error_code != ErrorCode.NONE
            record_bytes += len(data.records or b"")
            left -= len(data.records or b"")
        topics.append(FetchableTopicResponse(wanted.topic, wanted.topic_id, tuple(partitions)))
    return Read(tuple(topics), record_bytes, has_error)


def _with_isolation(data: PartitionData, isolation_level: int) -> PartitionData:
    """Read-committed consumers are told which transactions were aborted: none."""
    if isolation_level == READ_COMMITTED:
        return data._replace(aborted_transactions=())
    return data


def _read_partition(
    broker: Broker,
    request: Request,
    topic: Topic | None,
    asked: FetchPartition,
    budget: tuple[int, bool],
) -> PartitionData:
    index = asked.partition
    if topic is None or not 0 <= index < topic.partition_count:
        return _error(index, _unknown(request, topic))
    partition = broker.partitions.get(topic.name, index)
    if partition is None:
        return _error(index, ErrorCode.KAFKA_STORAGE_ERROR)
    if error_code := partition.check_epoch(asked.current_leader_epoch):
        return _error(index, error_code)
    bytes_left, is_first = budget
    try:
        records = _records(partition, asked, bytes_left, is_first)
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
        aborted_transactions=None,
        records=records,
    )


def _records(partition: Partition, asked: FetchPartition, bytes_left: int, is_first: bool) -> bytes:
    """KIP-74: limits are exceeded by at most the first batch of the first partition with data."""
    bytes_max = min(asked.partition_max_bytes, bytes_left)
    if bytes_max <= 0 and not is_first:
        return b""
    return partition.log.read(asked.fetch_offset, max(bytes_max, 0), whole_first_batch=is_first)


def _unknown(request: Request, topic: Topic | None) -> ErrorCode:
    if request.api_version >= IDS_SINCE and topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


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
        if read.has_error or read.record_bytes >= self._body.min_bytes:
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
