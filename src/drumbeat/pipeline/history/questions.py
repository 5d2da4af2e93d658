"""The questions that have a verb of their own, as SQL over the tables.

`$at` is a moment: what was known later is left out. `$group` and `$cluster` narrow an answer down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from drumbeat.pipeline.history.answer import Answer
from drumbeat.pipeline.history.layout import View
from drumbeat.pipeline.history.store import History
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from drumbeat.pipeline.history.views import (
    FINDINGS_VIEW,
    GROUPS_VIEW,
    LAG_VIEW,
    REBALANCES_VIEW,
)
from drumbeat.pipeline.schemas import (
    FINDINGS,
    GROUP_GENERATIONS,
    LAG_POINTS,
    LAG_STATUS,
    OFFSET_COMMITS,
    REBALANCES,
    Table,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    tables: tuple[Table, ...]
    sql: str  # {mine} stands for the condition on group and cluster
    times: tuple[str, ...]
    view: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What part of the history is asked about."""

    group_id: str | None = None
    cluster_id: str | None = None
    at_ms: int = END_OF_TIME_MS

    @property
    def condition(self) -> str:
        wanted = {"group_id = $group": self.group_id, "cluster_id = $cluster": self.cluster_id}
        return " AND ".join(
            ["TRUE", *(text for text, value in wanted.items() if value is not None)]
        )

    @property
    def parameters(self) -> dict[str, str]:
        wanted = {"group": self.group_id, "cluster": self.cluster_id}
        return {name: value for name, value in wanted.items() if value is not None}


def answer(history: History, question: Question, scope: Scope) -> Answer:
    history.require(*question.tables)
    history.sources(scope.cluster_id)
    if scope.group_id is not None:
        history.require_group(scope.group_id)
    sql = question.sql.replace("{mine}", scope.condition)
    parameters = {"at": scope.at_ms, **scope.parameters}
    return history.query(sql, parameters, times=question.times)._replace(view=question.view)


GROUPS: Final = Question(
    tables=(GROUP_GENERATIONS, OFFSET_COMMITS, LAG_POINTS, REBALANCES, FINDINGS),
    times=("last_commit",),
    view=GROUPS_VIEW,
    sql="""
WITH generations AS (
    SELECT *, CASE WHEN ended_ts <= $at THEN 'Dead' ELSE state_after END AS state
    FROM group_generations WHERE append_ts <= $at AND {mine}
    QUALIFY row_number() OVER (PARTITION BY cluster_id, group_id ORDER BY log_offset DESC) = 1
), commits AS (
    SELECT cluster_id, group_id, count(*) AS commits, max(append_ts) AS last_commit
    FROM offset_commits
    WHERE visible_at <= $at AND kind IN ('commit', 'txn_commit') AND {mine}
    GROUP BY ALL
), partition_lags AS (
    SELECT cluster_id, group_id, arg_max_null(lag, bucket_ts) AS lag
    FROM lag_points WHERE bucket_ts <= $at AND {mine}
    GROUP BY cluster_id, group_id, topic, partition
), lags AS (
    SELECT cluster_id, group_id, sum(lag) AS lag FROM partition_lags GROUP BY ALL
), moves AS (
    SELECT cluster_id, group_id, count(*) AS rebalances
    FROM rebalances WHERE end_ts <= $at AND {mine} GROUP BY ALL
), problems AS (
    SELECT cluster_id, group_id, count(*) AS findings
    FROM findings WHERE from_ts <= $at AND {mine} GROUP BY ALL
), places AS (
    SELECT cluster_id, group_id, arg_max(kind, log_offset) AS kind
    FROM offset_commits WHERE append_ts <= $at AND kind <> 'txn_aborted' AND {mine}
    GROUP BY cluster_id, group_id, topic, partition
), offsets AS (
    SELECT cluster_id, group_id, bool_or(kind <> 'tombstone') AS has_offsets
    FROM places GROUP BY ALL
), known AS (
    SELECT cluster_id, group_id FROM generations UNION SELECT cluster_id, group_id FROM offsets
)
SELECT cluster_id, group_id, coalesce(group_type, 'simple') AS type,
    coalesce(state, CASE WHEN has_offsets THEN 'Empty' ELSE 'Dead' END) AS state, generation,
    CASE state WHEN 'Dead' THEN 0 ELSE coalesce(n_members, 0) END AS members,
    coalesce(commits, 0) AS commits, last_commit, lag,
    coalesce(rebalances, 0) AS rebalances, coalesce(findings, 0) AS findings
FROM known
    LEFT JOIN generations USING (cluster_id, group_id)
    LEFT JOIN commits USING (cluster_id, group_id)
    LEFT JOIN offsets USING (cluster_id, group_id)
    LEFT JOIN lags USING (cluster_id, group_id)
    LEFT JOIN moves USING (cluster_id, group_id)
    LEFT JOIN problems USING (cluster_id, group_id)
ORDER BY cluster_id, group_id
""",
)

REBALANCES_OF_GROUPS: Final = Question(
    tables=(REBALANCES,),
    times=("at",),
    view=REBALANCES_VIEW,
    sql="""
SELECT end_ts AS at, group_id, from_generation, to_generation, duration_ms, duration_method,
    cause, cause_confidence AS confidence, cause_source AS source, client_reason,
    len(joined) AS joined, len("left") AS "left", len(restarted) AS restarted, stayed,
    partitions_moved AS moved, stickiness, commit_gap_ms, records_delayed,
    failed_attempts AS failed, complete
FROM rebalances WHERE end_ts <= $at AND {mine}
ORDER BY end_ts, cluster_id, log_partition, log_offset
""",
)

LAG: Final = Question(
    tables=(LAG_POINTS, LAG_STATUS),
    times=("at",),
    view=LAG_VIEW,
    sql="""
WITH points AS (
    SELECT * FROM lag_points WHERE bucket_ts <= $at AND {mine}
    QUALIFY row_number() OVER (
        PARTITION BY cluster_id, group_id, topic, partition ORDER BY bucket_ts DESC) = 1
), statuses AS (
    SELECT * FROM lag_status WHERE from_ts <= $at AND {mine}
    QUALIFY row_number() OVER (
        PARTITION BY cluster_id, group_id, topic, partition ORDER BY from_ts DESC) = 1
)
SELECT group_id, topic, partition, committed, hw AS log_end, lag, error_bound, lag_seconds,
    velocity, eta_s, retention_pct, status, burrow_status AS burrow, bucket_ts AS at
FROM points
    LEFT JOIN statuses USING (cluster_id, group_id, topic, partition)
ORDER BY lag DESC NULLS LAST, group_id, topic, partition
""",
)

FINDINGS_OF_GROUPS: Final = Question(
    tables=(FINDINGS,),
    times=("from", "to"),
    view=FINDINGS_VIEW,
    sql="""
SELECT severity, kind, group_id, subject, from_ts AS "from", to_ts AS "to", evidence,
    suggested_action
FROM findings WHERE from_ts <= $at AND {mine}
ORDER BY list_position(['critical', 'warning', 'info'], severity), from_ts, kind, group_id, subject
""",
)
