"""When partitions of groups are evaluated, and what stood there at those moments."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.lag import burrow, status
from drumbeat.pipeline.lag.burrow import Commits, Windows
from drumbeat.pipeline.lag.commits import Timeline
from drumbeat.pipeline.lag.measures import lags_of
from drumbeat.pipeline.lag.samples import Ends, Samples
from drumbeat.pipeline.lag.tracks import HISTORY, Field
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints

_PERCENT: Final = 95


class LagOptions(NamedTuple):
    bucket_ms: int = 60_000
    burrow: burrow.Thresholds = burrow.DEFAULT
    rules: status.Rules = status.DEFAULT

    def bucket_of(self, at_ms: Ints) -> Ints:
        return at_ms - at_ms % self.bucket_ms


DEFAULT: Final = LagOptions()


class Scene(NamedTuple):
    """All that evaluations look at: commits, samples, and which of them belong together."""

    timeline: Timeline
    samples: Samples
    series: Ints  # of each slot
    groups: Ints  # of each slot
    fields: Ints  # of each slot, as the evaluation before left them
    options: LagOptions


def due_ticks(scene: Scene, until_ms: int) -> tuple[Ints, Ints]:
    """Slots and times: ends of the buckets, up to a time, in which something happened."""
    timeline, bucket_ms = scene.timeline, scene.options.bucket_ms
    commits = timeline.commits
    pending = np.flatnonzero(np.arange(len(commits.slots)) >= timeline.seen_ends[commits.slots])
    since = _since(scene, pending)
    alive = np.flatnonzero(since != NONE)
    first, last = scene.samples.between(scene.series[alive], since[alive], until_ms)
    slots = np.concatenate((commits.slots[pending], np.repeat(alive, last - first)))
    sampled = scene.samples.columns.times[_ranges(first, last)]
    times = np.concatenate((commits.times[pending], sampled))
    # A commit of a bucket that is evaluated already came late: the next one counts it.
    ends = scene.options.bucket_of(np.maximum(times, since[slots])) + bucket_ms
    slots, ends = slots[ends <= until_ms], ends[ends <= until_ms]
    order = np.lexsort((ends, slots))
    slots, ends = slots[order], ends[order]
    is_new = np.ones(len(slots), np.bool_)
    is_new[1:] = (slots[1:] != slots[:-1]) | (ends[1:] != ends[:-1])
    return slots[is_new], ends[is_new]


def _since(scene: Scene, pending: Ints) -> Ints:
    """From when on each slot is evaluated; NONE if there is nothing to evaluate."""
    timeline = scene.timeline
    ends = timeline.seen_ends
    is_committed = ends > timeline.starts[:-1]
    is_committed[is_committed] = timeline.window_starts[ends[is_committed] - 1] < ends[is_committed]
    since = np.where(is_committed, scene.fields[:, Field.TICKED], NONE)
    slots, first = np.unique(timeline.commits.slots[pending], return_index=True)
    begun = scene.options.bucket_of(timeline.commits.times[pending[first]])
    ticked = scene.fields[slots, Field.TICKED]
    since[slots] = np.where(ticked == NONE, begun, ticked)
    return since


def _ranges(first: Ints, last: Ints) -> Ints:
    """The numbers of all stretches, one stretch after the other."""
    counts = last - first
    skipped = first - (np.cumsum(counts) - counts)
    places: Ints = np.arange(int(counts.sum())) + np.repeat(skipped, counts)
    return places


class Ticks:
    """Evaluations of slots at times, in the order of both; those of which there is nothing to say
    are left out. Answers our rules' questions about them."""

    def __init__(self, scene: Scene, slots: Ints, times: Ints) -> None:
        self._scene, self._timeline = scene, scene.timeline
        cursors = scene.timeline.before(slots, times)
        windows = self._window_starts(slots, cursors)
        is_first = np.ones(len(slots), np.bool_)
        is_first[1:] = slots[1:] != slots[:-1]
        before = np.where(is_first, scene.timeline.seen_ends[slots], np.roll(cursors, 1))
        is_kept = (cursors > windows) | (cursors > before)
        self.slots, self.now_ms = slots[is_kept], times[is_kept]
        self._cursors, self._windows = cursors[is_kept], windows[is_kept]
        self._series = scene.series[self.slots]

    def __len__(self) -> int:
        return len(self.slots)

    @cached_property
    def newest(self) -> Ints:
        """The place of the last commit before each of them."""
        return np.maximum(self._cursors - 1, self._timeline.starts[self.slots])

    @cached_property
    def has_committed(self) -> Bools:
        return self._cursors > self._windows

    @cached_property
    def committed(self) -> Ints:
        return self._timeline.commits.offsets[self.newest]

    @cached_property
    def are_lso(self) -> Bools:
        return self._timeline.commits.are_txn[self.newest]

    @cached_property
    def ends(self) -> Ends:
        return self._scene.samples.ends(self._series, self.now_ms, self.are_lso)

    @cached_property
    def has_lag(self) -> Bools:
        return self.has_committed & self.ends.are_known

    @cached_property
    def lags(self) -> Ints:
        return np.where(self.has_lag, lags_of(self.committed, self.ends).records, NONE)

    @cached_property
    def silence_ms(self) -> Ints:
        return self.now_ms - self._timeline.commits.times[self.newest]

    @cached_property
    def still_ms(self) -> Ints:
        return self.now_ms - self._timeline.still_since[self.newest]

    @cached_property
    def commits(self) -> Commits:
        """With the lag that they had at their own moment."""
        return self._window(self._aligned_lags)

    @cached_property
    def burrow_windows(self) -> Windows:
        """With the lag that a poller had seen."""
        width = self._scene.options.burrow.intervals
        first, seen = (
            self._scene.samples.starts[self._series],
            self._polls(self._series, self.now_ms),
        )
        places = np.maximum(seen[:, np.newaxis] - width + np.arange(width), 0)
        polled = self._scene.samples.columns.high_watermarks[places]
        current = np.maximum(polled[:, -1] - self.committed, 0)
        return Windows(
            commits=self._window(self._polled_lags),
            polled_ends=polled,
            poll_counts=np.minimum(seen - first, width),
            current_lags=np.where(seen > first, current, 0),
            now_ms=self.now_ms,
        )

    def interval_p95_ms(self, rows: Ints) -> Ints:
        first = np.maximum(self._windows[rows], self._cursors[rows] - HISTORY)
        spans = zip(first.tolist(), self._cursors[rows].tolist(), strict=True)
        times = self._timeline.commits.times
        return np.array([_percentile(np.diff(times[start:end])) for start, end in spans], np.int64)

    def has_grown_in_silence(self, rows: Ints) -> Bools:
        return self._has_grown(rows, self._timeline.commits.times[self.newest[rows]])

    def has_grown_while_still(self, rows: Ints) -> Bools:
        return self._has_grown(rows, self._timeline.still_since[self.newest[rows]])

    def has_moving_sibling(self, rows: Ints) -> Bools:
        return np.array([self._has_moving_sibling(row) for row in rows.tolist()], np.bool_)

    def _has_moving_sibling(self, row: int) -> bool:
        owners, still_since = self._timeline.commits.owners, self._timeline.still_since
        newest = self.newest[row]
        if owners[newest] == NONE:
            return False
        groups = self._scene.groups
        siblings = np.flatnonzero(groups == groups[self.slots[row]])
        now_ms = np.full(len(siblings), self.now_ms[row])
        theirs = self._timeline.before(siblings, now_ms)
        theirs = theirs[theirs > self._timeline.starts[siblings]] - 1
        has_moved = still_since[theirs] > still_since[newest]
        return bool((has_moved & (owners[theirs] == owners[newest])).any())

    def _has_grown(self, rows: Ints, since_ms: Ints) -> Bools:
        before = self._scene.samples.ends(self._series[rows], since_ms, self.are_lso[rows])
        return before.are_known & (self.ends.offsets[rows] > before.offsets)

    def _window_starts(self, slots: Ints, cursors: Ints) -> Ints:
        """The first commit after the last tombstone; the cursor if there is none."""
        first = self._timeline.starts[slots]
        newest = np.maximum(cursors - 1, 0)
        return np.where(cursors > first, self._timeline.window_starts[newest], first)

    def _window(self, lags: Ints) -> Commits:
        width = self._scene.options.burrow.intervals
        places = np.maximum(self._cursors[:, np.newaxis] - width + np.arange(width), 0)
        commits = self._timeline.commits
        counts = np.minimum(self._cursors - self._windows, width)
        return Commits(commits.offsets[places], commits.times[places], lags[places], counts)

    @cached_property
    def _wanted(self) -> Ints:
        """The commits that are in a window."""
        width = self._scene.options.burrow.intervals
        first = np.maximum(self._windows, self._cursors - width)
        is_wanted = np.zeros(len(self._timeline.commits.slots), np.bool_)
        is_wanted[_ranges(first, self._cursors)] = True
        return np.flatnonzero(is_wanted)

    @cached_property
    def _aligned_lags(self) -> Ints:
        wanted, commits = self._wanted, self._timeline.commits
        series = self._scene.series[commits.slots[wanted]]
        ends = self._scene.samples.ends(series, commits.times[wanted], commits.are_txn[wanted])
        lags = np.full(len(commits.slots), NONE)
        records = lags_of(commits.offsets[wanted], ends).records
        lags[wanted] = np.where(ends.are_known, records, NONE)
        return lags

    @cached_property
    def _polled_lags(self) -> Ints:
        wanted, commits, samples = self._wanted, self._timeline.commits, self._scene.samples
        series = self._scene.series[commits.slots[wanted]]
        seen = self._polls(series, commits.times[wanted])
        polled = samples.columns.high_watermarks[np.maximum(seen - 1, 0)]
        lags = np.full(len(commits.slots), NONE)
        missing = np.maximum(polled - commits.offsets[wanted], 0)
        lags[wanted] = np.where(seen > samples.starts[series], missing, NONE)
        return lags

    def _polls(self, series: Ints, at_ms: Ints) -> Ints:
        return self._scene.samples.seen_by(series, at_ms)


def _percentile(values: Ints) -> int:
    """The nearest rank; 0 of nothing."""
    rank = -(-len(values) * _PERCENT // 100)
    return int(np.sort(values)[rank - 1]) if rank else 0
