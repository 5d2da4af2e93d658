"""One partition of the offsets log as an outsider reads it: whole batches, in order, replayed.

It is filled from the bytes that the node appends, and goes back when a crash takes some away.
"""

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from drumbeat.core.record_codec import decode
from drumbeat.core.records import (
    GroupMetadataTombstone,
    OffsetCommitRecord,
    OffsetCommitTombstone,
    Record,
)
from drumbeat.core.reducer import apply
from drumbeat.core.state import State
from drumbeat.log.memory_partition import StoredBatch
from drumbeat.protocol.records import decode_records

_TOMBSTONES = (OffsetCommitTombstone, GroupMetadataTombstone)


class Line(NamedTuple):
    """One record of the log."""

    offset: int
    at_ms: int
    key: bytes
    fact: Record


class Entry(NamedTuple):
    """One batch: what a single step of the node had to say."""

    base_offset: int
    epoch: int
    lines: tuple[Line, ...]


class Commit(NamedTuple):
    """What one client wrote: texts are unique, so a value names its commit."""

    group_id: str
    topic: str
    partition: int
    metadata: str


class Ledger:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.state = State()
        self.commits: dict[Commit, int] = {}  # to the offset where it stands first

    @property
    def end_offset(self) -> int:
        return self.entries[-1].lines[-1].offset + 1 if self.entries else 0

    @property
    def lines(self) -> list[Line]:
        return [line for entry in self.entries for line in entry.lines]

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)
        for line in entry.lines:
            apply(self.state, line.fact, line.offset)
            if isinstance(line.fact, OffsetCommitRecord):
                self.commits.setdefault(commit_of(line.fact), line.offset)

    def restart(self, entries: Iterable[Entry]) -> None:
        """Begin again with what is on disk."""
        self.entries, self.state, self.commits = [], State(), {}
        for entry in entries:
            self.append(entry)


def read_entry(batch: StoredBatch) -> Entry:
    lines = []
    for offset, at_ms, key, value, _headers in decode_records(batch.data):
        assert key is not None
        lines.append(Line(offset, at_ms, key, decode(key, value)))
    header = batch.header
    return Entry(header.base_offset, header.partition_leader_epoch, tuple(lines))


def commit_of(fact: OffsetCommitRecord) -> Commit:
    return Commit(fact.group_id, fact.topic, fact.partition, fact.metadata)


def replay(lines: Iterable[Line]) -> State:
    state = State()
    for line in lines:
        apply(state, line.fact, line.offset)
    return state


def compacted(lines: list[Line], rng: Random) -> list[Line]:
    """The log as a reader may find it while, or after, a cleaner has been at work.

    The cleaner knows the newest record of each key below `known`, has got as far as `cleaned`,
    and has dropped tombstones, whose time was up, below `graced`.
    """
    known = rng.randint(0, len(lines))
    cleaned = rng.randint(0, known)
    graced = rng.randint(0, cleaned)
    newest = {line.key: place for place, line in enumerate(lines[:known])}
    return [
        line
        for place, line in enumerate(lines)
        if (place >= cleaned or newest[line.key] == place)
        and not (place < graced and isinstance(line.fact, _TOMBSTONES))
    ]
