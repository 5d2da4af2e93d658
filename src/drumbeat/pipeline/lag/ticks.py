"""One evaluation of one partition of a group: a lag point, and both statuses with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from drumbeat.pipeline.lag import burrow, status
from drumbeat.pipeline.lag.measures import (
    LagSeconds,
    Place,
    Trend,
    lag_of,
    lag_seconds,
    retention_pct,
    trend,
)
from drumbeat.pipeline.lag.track import Run, Track
from drumbeat.pipeline.lag.watermarks import NONE, End, WatermarkSeries

_UNKNOWN_SECONDS: Final = LagSeconds(None, NONE)


class LagOptions(NamedTuple):
    bucket_ms: int = 60_000
    burrow: burrow.Thresholds = burrow.DEFAULT
    rules: status.Rules = status.DEFAULT


class Tick(NamedTuple):
    """A partition at the moment at which it is evaluated."""

    track: Track
    series: WatermarkSeries
    now_ms: int
    end: End | None
    options: LagOptions

    @property
    def lag(self) -> int | None:
        committed = self.track.committed
        if committed is None or self.end is None:
            return None
        return lag_of(committed, self.end).records


def point_values(tick: Tick) -> tuple[Any, ...]:
    """The columns of `lag_points` from bucket_ts on; moves the track's last point."""
    track, end, committed = tick.track, tick.end, tick.track.committed
    if end is None or committed is None:
        track.point = None
        offset, method = (None, NONE) if end is None else (end.offset, end.method)
        unknown = (tick.now_ms, committed, offset, track.end_kind, None, False, method, None)
        return (*unknown, *_UNKNOWN_SECONDS, *Trend(), None)
    lag = lag_of(committed, end)
    first_unconsumed = max(committed, end.log_start)
    seconds = lag_seconds(tick.series, first_unconsumed, lag.records, tick.now_ms)
    before, track.point = track.point, Place(tick.now_ms, committed, end.offset, lag.records)
    known = (tick.now_ms, committed, end.offset, track.end_kind, *lag[:2], end.method)
    change = trend(before, track.point)
    return (*known, lag.error_bound, *seconds, *change, retention_pct(lag, end))


def evaluated(tick: Tick, siblings: Sequence[Track]) -> Run:
    """The run that this evaluation is in: the one before, prolonged, or a new one."""
    track = tick.track
    evidence = _TickEvidence(tick, siblings)
    track.settled = track.settled.after(status.evaluate(evidence, tick.options.rules))
    result = (_burrow_status(tick), track.settled.raw.value, track.settled.status.value)
    is_same = track.run is not None and track.run.result == result
    from_ms = track.run.from_ms if track.run is not None and is_same else tick.now_ms
    return Run(result, from_ms, tick.now_ms, len(evidence.commits), _shown(tick, evidence))


def _burrow_status(tick: Tick) -> str:
    track, thresholds = tick.track, tick.options.burrow
    committed = track.committed
    if committed is None:
        return burrow.BurrowStatus.NOTFOUND.name
    polled = tick.series.polled(tick.now_ms, thresholds.intervals)
    current_lag = max(0, polled[-1] - committed) if polled else 0
    commits = track.window(thresholds.intervals)
    window = burrow.Window([each.polled for each in commits], polled, current_lag, tick.now_ms)
    return burrow.evaluate_partition(window, thresholds).status.name


class _TickEvidence:
    """Answers to the rules' questions; most are never asked."""

    def __init__(self, tick: Tick, siblings: Sequence[Track]) -> None:
        self._tick, self._track = tick, tick.track
        self._siblings = siblings
        self.lag = tick.lag
        window = tick.track.window(tick.options.burrow.intervals)
        self.commits = [each.aligned for each in window]

    @property
    def silence_ms(self) -> int:
        return self._tick.now_ms - self.commits[-1].at_ms

    @property
    def still_ms(self) -> int:
        return self._tick.now_ms - self._track.still_since_ms

    @property
    def interval_p95_ms(self) -> int:
        return self._track.interval_p95_ms

    @property
    def has_grown_in_silence(self) -> bool:
        return self._has_grown(self.commits[-1].at_ms)

    @property
    def has_grown_while_still(self) -> bool:
        return self._has_grown(self._track.still_since_ms)

    @property
    def has_moving_sibling(self) -> bool:
        owner, since_ms = self._track.owner, self._track.still_since_ms
        return owner is not None and any(
            other.owner == owner and other.still_since_ms > since_ms for other in self._siblings
        )

    def _has_grown(self, since_ms: int) -> bool:
        now = self._tick.end
        before = self._tick.series.at(since_ms, self._track.end_kind)
        return now is not None and before is not None and now.offset > before.offset


def _shown(tick: Tick, evidence: _TickEvidence) -> dict[str, Any]:
    if not evidence.commits:
        return {}
    return {
        "committed": tick.track.committed,
        "end": None if tick.end is None else tick.end.offset,
        "lag": evidence.lag,
        "silence_ms": evidence.silence_ms,
        "still_ms": evidence.still_ms,
    }
