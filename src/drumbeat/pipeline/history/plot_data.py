"""What a picture of a group is drawn from: read from the tables, cut to the time it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from drumbeat.pipeline.history.errors import HistoryError
from drumbeat.pipeline.history.questions import Scope
from drumbeat.pipeline.history.replay import replay_of_group
from drumbeat.pipeline.history.store import History
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from drumbeat.pipeline.schemas import (
    ASSIGNMENTS,
    GROUP_GENERATIONS,
    LAG_POINTS,
    OFFSET_COMMITS,
    REBALANCES,
    WATERMARKS,
)

_TABLES: Final = (
    GROUP_GENERATIONS, ASSIGNMENTS, OFFSET_COMMITS, LAG_POINTS, REBALANCES, WATERMARKS,
)  # fmt: skip
POINTS_MAX: Final = 2_000  # per partition: more than there are pixels

_GENERATIONS: Final = """
SELECT append_ts, ended_ts, generation, n_members, cause, start_ts
FROM group_generations LEFT JOIN
    (SELECT cluster_id, log_partition, log_offset, cause, start_ts FROM rebalances WHERE {mine})
    USING (cluster_id, log_partition, log_offset)
WHERE {mine} AND append_ts <= $until AND coalesce(ended_ts, $until) >= $since
ORDER BY log_offset
"""
_OWNERSHIPS: Final = """
SELECT coalesce(topic, lower(hex(topic_id))) AS topic, partition, member_id, client_id,
    valid_from, valid_to, state <> 'owned' AS is_pending
FROM assignments
WHERE {mine} AND valid_from <= $until AND coalesce(valid_to, $until) >= $since
ORDER BY valid_from
"""
# A bucket may end after the last sample; and before the first one nobody knows an end.
_KNOWN_LAGS: Final = """
WITH samples AS (
    SELECT cluster_id, topic, partition, min(sampled_at) AS first_ts, max(sampled_at) AS last_ts
    FROM watermarks GROUP BY ALL
), known_lags AS (
    SELECT topic, partition, least(bucket_ts, last_ts) AS at_ms, lag,
        lag(lag) OVER (PARTITION BY topic, partition ORDER BY bucket_ts) AS lag_before
    FROM lag_points JOIN samples USING (cluster_id, topic, partition)
    WHERE {mine} AND bucket_ts >= first_ts
)
"""
_LAGS: Final = f"""{_KNOWN_LAGS}
SELECT topic, partition, at_ms, lag FROM known_lags WHERE at_ms BETWEEN $since AND $until
ORDER BY topic, partition, at_ms
"""
_COMMITS: Final = """
SELECT topic, partition, visible_at, committed_offset FROM offset_commits
WHERE {mine} AND visible_at BETWEEN $since AND $until AND committed_offset IS NOT NULL
ORDER BY topic, partition, visible_at
"""
# What goes on without a change is not what a picture should end with.
_SPAN: Final = f"""{_KNOWN_LAGS}
SELECT min(first_ts), max(last_ts) FROM (
    SELECT min(append_ts) AS first_ts, max(append_ts) AS last_ts FROM group_generations
    WHERE {{mine}}
    UNION ALL
    SELECT min(append_ts), max(append_ts) FILTER (direction IS DISTINCT FROM 'noop')
    FROM offset_commits WHERE {{mine}} AND kind <> 'tombstone'
    UNION ALL
    SELECT min(at_ms), max(at_ms) FILTER (lag IS DISTINCT FROM lag_before) FROM known_lags
    WHERE lag IS NOT NULL
)
"""


class GenerationSpan(NamedTuple):
    from_ms: int
    to_ms: int | None
    generation: int
    n_members: int
    cause: str | None  # of the rebalance that led to it
    rebalance_from_ms: int | None


class OwnershipSpan(NamedTuple):
    topic: str
    partition: int
    member_id: str
    client_id: str
    from_ms: int
    to_ms: int | None
    is_pending: bool


class Line(NamedTuple):
    """A quantity of one partition over time."""

    topic: str
    partition: int
    times: list[int]
    values: list[int | None]


class PlotData(NamedTuple):
    group_id: str
    cluster_id: str
    since: int
    until: int
    generations: list[GenerationSpan]
    ownerships: list[OwnershipSpan]
    lags: list[Line]  # empty if no log-end offset was ever sampled
    commits: list[Line]


def plot_data(history: History, scope: Scope, since: int | None, until: int | None) -> PlotData:
    """From the group's first sign of life to its last, unless told otherwise."""
    group_id = scope.group_id
    assert group_id is not None
    history.require(*_TABLES)
    source = replay_of_group(history, group_id, scope.cluster_id).source
    scope = replace(scope, cluster_id=source.cluster_id)
    since, until = _span(history, scope, since, until)
    rows = _Reader(history, scope, since, until)
    lags = rows.lines(_LAGS)
    return PlotData(
        group_id=group_id,
        cluster_id=source.cluster_id,
        since=since,
        until=until,
        generations=[GenerationSpan(*row) for row in rows.of(_GENERATIONS)],
        ownerships=[OwnershipSpan(*row) for row in rows.of(_OWNERSHIPS)],
        lags=[line for line in lags if any(value is not None for value in line.values)],
        commits=rows.lines(_COMMITS),
    )


class _Reader:
    def __init__(self, history: History, scope: Scope, since: int, until: int) -> None:
        self._history, self._scope = history, scope
        self._span = {"since": since, "until": until}

    def of(self, sql: str) -> list[tuple[Any, ...]]:
        parameters = {**self._scope.parameters, **self._span}
        query = sql.replace("{mine}", self._scope.condition)
        return list(self._history.query(query, parameters).rows)

    def lines(self, sql: str) -> list[Line]:
        found: dict[tuple[str, int], Line] = {}
        for topic, partition, at_ms, value in self.of(sql):
            line = found.setdefault((topic, partition), Line(topic, partition, [], []))
            line.times.append(at_ms)
            line.values.append(value)
        return [_thinned(line) for line in found.values()]


def _span(history: History, scope: Scope, since: int | None, until: int | None) -> tuple[int, int]:
    sql = _SPAN.replace("{mine}", scope.condition)
    [(first, last)] = history.query(sql, scope.parameters).rows
    begin = since if since is not None else first
    end = until if until is not None else last
    if begin is None or end is None:
        raise HistoryError(f"group {scope.group_id!r} has no generation and no commit to draw")
    if not 0 <= begin <= end < END_OF_TIME_MS:
        raise HistoryError("--from must be before --to, and the group's life must overlap with it")
    margin = max((end - begin) // 50, 1)
    return (begin if since is not None else begin - margin), (
        end if until is not None else end + margin
    )


def _thinned(line: Line) -> Line:
    step = -(-len(line.times) // POINTS_MAX)
    return line._replace(times=line.times[::step], values=line.values[::step])
