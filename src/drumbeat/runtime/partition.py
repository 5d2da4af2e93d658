"""One data partition on this node: its log, its producers, and who waits for it to grow."""

from collections import deque
from collections.abc import Callable
from itertools import chain
from typing import Final, NamedTuple

from drumbeat.log.port import PartitionLog
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.record_batch import NO_PRODUCER_ID, iter_producer_headers
from drumbeat.runtime.config import TopicConfig
from drumbeat.runtime.producers import Producers
from drumbeat.runtime.record_validation import RefusedBatch, ValidBatch
from drumbeat.runtime.topics import INTERNAL_TOPICS

Synced = Callable[[Exception | None], None]  # called with what went wrong, or None

_new: Final = tuple.__new__  # every batch makes one, and a NamedTuple's constructor takes longer


class AppendedBatch(NamedTuple):
    base_offset: int
    end_offset: int  # what has to be synced
    log_append_time_ms: int


class Partition:
    """Appends are visible to readers, and answered, once they are synced.

    Making one reads the log to learn of its producers, which is for a worker thread to do. Internal
    topics are as good as never written with a producer id: theirs are read if that happens.
    """

    def __init__(self, log: PartitionLog, config: TopicConfig) -> None:
        self.log = log
        self.config = config
        self.producers = Producers()
        self._knows_producers = False
        if log.topic_partition.topic not in INTERNAL_TOPICS:
            self._read_producers()
        self._waiting: deque[tuple[int, Synced]] = deque()  # (offset to be synced, whom to tell)
        self._watchers: set[Callable[[], None]] = set()
        # For the coordinator, which answers to every sync and ends with the log.
        self.on_synced: Callable[[int], None] | None = None
        self.on_failed: Callable[[Exception], None] | None = None
        log.listen(self._on_synced, self._on_failed)

    @property
    def high_watermark(self) -> int:
        return self.log.synced_offset

    @property
    def leader_epoch(self) -> int:
        return self.log.epoch

    def leader_epoch_of(self, offset: int) -> int:
        """The epoch in which the record at `offset` was written; -1 for an empty log."""
        entries = self.log.epochs()
        found = [entry.epoch for entry in entries if entry.start_offset <= offset]
        if not found and entries:
            return entries[0].epoch  # a record before the log's start that is still in a segment
        return found[-1] if found else -1

    def check_epoch(self, client_epoch: int) -> ErrorCode:
        """Whether a client and this node agree on who leads; -1 is a client that does not say."""
        if client_epoch in (-1, self.log.epoch):
            return ErrorCode.NONE
        if client_epoch < self.log.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    # -- appending -------------------------------------------------------------------------------

    def append(self, batch: ValidBatch) -> AppendedBatch:
        """Append once per sequence number; raises RefusedBatch."""
        header = batch.header
        if header.producer_id > NO_PRODUCER_ID:
            if not self._knows_producers:
                self._read_producers()
            if (earlier := self.producers.duplicate(header)) is not None:
                # Kafka gives the batch's own time here, whatever the topic's timestamp type.
                return AppendedBatch(
                    earlier.base_offset, earlier.last_offset + 1, earlier.timestamp
                )
            if error_code := self.producers.check(header):
                raise RefusedBatch(
                    error_code,
                    f"producer {header.producer_id} sent epoch {header.producer_epoch}, "
                    f"sequence {header.base_sequence}",
                )
        base_offset = self.log.append(batch.data, expected=self.log.end_offset)
        self.producers.remember(header, base_offset)
        appended = (base_offset, self.log.end_offset, batch.log_append_time_ms)
        return _new(AppendedBatch, appended)

    def when_synced(self, offset: int, tell: Synced) -> None:
        """Call `tell` once everything below `offset` is durable, or cannot become so."""
        if offset <= self.log.synced_offset:
            tell(None)
            return
        self._waiting.append((offset, tell))
        self.log.request_sync()

    def _on_synced(self, synced_offset: int) -> None:
        if self.on_synced is not None:
            self.on_synced(synced_offset)
        while self._waiting and self._waiting[0][0] <= synced_offset:
            self._waiting.popleft()[1](None)
        if self._watchers:
            for watcher in tuple(self._watchers):
                watcher()

    def _on_failed(self, problem: Exception) -> None:
        # What was not synced is gone, and with it the sequence numbers it carried.
        self.producers = Producers()
        self._knows_producers = False
        waiting, self._waiting = self._waiting, deque()
        for _, tell in waiting:
            tell(problem)
        if self.on_failed is not None:
            self.on_failed(problem)

    def _read_producers(self) -> None:
        chunks = self.log.chunks_from(self.log.start_offset)
        self.producers = Producers(chain.from_iterable(map(iter_producer_headers, chunks)))
        self._knows_producers = True

    # -- watching --------------------------------------------------------------------------------

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` each time the high watermark moves."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.discard(watcher)
