"""A partition's log in memory: the handle that its owner holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drumbeat.log.errors import AppendFailed
from drumbeat.log.memory_faults import Faults, SyncFault
from drumbeat.log.memory_partition import MemoryPartition, StoredBatch
from drumbeat.log.memory_upkeep import MemoryUpkeep
from drumbeat.log.owned import OwnedLog
from drumbeat.log.port import LOAD_CHUNK_BYTES, LogBatch, LogSettings, TimestampOffset
from drumbeat.protocol.record_batch import BatchHeader, Outline, assign, read_header


class MemoryPartitionLog(OwnedLog):
    """See `port.PartitionLog` for what each method promises."""

    def __init__(
        self,
        partition: MemoryPartition,
        settings: LogSettings,
        faults: Faults,
        on_closed: Callable[[MemoryPartitionLog], None],
    ) -> None:
        super().__init__(
            partition.topic_partition, settings, partition.epochs, partition.end_offset
        )
        self._partition = partition
        self._faults = faults
        self._on_closed = on_closed
        self._staged: list[StoredBatch] = []
        self._in_flight: list[StoredBatch] = []
        self._upkeep = MemoryUpkeep(self, partition)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()

    @property
    def start_offset(self) -> int:
        return self._partition.start_offset

    @property
    def size_bytes(self) -> int:
        unsynced = sum(len(batch.data) for batch in (*self._in_flight, *self._staged))
        return self._partition.size_bytes + unsynced

    # Committing

    def _stage(self, batch: bytes, outline: Outline, base_offset: int) -> None:
        header = read_header(batch)
        stamped = BatchHeader(base_offset, header.batch_length, self._epoch, *header[3:])
        self._staged.append(StoredBatch(stamped, assign(batch, base_offset, self._epoch)))

    def _restore(self) -> None:
        self._staged = []
        self._in_flight = []

    def _schedule_commit(self) -> None:
        if self._begin_next():
            self._in_flight, self._staged = self._staged, []
            self._faults.schedule(self._end_commit)

    def _end_commit(self, fault: SyncFault | None) -> None:
        if not self._is_open:  # the power went before the sync was through
            return
        if fault is None or fault.lands:
            self._partition.store(self._in_flight, self._settings)
        if fault is None:
            self._in_flight = []
            self._commit_succeeded()
            self.tell_synced()
        else:
            kind, text = fault.error, f"{self._topic_partition}: injected fault"
            self._commit_failed(lambda: kind(text), is_fatal=kind is AppendFailed)

    # Reading

    def read(self, offset: int, bytes_max: int, *, whole_first_batch: bool = True) -> bytes:
        self._check_readable(offset)
        if offset >= self.synced_offset:
            return b""
        return self._partition.read(offset, bytes_max, whole_first_batch=whole_first_batch)

    def batches_from(
        self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES
    ) -> Iterator[LogBatch]:
        self._check_readable(offset)
        return self._partition.batches(offset, self.synced_offset)

    def chunks_from(self, offset: int, *, chunk_bytes: int = LOAD_CHUNK_BYTES) -> Iterator[bytes]:
        return (bytes(batch.data) for batch in self.batches_from(offset, chunk_bytes=chunk_bytes))

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        self._check_readable(self.start_offset)
        return self._partition.offset_for_timestamp(timestamp)

    def max_timestamp(self) -> TimestampOffset | None:
        self._check_readable(self.start_offset)
        return self._partition.max_timestamp()

    # Ending

    def close(self) -> None:
        super().close()
        self._on_closed(self)

    def lose_power(self) -> None:
        """Drop everything that is not synced, a sync in flight included."""
        self._is_open = False
        self._is_committing = False
        self.fence("power cut")
        self._on_closed(self)
