"""The numbers of lag points: lag in records and in seconds, its change, and what it risks.

All of them for many points at a time. What is unknown is NONE, or NaN where it is not a count.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.lag.samples import Appended, Ends, Floats, Method, Samples
from drumbeat.pipeline.tables.builder import NONE, Bools, Ints

VELOCITY_DEAD_BAND: Final = 1.0  # records per second: slower change is noise
ETA_LAG_MIN: Final = 100  # for less, an estimate says nothing


class Lags(NamedTuple):
    records: Ints
    are_clamped: Bools
    error_bounds: Ints


class LagSeconds(NamedTuple):
    seconds: Floats
    methods: Ints


class Trends(NamedTuple):
    """Change since the points before; NaN where there is none."""

    consume_rates: Floats
    produce_rates: Floats
    velocities: Floats
    etas_s: Floats


class Places(NamedTuple):
    """Where groups and partitions stood at a time, which is NONE if that is unknown."""

    times: Ints
    committed: Ints
    ends: Ints
    lags: Ints


def lags_of(committed: Ints, ends: Ends) -> Lags:
    """What is left to consume. Records that are deleted are not; nor is there less than nothing:
    a commit beyond the estimated end shows how wrong the estimate is."""
    missing = ends.offsets - np.maximum(committed, ends.log_starts)
    bounds = np.where(missing < 0, np.maximum(ends.error_bounds, -missing), ends.error_bounds)
    return Lags(np.maximum(missing, 0), committed < ends.log_starts, bounds)


def lag_seconds(
    samples: Samples, series: Ints, first_unconsumed: Ints, lags: Ints, at_ms: Ints
) -> LagSeconds:
    """The age of the first records that are not consumed."""
    appended: Appended = samples.appended(series, first_unconsumed, at_ms)
    seconds = np.maximum(at_ms - appended.times, 0) / 1_000
    seconds[appended.methods == Method.NONE] = np.nan
    is_at_end = lags == 0
    methods = np.where(is_at_end, Method.ZERO, appended.methods)
    return LagSeconds(np.where(is_at_end, 0.0, seconds), methods)


def trends(before: Places, now: Places) -> Trends:
    passed_ms = now.times - before.times
    is_known = (before.times != NONE) & (now.times != NONE) & (passed_ms > 0)
    seconds = np.where(is_known, passed_ms / 1_000, np.nan)
    velocities = (now.lags - before.lags) / seconds
    velocities[np.abs(velocities) < VELOCITY_DEAD_BAND] = 0.0
    is_shrinking = (velocities < 0) & (now.lags >= ETA_LAG_MIN)
    return Trends(
        consume_rates=(now.committed - before.committed) / seconds,
        produce_rates=(now.ends - before.ends) / seconds,
        velocities=velocities,
        etas_s=now.lags / np.where(is_shrinking, -velocities, np.nan),
    )


def retention_pcts(lags: Lags, ends: Ends) -> Floats:
    """How much of what partitions hold is not consumed: at 100 the next deletion loses some."""
    held = ends.offsets - ends.log_starts
    shares = 100.0 * lags.records / np.where(held > 0, held, np.nan)
    return np.minimum(100.0, shares)
