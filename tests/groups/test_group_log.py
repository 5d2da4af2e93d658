"""The log tells what happens to a group, for every kind of event that there is."""

import logging
import re

import pytest

from drumbeat.core.events import GroupEvent, GroupEventType
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.runtime.coordinator import event_lines
from groups.states import build
from groups.wire_clients import WireClients
from support.data_topics import fresh_name
from support.groups import protocols
from support.waiting import wait_until

LOGGER = "drumbeat.runtime.coordinator.event_lines"


@pytest.fixture
def clients(coordinator):
    return WireClients(coordinator, fresh_name("log-"))


@pytest.fixture
def lines(caplog):
    """What was logged of a group, once a line that ends it has come."""
    caplog.set_level(logging.DEBUG, logger=LOGGER)

    def of_group(clients: WireClients, end: str) -> list[str]:
        prefix = f"group {clients.group_id}: "

        def told() -> list[str]:
            messages = [r.getMessage() for r in list(caplog.records) if r.name == LOGGER]
            return [m.removeprefix(prefix) for m in messages if m.startswith(prefix)]

        wait_until(lambda: any(end in line for line in told()), 5.0, f"{end!r} is logged")
        return [re.sub(r"\d+ ms", "N ms", line) for line in told()]

    return of_group


def member(member_id: str, client_id: str) -> str:
    return f"member {member_id} ({client_id} at /127.0.0.1)"


def test_members_come_and_go(clients, lines):
    leader, follower = clients.stable("A", "B")
    admin = MemberIdentity(follower, reason="the work is done")
    clients.coordinator.send(LeaveGroupRequest(clients.group_id, members=(admin,)), 5)
    told = lines(clients, "preparing to rebalance generation 2 (member_left")
    assert f"{member(leader, 'A')} joined" in told
    settled = f"with 2 members, protocol range, leader {leader} (joined in N ms, synced in N ms)"
    assert f"stabilized generation 2 {settled}" in told
    said = "; it says: the work is done"
    assert told[-2:] == [
        f"{member(follower, 'B')} left at the request of cl at /127.0.0.1{said}",
        f"preparing to rebalance generation 2 (member_left, {follower}{said})",
    ]


def test_a_session_ends(clients, lines):
    (member_id,) = clients.stable("A", session_timeout_ms=150)
    told = lines(clients, "empty since")
    assert told[-3:] == [
        f"{member(member_id, 'A')} failed (session_timeout)",
        f"preparing to rebalance generation 1 (session_timeout, {member_id})",
        "empty since generation 2",
    ]


def test_a_rebalance_is_given_up(clients, lines):
    (member_id,) = clients.completing("A")
    clients.join(member_id, client_id="A", protocols=protocols("range", "rr"))
    told = lines(clients, "member_changed_protocols, ")
    assert "rebalance of generation 1 given up after N ms (member_changed_protocols)" in told


def test_a_static_member_is_replaced_and_fenced(clients, lines):
    (old,) = clients.enter_static("i1")
    clients.sync(old, 1)
    new = clients.join("", group_instance_id="i1").response.member_id
    assert clients.heartbeat(old, 1, 4, "i1") == 82
    told = lines(clients, "fenced")
    static = "(cl at /127.0.0.1, static as i1)"
    assert f"member {new} {static} takes the place of {old}" in told
    assert told[-1] == f"member {old} {static} fenced: another has its instance id"


def test_an_administrator_resets_and_deletes(coordinator, lines):
    clients = build(coordinator, "empty").clients  # has had a member, and has committed 1
    clients.commit(9)
    topics = (OffsetDeleteRequestTopic("t1", (OffsetDeleteRequestPartition(0),)),)
    coordinator.send(OffsetDeleteRequest(clients.group_id, topics))
    clients.delete()
    told = lines(clients, "deleted with")
    assert told[-3:] == [
        "offset of t1-0 set to 9, it was 1 (cl at /127.0.0.1)",
        "offset of t1-0 deleted, it was 9 (cl at /127.0.0.1)",
        "deleted with 0 offsets (cl at /127.0.0.1)",
    ]


# an event of a partition, or one that nobody asked for -> its line and its level
TOLD = {
    "loaded": (
        GroupEvent(
            GroupEventType.PARTITION_LOADED, "", 1, {"partition": 7, "records": 3, "load_ms": 2}
        ),
        ("__consumer_offsets-7: loaded 3 records in 2 ms", logging.INFO),
    ),
    "new": (
        GroupEvent(
            GroupEventType.PARTITION_LOADED, "", 1, {"partition": 7, "records": 0, "load_ms": 2}
        ),
        ("__consumer_offsets-7: loaded 0 records in 2 ms", logging.DEBUG),
    ),
    "unloaded": (
        GroupEvent(
            GroupEventType.PARTITION_UNLOADED, "", 1, {"partition": 7, "records": 0, "load_ms": 0}
        ),
        ("__consumer_offsets-7: unloaded", logging.DEBUG),
    ),
    "expired": (
        GroupEvent(
            GroupEventType.GROUP_DELETED,
            "g",
            1,
            {"offsets": 4, "client_id": None, "client_host": None},
        ),
        ("group g: deleted with 4 offsets (retention is over)", logging.INFO),
    ),
}


def test_every_kind_of_event_has_a_line():
    assert set(event_lines.LINES) == set(GroupEventType)


@pytest.mark.parametrize("what", TOLD)
def test_an_event_has_its_line(what, caplog):
    event, told = TOLD[what]
    caplog.set_level(logging.DEBUG, logger=LOGGER)
    event_lines.log_events([event])
    (record,) = caplog.records
    assert (record.getMessage(), record.levelno) == told
    known = {name: value for name, value in event.fields.items() if value is not None}
    assert known.items() <= record.fields.items()
    assert record.fields["event"] == event.type.value
