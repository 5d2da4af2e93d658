"""`__group_events`: what happened to groups and why, written behind the coordinator's back.

Events are gathered and appended in batches. They never hold up an answer: when they cannot be
written fast enough, or at all, the oldest are dropped and the log says how many.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from drumbeat.core.events import GroupEvent, event_value
from drumbeat.log.errors import LogError
from drumbeat.protocol.records import encode_batch
from drumbeat.runtime.coordinator.event_lines import log_events
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.tasks import Tasks

log = logging.getLogger(__name__)

# A rebalance needs the processor while it lasts, so its events are written when no more come.
GATHER_S = 0.2
GATHER_TIMES_MAX = 5
EVENTS_PER_BATCH = 200  # others get their turn after each batch
EVENTS_MAX = 100_000

OpenPartition = Callable[[], Awaitable[Partition | None]]


class EventLog:
    def __init__(self, open_partition: OpenPartition, tasks: Tasks) -> None:
        self._open_partition = open_partition
        self._tasks = tasks
        self._events: deque[GroupEvent] = deque(maxlen=EVENTS_MAX)
        self._dropped = 0
        self._is_writing = False

    def tell(self, events: Iterable[GroupEvent]) -> None:
        for event in events:
            self._dropped += len(self._events) == EVENTS_MAX
            self._events.append(event)
        if not self._is_writing:
            self._is_writing = True
            self._tasks.spawn(self._write_soon())

    async def _write_soon(self) -> None:
        try:
            await self._gather()
            await self.flush()
        finally:
            self._is_writing = False

    async def _gather(self) -> None:
        """Returns when no event has come for a while, or many have gathered, or it takes long."""
        for _ in range(GATHER_TIMES_MAX):
            count = len(self._events)
            await asyncio.sleep(GATHER_S)
            if len(self._events) == count or count >= EVENTS_MAX // 2:
                return

    async def flush(self) -> None:
        """Write what has gathered."""
        partition = await self._open_partition() if self._events else None
        while self._events:
            batch = [
                self._events.popleft() for _ in range(min(len(self._events), EVENTS_PER_BATCH))
            ]
            log_events(batch)
            if not await _written(partition, batch):
                self._dropped += len(batch)
            await asyncio.sleep(0)
        if self._dropped:
            log.warning("%d group events could not be written", self._dropped)
            self._dropped = 0


async def _written(partition: Partition | None, events: list[GroupEvent]) -> bool:
    if partition is None:
        return False
    rows = [
        (delta, event.at_ms, event.group_id.encode(), event_value(event), ())
        for delta, event in enumerate(events)
    ]
    try:
        partition.log.append(encode_batch(rows), expected=partition.log.end_offset)
        await partition.log.sync()
    except LogError:
        return False
    return True
