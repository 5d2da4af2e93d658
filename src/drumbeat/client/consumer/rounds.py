"""Poll rounds: until there are records, or the time is up.

One round does six steps, in this order: coordinator, positions, buffered data, send fetches,
network, and the check whether the group wants to rejoin, with which the next round begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.consumer.subscription_state import SubscriptionType
from drumbeat.client.errors import IllegalStateError
from drumbeat.client.values import ConsumerRecord, TopicPartition

if TYPE_CHECKING:
    from drumbeat.client.consumer.engine import Engine


# A poll that finds buffered data need not wait, but the event loop must have its turn: requests
# to be answered, heartbeats to be sent, other tasks.
TURN_MS_MAX = 5


class Rounds:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._limit = engine.config.max_poll_records
        self._turn_ms = 0  # when the event loop last had its turn

    async def collect(self, deadline_ms: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records by partition; none if none came in time."""
        engine = self._engine
        engine.begin_poll()
        try:
            while True:
                await self._prepare()
                if engine.may_deliver() and (collected := engine.fetcher.collect(self._limit)):
                    engine.fetcher.send_fetches(monotonic_ms())
                    return collected
                if not await self._advance(deadline_ms):
                    return {}
        finally:
            engine.end_poll()

    async def hand_out(self) -> Iterator[ConsumerRecord]:
        """Records of one partition, to be taken one by one; waits until there are some."""
        engine = self._engine
        engine.begin_poll()
        try:
            while True:
                await self._prepare()
                handout = engine.fetcher.hand_out(self._limit) if engine.may_deliver() else None
                if handout is not None:
                    engine.hand_out(handout)
                    engine.fetcher.send_fetches(monotonic_ms())
                    return handout.iterator
                await self._advance(None)
        finally:
            engine.end_poll()

    async def _prepare(self) -> None:
        """Up to the step that hands out data: coordinator, positions."""
        engine = self._engine
        if monotonic_ms() - self._turn_ms >= TURN_MS_MAX:
            await asyncio.sleep(0)
            self._turn_ms = monotonic_ms()
        engine.raise_wakeup()
        engine.check_polling()
        if engine.subscriptions.type is SubscriptionType.NONE:
            raise IllegalStateError(
                "this consumer reads nothing yet: subscribe() to topics or assign() partitions"
            )
        engine.changed.clear()
        if engine.committer.has_callbacks:
            await engine.committer.run_callbacks()
        driver = engine.driver
        if driver is not None:
            driver.poll(monotonic_ms())
            if driver.may_commit:
                engine.committer.auto_commit(monotonic_ms())
        if driver is None or not driver.is_calling_back:
            engine.positions.update()

    async def _advance(self, deadline_ms: int | None) -> bool:
        """Send fetches, then wait for the network; False once the time is up."""
        engine = self._engine
        now_ms = monotonic_ms()
        engine.fetcher.send_fetches(now_ms)
        if deadline_ms is not None and now_ms >= deadline_ms:
            return False
        times = [deadline_ms, engine.committer.next_auto_ms(), engine.fetcher.next_retry_ms(now_ms)]
        if engine.driver is not None:
            times.append(engine.driver.next_poll_ms)
        await engine.wait(min((at_ms for at_ms in times if at_ms is not None), default=None))
        return True
