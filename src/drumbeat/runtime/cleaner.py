"""Compacting logs in the background, the dirtiest first, one at a time: Kafka's LogCleaner."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from drumbeat.log.errors import LogError, LogFull
from drumbeat.log.port import Cleanable, CompactionBudget, CompactionResult, PartitionLog
from drumbeat.runtime.clock import Clock
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.partitions import Partitions

log = logging.getLogger(__name__)

# Of one core: requests come first, and compaction has all the time in the world.
CPU_SHARE: Final = 0.25


class Cleaner:
    def __init__(
        self, partitions: Partitions, clock: Clock, config: Callable[[], BrokerConfig]
    ) -> None:
        self._partitions = partitions
        self._clock = clock
        self._config = config
        # Logs that compaction failed on; as in Kafka they are left alone until they are reopened.
        self._uncleanable: set[PartitionLog] = set()
        self.compactions = 0
        self.compacted_bytes = 0  # that are gone

    @property
    def uncleanable_count(self) -> int:
        return len(self._uncleanable)

    async def clean_for_ever(self) -> None:
        while True:
            if not await self.clean_dirtiest():
                await asyncio.sleep(self._config().log_cleaner_backoff_ms / 1000)

    async def clean_dirtiest(self) -> bool:
        """Compact the log that needs it most; whether there was one."""
        now_ms = self._clock.now_ms()
        dirtiest = self._dirtiest(now_ms)
        if dirtiest is None:
            return False
        try:
            result = await dirtiest.compact(now_ms, self._budget())
        except LogFull as problem:
            log.warning("%s: no space to compact in: %s", dirtiest.topic_partition, problem)
            return False
        except (LogError, OSError) as problem:
            self._give_up(dirtiest, problem)
            return True
        if result is None:
            return False
        self._note(dirtiest, result)
        return True

    def _note(self, compacted: PartitionLog, result: CompactionResult) -> None:
        self.compactions += 1
        self.compacted_bytes += result.bytes_before - result.bytes_after
        fields = {**compacted.topic_partition._asdict(), **result._asdict()}
        summary = _summary(result)
        log.info("%s: compacted %s", compacted.topic_partition, summary, extra={"fields": fields})

    def _give_up(self, damaged: PartitionLog, problem: Exception) -> None:
        log.critical("%s: not compacted any more: %s", damaged.topic_partition, problem)
        self._uncleanable.add(damaged)

    def _dirtiest(self, now_ms: int) -> PartitionLog | None:
        logs = {partition.log for _, partition in self._partitions.opened()}
        self._uncleanable &= logs
        ratios = {
            log: cleanable.dirty_ratio
            for log in logs - self._uncleanable
            if (cleanable := self._cleanable(log, now_ms)) is not None and _is_due(log, cleanable)
        }
        return max(ratios, key=ratios.__getitem__, default=None)

    def _cleanable(self, log: PartitionLog, now_ms: int) -> Cleanable | None:
        try:
            return log.cleanable(now_ms)
        except (LogError, OSError) as problem:  # it looks at timestamps, so it may find damage
            self._give_up(log, problem)
            return None

    def _budget(self) -> CompactionBudget:
        config = self._config()
        return CompactionBudget(
            cpu_share=CPU_SHARE,
            bytes_per_second=max(config.log_cleaner_io_max_bytes_per_second, 1),
            dedupe_buffer_bytes=config.log_cleaner_dedupe_buffer_size,
        )


def _is_due(log: PartitionLog, cleanable: Cleanable) -> bool:
    return cleanable.is_overdue or cleanable.dirty_ratio > log.settings.min_cleanable_dirty_ratio


def _summary(result: CompactionResult) -> str:
    return (
        f"{result.segments_before} segments to {result.segments_after}, "
        f"{result.records_before} records to {result.records_after}, "
        f"{result.bytes_before} bytes to {result.bytes_after}"
    )
