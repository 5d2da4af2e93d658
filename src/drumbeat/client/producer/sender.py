"""Moves batches from the accumulator to the brokers, and outcomes back.

The shell around the pure parts: it reads the clock, sends requests and keeps timers. One `_pump`
looks at everything that could be sent; whatever changes that (a full batch, an answer, new
metadata, a timer) wakes it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.entropy import draw
from drumbeat.client.errors import (
    RETRIABLE,
    DrumbeatError,
    KafkaError,
    RequestTimedOut,
    error_for,
    known_code,
)
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.producer.accumulator import Accumulator, LeaderOf
from drumbeat.client.producer.batch import Outcome, ProducerBatch, ProducerIdAndEpoch
from drumbeat.client.producer.metrics import ProducerMetrics
from drumbeat.client.producer.requests import (
    NEW_PRODUCER,
    PRODUCE_VERSIONS,
    answers,
    failed,
    produce_request,
    refusal,
)
from drumbeat.client.producer.sequences import Sequences
from drumbeat.protocol.apis import init_producer_id, produce
from drumbeat.protocol.apis.init_producer_id import InitProducerIdResponse
from drumbeat.protocol.apis.produce import PartitionProduceResponse, ProduceRequest
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

NO_ACKS: Final = 0
_STORED = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
# After these, who leads what has to be asked again.
_INVALID_METADATA = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
    }
)
# After these, the batch may be in the log all the same.
_UNCERTAIN = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


class SenderSettings(NamedTuple):
    acks: int
    retries: int
    request_timeout_ms: int
    delivery_timeout_ms: int
    in_flight_max: int  # requests per node
    codec: tuple[Codec, int | None]
    backoff: Backoff


class Sender:
    """`released` is called when a batch's memory has become free."""

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        sequences: Sequences | None,
        settings: SenderSettings,
        metrics: ProducerMetrics,
        *,
        released: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._sequences = sequences
        self._settings = settings
        self._metrics = metrics
        self._released = released
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight: Counter[int] = Counter()  # requests by node
        self._held_until_ms: dict[int, int] = {}  # nodes that asked for a pause
        self._is_identifying = False
        self._is_woken = False
        self._timer: asyncio.TimerHandle | None = None
        self._expiry_ms: int | None = None
        self.fatal: Exception | None = None  # nothing can be sent any more

    @property
    def requests_in_flight(self) -> int:
        return self._in_flight.total()

    def start(self) -> None:
        self._cluster.on_metadata(lambda _: self.wake())
        self.wake()

    def wake(self) -> None:
        """Look soon at what can be sent."""
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._pump)

    async def stop(self, error: Exception) -> None:
        """Send no more; what has no outcome gets this error."""
        self.fatal = self.fatal or error
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fail_all(error)

    # -- sending ---------------------------------------------------------------------------------

    def _pump(self) -> None:
        self._is_woken = False
        if self.fatal is not None:
            return
        now_ms = monotonic_ms()
        self._expire(now_ms)
        if self._sequences is not None:
            self._sequences.settle()
            self._identify_if_needed(self._sequences)
        leader_of = self._cluster.metadata.leader
        due = self._accumulator.due(leader_of, now_ms)
        while sum(self._start(node_id, leader_of, now_ms) for node_id in due.nodes):
            due = self._accumulator.due(leader_of, now_ms)
        if due.leaderless:
            self._cluster.request_refresh()
        self._set_timer(due.next_check_ms, now_ms)

    def _start(self, node_id: int, leader_of: LeaderOf, now_ms: int) -> bool:
        """Send the node's next request, if it may have one more."""
        is_held = self._held_until_ms.get(node_id, 0) > now_ms
        if is_held or self._in_flight[node_id] >= self._settings.in_flight_max:
            return False
        batches = self._accumulator.drain(node_id, leader_of, now_ms)
        if not batches:
            return False
        self._in_flight[node_id] += 1
        self._spawn(self._produce(node_id, batches))
        return True

    async def _produce(self, node_id: int, batches: list[ProducerBatch]) -> None:
        began_ms = monotonic_ms()
        settings = self._settings

        def build(_version: int) -> ProduceRequest:
            request = produce_request(
                batches, settings.acks, settings.request_timeout_ms, settings.codec
            )
            self._metrics.sent(batches, monotonic_ms())
            return request

        try:
            response = await self._cluster.send(
                node_id,
                produce.API,
                build,
                versions=PRODUCE_VERSIONS,
                expects_response=settings.acks != NO_ACKS,
            )
        except KafkaError as problem:
            replies = [failed(problem)] * len(batches)
        else:
            replies = answers(batches, response)
            self._answered(node_id, began_ms, response.throttle_time_ms if response else 0)
        finally:
            self._in_flight[node_id] -= 1
        for batch, reply in zip(batches, replies, strict=True):
            self._settle(batch, reply)
        self._released()
        self._pump()

    def _answered(self, node_id: int, began_ms: int, throttle_time_ms: int) -> None:
        now_ms = monotonic_ms()
        self._metrics.answered(now_ms - began_ms, throttle_time_ms, now_ms)
        if throttle_time_ms > 0:
            self._held_until_ms[node_id] = now_ms + throttle_time_ms
            self._loop.call_later(throttle_time_ms / 1000, self.wake)

    # -- outcomes --------------------------------------------------------------------------------

    def _settle(self, batch: ProducerBatch, answer: PartitionProduceResponse) -> None:
        """One batch has been answered, by the broker or by the network."""
        code = known_code(answer.error_code)
        if code in _STORED:
            self._acknowledge(batch, answer)
        elif batch.is_done:
            return  # expired while it was on its way
        elif code is ErrorCode.MESSAGE_TOO_LARGE and len(batch.rows) > 1:
            log.warning("%r is too large for the broker: it is sent in parts", batch)
            self._accumulator.split(batch)
            self._metrics.count("batch-split", 1, monotonic_ms())
        elif self._can_retry(batch, code, answer.log_start_offset):
            self._retry(batch, code, answer)
        else:
            self._fail(batch, refusal(batch, answer), is_refused=code not in _UNCERTAIN)
        if code in _INVALID_METADATA:
            self._cluster.request_refresh()

    def _acknowledge(self, batch: ProducerBatch, answer: PartitionProduceResponse) -> None:
        # A duplicate that the broker has forgotten the offset of is stored all the same.
        offset = answer.base_offset if answer.error_code == ErrorCode.NONE else -1
        if self._sequences is not None:
            queue = self._accumulator.queue(batch.topic_partition)
            self._sequences.acknowledged(queue.sequences, batch, offset)
        if not batch.is_done:
            self._complete(batch, Outcome(batch.first, offset, answer.log_append_time_ms))

    def _can_retry(self, batch: ProducerBatch, code: ErrorCode, log_start_offset: int) -> bool:
        is_expired = monotonic_ms() - batch.created_ms >= self._settings.delivery_timeout_ms
        if is_expired or batch.attempts >= self._settings.retries:
            return False
        if self._sequences is None:
            return code in RETRIABLE
        sequences = self._accumulator.queue(batch.topic_partition).sequences
        return self._sequences.should_retry(sequences, batch, code, log_start_offset)

    def _retry(
        self, batch: ProducerBatch, code: ErrorCode, answer: PartitionProduceResponse
    ) -> None:
        log.info("%r will be sent again: %s %s", batch, code.name, answer.error_message or "")
        now_ms = monotonic_ms()
        delay_ms = self._settings.backoff.delay_ms(batch.attempts + 1, draw())
        self._accumulator.retry(batch, now_ms + delay_ms)
        self._metrics.count("record-retry", len(batch.rows), now_ms)

    def _fail(self, batch: ProducerBatch, outcome: Outcome, *, is_refused: bool) -> None:
        log.error("%r: not delivered: %s", batch, outcome.error)
        self._metrics.count("record-error", len(batch.rows), monotonic_ms())
        if self._sequences is not None:
            sequences = self._accumulator.queue(batch.topic_partition).sequences
            self._sequences.failed(sequences, batch, is_refused=is_refused)
        self._complete(batch, outcome)

    def _complete(self, batch: ProducerBatch, outcome: Outcome) -> None:
        self._accumulator.complete(batch)
        for callback in batch.complete(outcome):
            try:
                callback()
            except Exception:
                log.exception("a delivery callback for %s raised", batch.topic_partition)

    def _expire(self, now_ms: int) -> None:
        """Give up what is older than delivery_timeout_ms, sent or not."""
        if self._expiry_ms is not None and now_ms < self._expiry_ms:
            return
        expired, self._expiry_ms = self._accumulator.take_expired(now_ms)
        for batch in expired:
            text = (
                f"{batch.topic_partition}: not acknowledged within delivery_timeout_ms="
                f"{self._settings.delivery_timeout_ms}, after {batch.attempts} retries: "
                f"{self._cluster.troubles()}"
            )
            outcome = Outcome(batch.first, error=RequestTimedOut(text))
            self._fail(batch, outcome, is_refused=False)
        if expired:
            self._released()

    def _fail_all(self, error: Exception) -> None:
        for batch in self._accumulator.drop_all():
            self._complete(batch, Outcome(batch.first, error=error))
        self._released()

    # -- the producer's identity -----------------------------------------------------------------

    def _identify_if_needed(self, sequences: Sequences) -> None:
        if not sequences.has_producer_id and not self._is_identifying:
            self._is_identifying = True
            self._spawn(self._identify(sequences))

    async def _identify(self, sequences: Sequences) -> None:
        try:
            await self._cluster.retry(
                lambda: self._init_producer_id(sequences), timeout_ms=2**31 - 1
            )
        except KafkaError as problem:
            self._is_identifying = False
            hint = "the producer gets no id; enable_idempotence=False does without"
            self.fatal = KafkaError(problem.code, f"{problem.message} ({hint})")
            self._fail_all(self.fatal)
            return
        self._is_identifying = False
        self._pump()

    async def _init_producer_id(self, sequences: Sequences) -> None:
        response: InitProducerIdResponse = await self._cluster.send(
            self._cluster.least_loaded(), init_producer_id.API, NEW_PRODUCER
        )
        if response.error_code != ErrorCode.NONE:
            raise error_for(response.error_code)
        log.debug("producer id %d, epoch %d", response.producer_id, response.producer_epoch)
        sequences.identify(ProducerIdAndEpoch(response.producer_id, response.producer_epoch))

    # -- timers and tasks ------------------------------------------------------------------------

    def _set_timer(self, next_check_ms: int | None, now_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        times = [at_ms for at_ms in (next_check_ms, self._expiry_ms) if at_ms is not None]
        if times:
            delay_ms = max(min(times) - now_ms, 1)
            self._timer = self._loop.call_later(delay_ms / 1000, self.wake)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (problem := task.exception()) is None:
            return
        # A bug of ours, not the network: stop, and tell everyone who waits.
        log.error("the producer's sender failed", exc_info=problem)
        self.fatal = DrumbeatError(f"the producer's sender failed: {problem!r}")
        self.fatal.__cause__ = problem
        self._fail_all(self.fatal)
