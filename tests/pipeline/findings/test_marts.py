"""From a generated log to its marts: what the plan of the log says is what the marts find."""

import json
from collections import Counter, defaultdict

import pytest

from drumbeat.pipeline.decode.listing import segments_of
from drumbeat.pipeline.decode.segments import decode_segment
from drumbeat.pipeline.findings.marts import PartitionMarts
from drumbeat.pipeline.findings.rule import Limits
from drumbeat.pipeline.generator import plan_of, watermark_samples, write_log
from drumbeat.pipeline.generator.plan import Behaviour, GroupType
from drumbeat.pipeline.lag.status import Rules
from drumbeat.pipeline.lag.ticks import LagOptions
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.schemas import TABLES
from drumbeat.pipeline.tables.builder import LogPartition
from drumbeat.pipeline.tables.partition_tables import PartitionTables

# A quarter of an hour in which every behaviour occurs; limits are as short in proportion.
LOG = {"records": 40_000, "groups": 30, "seed": 93}
OPTIONS = LagOptions(bucket_ms=10_000, rules=Rules(session_timeout_ms=10_000))
LIMITS = Limits(hanging_ms=300_000)
MARTS = {
    "lag_points",
    "lag_status",
    "findings",
    "group_activity_daily",
    "compaction_report",
    "verification",
}


@pytest.fixture(scope="module")
def marts(tmp_path_factory):
    """Rows of all marts, by table."""
    directory = tmp_path_factory.mktemp("log")
    write_log(directory, **LOG)
    watermarks = Watermarks(watermark_samples(**LOG, every_ms=10_000))
    rows = defaultdict(list)
    for log_partition in range(50):
        path = str(directory / f"__consumer_offsets-{log_partition}")
        for table, batch in partition_marts(path, log_partition, watermarks):
            assert batch.schema == TABLES[table].arrow_schema
            rows[table] += batch.to_pylist()
    return rows


def partition_marts(path, log_partition, watermarks):
    source = LogPartition("generated", log_partition)
    tables = PartitionTables(source)
    builder = PartitionMarts(source, watermarks, OPTIONS, LIMITS)
    origin = {"cluster_id": "generated", "log_partition": log_partition}
    for segment in segments_of(path):
        for batch in decode_segment(segment, **origin):
            yield from builder.feed("log_records", batch)
            for derived in tables.feed(batch):
                yield from builder.feed(*derived)
    still_open = list(tables.finish())
    first = list(builder.finish(still_open))
    assert list(builder.finish(still_open)) == first, "asking changes nothing"
    yield from first


def groups_with(marts, kind):
    return {row["group_id"] for row in marts["findings"] if row["kind"] == kind}


def planned(behaviour):
    return {
        group.group_id
        for group in plan_of(**LOG).groups
        if group.behaviour is behaviour and group.type is GroupType.CLASSIC
    }


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (Behaviour.STORMING, "REBALANCE_STORM"),
        (Behaviour.STORMING, "FAILED_REBALANCES"),
        (Behaviour.STOPPING, "STOPPED"),
        (Behaviour.REWINDING, "RESET"),
    ],
)
def test_what_was_planned_is_found(marts, behaviour, kind):
    assert planned(behaviour)
    assert planned(behaviour) <= groups_with(marts, kind)


def test_steady_groups_are_left_alone(marts):
    """But for what is still open: the log ends before the samples do, so all fall silent."""
    groups = {group.group_id: group for group in plan_of(**LOG).groups}
    usual = {name for name in planned(Behaviour.STEADY) if groups[name].cadence_ms < 8_000}
    kinds = ("STOPPED", "STUCK_PARTITION", "RESET", "REBALANCE_STORM", "DATA_LOSS_RISK")
    found = {
        (row["group_id"], row["kind"])
        for row in marts["findings"]
        if row["kind"] in kinds and not json.loads(row["evidence"]).get("is_open")
    }
    assert len(usual) >= 5
    assert not {each for each in found if each[0] in usual}


def test_transactions_that_hang_are_found(marts):
    hanging = {group.group_id for group in plan_of(**LOG).groups if group.producer_id >= 0}
    assert groups_with(marts, "HANGING_TXN") == hanging != set()


def test_generated_log_keeps_every_promise(marts):
    assert [row for row in marts["verification"] if row["certainty"] == "violation"] == []


def test_marts_agree_with_each_other(marts):
    assert marts.keys() <= MARTS
    records = sum(row["records"] for row in marts["compaction_report"])
    commits = sum(row["commits"] for row in marts["group_activity_daily"])
    assert 0.8 * LOG["records"] < commits < records <= LOG["records"]
    assert all(row["expected_hash"] and row["lost_keys"] == 0 for row in marts["compaction_report"])
    points = Counter((row["group_id"], row["topic"]) for row in marts["lag_points"])
    assert len({group_id for group_id, _ in points}) >= 25
    assert all(row["lag"] is None or row["lag"] >= 0 for row in marts["lag_points"])
    open_runs = Counter(
        (row["group_id"], row["topic"], row["partition"])
        for row in marts["lag_status"]
        if row["is_open"]
    )
    assert set(open_runs.values()) == {1}
