"""Every table of the golden log, row by row; the expected rows are text in `golden_tables`."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.tables.partition_tables import PartitionTables
from pipeline.golden_log import SOURCE, built, golden_log, text_table

EXPECTED = Path(__file__).parent.parent / "golden_tables"
BUILT = (
    "assignments",
    "group_generations",
    "group_state_snapshots",
    "log_coverage",
    "members",
    "offset_commits",
    "rebalances",
    "txn_offset_commits",
)
SAME_IN_ALL_ROWS = {"cluster_id": "golden", "log_partition": 3}
TOLD_ELSEWHERE = {"state"}  # see test_snapshots
_ORDER = ("log_offset", "first_offset", "group_id", "partition", "member_id")


def columns_of(table: str) -> list[str]:
    left_out = SAME_IN_ALL_ROWS.keys() | TOLD_ELSEWHERE
    return [name for name in TABLES[table].arrow_schema.names if name not in left_out]


def place(row) -> tuple[object, ...]:
    return tuple(row[name] for name in _ORDER if name in row)


@pytest.fixture(scope="module")
def tables():
    return built(PartitionTables(SOURCE, snapshot_interval_ms=30_000), [golden_log()])


def test_all_tables_are_built(tables):
    assert sorted(tables) == list(BUILT)


@pytest.mark.parametrize("table", BUILT)
def test_rows_are_exactly_these(tables, table):
    rows = sorted(tables[table], key=place)
    assert text_table(rows, columns_of(table)) == (EXPECTED / f"{table}.txt").read_text()
    for name, value in SAME_IN_ALL_ROWS.items():
        assert {row[name] for row in rows} == {value}


def test_a_stream_may_keep_the_builder_between_records(tables):
    """One record per micro-batch, the builder pickled in between."""
    builder, log = PartitionTables(SOURCE, snapshot_interval_ms=30_000), golden_log()
    rows: dict[str, list[dict[str, object]]] = {}
    for n in range(len(log)):
        for name, batch in builder.feed(log.slice(n, 1)):
            rows.setdefault(name, []).extend(batch.to_pylist())
        builder = pickle.loads(pickle.dumps(builder))
    for name, batch in builder.finish():
        rows.setdefault(name, []).extend(batch.to_pylist())
    for table in BUILT:
        assert sorted(rows[table], key=place) == sorted(tables[table], key=place), table


def test_asking_for_open_rows_changes_nothing():
    builder = PartitionTables(SOURCE)
    list(builder.feed(golden_log()))
    first, second = list(builder.finish()), list(builder.finish())
    assert [(name, batch.to_pylist()) for name, batch in first] == [
        (name, batch.to_pylist()) for name, batch in second
    ]


def test_names_may_come_as_dictionaries(tables):
    log = golden_log()
    for name in ("group_id", "topic", "metadata", "topic_id"):
        at = log.schema.get_field_index(name)
        log = log.set_column(at, name, log.column(name).dictionary_encode())
    parts = [log.slice(0, 29), log.slice(29)]
    rows = built(PartitionTables(SOURCE, snapshot_interval_ms=30_000), parts)
    for table in BUILT:
        assert sorted(rows[table], key=place) == sorted(tables[table], key=place), table
