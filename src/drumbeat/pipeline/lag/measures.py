"""The numbers of a lag point: lag in records and in seconds, its change, and what it risks."""

from __future__ import annotations

from typing import Final, NamedTuple

from drumbeat.pipeline.lag.watermarks import NONE, ZERO, End, WatermarkSeries

VELOCITY_DEAD_BAND: Final = 1.0  # records per second: slower change is noise
ETA_LAG_MIN: Final = 100  # for less, an estimate says nothing


class Lag(NamedTuple):
    records: int
    is_clamped: bool
    error_bound: int | None


class LagSeconds(NamedTuple):
    seconds: float | None
    method: str


class Trend(NamedTuple):
    """Change since the point before; None where there is none."""

    consume_rate: float | None = None
    produce_rate: float | None = None
    velocity: float | None = None
    eta_s: float | None = None


class Place(NamedTuple):
    """Where group and partition stood at a time."""

    at_ms: int
    committed: int
    end: int
    lag: int


def lag_of(committed: int, end: End) -> Lag:
    """What is left to consume. Records that are deleted are not; nor is there less than nothing:
    a commit beyond the estimated end shows how wrong the estimate is."""
    first_unconsumed = max(committed, end.log_start)
    missing = end.offset - first_unconsumed
    bound = end.error_bound
    if missing < 0:
        bound = -missing if bound is None else max(bound, -missing)
    return Lag(max(missing, 0), committed < end.log_start, bound)


def lag_seconds(series: WatermarkSeries, first_unconsumed: int, lag: int, at_ms: int) -> LagSeconds:
    """The age of the first record that is not consumed."""
    if lag == 0:
        return LagSeconds(0.0, ZERO)
    appended = series.appended(first_unconsumed, at_ms)
    if appended is None:
        return LagSeconds(None, NONE)
    return LagSeconds(max(at_ms - appended.at_ms, 0) / 1_000, appended.method)


def trend(before: Place | None, now: Place) -> Trend:
    if before is None or now.at_ms <= before.at_ms:
        return Trend()
    seconds = (now.at_ms - before.at_ms) / 1_000
    velocity = (now.lag - before.lag) / seconds
    if abs(velocity) < VELOCITY_DEAD_BAND:
        velocity = 0.0
    return Trend(
        consume_rate=(now.committed - before.committed) / seconds,
        produce_rate=(now.end - before.end) / seconds,
        velocity=velocity,
        eta_s=now.lag / -velocity if velocity < 0 and now.lag >= ETA_LAG_MIN else None,
    )


def retention_pct(lag: Lag, end: End) -> float | None:
    """How much of what the partition holds is not consumed: at 100 the next deletion loses some."""
    held = end.offset - end.log_start
    if held <= 0:
        return None
    return min(100.0, 100.0 * lag.records / held)
