"""Golden rows of sections 2.2 and 3.3: what is left of groups when their broker comes back."""

import struct
from itertools import count

from drumbeat.core.classic_records import GroupMetadataValue, MemberMetadataValue
from drumbeat.protocol.compiler import encoder
from drumbeat.protocol.java_hash import partition_for
from drumbeat.protocol.record_batch import read_header
from groups.golden_stage import Script, Stage
from groups.restarts import ADMIN_CLIENT_ID, OFFSETS_TOPIC, Bounced
from groups.scenes_time import Stopwatch, about, await_state
from support.data_topics import fetch_from
from support.golden import answers
from support.groups import list_groups, protocols
from support.wire import Wire

script = Script()
scene = script.scene

LONG = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 60_000}


@scene(1419, 1420)
def parked_when_the_broker_is_stopped(stage: Stage, broker: Bounced) -> None:
    joining = broker.clients("stopped-join")
    joining.stable("A")
    join = joining.enter("D")
    stage.meet(joining.member_id_of("D"))
    syncing = broker.clients("stopped-sync")
    _, follower = syncing.completing("A", "B")
    sync = syncing.sync(follower, 2)
    broker.stop()
    stage.answered(join)
    stage.answered(sync)


@scene(*range(1438, 1448), *range(1450, 1455))
def groups_of_every_kind(stage: Stage, broker: Bounced) -> None:
    pending, members = _make_groups(broker)
    before = {
        _kind(number): broker.clients(f"r-{_kind(number)}").state for number in stage.rows[:10]
    }
    broker.restart()
    stage.coordinator = broker.coordinator
    for number in stage.rows[:10]:
        kind = _kind(number)
        assert before[kind] in answers()[number]["precondition"]
        stage.expect(after_restart=broker.clients(f"r-{kind}").state)
    watch = Stopwatch()
    for member_id in members:
        stage.meet(member_id)
    stage.next()
    clients = broker.clients("r-stable")
    two = protocols("range", "rr")
    stage.expect(parked=clients.join(members[1], client_id="B", protocols=two, **LONG).is_parked)
    await_state(broker.clients("r-short"), "Empty")
    stage.expect(rebalance_after_s_about=about(watch.seconds))
    clients = broker.clients("r-compl2")
    (member_id,) = clients.live.members
    beats = [clients.heartbeat(member_id, generation_id) for generation_id in (1, 2)]
    stage.expect(**{"generation n": beats[0], "generation n+1": beats[1]})
    stage.expect(ErrorCode=broker.clients("r-pend").join(pending).error_code)


def _kind(number: int) -> str:
    return str(answers()[number]["precondition"]).rsplit("(")[1].rstrip(")")


def _make_groups(broker: Bounced) -> tuple[str, list[str]]:
    """The pending id of one of them, and the members of the Stable one."""
    members = broker.clients("r-stable").stable(
        "A", "B", protocols=protocols("range", "rr"), **LONG
    )
    broker.clients("r-short").stable("A", session_timeout_ms=3000)
    empty = broker.clients("r-empty")
    empty.leave(*empty.completing("A"))
    pending = broker.clients("r-pend").join().response.member_id
    broker.clients("r-compl1").completing("A", **LONG)
    rebalancing = broker.clients("r-compl2")
    (member_id,) = rebalancing.stable("A", **LONG)
    rebalancing.join(member_id, client_id="A", **LONG)
    preparing = broker.clients("r-prep")
    preparing.stable("A", **LONG)
    preparing.enter("B", **LONG)
    broker.clients("r-psync").completing("A", "B", **LONG)
    static = broker.clients("r-static")
    static.sync(static.enter_static("i1", **LONG)[0], 1)
    broker.clients("r-simple").commit()
    return pending, members


@scene(1032, 1033)
def group_above_its_limit(stage: Stage, broker: Bounced) -> None:
    members = broker.clients("q").stable("A", "B", **LONG)
    stage.meet(members[1])
    broker.restart(**{"group.max.size": "1"})
    clients = broker.clients("q")
    stage.coordinator = broker.coordinator
    stage.expect(GroupState=clients.state, Heartbeat=clients.heartbeat(members[0], 2))
    assert clients.join(members[0], client_id="A", **LONG).is_parked
    stage.next()


@scene(1034)
def compressed_offsets(stage: Stage, broker: Bounced) -> None:
    broker.restart(**{"offsets.topic.compression.codec": "1"})
    assert broker.clients("compressed").commit() == 0
    with Wire(broker.servers) as wire:
        partition = partition_for("compressed", 50)
        data = fetch_from(wire, OFFSETS_TOPIC, version=12, partition=partition).records
    stage.expect(attributes=read_header(data).attributes)


# -- records that no coordinator of today writes ------------------------------------------------


@scene(1457)
@scene(1476)
def ordinary_producer(stage: Stage, broker: Bounced) -> None:
    assert broker.clients("any").commit() == 0
    record = (group_key("any"), None)
    stage.expect(ErrorCode=broker.produce(0, [record], "ordinary"))


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def group_key(group_id: str) -> bytes:
    return b"\0\2" + text(group_id)


def offset_key(group_id: str, topic: str, partition: int, record_type: int = 1) -> bytes:
    return (
        struct.pack(">h", record_type) + text(group_id) + text(topic) + struct.pack(">i", partition)
    )


FOREIGN_ID = b"\1\0\x10" + bytes(range(1, 17))
VALUES = {
    0: lambda: b"\0\0" + struct.pack(">q", 100) + text("m0") + struct.pack(">q", 1),
    1: lambda: b"\0\1" + struct.pack(">q", 101) + text("m1") + struct.pack(">qq", 1, 2**60),
    2: lambda: b"\0\2" + struct.pack(">q", 102) + text("m2") + struct.pack(">q", 1),
    3: lambda: b"\0\3" + struct.pack(">qi", 103, 3) + text("m3") + struct.pack(">q", 1),
    4: lambda: b"\0\4" + struct.pack(">qi", 104, 4) + b"\3m4" + struct.pack(">q", 1) + b"\0",
    5: lambda: b"\0\4" + struct.pack(">qi", 105, 4) + b"\3m5" + struct.pack(">q", 1) + FOREIGN_ID,
}


def group_value(version: int, *, has_member: bool = True) -> bytes:
    member = MemberMetadataValue("m-1", "inst", "cid", "/1.2.3.4", 60_000, 60_000, b"sub", b"asg")
    if version != 3:
        member = member._replace(group_instance_id=None)
    value = GroupMetadataValue("consumer", 7, "range", "m-1", 1, (member,))
    if not has_member:
        value = value._replace(protocol=None, leader=None, members=())
    known = min(version, 4)
    encoded = encoder(GroupMetadataValue, known, known >= 4)(value)
    return struct.pack(">h", version) + encoded


def hand_written(group_id: str) -> dict[int, list[tuple[bytes, bytes | None]]]:
    """Records by the row that says what a broker makes of them."""
    group, offset = group_key(group_id), offset_key(group_id, "t1", 0)
    other = offset_key(group_id, "t1", 1)
    legacy = offset_key(group_id, "t1", 0, record_type=0)
    nobody = group_value(3, has_member=False)
    ages = [offset_key(group_id, "t2", 0, 0), *(offset_key(group_id, "t1", p) for p in range(4))]
    ages += [offset_key(group_id, "t2", p) for p in (2, 3)]
    return {
        1458: [(legacy, VALUES[2]()), (legacy, VALUES[3]())],
        **{1459 + version: [(group, group_value(version))] for version in range(5)},
        1464: [(b"\0\x09x", b"x"), (b"\0\x63x", b"x"), (offset, VALUES[3]())],
        1465: [(offset, b"\0\x09" + VALUES[3]()[2:])],
        1466: [(offset, VALUES[3]()[:-3])],
        1467: [(group, group_value(5))],
        1468: [(group_key("nobody"), None), (offset, None), (other, VALUES[3]())],
        1469: [(offset, VALUES[3]()), (group, nobody)],
        1470: [(group, nobody), (offset, VALUES[3]()), (group, None)],
        1471: [(offset, VALUES[3]() + b"\0\0")],
        1477: list(zip(ages, (VALUES[v]() for v in (0, 0, 1, 2, 3, 4, 5)), strict=True)),
        1478: [(legacy, VALUES[1]())],
        1479: [(legacy, VALUES[3]())],
        1480: [(offset, b"\0\x09" + VALUES[3]()[2:])],
        1481: [(b"\0\1" + text(group_id), VALUES[3]())],
        1482: [(offset, b"")],
    }


NAMED_BY_ROWS = {1465: "pbadver-0", 1477: "poff-0", 1480: "pbv-0"}


def _group_ids() -> dict[int, str]:
    """One for each row, all in different partitions: a log that cannot be read is lost for all."""
    found = dict(NAMED_BY_ROWS)
    taken = {partition_for(group_id, 50) for group_id in found.values()}
    names = (f"hand-written-{n}" for n in count())
    for number in hand_written("").keys() - found.keys():
        found[number] = next(name for name in names if partition_for(name, 50) not in taken)
        taken.add(partition_for(found[number], 50))
    assert len(taken) == len(found)
    return found


@scene(*range(1458, 1475), *range(1477, 1488))
def hand_written_records(stage: Stage, broker: Bounced) -> None:
    group_ids = _group_ids()
    for number, group_id in group_ids.items():
        assert broker.clients(group_id).state == "Dead"  # its partition is there from now on
        records = hand_written(group_id)[number]
        assert broker.produce(partition_for(group_id, 50), records, ADMIN_CLIENT_ID) == 0
    broker.restart()
    stage.coordinator = broker.coordinator
    while stage.has_more:
        number = stage.number
        if number in group_ids:
            stage.expect(**_summary(broker, group_ids[number]))
        elif number in (1483, 1484):
            _check_topic_ids(stage, group_ids[1477])
        else:
            stage.next()
    listed = {group.group_id for group in list_groups(broker.coordinator)}
    readable = {g for n, g in group_ids.items() if n != 1470 and _code(n) == 0}
    assert listed == readable


def _code(number: int) -> int:
    return answers()[number]["response"]["DescribeGroups"]["ErrorCode"]


def _summary(broker: Bounced, group_id: str) -> dict[str, dict]:
    clients = broker.clients(group_id)
    group = clients.describe()
    fetched = clients.fetch_all()
    return {
        "DescribeGroups": {
            "ErrorCode": group.error_code,
            "GroupState": group.group_state,
            "ProtocolType": group.protocol_type,
            "Members": [
                {
                    "MemberId": member.member_id,
                    "GroupInstanceId": member.group_instance_id,
                    "ClientId": member.client_id,
                    "ClientHost": member.client_host,
                    "MemberMetadata": member.member_metadata.hex(),
                    "MemberAssignment": member.member_assignment.hex(),
                }
                for member in group.members
            ],
        },
        "OffsetFetch": {
            "ErrorCode": fetched.error_code,
            "offsets": {
                f"{topic.name}-{p.partition_index}": [
                    p.committed_offset,
                    p.committed_leader_epoch,
                    p.metadata,
                    p.error_code,
                ]
                for topic in fetched.topics
                for p in topic.partitions
            },
        },
    }


def _check_topic_ids(stage: Stage, group_id: str) -> None:
    """An offset that was committed to another topic of the same name is only seen by name."""
    asked = {"PartitionIndexes": [3, 2]}
    if stage.row["version"] < 10:
        stage.next(GroupId=group_id, Topics=[{"Name": "t2", **asked}])
        return
    topic = {"TopicId": "<topic-id:t2>", **asked}
    stage.next(Topics=None, Groups=[{"GroupId": group_id, "Topics": [topic]}])
