"""The upkeep of a partition's log in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from drumbeat.log import memory_compaction
from drumbeat.log.errors import OffsetOutOfRange
from drumbeat.log.memory_partition import MemoryPartition
from drumbeat.log.port import Cleanable, CompactionBudget, CompactionResult
from drumbeat.log.retention import expired_segments
from drumbeat.log.upkeep import drained, sync_all

if TYPE_CHECKING:
    from drumbeat.log.memory_log import MemoryPartitionLog


class MemoryUpkeep:
    """See `port.PartitionLog` for what each method promises."""

    def __init__(self, log: MemoryPartitionLog, partition: MemoryPartition) -> None:
        self._log = log
        self._partition = partition

    async def delete_records_before(self, offset: int) -> int:
        log = self._log
        log.check_writable()
        if offset > log.synced_offset:
            raise OffsetOutOfRange(offset, log.start_offset, log.synced_offset)
        if offset > log.start_offset:
            self._partition.remove_below(offset)
        return log.start_offset

    async def enforce_retention(self, now_ms: int) -> int:
        log = self._log
        log.check_writable()
        expired = expired_segments(
            self._partition.summaries(log.end_offset),
            log.settings,
            now_ms=now_ms,
            start_offset=log.start_offset,
            synced_offset=log.synced_offset,
        )
        return self._partition.remove_first(expired)

    def cleanable(self, now_ms: int) -> Cleanable | None:
        return memory_compaction.cleanable(self._partition, self._log.settings, now_ms)

    async def compact(self, now_ms: int, budget: CompactionBudget) -> CompactionResult | None:
        steps = memory_compaction.compact(self._partition, self._log.settings, now_ms, budget)
        while True:
            self._log.check_writable()
            try:
                next(steps)
            except StopIteration as done:
                result: CompactionResult | None = done.value
                return result
            await asyncio.sleep(0)

    async def confirm(self) -> None:
        self._log.check_writable()

    async def release(self) -> None:
        log = self._log
        if not log.is_open:
            return
        try:
            await sync_all(log)
        finally:
            log.refuse("released")
            await self._give_up()

    async def expel(self, reason: str) -> None:
        self._log.fence(reason)
        await self._give_up()

    async def _give_up(self) -> None:
        await drained(self._log)
        self._log.close()
