"""What every adapter's partition log has in common: ownership, offsets, and who waits for a sync.

At most one commit is in flight; what is appended meanwhile goes with the next, which may start when
the first ends. So the number of syncs follows the disk, and their size follows the load.

No coroutines: every commit comes by here, and they cannot be compiled (decision 0009). What takes
several steps is left to the log's upkeep.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from drumbeat.log.epochs import EpochHistory
from drumbeat.log.errors import (
    BatchTooLarge,
    Fenced,
    LogError,
    OffsetOutOfRange,
    UnexpectedEndOffset,
)
from drumbeat.log.port import (
    UNLIMITED_BUDGET,
    Cleanable,
    CompactionBudget,
    CompactionResult,
    EpochEntry,
    LogSettings,
    TopicPartition,
)
from drumbeat.log.upkeep import Upkeep
from drumbeat.protocol.record_batch import Outline, outline_of


class OwnedLog(ABC):
    """Adapters stage batches, begin commits, and report how a commit ended."""

    _upkeep: Upkeep  # the adapter's

    def __init__(
        self,
        topic_partition: TopicPartition,
        settings: LogSettings,
        epochs: EpochHistory,
        end_offset: int,
    ) -> None:
        self._topic_partition = topic_partition
        self._settings = settings
        self._epochs = epochs
        self._epoch = epochs.latest
        # Attributes, because every request asks for them; nobody else sets them.
        self.end_offset = end_offset
        self.synced_offset = end_offset
        self._is_open = True  # for reading; whether it may write is what `_refusal` says
        self._refusal: Callable[[], LogError] | None = None
        self._on_synced: Callable[[int], None] | None = None
        self._on_failed: Callable[[Exception], None] | None = None
        self._begun = 0  # commits begun so far
        self._is_committing = False
        self._is_sync_wanted = False
        self._is_dirty = False
        self._covered_offset = end_offset  # end of what the newest commit carries
        self._waiters: deque[tuple[int, asyncio.Future[int]]] = deque()  # (commit, waiter)

    @property
    def topic_partition(self) -> TopicPartition:
        return self._topic_partition

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    @abstractmethod
    def start_offset(self) -> int: ...

    @property
    def settings(self) -> LogSettings:
        return self._settings

    def configure(self, settings: LogSettings) -> None:
        self._settings = settings

    def epochs(self) -> list[EpochEntry]:
        return self._epochs.entries

    def end_offset_for_epoch(self, epoch: int) -> EpochEntry:
        return self._epochs.end_offset_for(epoch, self.synced_offset)

    def listen(
        self,
        on_synced: Callable[[int], None] | None,
        on_failed: Callable[[Exception], None] | None,
    ) -> None:
        self._on_synced = on_synced
        self._on_failed = on_failed

    def append(self, batch: bytes, *, expected: int) -> int:
        if self._refusal is not None:
            raise self._refusal()
        base_offset = self.end_offset
        if expected != base_offset:
            raise UnexpectedEndOffset(expected, base_offset)
        outline = outline_of(batch)
        size, settings = len(batch), self._settings
        if size > settings.batch_bytes_max or size > settings.segment_bytes:
            raise BatchTooLarge(size, min(settings.batch_bytes_max, settings.segment_bytes))
        self._stage(batch, outline, base_offset)
        self.end_offset = base_offset + outline[2] + 1
        self._is_dirty = True
        return base_offset

    def sync(self) -> asyncio.Future[int]:
        if self._refusal is None and self.end_offset > self.synced_offset:
            is_covered = self._is_committing and self._covered_offset >= self.end_offset
            return self._end_of_commit(self._begun if is_covered else self._begun + 1)
        waiter = asyncio.get_running_loop().create_future()
        if self._refusal is None:
            waiter.set_result(self.synced_offset)
        else:
            waiter.set_exception(self._refusal())
        return waiter

    def request_sync(self) -> None:
        if not self._is_sync_wanted:
            self._is_sync_wanted = True
            if not self._is_committing:
                self._schedule_commit()

    def _end_of_commit(self, number: int) -> asyncio.Future[int]:
        """Of one that runs, or, if it is the next, is asked for here."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append((number, waiter))
        if number > self._begun:
            self.request_sync()
        return waiter

    def _begin_next(self) -> bool:
        """For the adapter: it begins a commit now. False if there is nothing to be committed."""
        if self._is_committing:
            return False
        is_due = self._is_sync_wanted and self._is_dirty
        self._is_sync_wanted = False
        if is_due:
            self._is_dirty = False
            self._is_committing = True
            self._begun += 1
            self._covered_offset = self.end_offset
        return is_due

    def _commit_succeeded(self) -> None:
        """The newest commit is durable. `tell_synced` follows, once the next could begin."""
        number = self._begun
        self.synced_offset = self._covered_offset
        self._is_committing = False
        if self._is_sync_wanted and self._refusal is None:
            self._schedule_commit()
        while self._waiters and self._waiters[0][0] <= number:
            waiter = self._waiters.popleft()[1]
            if not waiter.done():  # or whoever waited was cancelled
                waiter.set_result(self.synced_offset)
        if self._refusal is not None:  # fenced while the commit ran: nothing follows it
            self._drop_unsynced(self._refusal)

    def tell_synced(self) -> None:
        if self._on_synced is not None:
            self._on_synced(self.synced_offset)

    def _commit_failed(self, error: Callable[[], LogError], *, is_fatal: bool) -> None:
        """Nothing since the last sync remains; a fatal failure ends this handle's writing."""
        self._is_committing = False
        if is_fatal and self._refusal is None:
            self._refusal = error
        self._drop_unsynced(error)
        if self._on_failed is not None:
            self._on_failed(error())

    def _check_readable(self, offset: int) -> None:
        if not self._is_open:
            raise self._refused()
        if not self.start_offset <= offset <= self.end_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.end_offset)

    def _refused(self) -> LogError:
        assert self._refusal is not None
        return self._refusal()

    def _drop_unsynced(self, error: Callable[[], LogError]) -> None:
        self.end_offset = self.synced_offset
        self._is_dirty = self._is_sync_wanted = False
        self._restore()
        waiters, self._waiters = self._waiters, deque()
        for _, waiter in waiters:
            if not waiter.done():
                waiter.set_exception(error())

    @abstractmethod
    def _stage(self, batch: bytes, outline: Outline, base_offset: int) -> None:
        """Queue a batch that has passed every check."""

    @abstractmethod
    def _schedule_commit(self) -> None:
        """Make everything staged durable, now or when more has gathered.

        If `_begin_next` agrees, `_commit_succeeded` and `tell_synced`, or `_commit_failed`, follow.
        """

    @abstractmethod
    def _restore(self) -> None:
        """Go back to what is synced."""

    # Upkeep

    def delete_records_before(self, offset: int) -> Coroutine[Any, Any, int]:
        return self._upkeep.delete_records_before(offset)

    def enforce_retention(self, now_ms: int) -> Coroutine[Any, Any, int]:
        return self._upkeep.enforce_retention(now_ms)

    def cleanable(self, now_ms: int) -> Cleanable | None:
        return self._upkeep.cleanable(now_ms)

    def compact(
        self, now_ms: int, budget: CompactionBudget = UNLIMITED_BUDGET
    ) -> Coroutine[Any, Any, CompactionResult | None]:
        return self._upkeep.compact(now_ms, budget)

    def confirm(self) -> Coroutine[Any, Any, None]:
        return self._upkeep.confirm()

    def release(self) -> Coroutine[Any, Any, None]:
        return self._upkeep.release()

    def expel(self, reason: str) -> Coroutine[Any, Any, None]:
        """End the epoch for a newer owner; a commit in flight is waited for, as it may land."""
        return self._upkeep.expel(reason)

    # For the upkeep

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def is_refused(self) -> bool:
        """Whether nothing can be written any more."""
        return self._refusal is not None

    def check_writable(self) -> None:
        if self._refusal is not None:
            raise self._refusal()

    def fence(self, reason: str) -> None:
        """Somebody else ended this epoch: the listener hears of it."""
        self.refuse(reason)
        if self._on_failed is not None:
            self._on_failed(self._refused())

    def refuse(self, reason: str) -> None:
        """Write no more. A commit in flight may still succeed; what has not begun is dropped."""
        text = f"{self._topic_partition}, epoch {self._epoch}: {reason}"
        self._refusal = lambda: Fenced(text)
        if not self._is_committing:
            self._drop_unsynced(self._refusal)

    def commit_in_flight(self) -> asyncio.Future[int] | None:
        """The end of the commit that runs, if one does."""
        return self._end_of_commit(self._begun) if self._is_committing else None

    def close(self) -> None:
        """Nothing is read any more either."""
        self._is_open = False
