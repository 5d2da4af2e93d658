"""What can be wrong with a log that is only read."""

from __future__ import annotations

from typing import NamedTuple


class BadBatch(NamedTuple):
    """Where no sound batch begins, and why: a finding for whoever knows what it means."""

    position: int
    found: str


class CorruptSegment(Exception):  # noqa: N818 - named after the log's own CorruptLog
    """Damage that is not a torn tail. All records before `position` were yielded already."""

    def __init__(self, source: str, position: int, found: str) -> None:
        super().__init__(source, position, found)  # what pickle hands back: executors report it
        self.source = source
        self.position = position
        self.found = found

    def __str__(self) -> str:
        return f"{self.source}, byte {self.position}: {self.found}"


class SegmentGone(Exception):  # noqa: N818 - reads as what it is
    """A listed file is no longer there, not even in the history: list the partition again."""
