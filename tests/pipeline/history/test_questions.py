"""The golden log's known history, asked through SQL."""

import json

import pyarrow as pa
import pytest

from drumbeat.pipeline.history.errors import HistoryError, UnknownGroup
from drumbeat.pipeline.history.questions import (
    FINDINGS_OF_GROUPS,
    GROUPS,
    LAG,
    REBALANCES_OF_GROUPS,
    Scope,
    answer,
)
from drumbeat.pipeline.history.store import open_history
from drumbeat.pipeline.schemas import TABLES
from pipeline.golden_log import SOURCE, golden_log, text_table
from pipeline.history.warehouses import write_warehouse

END_OF_ORDERS = 50_000
COMPUTED = {"group_activity_daily": ["share_of_topic"]}

GROUPS_AT_THE_END = """\
group_id  type      state        generation  members  commits  rebalances
flow      streams   Empty        4           0        0        0
modern    consumer  Reconciling  3           1        3        2
orders    classic   Dead         10          0        13       8
payments  simple    Empty        -           0        3        0
shared    share     Reconciling  1           1        0        0
static    classic   Dead         2           0        1        2
"""
GROUPS_AT_9500 = """\
group_id  type     state   generation  members  commits  last_commit               rebalances
orders    classic  Stable  4           2        7        1970-01-01T00:00:09.000Z  4
"""
REBALANCES_OF_ORDERS = """\
at                        to_generation  duration_ms  cause            moved  commit_gap_ms
1970-01-01T00:00:01.000Z  1              100          JOIN             0      -
1970-01-01T00:00:03.000Z  2              1000         JOIN             2      2000
1970-01-01T00:00:06.000Z  3              2000         LEAVE            2      3000
1970-01-01T00:00:08.000Z  4              1000         JOIN             2      2000
1970-01-01T00:00:26.000Z  5              1000         SESSION_TIMEOUT  2      2000
"""


def check(history, question, scope, expected):
    documents = answer(history, question, scope).documents()
    assert text_table(documents, expected.splitlines()[0].split()) == expected


def test_groups(history):
    check(history, GROUPS, Scope(), GROUPS_AT_THE_END)
    check(history, GROUPS, Scope(at_ms=9_500), GROUPS_AT_9500)


def test_rebalances(history):
    scope = Scope(group_id="orders", at_ms=27_000)
    check(history, REBALANCES_OF_GROUPS, scope, REBALANCES_OF_ORDERS)


def test_lag_is_the_newest_that_was_known(history):
    rows = answer(history, LAG, Scope(group_id="payments")).documents()
    by_partition = {row["partition"]: row for row in rows}
    assert by_partition.keys() == {0, 1}
    assert all(row["lag"] == row["log_end"] - row["committed"] for row in rows if row["lag"])
    earlier = answer(history, LAG, Scope(group_id="orders", at_ms=END_OF_ORDERS + 10_000))
    assert 0 < max(row["lag"] for row in earlier.documents() if row["lag"] is not None) <= 160


def test_findings_are_worst_first(history):
    rows = answer(history, FINDINGS_OF_GROUPS, Scope()).documents()
    order = [("critical", "warning", "info").index(row["severity"]) for row in rows]
    assert order == sorted(order)
    assert {"HANGING_TXN", "REBALANCE_STORM"} <= {row["kind"] for row in rows}
    assert all(json.loads(row["evidence"]) for row in rows)
    of_static = answer(history, FINDINGS_OF_GROUPS, Scope(group_id="static")).documents()
    assert {row["group_id"] for row in of_static} == {"static"}


@pytest.mark.parametrize("question", [GROUPS, REBALANCES_OF_GROUPS, LAG, FINDINGS_OF_GROUPS])
def test_what_cannot_be_answered_is_told(history, staged, question):
    with pytest.raises(UnknownGroup, match="no group 'ordes'; did you mean 'orders'"):
        answer(history, question, Scope(group_id="ordes"))
    with pytest.raises(HistoryError, match="no cluster 'other'; it has golden"):
        answer(history, question, Scope(cluster_id="other"))
    with (
        open_history(str(staged)) as only_staged,
        pytest.raises(HistoryError, match="not derived yet"),
    ):
        answer(only_staged, question, Scope())


def test_every_table_can_be_asked(history):
    for table in TABLES.values():
        columns = history.query(f"SELECT * FROM {table.name} LIMIT 1").columns
        assert list(columns) == [*table.arrow_schema.names, *COMPUTED.get(table.name, ())]


def test_the_share_of_the_topic_is_of_all_log_partitions(tmp_path):
    log = golden_log()
    at = log.schema.get_field_index("log_partition")
    other = log.set_column(at, log.schema.field(at), pa.array([4] * len(log), pa.int32()))
    logs = {tuple(SOURCE): [log], (SOURCE.cluster_id, 4): [other]}
    write_warehouse(tmp_path / "two", logs)
    with open_history(str(tmp_path / "two")) as history:
        rows = history.query("SELECT share_of_partition, share_of_topic FROM group_activity_daily")
    assert rows.rows
    assert all(of_topic == of_partition / 2 for of_partition, of_topic in rows.rows)
