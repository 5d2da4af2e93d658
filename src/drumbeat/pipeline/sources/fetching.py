"""Record batches of one partition as brokers have them: still encoded and compressed.

    for fetched in read_batches(Brokers.at("localhost:9092"), TopicPartition("orders", 0), 0, 1000):
        fetched.records  # whole batches, one after the other

Leaders that move and connections that break are asked again until `default.api.timeout.ms` has
passed without success. The next response is on its way while the last one is being used.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from drumbeat.client.errors import (
    CorruptRecordError,
    KafkaError,
    OffsetOutOfRangeError,
    RecordTooLargeError,
    error_for,
)
from drumbeat.client.loop_thread import LoopThread
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.sources.brokers import READ_COMMITTED, Brokers, partition_ends
from drumbeat.protocol.apis import fetch
from drumbeat.protocol.apis.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    CorruptBatch,
    read_header,
)
from drumbeat.protocol.schema import NULL_UUID

_FETCH: Final = fetch.API
_VERSIONS_WITH_NAMES: Final = range(_FETCH.versions.start, 13)
_BATCH_LENGTH_MIN: Final = HEADER_BYTES - LOG_OVERHEAD
_unpack = struct.Struct(">qi4xb6xi").unpack_from  # base offset, length, magic, last offset delta


class Fetched(NamedTuple):
    """What one response brought.

    The first batch may begin before `start_offset`, which was asked for, and the last may go beyond
    the end that is wanted. `aborted` (read_committed only) are transactions that left void records.
    """

    records: bytes
    aborted: tuple[AbortedTransaction, ...]
    next_offset: int
    high_watermark: int
    start_offset: int


def read_batches(
    brokers: Brokers,
    tp: TopicPartition,
    start_offset: int,
    end_offset: int,
    *,
    fails_on_data_loss: bool = True,
) -> Iterator[Fetched]:
    """All batches with offsets from `start_offset` up to but not including `end_offset`.

    Offsets that retention has removed, or that are beyond the end of the log, are an
    OffsetOutOfRangeError; without `fails_on_data_loss`, what is there is all that is read.
    """
    offset = start_offset
    while offset < end_offset:
        try:
            for fetched in _fetch_all(brokers, tp, offset, end_offset):
                yield fetched
                offset = fetched.next_offset
        except NothingThere:
            if fails_on_data_loss:
                raise
            return
        except OffsetOutOfRangeError as problem:
            log_start, end = partition_ends(brokers, (tp.topic,))[tp]
            if fails_on_data_loss:
                raise _lost(tp, offset, log_start, end) from problem
            if offset >= log_start:
                return
            offset = log_start


class NothingThere(KafkaError):  # noqa: N818 - reads as what it is
    """Responses for an offset stay empty, for as long as brokers are given."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(ErrorCode.OFFSET_NOT_AVAILABLE, message)
        self.args = (message,)


def _lost(tp: TopicPartition, offset: int, log_start: int, end: int) -> OffsetOutOfRangeError:
    return OffsetOutOfRangeError(
        f"{tp} has no record at offset {offset} (any more), only {log_start} up to {end}: records "
        "are lost that should have been read. Begin elsewhere, or go on without them with the "
        "option failOnDataLoss=false"
    )


def _fetch_all(
    brokers: Brokers, tp: TopicPartition, offset: int, end_offset: int
) -> Iterator[Fetched]:
    fetcher = _Fetcher(brokers, tp)
    thread = LoopThread("fetcher")
    thread.start()
    try:
        thread.run(fetcher.start())
        coming = thread.run(fetcher.begin(offset))
        while offset < end_offset:
            fetched: Fetched = thread.run(_result(coming))
            offset = fetched.next_offset
            if offset < end_offset:
                coming = thread.run(fetcher.begin(offset))
            yield fetched
    finally:
        try:
            thread.run(fetcher.close())
        finally:
            thread.stop()


async def _result(task: asyncio.Task[Fetched]) -> Fetched:
    return await task


class _Fetcher:
    """Asks the leader of one partition; lives on one event loop."""

    def __init__(self, brokers: Brokers, tp: TopicPartition) -> None:
        self._config = brokers.config()
        self._cluster = Cluster(self._config)
        self._tp = tp
        self._task: asyncio.Task[Fetched] | None = None
        self._knows_leader = False

    async def start(self) -> None:
        await self._cluster.start()
        self._cluster.watch((self._tp.topic,))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._cluster.close()

    async def begin(self, offset: int) -> asyncio.Task[Fetched]:
        self._task = asyncio.create_task(self._fetch(offset))
        return self._task

    async def _fetch(self, offset: int) -> Fetched:
        async def attempt() -> Fetched:
            try:
                return self._taken(offset, await self._ask(offset))
            except KafkaError:
                self._knows_leader = False
                raise

        try:
            return await self._cluster.retry(attempt)
        except NothingThere:
            raise
        except KafkaError as problem:
            said = problem.message.removeprefix(f"{self._tp}: ")
            raise error_for(problem.code, f"{self._tp} at offset {offset}: {said}") from problem

    async def _ask(self, offset: int) -> PartitionData:
        leader = await self._leader()
        has_id = self._cluster.metadata.topic_id(self._tp.topic) != NULL_UUID
        response = await self._cluster.send(
            leader,
            _FETCH,
            self._request(offset),
            versions=None if has_id else _VERSIONS_WITH_NAMES,
        )
        return self._answer(response)

    async def _leader(self) -> int:
        if not self._knows_leader:
            await self._cluster.refresh()
        leader = self._cluster.metadata.leader(self._tp)
        if leader is None:
            raise self._cluster.problem_of(self._tp)
        self._knows_leader = True
        return leader

    def _request(self, offset: int) -> FetchRequest:
        config, metadata, (topic, partition) = self._config, self._cluster.metadata, self._tp
        wanted = FetchPartition(
            partition=partition,
            current_leader_epoch=metadata.leader_epoch(self._tp),
            fetch_offset=offset,
            partition_max_bytes=config.max_partition_fetch_bytes,
        )
        return FetchRequest(
            max_wait_ms=config.fetch_max_wait_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            isolation_level=int(config.isolation_level == READ_COMMITTED),
            topics=(FetchTopic(topic, metadata.topic_id(topic), (wanted,)),),
        )

    def _answer(self, response: FetchResponse) -> PartitionData:
        partitions: list[Any] = [data for one in response.responses for data in one.partitions]
        code = response.error_code or (partitions[0].error_code if partitions else 0)
        if code:
            raise error_for(code)
        if not partitions:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the response left it out")
        data: PartitionData = partitions[0]
        return data

    def _taken(self, offset: int, data: PartitionData) -> Fetched:
        records = data.records or b""
        if not records:
            raise NothingThere(
                f"{self._tp}: responses for offset {offset} are empty, though more should follow. "
                "Either brokers have trouble, or compaction has removed all that was there: then "
                "failOnDataLoss=false goes on"
            )
        end, next_offset = _whole_batches(records)
        if not end:
            raise RecordTooLargeError(
                f"the batch is larger than the {len(records)} bytes that came: raise "
                "kafka.max.partition.fetch.bytes"
            )
        whole = records if end == len(records) else records[:end]
        aborted = data.aborted_transactions or ()
        return Fetched(whole, aborted, max(next_offset, offset + 1), data.high_watermark, offset)


def _whole_batches(records: bytes) -> tuple[int, int]:
    """Where the last batch ends that is not cut off, and the offset that follows it."""
    position, next_offset, limit = 0, 0, len(records)
    while limit - position >= HEADER_BYTES:
        base_offset, length, magic, last_delta = _unpack(records, position)
        if magic != MAGIC or length < _BATCH_LENGTH_MIN:
            raise _corrupt(records, position)
        end = position + LOG_OVERHEAD + length
        if end > limit:
            break
        position, next_offset = end, base_offset + last_delta + 1
    return position, next_offset


def _corrupt(records: bytes, position: int) -> CorruptRecordError:
    try:
        read_header(records, position)
    except CorruptBatch as problem:
        return CorruptRecordError(str(problem))
    raise AssertionError("a header that is refused here is refused there")
