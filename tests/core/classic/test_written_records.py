"""Which records membership writes, byte for byte as Kafka 4.3.1 did (golden/records.json)."""

import json

import pytest

from drumbeat.core.record_codec import decode
from support.coordinator import Coordinator
from support.golden import GOLDEN
from support.groups import Clients, protocols


def scene(number: int) -> list[tuple[bytes, bytes | None]]:
    scenes = json.loads((GOLDEN / "records.json").read_text())
    return [
        (bytes.fromhex(r["key"]), None if r["value"] is None else bytes.fromhex(r["value"]))
        for batch in scenes[number]["batches"]
        for r in batch["records"]
    ]


def record(number: int, position: int = -1):
    return decode(*scene(number)[position])


class Recording(Clients):
    """A group that lives again through golden scenes: same ids drawn, same times."""

    def __init__(self, group_id: str) -> None:
        super().__init__(Coordinator(), group_id)

    def at(self, at_ms: int, member_id: str = "", prefix: str = "") -> None:
        """Set the clock, and the UUID that the next new member id ends with."""
        self.coordinator.now_ms = at_ms
        self.coordinator.new_id = member_id.removeprefix(f"{prefix}-")

    def written(self) -> list[tuple[bytes, bytes | None]]:
        written = list(self.coordinator.log)
        self.coordinator.log.clear()
        return written


def test_life_of_a_group():
    group = Recording("recs")
    group.coordinator.checks = False  # `written` takes the log away
    created, generation_1, generation_2 = record(0), record(2), record(14)
    replaced, emptied = record(15), record(17)
    dynamic, static = generation_2.members
    group.at(created.state_timestamp_ms, dynamic.member_id, "cli")
    assert group.join(client_id="cli").error_code == 79
    assert group.written() == scene(0)
    group.at(generation_1.state_timestamp_ms)
    joined = group.join(dynamic.member_id, client_id="cli").response
    assert group.written() == []
    group.at(generation_1.state_timestamp_ms + 1)
    group.sync(dynamic.member_id, joined.generation_id, _plan(generation_1))
    assert group.written() == scene(2)
    group.heartbeat(dynamic.member_id, 1)
    assert group.written() == []
    group.at(generation_2.state_timestamp_ms, static.member_id, "inst-1")
    group.join("", 9, "sta", **_as_joined(static))
    group.join(dynamic.member_id, client_id="cli")
    assert group.written() == []
    group.at(replaced.state_timestamp_ms)  # the group becomes Stable now
    group.sync(dynamic.member_id, 2, _plan(generation_2))
    assert group.written() == scene(14)
    _, new = replaced.members
    group.at(replaced.state_timestamp_ms + 1, new.member_id, "inst-1")
    group.join("", 9, "sta", **_as_joined(new))
    assert group.written() == scene(15)
    group.leave(dynamic.member_id)
    assert group.written() == []
    group.at(emptied.state_timestamp_ms)
    group.leave(new.member_id)
    assert group.written() == scene(17)


def _plan(generation) -> dict[str, bytes]:
    return {m.member_id: m.assignment for m in generation.members if m.assignment}


def _as_joined(member) -> dict:
    return {
        "group_instance_id": member.group_instance_id,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        "protocols": protocols("range", metadata=member.subscription),
    }


def test_group_created_by_a_join_that_was_refused():
    group = Recording("g23")
    group.at(record(23).state_timestamp_ms)
    assert group.join(protocol_type="").error_code == 23
    assert group.written() == scene(23)


@pytest.mark.parametrize(
    ("number", "group_id", "version", "client_id", "timeout_ms"),
    [(24, "v0grp", 0, "cli", 5_000), (25, "nullcl", 3, "", 10_000)],
)
def test_old_clients(number, group_id, version, client_id, timeout_ms):
    group = Recording(group_id)
    created, generation = record(number, 0), record(number)
    (member,) = generation.members
    assert member.session_timeout_ms == timeout_ms
    group.coordinator.config = Coordinator(
        group_initial_rebalance_delay_ms=(
            generation.state_timestamp_ms - created.state_timestamp_ms
        )
    ).config
    group.at(created.state_timestamp_ms, member.member_id, client_id)
    group.join("", version, client_id, session_timeout_ms=timeout_ms)
    group.coordinator.advance(generation.state_timestamp_ms - created.state_timestamp_ms)
    group.sync(member.member_id, 1, _plan(generation), 0)
    assert group.written() == scene(number)


def test_session_expiry_of_the_sole_member():
    group = Recording("expsess")
    (member_id,) = group.completing("A", session_timeout_ms=300)
    group.sync(member_id, 1)
    group.written()
    group.coordinator.checks = False
    group.at(record(26).state_timestamp_ms - 300)
    group.heartbeat(member_id, 1)
    group.coordinator.advance(300)
    assert group.written() == scene(26)


def test_delete_groups_of_a_group_without_records():
    group = Recording("simple")
    group.commit()
    group.coordinator.checks = False
    group.written()
    group.delete()
    tombstones = group.written()
    assert tombstones[-1] == scene(22)[-1]
    assert all(value is None for _, value in tombstones)
