"""The producer for plain code: `send` returns a concurrent.futures.Future.

with SyncProducer(bootstrap_servers="localhost:9092") as producer:
    producer.send("orders", b"paid", key=b"user-1")
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from threading import Condition
from typing import Any, Final, NamedTuple, Unpack

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.producer import ProducerConfig
from drumbeat.client.errors import ProducerClosedError, RequestTimedOut
from drumbeat.client.loop_thread import LoopThread
from drumbeat.client.net.metadata import PartitionMetadata
from drumbeat.client.producer.delivery import DeliveryFuture
from drumbeat.client.producer.producer import Producer, RecordOptions
from drumbeat.client.values import RecordMetadata

log = logging.getLogger(__name__)

INBOX_RECORDS_MAX: Final = 10_000
INBOX_BYTES_MAX: Final = 4 * 1024 * 1024  # of values that are bytes already

# Called with the metadata or with the error; the other is None.
OnDelivery = Callable[[RecordMetadata | None, Exception | None], object]


class _Sent(NamedTuple):
    topic: str
    value: Any
    options: RecordOptions
    future: Future[RecordMetadata]
    on_delivery: OnDelivery | None


class SyncProducer:
    """A Producer on a thread of its own; any thread may send. Takes the same options."""

    def __init__(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._producer = Producer(options, **named)
        self._max_block_s = ProducerConfig.of(options, **named).max_block_ms / 1000
        self._thread = LoopThread("producer")
        # Records go through an inbox that the loop empties at once: waking it for each is slow.
        self._inbox: deque[_Sent] = deque()
        self._inbox_bytes = 0
        self._changed = Condition()
        self._emptier: asyncio.Task[None] | None = None
        self._is_emptying = False
        self._is_closed = False

    def __enter__(self) -> SyncProducer:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Connect; raises NoBrokersAvailable if no bootstrap server answers."""
        self._thread.start()
        try:
            self._thread.run(self._producer.start())
        except BaseException:
            self._thread.stop()
            raise

    def send(
        self,
        topic: str,
        value: Any = None,
        *,
        on_delivery: OnDelivery | None = None,
        **options: Unpack[RecordOptions],
    ) -> Future[RecordMetadata]:
        """Hand over a record. What is wrong with it is told by the future and by `on_delivery`,
        which is called on the producer's thread.

        Waits up to max_block_ms while the producer cannot take it.
        """
        sent = _Sent(topic, value, options, Future(), on_delivery)
        with self._changed:
            if self._is_closed:
                raise ProducerClosedError("the producer is closed: make a new one")
            if not self._has_room() and not self._changed.wait_for(
                self._has_room, self._max_block_s
            ):
                raise RequestTimedOut("the producer took no record for max_block_ms")
            self._inbox.append(sent)
            if value.__class__ is bytes:
                self._inbox_bytes += len(value)
            if not self._is_emptying:
                self._thread.call_soon(self._begin_emptying)
                self._is_emptying = True
        return sent.future

    def send_and_wait(
        self, topic: str, value: Any = None, **options: Unpack[RecordOptions]
    ) -> RecordMetadata:
        """Send a record and wait until it is stored; takes what `send` takes."""
        return self.send(topic, value, **options).result()

    def flush(self) -> None:
        """Wait until everything sent so far has its outcome."""
        self._thread.run(self._flush())

    def partitions_for(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """The topic's partitions with their leaders and replicas."""
        return self._thread.run(self._producer.partitions_for(topic))

    def metrics(self) -> dict[str, float]:
        """Values by the names of Kafka's producer-metrics."""
        return self._producer.metrics()

    def close(self, timeout_ms: int | None = None) -> None:
        """Deliver what has been sent, for at most `timeout_ms`; the rest fails."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
        try:
            self._thread.run(self._close(timeout_ms))
        finally:
            self._thread.stop()

    # -- on the loop -----------------------------------------------------------------------------

    def _begin_emptying(self) -> None:
        self._emptier = asyncio.get_running_loop().create_task(self._empty())

    async def _empty(self) -> None:
        while batch := self._take():
            for sent in batch:
                try:
                    delivery = await self._producer.send(sent.topic, sent.value, **sent.options)
                except Exception as problem:  # noqa: BLE001 - the future tells it
                    _tell(sent, None, problem)
                else:
                    delivery.add_done_callback(partial(_delivered, sent))

    def _take(self) -> deque[_Sent]:
        with self._changed:
            taken, self._inbox = self._inbox, deque()
            self._inbox_bytes = 0
            self._is_emptying = bool(taken)
            self._changed.notify_all()
        return taken

    async def _emptied(self) -> None:
        if self._emptier is not None and not self._emptier.done():
            await asyncio.wait((self._emptier,))

    async def _flush(self) -> None:
        await self._emptied()
        await self._producer.flush()

    async def _close(self, timeout_ms: int | None) -> None:
        began_ms = monotonic_ms()
        try:
            async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                await self._emptied()
        except TimeoutError:
            pass  # the producer's close tells those that are left
        elapsed_ms = monotonic_ms() - began_ms
        await self._producer.close(None if timeout_ms is None else max(0, timeout_ms - elapsed_ms))
        await self._emptied()

    def _has_room(self) -> bool:
        return len(self._inbox) < INBOX_RECORDS_MAX and self._inbox_bytes < INBOX_BYTES_MAX


def _delivered(sent: _Sent, delivery: DeliveryFuture) -> None:
    error = delivery.exception()
    _tell(sent, None if error is not None else delivery.result(), error)


def _tell(sent: _Sent, metadata: RecordMetadata | None, error: Exception | None) -> None:
    if sent.future.set_running_or_notify_cancel():
        if metadata is not None:
            sent.future.set_result(metadata)
        else:
            sent.future.set_exception(error)
    if sent.on_delivery is not None:
        try:
            sent.on_delivery(metadata, error)
        except Exception:
            log.exception("on_delivery raised for a record of %s", sent.topic)
