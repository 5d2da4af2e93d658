"""What one group has committed for one partition, as far as it matters for lag."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drumbeat.pipeline.lag.burrow import Commit
from drumbeat.pipeline.lag.measures import Place, lag_of
from drumbeat.pipeline.lag.status import Debounced
from drumbeat.pipeline.lag.watermarks import HIGH_WATERMARK, LSO, WatermarkSeries

HISTORY: Final = 50  # commits kept for the usual interval between them

_TXN_COMMIT: Final = "txn_commit"
_VISIBLE: Final = pa.array(["commit", _TXN_COMMIT, "tombstone"])


class PartitionOfGroup(NamedTuple):
    group_id: str
    topic: str
    partition: int


class Commits(NamedTuple):
    """Commits of one partition by one group, in the order in which readers saw them."""

    times: list[int]
    offsets: list[int | None]  # None: a tombstone
    owners: list[str | None]
    last_kind: str


class SeenCommit(NamedTuple):
    """A commit with the lag that it had, against two ends."""

    polled: Commit  # the one that a poller had last seen
    aligned: Commit  # the one at that moment


class Run(NamedTuple):
    """A stretch of evaluations that all came to the same result."""

    result: tuple[str, str, str]
    from_ms: int
    to_ms: int
    window_n: int
    evidence: dict[str, Any]


class Track:
    """Commits that are not evaluated yet, some before them, and the results so far.

    Lists are replaced and never changed in place once a tick has looked at them, so a shallow
    copy is a snapshot.
    """

    __slots__ = (
        "cursor",
        "end_kind",
        "offsets",
        "owners",
        "place",
        "point",
        "run",
        "seen",
        "settled",
        "still_since_ms",
        "ticked_ms",
        "times",
        "window_start",
    )

    def __init__(self, place: PartitionOfGroup) -> None:
        self.place = place
        self.times: list[int] = []
        self.offsets: list[int | None] = []
        self.owners: list[str | None] = []
        self.end_kind = HIGH_WATERMARK
        self.cursor = 0  # commits before this one are seen
        self.window_start = 0  # the first commit after the last tombstone
        self.seen: tuple[SeenCommit, ...] = ()  # the newest of them, after the last tombstone
        self.still_since_ms = 0
        self.ticked_ms: int | None = None
        self.point: Place | None = None
        self.settled = Debounced()
        self.run: Run | None = None

    def extend(self, commits: Commits) -> None:
        floor = self.times[-1] if self.times else commits.times[0]
        times = np.maximum.accumulate(np.array([floor, *commits.times]))[1:].tolist()
        self.times = self.times + times
        self.offsets = self.offsets + commits.offsets
        self.owners = self.owners + commits.owners
        # Who commits in transactions reads committed records only.
        self.end_kind = LSO if commits.last_kind == _TXN_COMMIT else HIGH_WATERMARK

    def advance(self, now_ms: int, series: WatermarkSeries, intervals: int) -> int:
        """Looks at the commits before a time; how many of them are new."""
        end = bisect_left(self.times, now_ms, self.cursor)
        for at in range(self.cursor, end):
            if self.offsets[at] is None:
                self.window_start, self.seen = at + 1, ()
            elif at == self.window_start or self.offsets[at] != self.offsets[at - 1]:
                self.still_since_ms = self.times[at]
        fresh = range(max(self.cursor, self.window_start, end - intervals), end)
        if fresh:
            news = (self._seen(at, series) for at in fresh)
            self.seen = (*self.seen, *news)[-intervals:]
        new, self.cursor = end - self.cursor, end
        return new

    def _seen(self, at: int, series: WatermarkSeries) -> SeenCommit:
        at_ms, offset = self.times[at], self.offsets[at]
        assert offset is not None  # a tombstone ends the window
        polled, end = series.polled(at_ms, 1), series.at(at_ms, self.end_kind)
        return SeenCommit(
            Commit(offset, at_ms, max(0, polled[0] - offset) if polled else None),
            Commit(offset, at_ms, None if end is None else lag_of(offset, end).records),
        )

    @property
    def committed(self) -> int | None:
        return self.offsets[self.cursor - 1] if self.cursor > self.window_start else None

    @property
    def owner(self) -> str | None:
        return self.owners[self.cursor - 1] if self.cursor else None

    @property
    def interval_p95_ms(self) -> int:
        times = self.times[max(self.window_start, self.cursor - HISTORY) : self.cursor]
        intervals = sorted(np.diff(times).tolist()) or [0]
        return int(intervals[-(-len(intervals) * 95 // 100) - 1])

    def window(self, intervals: int) -> tuple[SeenCommit, ...]:
        """The last commits, at most `intervals`."""
        return self.seen[-intervals:]

    def forget(self) -> None:
        """Drops commits that no evaluation will look at again."""
        drop = max(0, self.cursor - HISTORY - 1)
        self.times, self.offsets = self.times[drop:], self.offsets[drop:]
        self.owners = self.owners[drop:]
        self.cursor -= drop
        self.window_start = max(0, self.window_start - drop)


def commits_in(batch: pa.RecordBatch) -> Iterator[tuple[PartitionOfGroup, Commits]]:
    """The commits of an `offset_commits` batch that readers saw, by group and partition."""
    table = pa.table(batch)
    seen_at = pc.coalesce(table["visible_at"], table["append_ts"])
    table = table.append_column("seen_at", seen_at).filter(pc.is_in(table["kind"], _VISIBLE))
    table = table.append_column("row", pa.array(np.arange(len(table))))
    columns = [table[name].to_pylist() for name in ("seen_at", "committed_offset")]
    owners, kinds = (table[name].to_pylist() for name in ("owner_member_id", "kind"))
    places = table.group_by(list(PartitionOfGroup._fields), use_threads=False)
    for place in places.aggregate([("row", "list")]).to_pylist():
        rows = place.pop("row_list")
        times, offsets = ([column[row] for row in rows] for column in columns)
        held = [owners[row] for row in rows]
        yield PartitionOfGroup(**place), Commits(times, offsets, held, kinds[rows[-1]])
