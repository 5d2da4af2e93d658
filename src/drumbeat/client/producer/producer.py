"""The producer: records in, futures out; batching, retries and order happen behind it.

async with Producer(bootstrap_servers="localhost:9092") as producer:
    delivery = await producer.send("orders", b"paid", key=b"user-1")
    print(await delivery)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, TypedDict, Unpack

from drumbeat.client.clock import monotonic_ms, now_ms
from drumbeat.client.config.options import INT32_MAX
from drumbeat.client.config.producer import ProducerConfig
from drumbeat.client.entropy import draw_below
from drumbeat.client.errors import (
    IllegalStateError,
    ProducerClosedError,
    RecordTooLargeError,
    RequestTimedOut,
)
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.net.metadata import ClusterMetadata, PartitionMetadata
from drumbeat.client.producer.accumulator import Accumulator, PartitionQueue
from drumbeat.client.producer.batch import RECORD_OVERHEAD, ProduceResult, headers_size
from drumbeat.client.producer.delivery import DeliveryFuture, resolve
from drumbeat.client.producer.memory import BufferMemory
from drumbeat.client.producer.metrics import ProducerMetrics
from drumbeat.client.producer.routes import TopicRoute
from drumbeat.client.producer.sender import Sender
from drumbeat.client.producer.sequences import Sequences
from drumbeat.client.producer.serializing import (
    HeaderPairs,
    checked_headers,
    checked_timestamp,
    is_partition_below,
    serialized,
)
from drumbeat.client.producer.settings import accumulator_settings, sender_settings
from drumbeat.client.topic_names import checked_topic
from drumbeat.client.values import RecordMetadata, TopicPartition
from drumbeat.protocol.record_batch import HEADER_BYTES
from drumbeat.protocol.record_section import Headers


class RecordOptions(TypedDict, total=False):
    """What a record may have besides topic and value."""

    key: Any
    partition: int | None
    headers: HeaderPairs
    timestamp_ms: int | None


class Producer:
    """Idempotent unless told otherwise. All methods belong to the event loop it was started on."""

    def __init__(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        config = self._config = ProducerConfig.of(options, **named)
        self._key_serializer = config.key_serializer
        self._value_serializer = config.value_serializer
        self._batch_size = config.batch_size
        self._buffer_memory = config.buffer_memory
        self._record_size_max = min(config.max_request_size, config.buffer_memory) - HEADER_BYTES
        self._sequences = Sequences() if config.is_idempotent else None
        self._accumulator = Accumulator(accumulator_settings(config), self._sequences)
        self._settings = sender_settings(config)
        self._routes: dict[str, TopicRoute] = {}
        self._used_ms: dict[str, int] = {}  # when a topic last got a batch
        self._memory = BufferMemory(self._accumulator, config.buffer_memory, config.max_block_ms)
        self._metrics = ProducerMetrics(monotonic_ms())
        self._cluster: Cluster | None = None
        self._sender: Sender | None = None

    async def __aenter__(self) -> Producer:
        await self.start()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect; raises NoBrokersAvailable if no bootstrap server answers."""
        if self._cluster is not None:
            raise IllegalStateError("a producer starts once, and has been started: make a new one")
        cluster = Cluster(self._config)
        await cluster.start()
        self._cluster = cluster
        cluster.on_metadata(self._metadata_changed)
        self._sender = Sender(
            cluster,
            self._accumulator,
            self._sequences,
            self._settings,
            self._metrics,
            released=self._memory.released,
        )
        self._sender.start()

    async def close(self, timeout_ms: int | None = None) -> None:
        """Deliver what has been sent, for at most `timeout_ms`; the rest fails."""
        sender, self._sender = self._sender, None
        if sender is not None:
            try:
                async with asyncio.timeout(None if timeout_ms is None else timeout_ms / 1000):
                    await self._flush(sender)
            except TimeoutError:
                pass  # what is left is told by stop
            finally:
                await sender.stop(ProducerClosedError("the producer was closed before delivery"))
        if self._cluster is not None:
            await self._cluster.close()

    # -- records ---------------------------------------------------------------------------------

    async def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        partition: int | None = None,
        headers: HeaderPairs = (),
        timestamp_ms: int | None = None,
    ) -> DeliveryFuture:
        """Hand over a record; it is sent with others soon. Await the result to know it is stored.

        Waits up to max_block_ms while the topic's partitions are not known or the buffer is full.
        """
        sender = self._running()
        key_bytes: bytes | None = key
        value_bytes: bytes | None = value
        # Bytes and None without a serialiser are what they are; the rest costs a call.
        if (key is not None and key.__class__ is not bytes) or self._key_serializer is not None:
            key_bytes = serialized(self._key_serializer, topic, key, "key")
        if value.__class__ is not bytes or self._value_serializer is not None:
            value_bytes = serialized(self._value_serializer, topic, value, "value")
        key_size = -1 if key_bytes is None else len(key_bytes)
        value_size = -1 if value_bytes is None else len(value_bytes)
        size = RECORD_OVERHEAD + key_size + value_size
        pairs: Headers = checked_headers(headers) if headers else ()
        if pairs:
            size += headers_size(pairs)
        if size > self._record_size_max:
            raise self._too_large(size)
        timestamp = now_ms() if timestamp_ms is None else checked_timestamp(timestamp_ms)

        route = self._routes.get(topic)
        if route is None or (
            partition is not None and not is_partition_below(partition, len(route.queues))
        ):
            route = await self._find_route(topic, partition)
        accumulator = self._accumulator
        if accumulator.used_bytes + size > self._buffer_memory or self._memory.waiters:
            await self._wait_for_memory(size)
        queue = self._queue(route, partition, (key, key_bytes, value, value_bytes), size)

        batch = queue.open
        is_new = batch is None or batch.size + size > self._batch_size
        if batch is None or is_new:
            batch = accumulator.open_batch(queue, monotonic_ms())
            self._used_ms[topic] = batch.created_ms
            sender.wake()
        index = batch.append(timestamp, key_bytes, value_bytes, pairs, size)
        accumulator.used_bytes += size
        delivery = DeliveryFuture(batch.result, index, timestamp, key_size, value_size)
        if is_new:
            await asyncio.sleep(0)  # a loop of sends must leave the sender its turn
        return delivery

    async def send_and_wait(
        self, topic: str, value: Any = None, **options: Unpack[RecordOptions]
    ) -> RecordMetadata:
        """Send a record and wait until it is stored; takes what `send` takes."""
        return await (await self.send(topic, value, **options))

    async def flush(self) -> None:
        """Send everything at once and wait until each record has its outcome."""
        await self._flush(self._running())

    async def partitions_for(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """The topic's partitions with their leaders and replicas."""
        self._running()
        if topic not in self._routes:
            await self._find_route(topic, None)
        known = self._started().metadata.topic(topic)
        return known.partitions if known is not None else ()

    def metrics(self) -> dict[str, float]:
        """Values by the names of Kafka's producer-metrics."""
        sender = self._sender
        return self._metrics.snapshot(monotonic_ms()) | {
            "buffer-total-bytes": self._buffer_memory,
            "buffer-available-bytes": self._memory.available_bytes,
            "waiting-threads": len(self._memory.waiters),
            "requests-in-flight": sender.requests_in_flight if sender is not None else 0,
        }

    # -- helpers ---------------------------------------------------------------------------------

    def _running(self) -> Sender:
        sender = self._sender
        if sender is None:
            if self._cluster is None:
                raise IllegalStateError("the producer is not started: use `async with`, or start()")
            raise ProducerClosedError("the producer is closed: make a new one")
        if sender.fatal is not None:
            raise sender.fatal
        return sender

    def _started(self) -> Cluster:
        assert self._cluster is not None, "only called after start()"
        return self._cluster

    def _queue(
        self,
        route: TopicRoute,
        partition: int | None,
        record: tuple[Any, bytes | None, Any, bytes | None],
        size: int,
    ) -> PartitionQueue:
        if partition is not None:
            return route.queues[partition]
        partitioner = self._config.partitioner
        if partitioner is not None:
            chosen = partitioner(route.topic, *record, len(route.queues))
            if not 0 <= chosen < len(route.queues):
                raise ValueError(
                    f"partitioner chose {chosen} of {len(route.queues)} partitions of {route.topic}"
                )
            return route.queues[chosen]
        key_bytes = record[1]
        if key_bytes is not None and not self._config.partitioner_ignore_keys:
            return route.by_key(key_bytes)
        return route.sticky(size)

    async def _find_route(self, topic: str, partition: int | None) -> TopicRoute:
        """Wait until the topic, and the partition, are known."""
        checked_topic(topic)  # before it is watched: a broker would be asked for it again and again
        if partition is not None and not is_partition_below(partition, INT32_MAX):
            raise ValueError(f"partition {partition} is negative, or too large for a number of it")
        cluster = self._started()
        wanted = TopicPartition(topic, partition or 0)

        async def attempt() -> None:
            cluster.watch_also((topic,))
            if (await cluster.refresh()).partition(wanted) is None:
                raise cluster.problem_of(wanted)

        max_block_ms = self._config.max_block_ms
        try:
            async with asyncio.timeout(max_block_ms / 1000):
                await cluster.retry(attempt, timeout_ms=max_block_ms)
        except TimeoutError:
            if topic in cluster.metadata.topics:
                raise cluster.problem_of(wanted) from None
            raise RequestTimedOut(
                f"{wanted}: no metadata within max_block_ms={max_block_ms}: {cluster.troubles()}"
            ) from None
        self._running()
        if topic not in self._routes:
            self._used_ms[topic] = monotonic_ms()
            self._routes[topic] = TopicRoute(topic, self._accumulator, self._batch_size, draw_below)
        self._update(self._routes[topic], cluster.metadata)
        return self._routes[topic]

    def _metadata_changed(self, metadata: ClusterMetadata) -> None:
        for route in self._routes.values():
            self._update(route, metadata)
        idle_since_ms = monotonic_ms() - self._config.metadata_max_idle_ms
        unused = {
            topic
            for topic, route in self._routes.items()
            if self._used_ms[topic] < idle_since_ms and route.is_idle
        }
        for topic in unused:
            del self._routes[topic], self._used_ms[topic]
        if unused:
            self._started().watch(self._routes)

    def _update(self, route: TopicRoute, metadata: ClusterMetadata) -> None:
        topic = metadata.topic(route.topic)
        if topic is not None:
            with_leader = [p.index for p in topic.partitions if p.leader in metadata.brokers]
            route.update(len(topic.partitions), with_leader)

    async def _flush(self, sender: Sender) -> None:
        accumulator = self._accumulator
        accumulator.waiters += 1
        sender.wake()
        try:
            for result in {batch.result for batch in accumulator.incomplete()}:
                await _until_done(result)
        finally:
            accumulator.waiters -= 1

    async def _wait_for_memory(self, size: int) -> None:
        self._running().wake()
        await self._memory.wait_for(size, self._is_over)
        self._running()

    def _is_over(self) -> bool:
        return self._sender is None or self._sender.fatal is not None

    def _too_large(self, size: int) -> RecordTooLargeError:
        return RecordTooLargeError(
            f"the record takes about {size} bytes; max_request_size="
            f"{self._config.max_request_size} and buffer_memory={self._buffer_memory} allow "
            f"{self._record_size_max}"
        )


async def _until_done(result: ProduceResult) -> None:
    waiter = asyncio.get_running_loop().create_future()
    result.when_done(partial(resolve, waiter))
    await waiter
