"""What groups have committed and how that was judged, as far as it matters for what comes."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.lag.commits import NO_COMMITS, Places, Timeline
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.tables.as_of import PerSlot
from drumbeat.pipeline.tables.builder import Ints

HISTORY: Final = 50  # commits kept for the usual interval between them


class Field(IntEnum):
    """What is kept of each slot, NONE until it is known. From RUN on, the last evaluation."""

    SEEN = 0  # of the commits that are kept, so many were evaluated
    STILL_SINCE = auto()
    TICKED = auto()  # when it was evaluated last
    POINT_AT = auto()  # the last lag point, if lag was known then
    POINT_COMMITTED = auto()
    POINT_END = auto()
    POINT_LAG = auto()
    RAW = auto()
    STATUS = auto()
    RUN = auto()  # the result that all evaluations since RUN_FROM have come to
    RUN_FROM = auto()
    RUN_TO = auto()
    WINDOW_N = auto()
    COMMITTED = auto()
    END = auto()
    LAG = auto()
    SILENCE = auto()
    STILL = auto()


POINT: Final = slice(Field.POINT_AT, Field.POINT_LAG + 1)
LAST: Final = slice(Field.RUN, Field.STILL + 1)


class Tracks:
    """Commits that are not evaluated yet, some before them, and the results so far."""

    def __init__(self) -> None:
        self.places = Places()
        self._commits = NO_COMMITS
        self._fields = PerSlot(len(Field))
        self._first_ms: int | None = None
        self.newest_ms = 0

    def extend(self, batch: pa.RecordBatch) -> None:
        """More of `offset_commits`, in the order of the log."""
        commits = self.places.commits_in(batch)
        if not len(commits.times):
            return
        self._commits = self._commits.joined(commits)
        self.newest_ms = max(self.newest_ms, int(commits.times.max()))
        if self._first_ms is None:
            self._first_ms = int(commits.times[0])

    @property
    def first_ms(self) -> int | None:
        return self._first_ms

    def fields(self, slots: Ints) -> Ints:
        """A row per slot, a column per Field."""
        return self._fields.get(slots)

    def timeline(self) -> Timeline:
        fields = self._fields.get(np.arange(len(self.places.names)))
        seen = np.maximum(fields[:, Field.SEEN], 0)
        return Timeline(self._commits, seen, np.maximum(fields[:, Field.STILL_SINCE], 0))

    def series(self, watermarks: Watermarks) -> Ints:
        """Of each slot, the number of the series of samples of its partition."""
        return np.array([watermarks.number_of(name[1:]) for name in self.places.names], np.int64)

    def settle(self, timeline: Timeline, until_ms: int, evaluated: tuple[Ints, Ints]) -> None:
        """Take over slots and their last evaluations; drop what nothing will look at again."""
        slots = np.arange(len(self.places.names))
        fields = self._fields.get(slots)
        fields[evaluated[0]] = evaluated[1]
        ends = timeline.before(slots, np.full(len(slots), until_ms))
        ends = np.maximum(ends, timeline.seen_ends)
        kept = np.maximum(ends - HISTORY - 1, timeline.starts[:-1])
        has_any = ends > timeline.starts[:-1]
        fields[has_any, Field.STILL_SINCE] = timeline.still_since[ends[has_any] - 1]
        fields[:, Field.SEEN] = ends - kept
        self._fields.set(slots, fields)
        places = np.arange(len(timeline.commits.slots))
        self._commits = timeline.commits.part(places >= kept[timeline.commits.slots])
