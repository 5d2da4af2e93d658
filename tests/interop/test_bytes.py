"""The same bytes: Kafka's tools read our offsets log, and we go on from Kafka's."""

import asyncio
import base64
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from drumbeat.protocol.apis import consumer_group_heartbeat
from drumbeat.protocol.apis.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from drumbeat.protocol.record_batch import iter_headers
from interop.kafka_jars import jars, run_tool
from interop.oracle.brokers import OFFSETS_PARTITIONS, Drumbeat, Kafka
from interop.oracle.histories import HISTORIES, QUESTIONS, STABLE_OFFSETS
from interop.oracle.normal import Plain
from interop.oracle.offset_steps import DescribeGroups, OffsetFetch
from interop.oracle.solo import Solo
from interop.oracle.transactions import commit_offset
from interop.oracle.vocabulary import Group

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

DUMP = "org.apache.kafka.tools.DumpLogSegments"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTERS = "org.apache.kafka.tools.consumer"
OFFSET, GROUP_METADATA = 1, 2  # types of keys
IDLE_MS = "20000"  # after which the console consumer gives up

RECORD_LINE = re.compile(r"\| offset: .* key: (\{.*\}) payload: (.*)")

Fact = tuple[dict[str, Any], dict[str, Any] | None]  # key and value as the tools print them


async def live(broker: Kafka | Drumbeat) -> dict[str, Solo]:
    """Play every history on the broker; the members of each, with what they know."""
    played = {prefix: Solo(broker, prefix) for prefix in HISTORIES}
    for prefix, solo in played.items():
        await solo.play(HISTORIES[prefix])
    return played


async def answers(lives: dict[str, Solo]) -> dict[str, list[Plain]]:
    return {
        prefix: [await solo.ask(question) for question in QUESTIONS]
        for prefix, solo in lives.items()
    }


# -- what we wrote -------------------------------------------------------------------------------


class Written:
    """What became of the histories on Drumbeat, by its own account and by Kafka's tools."""

    def __init__(self) -> None:
        self.described: dict[str, Plain] = {}  # by group
        self.fetched: dict[tuple[str, str, int], Plain] = {}  # by group, topic and partition
        self.dumped: list[Fact] = []
        self.consumed: dict[str, list[Fact]] = {}  # by formatter


async def _write_and_read(data_dir: Path) -> Written:
    drumbeat, written = Drumbeat(data_dir), Written()
    await drumbeat.start()
    try:
        await drumbeat.set_up()
        lives = await live(drumbeat)
        for solo in lives.values():
            await _account(solo, written)
        await asyncio.to_thread(_read_with_tools, data_dir, drumbeat.port, written)
        for solo in lives.values():
            solo.close()
    finally:
        await drumbeat.stop()
    return written


def _read_with_tools(data_dir: Path, port: int, written: Written) -> None:
    segments = {
        int(path.parent.name.rsplit("-", 1)[1]): path
        for path in sorted(data_dir.glob("__consumer_offsets-*/*.log"))
        if path.stat().st_size
    }
    written.dumped = list(_dump(segments.values()))
    for formatter in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter"):
        written.consumed[formatter] = [
            fact
            for partition, segment in segments.items()
            for fact in _consume(port, partition, _record_count(segment), formatter)
        ]


def _record_count(segment: Path) -> int:
    return sum(header.record_count for _, header in iter_headers(segment.read_bytes()))


async def _account(solo: Solo, written: Written) -> None:
    groups = (Group.MAIN, Group.OTHER)
    for group in (await solo.ask(DescribeGroups(groups=groups)))["groups"]:
        written.described[group["group_id"]] = group
    for group in (await solo.ask(OffsetFetch(groups=groups, version=9)))["groups"]:
        for topic in group["topics"]:
            for partition in topic["partitions"]:
                key = (group["group_id"], topic["name"], partition["partition_index"])
                written.fetched[key] = partition


def _dump(segments: Iterable[Path]) -> Iterator[Fact]:
    files = ",".join(str(path) for path in segments)
    for line in run_tool(DUMP, "--offsets-decoder", "--files", files).splitlines():
        assert "isvalid: false" not in line, line
        if found := RECORD_LINE.match(line):
            key, value = found.groups()
            yield json.loads(key), None if value == "<DELETE>" else json.loads(value)


def _consume(port: int, partition: int, record_count: int, formatter: str) -> Iterator[Fact]:
    printed = run_tool(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", f"127.0.0.1:{port}", "--topic", "__consumer_offsets"),
        *("--partition", str(partition), "--offset", "earliest"),
        *("--max-messages", str(record_count), "--timeout-ms", IDLE_MS),
        *("--formatter", f"{FORMATTERS}.{formatter}"),
    )
    return _objects(printed)


def _objects(printed: str) -> Iterator[Fact]:
    """The formatters print one JSON object after the other, with nothing in between."""
    decoder, position = json.JSONDecoder(), 0
    while position < len(printed.rstrip()):
        record, position = decoder.raw_decode(printed, position)
        yield record["key"], record["value"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    jars()
    return asyncio.run(_write_and_read(tmp_path_factory.mktemp("ours")))


def _of_type(facts: list[Fact], key_type: int) -> list[tuple[dict[str, Any], Any]]:
    """In the order of the log within each group; the tools write numbers differently."""
    chosen = [
        (key["data"], value and value["data"])
        for key, value in facts
        if int(key["type"]) == key_type
    ]
    return sorted(chosen, key=lambda fact: partition_for(fact[0]["group"], OFFSETS_PARTITIONS))


def test_both_tools_read_the_same_commits(written: Written):
    consumed = _of_type(written.consumed["OffsetsMessageFormatter"], OFFSET)
    assert consumed == _of_type(written.dumped, OFFSET)
    assert len(consumed) == len(written.consumed["OffsetsMessageFormatter"])
    assert None in [value for _, value in consumed], "there is a tombstone among them"


def test_the_last_commit_of_each_partition_is_what_we_answer(written: Written):
    last = {
        (key["group"], key["topic"], key["partition"]): value
        for key, value in _of_type(written.consumed["OffsetsMessageFormatter"], OFFSET)
    }
    left = {key: value for key, value in last.items() if value is not None}
    assert len(left) < len(last)
    assert {
        key: (value["offset"], value.get("leaderEpoch", -1), value["metadata"])
        for key, value in left.items()
    } == {
        key: (found["committed_offset"], found["committed_leader_epoch"], found["metadata"])
        for key, found in written.fetched.items()
    }
    expiring = [value for value in left.values() if "expireTimestamp" in value]
    assert [value["expireTimestamp"] - value["commitTimestamp"] for value in expiring] == [
        86_400_000
    ]


def test_the_last_generation_of_each_group_is_what_we_answer(written: Written):
    facts = _of_type(written.consumed["GroupMetadataMessageFormatter"], GROUP_METADATA)
    dumped = _of_type(written.dumped, GROUP_METADATA)
    assert [key for key, _ in facts] == [key for key, _ in dumped]
    last = {key["group"]: value for key, value in facts}
    assert last.pop("deleted-main") is None
    for group_id, value in last.items():
        described = written.described[group_id]
        assert value["protocolType"] == described["protocol_type"]
        assert (value["protocol"] or "") == described["protocol_data"]
        assert {member["memberId"]: _as_described(member) for member in value["members"]} == {
            member["member_id"]: member for member in described["members"]
        }
    assert {group_id: len(value["members"]) for group_id, value in last.items()} == {
        "stable-main": 2,
        "replaced-main": 1,
        "left-main": 0,
    }


def _as_described(member: dict[str, Any]) -> Plain:
    return {
        "member_id": member["memberId"],
        "group_instance_id": member["groupInstanceId"],
        "client_id": member["clientId"],
        "client_host": member["clientHost"],
        "member_metadata": base64.b64decode(member["subscription"]),
        "member_assignment": base64.b64decode(member["assignment"]),
    }


# -- what Kafka wrote ----------------------------------------------------------------------------

# Partition of "orders" -> how the transaction ended that committed it.
TRANSACTIONS = {0: True, 1: False, 3: None}
# Groups of the consumer protocol, of which there are some in every partition.
MODERN_GROUPS = [f"modern-{number}" for number in range(4 * OFFSETS_PARTITIONS)]


async def _kafka_answers(kafka: Kafka) -> dict[str, list[Plain]]:
    await kafka.start()
    try:
        await kafka.set_up()
        lives = await live(kafka)
        outside = lives["outside-"]
        group_id = outside.side.known.group(Group.MAIN)
        for partition, ending in TRANSACTIONS.items():
            await commit_offset(
                outside.side.client, group_id, partition, 1000 + partition, ending=ending
            )
        for modern in MODERN_GROUPS:
            await _join_modern_group(outside, modern)
        answered = await answers(lives)
        for solo in lives.values():
            solo.close()
    finally:
        await kafka.stop()
    return answered


async def _join_modern_group(solo: Solo, group_id: str) -> None:
    """Leaves records behind of types that are read but not served yet."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="member",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=("orders",),
        topic_partitions=(),
    )
    await solo.side.client.call_until_ok("modern", consumer_group_heartbeat.API, 1, request)


async def _drumbeat_answers(drumbeat: Drumbeat) -> dict[str, list[Plain]]:
    await drumbeat.start()
    try:
        await drumbeat.await_loaded()
        lives = {prefix: Solo(drumbeat, prefix) for prefix in HISTORIES}
        answered = await answers(lives)
        for solo in lives.values():
            solo.close()
    finally:
        await drumbeat.stop()
    return answered


def test_we_go_on_from_a_copy_of_kafkas_log(tmp_path: Path):
    jars()
    kafka, drumbeat = Kafka(tmp_path / "kafka"), Drumbeat(tmp_path / "drumbeat")
    expected = asyncio.run(_kafka_answers(kafka))
    (tmp_path / "drumbeat").mkdir()
    for folder in (tmp_path / "kafka" / "logs").glob("*-[0-9]*"):
        if folder.name.startswith(("__consumer_offsets-", "orders-", "payments-")):
            shutil.copytree(folder, tmp_path / "drumbeat" / folder.name)
    drumbeat.topic_ids = kafka.topic_ids
    answered = asyncio.run(_drumbeat_answers(drumbeat))
    for prefix, wanted in expected.items():
        for question, ours, theirs in zip(QUESTIONS, answered[prefix], wanted, strict=True):
            assert ours == theirs, f"{prefix} {question}"
    open_one = answered["outside-"][QUESTIONS.index(STABLE_OFFSETS)]
    errors = [p["error_code"] for t in open_one["groups"][0]["topics"] for p in t["partitions"]]
    assert ErrorCode.UNSTABLE_OFFSET_COMMIT in errors, "one transaction is still open"
