"""What a partition's log needs beside appends and reads: shrinking, compacting, and its end.

All of it waits for the disk or for its turn, step by step: coroutines, for which `OwnedLog` has no
place.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from drumbeat.log.errors import LogError
from drumbeat.log.port import Cleanable, CompactionBudget, CompactionResult

if TYPE_CHECKING:
    from drumbeat.log.owned import OwnedLog


class Upkeep(Protocol):
    """See `port.PartitionLog` for what each method promises."""

    async def delete_records_before(self, offset: int) -> int: ...

    async def enforce_retention(self, now_ms: int) -> int: ...

    def cleanable(self, now_ms: int) -> Cleanable | None: ...

    async def compact(self, now_ms: int, budget: CompactionBudget) -> CompactionResult | None: ...

    async def confirm(self) -> None: ...

    async def release(self) -> None: ...

    async def expel(self, reason: str) -> None:
        """End the epoch for a newer owner."""


async def sync_all(log: OwnedLog) -> None:
    """Until nothing is left to be synced, or nothing can be."""
    while not log.is_refused and log.end_offset > log.synced_offset:
        await log.sync()


async def drained(log: OwnedLog) -> None:
    """Return once no commit is in flight, however it ended."""
    while (running := log.commit_in_flight()) is not None:
        with suppress(LogError):
            await running
