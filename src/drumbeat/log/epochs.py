"""Which epoch wrote which offsets: the history behind leader-epoch-checkpoint.

Follows Kafka's LeaderEpochFileCache: entries grow in epoch and in start offset; an epoch that
wrote nothing gives its place to the next.
"""

from __future__ import annotations

from collections.abc import Iterable

from drumbeat.log.port import UNDEFINED_EPOCH, UNDEFINED_OFFSET, EpochEntry


class EpochHistory:
    def __init__(self, entries: Iterable[EpochEntry] = ()) -> None:
        self._entries: list[EpochEntry] = []
        for entry in entries:
            self.assign(entry)

    @property
    def entries(self) -> list[EpochEntry]:
        return list(self._entries)

    @property
    def latest(self) -> int:
        """The newest epoch, or -1."""
        return self._entries[-1].epoch if self._entries else UNDEFINED_EPOCH

    def assign(self, entry: EpochEntry) -> None:
        """Record where an epoch begins; entries that contradict it are gone."""
        if min(entry) < 0:
            raise ValueError(f"negative number in {entry}")
        while self._entries and (
            self._entries[-1].epoch >= entry.epoch
            or self._entries[-1].start_offset >= entry.start_offset
        ):
            self._entries.pop()
        self._entries.append(entry)

    def note(self, epoch: int, base_offset: int) -> None:
        """Learn from a batch in the log: only an epoch newer than all known says anything."""
        if epoch > self.latest:
            self.assign(EpochEntry(epoch, base_offset))

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that begin beyond the end of the log."""
        while self._entries and self._entries[-1].start_offset > end_offset:
            self._entries.pop()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs whose records are all gone; the one that holds the start begins there."""
        below = [entry for entry in self._entries if entry.start_offset <= start_offset]
        if below:
            first = EpochEntry(below[-1].epoch, start_offset)
            self._entries = [first, *self._entries[len(below) :]]

    def end_offset_for(self, epoch: int, end_offset: int) -> EpochEntry:
        """The largest known epoch up to `epoch` and where it ended; the newest ends with the log.

        An epoch older than all known ends where the first known begins: its records are gone.
        """
        if epoch == UNDEFINED_EPOCH or epoch > self.latest:
            return EpochEntry(UNDEFINED_EPOCH, UNDEFINED_OFFSET)
        if epoch == self.latest:
            return EpochEntry(epoch, end_offset)
        known = [entry.epoch for entry in self._entries if entry.epoch <= epoch]
        following = self._entries[len(known)]
        return EpochEntry(known[-1] if known else epoch, following.start_offset)
