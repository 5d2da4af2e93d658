"""Builds `lag_points` and `lag_status` from a log partition's `offset_commits` and `watermarks`.

Time is cut into buckets; at the end of each bucket in which a group committed, or in which the
partition's end was sampled, the partition is evaluated once. Many evaluations are made together.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.lag.burrow import BurrowStatus
from drumbeat.pipeline.lag.evaluation import Evaluated, Result, evaluate
from drumbeat.pipeline.lag.samples import METHOD_LABELS, Floats
from drumbeat.pipeline.lag.status import Status
from drumbeat.pipeline.lag.ticks import LagOptions, Scene, Ticks, due_ticks
from drumbeat.pipeline.lag.tracks import LAST, Field, Tracks
from drumbeat.pipeline.lag.watermarks import HIGH_WATERMARK, LSO, Watermarks
from drumbeat.pipeline.schemas import LAG_POINTS, LAG_STATUS
from drumbeat.pipeline.tables.builder import (
    NONE,
    Bools,
    Ints,
    LogPartition,
    TableBatch,
    batch_of_columns,
    optional_ints,
)

_FLUSH_BUCKETS: Final = 16  # evaluating many buckets at a time costs less
_TICKS_MAX: Final = 50_000  # evaluated at a time, unless one bucket has more
_DEFAULT: Final = LagOptions()
_END_KINDS: Final = pa.array([HIGH_WATERMARK, LSO])
_BURROW_NAMES: Final = pa.array([each.name for each in BurrowStatus])
_STATUS_NAMES: Final = pa.array([each.name for each in Status])


class LagTables:
    """Fed with batches of `offset_commits`, in the order of the log."""

    def __init__(
        self, source: LogPartition, watermarks: Watermarks, options: LagOptions = _DEFAULT
    ) -> None:
        self._source, self._watermarks, self._options = source, watermarks, options
        self._tracks = Tracks()
        self._flushed_ms: int | None = None

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        self._tracks.extend(batch)
        if self._tracks.first_ms is None:
            return
        if self._flushed_ms is None:
            self._flushed_ms = self._bucket_of(self._tracks.first_ms)
        closed_ms = self._bucket_of(self._tracks.newest_ms)
        if closed_ms - self._flushed_ms < _FLUSH_BUCKETS * self._options.bucket_ms:
            return
        yield from self._evaluate(self._tracks, self._flushed_ms, closed_ms)
        self._flushed_ms = closed_ms

    def finish(self) -> Iterator[TableBatch]:
        """Points and statuses up to the end of the bucket of the newest commit or sample."""
        if self._flushed_ms is None:
            return
        tracks = copy.deepcopy(self._tracks)  # more may be fed afterwards
        newest_ms = max(tracks.newest_ms, self._watermarks.newest_ms)
        end_ms = self._bucket_of(newest_ms) + self._options.bucket_ms
        yield from self._evaluate(tracks, self._flushed_ms, end_ms)
        slots = np.arange(len(tracks.places.names))
        runs = tracks.fields(slots)[:, LAST]
        has_run = runs[:, 0] != NONE
        yield from self._statuses(slots[has_run], runs[has_run], is_open=True)

    def _bucket_of(self, at_ms: int) -> int:
        return at_ms - at_ms % self._options.bucket_ms

    def _evaluate(self, tracks: Tracks, from_ms: int, until_ms: int) -> Iterator[TableBatch]:
        """All buckets that end by `until_ms` and are not evaluated yet."""
        scene = self._scene(tracks)
        slots, times = due_ticks(scene, until_ms)
        buckets = (until_ms - from_ms) // self._options.bucket_ms
        if len(slots) > _TICKS_MAX and buckets > 1:
            half_ms = from_ms + buckets // 2 * self._options.bucket_ms
            yield from self._evaluate(tracks, from_ms, half_ms)
            yield from self._evaluate(tracks, half_ms, until_ms)
            return
        evaluated = evaluate(scene, Ticks(scene, slots, times))
        tracks.settle(scene.timeline, until_ms, (evaluated.last_slots, evaluated.last))
        yield from self._points(evaluated)
        yield from self._statuses(evaluated.ended_slots, evaluated.ended, is_open=False)

    def _scene(self, tracks: Tracks) -> Scene:
        return Scene(
            timeline=tracks.timeline(),
            samples=self._watermarks.samples,
            series=tracks.series(self._watermarks),
            groups=tracks.places.groups,
            fields=tracks.fields(np.arange(len(tracks.places.names))),
            options=self._options,
        )

    def _points(self, evaluated: Evaluated) -> Iterator[TableBatch]:
        ticks, points = evaluated.ticks, evaluated.points
        consume_rates, produce_rates, velocities, etas_s = map(_floats, points.trends)
        columns = {
            **self._places(ticks.slots),
            "bucket_ts": pa.array(ticks.now_ms),
            "committed": optional_ints(ticks.committed, ~ticks.has_committed),
            "hw": optional_ints(ticks.ends.offsets, ~ticks.ends.are_known),
            "end_kind": _END_KINDS.take(pa.array(ticks.are_lso.astype(np.int8))),
            "lag": _counts(points.lags.records),
            "lag_clamped": pa.array(points.lags.are_clamped),
            "lag_method": METHOD_LABELS.take(pa.array(ticks.ends.methods)),
            "error_bound": _counts(points.lags.error_bounds),
            "lag_seconds": _floats(points.seconds.seconds),
            "lag_seconds_method": METHOD_LABELS.take(pa.array(points.seconds.methods)),
            "consume_rate": consume_rates,
            "produce_rate": produce_rates,
            "velocity": velocities,
            "eta_s": etas_s,
            "retention_pct": _floats(points.retention_pcts),
        }
        yield from batch_of_columns(LAG_POINTS, self._source, columns, len(ticks))

    def _statuses(self, slots: Ints, runs: Ints, *, is_open: bool) -> Iterator[TableBatch]:
        numbers, from_ms, to_ms, window_n = (runs[:, at] for at in range(4))
        result = Result.of(numbers)
        columns = {
            **self._places(slots),
            "burrow_status": _BURROW_NAMES.take(pa.array(result.burrow)),
            "raw_status": _STATUS_NAMES.take(pa.array(result.raw)),
            "status": _STATUS_NAMES.take(pa.array(result.status)),
            "from_ts": pa.array(from_ms),
            "to_ts": pa.array(to_ms),
            "is_open": pa.repeat(pa.scalar(is_open), len(slots)),
            "window_n": pa.array(window_n),
            "evidence": pa.array(map(_evidence, runs.tolist()), pa.string()),
        }
        yield from batch_of_columns(LAG_STATUS, self._source, columns, len(slots))

    def _places(self, slots: Ints) -> dict[str, pa.Array]:
        names = self._tracks.places.names
        chosen = [names[slot] for slot in slots.tolist()]
        return {
            name: pa.array([place[at] for place in chosen])
            for at, name in enumerate(("group_id", "topic", "partition"))
        }


def _evidence(run: list[int]) -> str:
    """What an evaluation saw, given its fields from RUN on, as JSON."""
    seen = dict(zip(Field, [*[NONE] * LAST.start, *run], strict=True))
    if not seen[Field.WINDOW_N]:
        return "{}"
    is_known = seen[Field.LAG] != NONE
    shown: dict[str, Any] = {
        "committed": seen[Field.COMMITTED],
        "end": seen[Field.END] if is_known else None,
        "lag": seen[Field.LAG] if is_known else None,
        "silence_ms": seen[Field.SILENCE],
        "still_ms": seen[Field.STILL],
    }
    return json.dumps(shown, separators=(",", ":"))


def _counts(values: Ints) -> pa.Array:
    return optional_ints(values, values == NONE)


def _floats(values: Floats) -> pa.Array:
    is_null: Bools = np.isnan(values)
    return pa.array(values, mask=is_null)
