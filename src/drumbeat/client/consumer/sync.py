"""The consumer for plain code: scripts, threads, notebooks.

with SyncConsumer(bootstrap_servers="localhost:9092", group_id="billing") as consumer:
    consumer.subscribe(["orders"])
    for record in consumer:
        ...

It lives on an event loop in a thread of its own, so heartbeats go on while the script works.
Listeners and commit callbacks run in the thread that called poll(). Ctrl-C raises
KeyboardInterrupt as usual; leaving the `with` block, or the script, leaves the group.
"""

from __future__ import annotations

import atexit
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from drumbeat.client.consumer.calls import Call, Inbox, Mail, Work
from drumbeat.client.consumer.checks import checked_partitions
from drumbeat.client.consumer.committer import Offsets, OnCommit
from drumbeat.client.consumer.consumer import (
    CLOSE_TIMEOUT_MS,
    POLL_TIMEOUT_MS,
    Consumer,
    Polled,
)
from drumbeat.client.consumer.listener import Partitions, RebalanceListener
from drumbeat.client.consumer.metrics import Metrics
from drumbeat.client.consumer.offset_lookup import Committed
from drumbeat.client.errors import ConsumerClosedError
from drumbeat.client.loop_thread import LoopThread
from drumbeat.client.net.metadata import PartitionMetadata
from drumbeat.client.values import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)

T = TypeVar("T")


class SyncConsumer:
    """A Consumer on a thread of its own. Takes the same options; is used by one thread."""

    def __init__(self, options: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        self._consumer = Consumer(options, **named)
        self._thread = LoopThread("consumer")
        self._is_started = False
        self._inbox: Inbox = SimpleQueue()
        self._works: list[Work] = []  # of all calls: one that is interrupted leaves some undone

    def __enter__(self) -> SyncConsumer:
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def start(self) -> None:
        """Connect; raises NoBrokersAvailable if no bootstrap server answers."""
        self._thread.start()
        try:
            self._run(self._consumer.start)
        except BaseException:
            self._thread.stop()
            raise
        self._is_started = True
        atexit.register(self.close)

    def close(self, timeout_ms: int = CLOSE_TIMEOUT_MS) -> None:
        """Commit if that is automatic, leave the group, disconnect; within `timeout_ms`."""
        if not self._is_started:
            return
        atexit.unregister(self.close)
        try:
            self._run(partial(self._consumer.close, timeout_ms))
        finally:
            self._is_started = False
            self._thread.stop()

    # -- records ---------------------------------------------------------------------------------

    def poll(self, timeout_ms: int = POLL_TIMEOUT_MS) -> Polled:
        """Records, up to max_poll_records, by partition; waits up to `timeout_ms` for the first."""
        return self._run(partial(self._started().poll, timeout_ms))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        consumer = self._started()
        while True:
            yield from self._run(consumer.next_records)

    def wakeup(self) -> None:
        """Have poll(), or the next one, raise WakeupError. Safe to call from any thread."""
        self._started().wakeup()

    # -- what to read ----------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        relayed = _RelayedListener(listener, self._relay) if listener is not None else None
        consumer = self._started()
        self._call(lambda: consumer.subscribe(topics, pattern=pattern, listener=relayed))

    def unsubscribe(self) -> None:
        self._run(self._started().unsubscribe)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        consumer, chosen = self._started(), checked_partitions(partitions)
        self._call(lambda: consumer.assign(chosen))

    def assignment(self) -> frozenset[TopicPartition]:
        return self._call(self._started().assignment)

    def subscription(self) -> frozenset[str]:
        return self._call(self._started().subscription)

    def pause(self, *partitions: TopicPartition) -> None:
        self._call(partial(self._started().pause, *partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self._call(partial(self._started().resume, *partitions))

    def paused(self) -> frozenset[TopicPartition]:
        return self._call(self._started().paused)

    # -- positions -------------------------------------------------------------------------------

    def seek(self, tp: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        self._call(partial(self._started().seek, tp, offset))

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self._call(partial(self._started().seek_to_beginning, *partitions))

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        self._call(partial(self._started().seek_to_end, *partitions))

    def position(self, tp: TopicPartition, timeout_ms: int | None = None) -> int:
        return self._run(partial(self._started().position, tp, timeout_ms))

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        return self._run(partial(self._started().offsets_for_times, timestamps, timeout_ms))

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        return self._run(partial(self._started().beginning_offsets, partitions, timeout_ms))

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        return self._run(partial(self._started().end_offsets, partitions, timeout_ms))

    def current_lag(self, tp: TopicPartition) -> int | None:
        return self._call(partial(self._started().current_lag, tp))

    # -- commits ---------------------------------------------------------------------------------

    def commit(self, offsets: Offsets | None = None, timeout_ms: int | None = None) -> None:
        self._run(partial(self._started().commit, offsets, timeout_ms))

    def commit_async(
        self, offsets: Offsets | None = None, callback: OnCommit | None = None
    ) -> None:
        relayed = self._relay(callback) if callback is not None else None
        self._call(partial(self._started().commit_async, offsets, relayed))

    def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> Committed:
        return self._run(partial(self._started().committed, partitions, timeout_ms))

    # -- the rest --------------------------------------------------------------------------------

    def partitions_for(self, topic: str) -> list[PartitionMetadata] | None:
        return self._run(partial(self._started().partitions_for, topic))

    def list_topics(self) -> dict[str, list[PartitionMetadata]]:
        return self._run(self._started().list_topics)

    def group_metadata(self) -> ConsumerGroupMetadata:
        return self._call(self._started().group_metadata)

    def enforce_rebalance(self, reason: str = "rebalance enforced by user") -> None:
        self._call(partial(self._started().enforce_rebalance, reason))

    def metrics(self) -> Metrics:
        return self._call(self._started().metrics)

    # -- between the threads ---------------------------------------------------------------------

    def _started(self) -> Consumer:
        if not self._is_started:
            raise ConsumerClosedError("this consumer is not started, or closed: use `with`")
        return self._consumer

    def _call(self, function: Callable[[], T]) -> T:
        """Something that does not wait, but belongs on the loop."""

        async def run() -> T:
            return function()

        return self._run(run)

    def _run(self, function: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run it on the loop; meanwhile do here what the loop asks for."""
        call = Call(function)
        outer, self._inbox = self._inbox, call.inbox
        try:
            self._do_works()  # what a call that was interrupted has left
            self._thread.call_soon(call.begin)
            while call.inbox.get() is Mail.WORK:
                self._do_works()
        except BaseException:
            self._thread.call_soon(call.cancel)
            raise
        finally:
            self._inbox = outer
        return call.result()

    def _do_works(self) -> None:
        for work in tuple(self._works):
            if not work.is_begun:
                work.do()
            if work.is_over:
                self._thread.call_soon(work.settle)

    def _relay(self, function: Callable[..., object]) -> Callable[..., Coroutine[Any, Any, None]]:
        """For the loop: a function of the application, to be run in the application's thread."""

        async def relayed(*arguments: Any) -> None:
            work = Work(function, arguments)
            self._works.append(work)
            self._inbox.put(Mail.WORK)
            try:
                await work.settled
            finally:
                self._works.remove(work)

        return relayed


class _RelayedListener(RebalanceListener):
    def __init__(
        self,
        listener: RebalanceListener,
        relay: Callable[[Callable[..., object]], Callable[..., Coroutine[Any, Any, None]]],
    ) -> None:
        self._assigned = relay(listener.on_partitions_assigned)
        self._revoked = relay(listener.on_partitions_revoked)
        self._lost = relay(listener.on_partitions_lost)

    def on_partitions_assigned(self, partitions: Partitions) -> Coroutine[Any, Any, None]:
        return self._assigned(partitions)

    def on_partitions_revoked(self, partitions: Partitions) -> Coroutine[Any, Any, None]:
        return self._revoked(partitions)

    def on_partitions_lost(self, partitions: Partitions) -> Coroutine[Any, Any, None]:
        return self._lost(partitions)
