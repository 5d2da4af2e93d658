"""Builds `lag_points` and `lag_status` from a log partition's `offset_commits` and `watermarks`.

Time is cut into buckets; at the end of each bucket in which a group committed, or in which the
partition's end was sampled, the partition is evaluated once.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from drumbeat.pipeline.lag.ticks import LagOptions, Tick, evaluated, point_values
from drumbeat.pipeline.lag.track import Run, Track, commits_in
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.schemas import LAG_POINTS, LAG_STATUS, Table
from drumbeat.pipeline.tables.builder import LogPartition, TableBatch

_FLUSH_BUCKETS: Final = 16  # evaluating many buckets at a time costs less
_ROWS_MAX: Final = 50_000
_DEFAULT: Final = LagOptions()


class LagTables:
    """Fed with batches of `offset_commits`, in the order of the log."""

    def __init__(
        self, source: LogPartition, watermarks: Watermarks, options: LagOptions = _DEFAULT
    ) -> None:
        self._source, self._watermarks, self._options = source, watermarks, options
        self._groups: dict[str, list[Track]] = {}
        self._tracks: dict[tuple[str, str, int], Track] = {}
        self._newest_ms = 0
        self._flushed_ms: int | None = None
        self._flush_every_ms = _FLUSH_BUCKETS * options.bucket_ms

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        for place, commits in commits_in(batch):
            track = self._tracks.get(place)
            if track is None:
                track = self._tracks[place] = Track(place)
                self._groups.setdefault(place.group_id, []).append(track)
            track.extend(commits)
            self._newest_ms = max(self._newest_ms, commits.times[-1])
            if self._flushed_ms is None:
                self._flushed_ms = self._bucket_of(commits.times[0])
        closed_ms = self._bucket_of(self._newest_ms)
        if self._flushed_ms is None or closed_ms - self._flushed_ms < self._flush_every_ms:
            return
        yield from self._evaluate(self._groups, closed_ms)
        self._flushed_ms = closed_ms
        for track in self._tracks.values():
            track.forget()

    def finish(self) -> Iterator[TableBatch]:
        """Points and statuses up to the end of the bucket of the newest commit or sample."""
        newest_ms = max(self._newest_ms, self._watermarks.newest_ms)
        end_ms = self._bucket_of(newest_ms) + self._options.bucket_ms
        groups = {name: list(map(copy.copy, each)) for name, each in self._groups.items()}
        yield from self._evaluate(groups, end_ms)
        open_runs = [
            _status_row(track, track.run, is_open=True)
            for tracks in groups.values()
            for track in tracks
            if track.run is not None
        ]
        yield from self._batch(LAG_STATUS, open_runs)

    def _bucket_of(self, at_ms: int) -> int:
        return at_ms - at_ms % self._options.bucket_ms

    def _evaluate(self, groups: dict[str, list[Track]], until_ms: int) -> Iterator[TableBatch]:
        """All buckets that end by `until_ms` and are not evaluated yet."""
        points: list[tuple[Any, ...]] = []
        ended: list[tuple[Any, ...]] = []
        for tracks in groups.values():
            self._evaluate_group(tracks, until_ms, points, ended)
            if len(points) >= _ROWS_MAX:
                yield from self._batch(LAG_POINTS, points)
                points = []
        yield from self._batch(LAG_POINTS, points)
        yield from self._batch(LAG_STATUS, ended)

    def _evaluate_group(
        self,
        tracks: list[Track],
        until_ms: int,
        points: list[tuple[Any, ...]],
        ended: list[tuple[Any, ...]],
    ) -> None:
        due = {id(track): self._due(track, until_ms) for track in tracks}
        for now_ms in sorted(set().union(*due.values())):
            news = [self._advance(track, now_ms) for track in tracks]
            for track, new in zip(tracks, news, strict=True):
                if now_ms not in due[id(track)] or (track.committed is None and not new):
                    continue
                before = track.run
                tick = self._tick(track, now_ms)
                points.append((*track.place, *point_values(tick)))
                track.run = evaluated(tick, tracks)
                track.ticked_ms = now_ms
                if before is not None and before.result != track.run.result:
                    ended.append(_status_row(track, before, is_open=False))

    def _advance(self, track: Track, now_ms: int) -> int:
        series = self._watermarks[track.place[1:]]
        return track.advance(now_ms, series, self._options.burrow.intervals)

    def _due(self, track: Track, until_ms: int) -> set[int]:
        """Ends of the buckets in which something happened to a partition."""
        bucket_ms = self._options.bucket_ms
        pending = track.times[track.cursor :]
        if track.committed is None and not pending:
            return set()
        since_ms = track.ticked_ms
        if since_ms is None:
            since_ms = self._bucket_of(pending[0])
        sampled = self._watermarks[track.place[1:]].times_between(since_ms, until_ms)
        # A commit of a bucket that is evaluated already came late: the next one counts it.
        times = [max(at_ms, since_ms) for at_ms in (*pending, *sampled)]
        ends = {self._bucket_of(at_ms) + bucket_ms for at_ms in times}
        return {end for end in ends if end <= until_ms}

    def _tick(self, track: Track, now_ms: int) -> Tick:
        series = self._watermarks[track.place[1:]]
        return Tick(track, series, now_ms, series.at(now_ms, track.end_kind), self._options)

    def _batch(self, table: Table, rows: list[tuple[Any, ...]]) -> Iterator[TableBatch]:
        if not rows:
            return
        schema = table.arrow_schema
        columns = [[value] * len(rows) for value in self._source]
        columns += [list(column) for column in zip(*rows, strict=True)]
        arrays = [
            pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
        ]
        yield table.name, pa.RecordBatch.from_arrays(arrays, schema=schema)


def _status_row(track: Track, run: Run, *, is_open: bool) -> tuple[Any, ...]:
    evidence = json.dumps(run.evidence, separators=(",", ":"))
    tail = (run.from_ms, run.to_ms, is_open, run.window_n, evidence)
    return (*track.place, *run.result, *tail)
