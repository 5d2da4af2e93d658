"""Every table of the pipeline, declared once: what it answers, and its columns."""

from __future__ import annotations

from typing import Final

from drumbeat.pipeline.schemas.declaration import Column, Table, spark_type
from drumbeat.pipeline.schemas.intermediate import (
    ASSIGNMENTS,
    GROUP_GENERATIONS,
    MEMBERS,
    OFFSET_COMMITS,
    TXN_OFFSET_COMMITS,
)
from drumbeat.pipeline.schemas.marts import (
    COMPACTION_REPORT,
    FINDINGS,
    GROUP_ACTIVITY_DAILY,
    GROUP_STATE_SNAPSHOTS,
    LAG_POINTS,
    LAG_STATUS,
    REBALANCES,
    VERIFICATION,
)
from drumbeat.pipeline.schemas.staging import (
    GROUP_EVENTS,
    LOG_COVERAGE,
    LOG_RECORDS,
    PIPELINE_PROGRESS,
    WATERMARKS,
)

TABLES: Final = {
    table.name: table
    for table in (
        LOG_RECORDS,
        LOG_COVERAGE,
        OFFSET_COMMITS,
        TXN_OFFSET_COMMITS,
        GROUP_GENERATIONS,
        ASSIGNMENTS,
        MEMBERS,
        REBALANCES,
        GROUP_STATE_SNAPSHOTS,
        GROUP_EVENTS,
        WATERMARKS,
        LAG_POINTS,
        LAG_STATUS,
        FINDINGS,
        GROUP_ACTIVITY_DAILY,
        COMPACTION_REPORT,
        VERIFICATION,
        PIPELINE_PROGRESS,
    )
}

__all__ = [
    "ASSIGNMENTS",
    "COMPACTION_REPORT",
    "FINDINGS",
    "GROUP_ACTIVITY_DAILY",
    "GROUP_EVENTS",
    "GROUP_GENERATIONS",
    "GROUP_STATE_SNAPSHOTS",
    "LAG_POINTS",
    "LAG_STATUS",
    "LOG_COVERAGE",
    "LOG_RECORDS",
    "MEMBERS",
    "OFFSET_COMMITS",
    "PIPELINE_PROGRESS",
    "REBALANCES",
    "TABLES",
    "TXN_OFFSET_COMMITS",
    "VERIFICATION",
    "WATERMARKS",
    "Column",
    "Table",
    "spark_type",
]
