"""Our command line against Apache Kafka, and beside Kafka's own tools on the same cluster."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from cli.running import Drumbeat, filled_topic
from drumbeat.client import SyncConsumer, TopicPartition
from drumbeat.client.admin import SyncAdmin
from interop.java_programs import CONSUMER_GROUPS, Tools
from interop.kafka_jars import start_kafka
from support.data_topics import fresh_name
from support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

JOIN_TIMEOUT_S = 60.0
# Records of 1970 have to stay, and indexes to have entries.
SETTINGS = {"log.retention.ms": "-1", "log.index.interval.bytes": "200"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="module")
def kafka(folder):
    with start_kafka(folder, SETTINGS) as servers:
        yield servers


@pytest.fixture(scope="module")
def drumbeat(kafka):
    return Drumbeat(kafka)


@pytest.fixture(scope="module")
def tools(kafka):
    return Tools(kafka)


@pytest.fixture(scope="module")
def admin(kafka):
    with SyncAdmin(bootstrap_servers=kafka) as admin:
        yield admin


@pytest.fixture(scope="module")
def orders(admin, drumbeat):
    """Two partitions with ten records each, at the milliseconds 0, 100, 200 ..."""
    return filled_topic(admin, drumbeat.producer)


@pytest.fixture
def group(admin, orders):
    """At 4 and 7 of 10, without members."""
    name = fresh_name("empty")
    admin.alter_group_offsets(name, {TopicPartition(orders, 0): 4, TopicPartition(orders, 1): 7})
    return name


def theirs(tools, group):
    """kafka-consumer-groups --describe: topic, partition, committed, end, lag, member, client."""
    heading, *rows = tools(CONSUMER_GROUPS, "--describe", "--group", group).rows
    assert heading[:4] == ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET"]
    return sorted((*row[1:7], row[8]) for row in rows)


def ours(drumbeat, group):
    (described,) = drumbeat.json("groups", "describe", group)
    columns = ("topic", "partition", "committed_offset", "log_end_offset", "lag", "owner")
    return sorted(
        tuple("-" if one[name] is None else str(one[name]) for name in (*columns, "client_id"))
        for one in described["partitions"]
    )


def test_an_empty_group_is_described_as_kafka_does(drumbeat, tools, group):
    assert ours(drumbeat, group) == theirs(tools, group)


def test_a_group_with_members_is_described_as_kafka_does(drumbeat, tools, kafka, orders):
    group = fresh_name("busy")
    options = {"bootstrap_servers": kafka, "group_id": group, "client_id": "reader"}
    with SyncConsumer(options, auto_offset_reset="earliest", enable_auto_commit=False) as consumer:
        consumer.subscribe([orders])
        wait_until(lambda: consumer.poll(100) or consumer.assignment(), JOIN_TIMEOUT_S, "joining")
        consumer.commit()
        assert ours(drumbeat, group) == theirs(tools, group)
        assert drumbeat.json("groups", "describe", group)[0]["coordinator"]["node_id"] == 1
        refused = drumbeat.attempt("groups", "reset", group, "--topic", orders, "--to-latest")
        assert (refused.exit_code, "(reader at /127.0.0.1)" in refused.stderr) == (1, True)


RESETS = [
    ("--to-earliest",),
    ("--to-latest",),
    ("--to-current",),
    ("--to-offset", "3"),
    ("--to-offset", "99"),
    ("--shift-by", "-5"),
    ("--to-datetime", "1970-01-01T00:00:00.250"),
    ("--by-duration", "PT1H"),
]


@pytest.mark.parametrize("plan", RESETS, ids=" ".join)
def test_a_reset_goes_where_kafkas_would(drumbeat, tools, group, plan):
    wanted = ("--all-topics", *plan)
    order = ("--reset-offsets", "--dry-run", "--group", group)
    rows = tools(CONSUMER_GROUPS, *order, *wanted).rows
    planned = sorted((row[1], int(row[2]), int(row[3])) for row in rows if row[0] == group)
    resets = drumbeat.json("groups", "reset", group, *wanted)["resets"]
    assert [(one["topic"], one["partition"], one["after"]) for one in resets] == planned
    drumbeat("groups", "reset", group, *wanted, "--execute")
    assert [(row[0], int(row[1]), int(row[2])) for row in theirs(tools, group)] == planned


def test_each_reads_what_the_other_exports(drumbeat, tools, group, orders, tmp_path):
    path = tmp_path / "offsets.csv"
    order = ("--reset-offsets", "--group", group)
    path.write_text(
        tools(
            *(CONSUMER_GROUPS, *order, "--topic", orders, "--to-offset", "2", "--export"),
            "--dry-run",
        ).stdout
    )
    drumbeat("groups", "reset", group, "--from-file", str(path), "--execute")
    assert [row[2] for row in theirs(tools, group)] == ["2", "2"]
    there = ("--topic", f"{orders}:1", "--to-offset", "9", "--export")
    path.write_text(drumbeat("groups", "reset", group, *there).stdout)
    tools(CONSUMER_GROUPS, *order, "--from-file", str(path), "--execute")
    assert [one[2] for one in ours(drumbeat, group)] == ["2", "9"]


def test_a_group_of_the_consumer_protocol(drumbeat, tools, kafka, orders):
    group = fresh_name("kip-848")
    consumer = Consumer(
        {
            "bootstrap.servers": kafka,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "client.id": "modern",
        }
    )
    consumer.subscribe([orders])
    try:
        wait_until(
            lambda: consumer.poll(0.1) and len(consumer.assignment()) == 2, JOIN_TIMEOUT_S, "join"
        )
        consumer.commit(asynchronous=False)
        listed = {one["group"]: one for one in drumbeat.json("groups", "list")}
        assert listed[group]["type"] == "consumer"
        (described,) = drumbeat.json("groups", "describe", group)
        assert (described["type"], described["protocol"]) == ("consumer", "uniform")
        assert described["epoch"] >= 1
        (member,) = described["members"]
        assert (member["client_id"], member["epoch"]) == ("modern", described["epoch"])
        assert len(member["target_assignment"]) == 2
        assert ours(drumbeat, group) == theirs(tools, group)
        table = drumbeat("groups", "describe", group).stdout
        assert "consumer group, uniform, epoch" in table
    finally:
        consumer.close()
    drumbeat("groups", "reset", group, "--topic", orders, "--to-earliest", "--execute")
    assert [one[2] for one in ours(drumbeat, group)] == ["0", "0"]
    drumbeat("groups", "delete", group)


def test_topics_and_records(drumbeat):
    topic = fresh_name("lines")
    drumbeat("topics", "create", topic, "--partitions", "1", "--config", "retention.ms=3600000")
    deadline = time.monotonic() + JOIN_TIMEOUT_S
    while topic not in drumbeat("topics", "list").stdout:
        assert time.monotonic() < deadline
    drumbeat("topics", "alter", topic, "--partitions", "2", "--delete-config", "retention.ms")
    sent = drumbeat.pipe("produce", topic, "--key-separator", "=", stdin=b"a=1\nb=\xff\n")
    assert sent.returncode == 0, sent
    read = drumbeat.pipe(
        "consume", topic, "--from-beginning", "--max-messages", "2", "--output", "json"
    )
    records = [json.loads(line) for line in read.stdout.splitlines()]
    assert {one["key"]: one["value"] for one in records} == {"a": "1", "b": {"base64": "/w=="}}
    drumbeat("topics", "delete", topic)


def test_kafkas_files_are_sound_and_readable(drumbeat, folder, group):
    logs = str(folder / "logs")
    assert "all sound" in drumbeat("log", "verify", logs).stdout
    dumped = drumbeat("log", "dump", logs, "--output", "json").stdout
    rows = [json.loads(line) for line in dumped.splitlines()]
    commits = [row for row in rows if row.get("group") == group]
    assert [row["fields"]["committed_offset"] for row in commits] == [4, 7]
    assert "unreadable" not in {row.get("type") for row in rows}
