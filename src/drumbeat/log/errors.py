"""What can go wrong with a log, and what its owner may do next.

LogError
 +- Fenced               no longer the owner: forget the state, somebody else has it
 +- LogHeld              another live process owns it: nothing was touched
 +- UnexpectedEndOffset  the caller's idea of the end is wrong: a bug, or a stale caller
 +- OffsetOutOfRange     below the first or above the last record
 +- BatchTooLarge        nothing was appended
 +- LogFull              no space: what was not synced is gone, reads go on, try again later
 +- AppendFailed         outcome unknown: this handle is dead for writes, acquire again
 +- CorruptLog           damage that is not a torn tail: nothing was repaired or removed
 +- TopicIdMismatch      the directory belongs to another topic of the same name
"""

from __future__ import annotations

# Names follow Kafka's and the contract's words, which do not end in "Error".
# ruff: noqa: N818


class LogError(Exception):
    """Anything a partition log refuses or fails to do."""


class Fenced(LogError):
    """The handle's epoch is over: a newer owner, a release or a deletion ended it."""


class LogHeld(LogError):
    """A live process holds the lock on a directory."""

    def __init__(self, directory: str, pid: int | None) -> None:
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{directory} is held by {holder}; stop it, or use another data directory")
        self.directory = directory
        self.pid = pid


class UnexpectedEndOffset(LogError):
    """Compare-and-append failed: the log does not end where the caller thinks."""

    def __init__(self, expected: int, end_offset: int) -> None:
        super().__init__(f"expected the log to end at offset {expected}, it ends at {end_offset}")
        self.expected = expected
        self.end_offset = end_offset


class OffsetOutOfRange(LogError):
    """The offset is not in the log."""

    def __init__(self, offset: int, start_offset: int, end_offset: int) -> None:
        super().__init__(f"offset {offset} is outside the log, {start_offset} to {end_offset}")
        self.offset = offset
        self.start_offset = start_offset
        self.end_offset = end_offset


class BatchTooLarge(LogError):
    """The batch exceeds what the log's settings allow."""

    def __init__(self, size: int, bytes_max: int) -> None:
        super().__init__(f"batch of {size} bytes; the limit is {bytes_max}")
        self.size = size
        self.bytes_max = bytes_max


class LogFull(LogError):
    """No space (or quota) left: everything not yet synced was dropped and will not come back."""


class AppendFailed(LogError):
    """A write or sync failed: only the next acquire shows what of the unsynced part is there."""


class CorruptLog(LogError):
    """Damage that must not be repaired silently; nothing was changed on disk."""

    def __init__(self, path: str, position: int, found: str, advice: str) -> None:
        super().__init__(f"{path}, byte {position}: {found}; {advice}")
        self.path = path
        self.position = position


class TopicIdMismatch(LogError):
    """partition.metadata names another topic id than the caller."""
