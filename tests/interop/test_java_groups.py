"""Kafka's command line tools for groups: list, describe, reset, delete."""

import pytest

from interop.java_programs import (
    CONSOLE_CONSUMER,
    CONSUMER_GROUPS,
    GROUPS,
    Tools,
    member_command,
)
from interop.programs import TopicPartition
from interop.stage import PARTITIONS

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

RECORDS = 10  # in each partition; their timestamps are a millisecond apart
BEFORE_THE_FIRST, AT_THE_SIXTH = "2023-11-14T22:13:19.999", "2023-11-14T22:13:20.005"

# How to reset a group that has read everything, one after the other, and where it is then.
RESETS = (
    (("--to-earliest",), 0),
    (("--to-latest",), 10),
    (("--to-offset", "4"), 4),
    (("--shift-by", "-3"), 1),
    (("--shift-by", "5"), 6),
    (("--to-current",), 6),
    (("--to-datetime", AT_THE_SIXTH), 5),
    (("--to-datetime", BEFORE_THE_FIRST), 0),
    (("--by-duration", "P1D"), 10),
    (("--by-duration", "P10000D"), 0),
    (("--shift-by", "100"), 10),
)


@pytest.fixture
def client():
    return member_command


@pytest.fixture
def tools(stage):
    return Tools(stage.servers)


@pytest.fixture
def read(stage, tools):
    """A stage whose group has read the whole topic, and has no members now."""
    stage.produce(RECORDS)
    total = stage.produced.total()
    ended = tools(
        CONSOLE_CONSUMER,
        *("--group", stage.group_id, "--topic", stage.topic.name),
        *("--from-beginning", "--max-messages", str(total)),
    )
    assert len(ended.rows) == total
    assert stage.committed() == dict.fromkeys(stage.partitions, RECORDS)
    return stage


def test_a_group_without_members(read, tools):
    group = ("--group", read.group_id)
    assert [read.group_id, "Empty"] in tools(CONSUMER_GROUPS, "--list", "--state").rows
    assert [read.group_id, "Classic", "consumer"] in tools(GROUPS, "--list").rows
    stable_groups = tools(CONSUMER_GROUPS, "--list", "--state", "Stable").rows
    assert [read.group_id, "Stable"] not in stable_groups

    _, *partitions = tools(CONSUMER_GROUPS, "--describe", *group).rows
    nobody = ["-", "-", "-"]
    assert sorted(partitions) == [
        [read.group_id, topic, str(partition), "10", "10", "0", *nobody]
        for topic, partition in sorted(read.partitions)
    ]
    _, state = tools(CONSUMER_GROUPS, "--describe", *group, "--state").rows
    assert state == [read.group_id, read.servers, "(1)", "-", "Empty", "0"]


def test_a_group_with_a_member(stage, tools):
    group = ("--group", stage.group_id)
    stage.settle(stage.start(group_instance_id="instance-1"))
    (member,) = stage.describe().members
    _, state = tools(CONSUMER_GROUPS, "--describe", *group, "--state").rows
    assert state == [stage.group_id, stage.servers, "(1)", "range", "Stable", "1"]

    _, described = tools(CONSUMER_GROUPS, "--describe", *group, "--members").rows
    who = [member.member_id, "instance-1", "/127.0.0.1", member.client_id]
    assert described == [stage.group_id, *who, str(PARTITIONS)]
    verbose = tools(CONSUMER_GROUPS, "--describe", *group, "--members", "--verbose").rows
    assert f"{stage.topic.name}:0,1,2,3,4,5" in verbose[1]

    _, *partitions = tools(CONSUMER_GROUPS, "--describe", *group, "--offsets").rows
    assert {row[6] for row in partitions} == {member.member_id}


def test_a_group_with_a_member_is_protected(stage, tools):
    member = stage.start()
    stage.settle(member)
    stage.produce()
    stage.consume(member)
    before = stage.committed()
    group, topic = ("--group", stage.group_id), ("--topic", stage.topic.name)
    for action, refusal in {
        ("--reset-offsets", *topic, "--to-earliest", "--execute"): "can only be reset if the group",
        ("--delete-offsets", *topic): "GroupSubscribedToTopicException",
        ("--delete",): "GroupNotEmptyException",
    }.items():
        assert refusal in tools.attempt(CONSUMER_GROUPS, *action, *group).text
    assert stage.committed() == before
    assert stage.describe().group_state == "Stable"


def test_offsets_are_reset(read, tools):
    assert reset(read, tools, "--to-earliest", "--dry-run") == dict.fromkeys(read.partitions, 0)
    assert read.committed() == dict.fromkeys(read.partitions, RECORDS)
    for how, offset in RESETS:
        assert reset(read, tools, *how, "--execute") == dict.fromkeys(read.partitions, offset), how
        assert read.committed() == dict.fromkeys(read.partitions, offset), how


def test_some_offsets_are_reset(read, tools, tmp_path):
    name = read.topic.name
    done = reset(read, tools, "--to-offset", "3", "--execute", topic=f"{name}:1,2")
    assert done == {(name, 1): 3, (name, 2): 3}

    plan = tmp_path / "plan.csv"
    plan.write_text(f"{name},0,7\n{name},1,2\n")
    done = reset(read, tools, "--from-file", str(plan), "--execute", topic=None)
    assert done == {(name, 0): 7, (name, 1): 2}
    offsets = {(name, 0): 7, (name, 1): 2, (name, 2): 3}
    assert read.committed() == {**dict.fromkeys(read.partitions, RECORDS), **offsets}


def test_offsets_and_groups_are_deleted(read, tools):
    name, group = read.topic.name, ("--group", read.group_id)
    tools(CONSUMER_GROUPS, "--delete-offsets", *group, "--topic", f"{name}:0,1")
    left = read.partitions - {(name, 0), (name, 1)}
    assert read.committed() == dict.fromkeys(left, RECORDS)

    deleted = tools(CONSUMER_GROUPS, "--delete", *group).stdout
    assert f"Deletion of requested consumer groups ('{read.group_id}') was successful" in deleted
    assert read.committed() == {}
    assert [read.group_id] not in tools(CONSUMER_GROUPS, "--list").rows
    again = tools.attempt(CONSUMER_GROUPS, "--delete", *group)
    assert "GroupIdNotFoundException" in again.text


def reset(stage, tools, *options: str, topic: str | None = "") -> dict[TopicPartition, int]:
    """The offsets that the tool says it has chosen; a topic of None leaves the option out."""
    which = () if topic is None else ("--topic", topic or stage.topic.name)
    group = ("--group", stage.group_id)
    printed = tools(CONSUMER_GROUPS, "--reset-offsets", *group, *which, *options).rows
    chosen = [row[1:] for row in printed if row[0] == stage.group_id]
    return {(name, int(partition)): int(offset) for name, partition, offset in chosen}
