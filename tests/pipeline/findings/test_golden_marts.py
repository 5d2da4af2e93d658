"""Every mart of the golden log, row by row; the expected rows are text in `golden_tables`."""

from __future__ import annotations

import pytest

from drumbeat.pipeline.schemas import TABLES
from pipeline.golden_log import SOURCE, golden_log, text_table
from pipeline.history.conftest import watermarks
from pipeline.history.warehouses import derived_tables
from pipeline.tables.test_golden_tables import BUILT, EXPECTED, SAME_IN_ALL_ROWS

MARTS = ("compaction_report", "findings", "group_activity_daily", "lag_points", "lag_status")
TOLD_ELSEWHERE = {"suggested_action", "expected_hash"}
STAGED = {"group_events", "log_records", "pipeline_progress", "watermarks"}


@pytest.fixture(scope="module")
def tables():
    derived = derived_tables(SOURCE, [golden_log()], [watermarks()])
    return {name: [row for each in batches for row in each.to_pylist()]
            for name, batches in derived.items()}  # fmt: skip


@pytest.mark.parametrize("table", MARTS)
def test_rows_are_exactly_these(tables, table):
    left_out = SAME_IN_ALL_ROWS.keys() | TOLD_ELSEWHERE
    columns = [name for name in TABLES[table].arrow_schema.names if name not in left_out]
    rows = sorted(tables[table], key=lambda row: [str(row[name]) for name in columns])
    assert text_table(rows, columns) == (EXPECTED / f"{table}.txt").read_text()
    for name, value in SAME_IN_ALL_ROWS.items():
        assert {row[name] for row in rows} == {value}


def test_the_golden_log_keeps_every_promise(tables):
    assert "verification" not in tables


def test_every_derived_table_has_known_answers():
    assert {*BUILT, *MARTS, "verification"} | STAGED == TABLES.keys()
