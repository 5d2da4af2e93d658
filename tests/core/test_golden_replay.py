"""Logs written by hand, loaded by a live Kafka 4.3.1 and here.

Numbers are rows of tests/golden/answers.jsonl. Where Kafka could not load the partition it
answered NOT_COORDINATOR; here that is a RecordError.
"""

import struct
from typing import Any

import pytest

from drumbeat.core.records import RecordError
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from drumbeat.protocol.errors import ErrorCode
from support.coordinator import DEFAULT_TOPICS, START_MS, Coordinator
from support.golden import answers
from support.groups import Clients

Entry = tuple[bytes, bytes | None]


def string(text: str, is_flexible: bool = False) -> bytes:
    length = bytes([len(text) + 1]) if is_flexible else struct.pack(">h", len(text))
    return length + text.encode()


def offset_key(topic: str, partition: int, record_type: int = 1) -> bytes:
    prefix = struct.pack(">h", record_type)
    return prefix + string("g") + string(topic) + struct.pack(">i", partition)


def offset_value(version: int, number: int, tail: bytes = b"\0") -> bytes:
    """Offset 100 + number, epoch = number where there is one, metadata m<number>."""
    epoch = struct.pack(">i", min(number, 4)) if version >= 3 else b""
    expiry = struct.pack(">q", START_MS + 10**9) if version == 1 else b""
    return b"".join(
        (
            struct.pack(">hq", version, 100 + number),
            epoch,
            string(f"m{number}", version >= 4),
            struct.pack(">q", START_MS),
            expiry,
            tail if version >= 4 else b"",
        )
    )


def group_value(version: int, *members: str | None) -> bytes:
    is_flexible = version >= 4
    tags = b"\0" * is_flexible
    null = b"\0" if is_flexible else b"\xff\xff"
    named = b"".join((string("range", is_flexible), string("m-1", is_flexible)))
    blobs = (b"\x04sub\x04asg") if is_flexible else b"\0\0\0\3sub\0\0\0\3asg"
    count = bytes([len(members) + 1]) if is_flexible else struct.pack(">i", len(members))
    return b"".join(
        (
            struct.pack(">h", version),
            string("consumer", is_flexible),
            struct.pack(">i", 7),
            named if members else null * 2,
            struct.pack(">q", START_MS) if version >= 2 else b"",
            count,
            *(
                b"".join(
                    (
                        string("m-1", is_flexible),
                        b"" if version < 3 else string(m, is_flexible) if m else null,
                        string("cid", is_flexible),
                        string("/1.2.3.4", is_flexible),
                        struct.pack(">i", 10_000) if version >= 1 else b"",
                        struct.pack(">i", 10_000),
                        blobs,
                        tags,
                    )
                )
                for m in members
            ),
            tags,
        )
    )


GROUP_KEY = b"\0\2" + string("g")
OFFSET = (offset_key("t1", 0), offset_value(3, 3))
FOREIGN_ID = b"\x01\x00\x10" + b"\x09" * 16

LOGS: dict[int, list[Entry]] = {
    1458: [(offset_key("t1", 0, 0), offset_value(2, 2)), (offset_key("t1", 1, 0), OFFSET[1])],
    1459: [(GROUP_KEY, group_value(0, None))],
    1460: [(GROUP_KEY, group_value(1, None))],
    1461: [(GROUP_KEY, group_value(2, None))],
    1462: [(GROUP_KEY, group_value(3, "inst"))],
    1463: [(GROUP_KEY, group_value(4, None))],
    1464: [(b"\0\x09abc", b"\0\0"), (b"\0\x63abc", b"\0\0"), OFFSET],
    1465: [(offset_key("t1", 0), b"\0\x09" + OFFSET[1][2:])],
    1466: [(offset_key("t1", 0), OFFSET[1][:-3])],
    1467: [(GROUP_KEY, b"\0\5" + group_value(4, None)[2:])],
    1468: [(GROUP_KEY, None), (offset_key("t1", 0), None), (offset_key("t1", 1), OFFSET[1])],
    1469: [OFFSET, (GROUP_KEY, group_value(3))],
    1470: [(GROUP_KEY, group_value(3)), OFFSET, (GROUP_KEY, None)],
    1471: [(OFFSET[0], OFFSET[1] + b"xy")],
    1477: [
        (offset_key("t2", 0, 0), offset_value(0, 0)),
        *((offset_key("t1", v), offset_value(v, v)) for v in range(4)),
        (offset_key("t2", 2), offset_value(4, 4)),
        (offset_key("t2", 3), offset_value(4, 5, FOREIGN_ID)),
    ],
    1478: [(offset_key("t1", 0, 0), offset_value(1, 1))],
    1479: [(offset_key("t1", 0, 0), offset_value(3, 3))],
    1480: [(offset_key("t1", 0), b"\0\x09" + OFFSET[1][2:])],
    1481: [(b"\0\1" + string("g"), OFFSET[1])],
    1482: [(offset_key("t1", 0), b"")],
}


def loaded(log: list[Entry]) -> Coordinator:
    coordinator = Coordinator()
    coordinator.log = log
    coordinator.restart()
    return coordinator


@pytest.mark.parametrize(("row", "log"), LOGS.items())
def test_row(row, log):
    expected = answers()[row]["response"]
    if expected["DescribeGroups"]["ErrorCode"] == ErrorCode.NOT_COORDINATOR:
        with pytest.raises(RecordError):
            loaded(log)
        return
    coordinator = loaded(log)
    assert described(coordinator) == expected["DescribeGroups"]
    assert fetched(coordinator) == expected["OffsetFetch"]["offsets"]


def described(coordinator: Coordinator) -> dict[str, Any]:
    group = Clients(coordinator).describe()
    return {
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
    }


def fetched(coordinator: Coordinator) -> dict[str, list[Any]]:
    response = coordinator.send(OffsetFetchRequest("g", None), 7).response
    return {
        f"{topic.name}-{index}": [offset, leader_epoch, metadata, error]
        for topic in response.topics
        for index, offset, leader_epoch, metadata, error in topic.partitions
    }


def test_rows_1483_and_1484_an_offset_of_another_topic_of_that_name():
    coordinator = loaded(LOGS[1477])
    by_name = OffsetFetchRequest("g", (OffsetFetchRequestTopic("t2", (3, 2)),))
    (topic,) = coordinator.send(by_name, 7).response.topics
    assert plain(topic) == answers()[1483]["response"]["Topics"][0]["Partitions"]
    asked = (OffsetFetchRequestTopics("", DEFAULT_TOPICS.topic_id("t2"), (3, 2)),)
    by_id = OffsetFetchRequest(groups=(OffsetFetchRequestGroup("g", topics=asked),))
    (group,) = coordinator.send(by_id, 10).response.groups
    expected = answers()[1484]["response"]["Groups"][0]["Topics"][0]["Partitions"]
    assert plain(group.topics[0]) == expected


def plain(topic: Any) -> list[dict[str, Any]]:
    names = (
        "PartitionIndex",
        "CommittedOffset",
        "CommittedLeaderEpoch",
        "Metadata",
        "ErrorCode",
    )
    return [dict(zip(names, partition, strict=True)) for partition in topic.partitions]
