"""Finds out where to begin: committed offsets first, then what auto_offset_reset says.

One lookup is under way at a time, in the background; polls go on meanwhile for partitions that
have a position. An answer counts only if nobody has sought elsewhere since it was asked for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.offset_lookup import OffsetLookup
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.consumer.subscription_state import SubscriptionState
from drumbeat.client.entropy import draw
from drumbeat.client.errors import KafkaError, NoOffsetForPartitionError
from drumbeat.client.net.backoff import Backoff

log = logging.getLogger(__name__)


class Positions:
    def __init__(
        self,
        config: ConsumerConfig,
        subscriptions: SubscriptionState,
        lookup: OffsetLookup,
        wake: Callable[[], None],
    ) -> None:
        self._has_group = config.group_id is not None
        self._subscriptions = subscriptions
        self._lookup = lookup
        self._wake = wake
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._failures = 0
        self._task: asyncio.Task[None] | None = None
        self._problem: BaseException | None = None
        self.trouble: KafkaError | None = None  # why the last lookup is to be repeated

    def update(self) -> None:
        """Begin to look for the positions that are missing; raise what an earlier attempt met."""
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem
        if self._task is None and self._subscriptions.without_position():
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            self._problem = self._problem or task.exception()
        self._wake()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            await self._find()
            self._failures, self.trouble = 0, None
        except KafkaError as problem:
            if not problem.retriable:
                raise
            self._failures += 1
            self.trouble = problem
            log.info("positions cannot be found yet: %s", problem)
            await asyncio.sleep(self._backoff.delay_ms(self._failures, draw()) / 1000)

    async def _find(self) -> None:
        await self._from_commits()
        await self._from_resets()

    async def _from_commits(self) -> None:
        states = [s for s in self._subscriptions.without_position() if s.reset is None]
        if not states:
            return
        if not self._has_group:
            self._reset_to_default(states)
            return
        asked = [(state, state.version) for state in states]
        committed = await self._lookup.committed_once([state.tp for state in states])
        missing = []
        for state, version in asked:
            offset = committed[state.tp]
            if not self._subscriptions.is_current(state, version):
                continue
            if offset is None:
                missing.append(state)
            else:
                log.info("%s begins at the committed offset %d", state.tp, offset.offset)
                state.seek(offset.offset, offset.leader_epoch)
        self._reset_to_default(missing)

    def _reset_to_default(self, states: list[PartitionState]) -> None:
        reset = self._subscriptions.default_reset
        if reset is None and states:
            raise NoOffsetForPartitionError(
                f"nothing is committed for {', '.join(str(state.tp) for state in states)}, and "
                "auto_offset_reset is none: seek() to where to begin, or set it to earliest or "
                "latest"
            )
        for state in states:
            if reset is not None:
                state.request_reset(reset)

    async def _from_resets(self) -> None:
        asked = {
            state.tp: (state, state.version, state.reset)
            for state in self._subscriptions.without_position()
            if state.reset is not None
        }
        if not asked:
            return
        began_ms = monotonic_ms()
        listed = await self._lookup.by_timestamp_once(
            {tp: int(reset) for tp, (_, _, reset) in asked.items()}
        )
        log.debug("offsets listed in %d ms", monotonic_ms() - began_ms)
        for tp, found in listed.offsets.items():
            state, version, reset = asked[tp]
            if found is not None and self._subscriptions.is_current(state, version):
                log.info("%s begins at the %s offset %d", tp, reset.name.lower(), found.offset)
                state.seek(found.offset, found.leader_epoch)
        if listed.problem is not None:
            raise listed.problem
