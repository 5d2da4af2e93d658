"""Members with a group.instance.id, which may go and come back unnoticed."""

import pytest

from groups.data_of_groups import Data, group_of
from groups.group_events import kinds, read_events
from groups.libraries import LIBRARIES
from groups.members import Fleet
from support.waiting import wait_until

pytestmark = pytest.mark.clients

INSTANCES = ("i1", "i2", "i3")


def add(fleet: Fleet, library: str, data: Data, instance_id: str):
    return fleet.add(
        LIBRARIES[library], topics=(data.name,), instance_id=instance_id, session_ms=20_000
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_bounce_within_the_session_is_no_rebalance(servers, library):
    with Data(servers, 6) as data, group_of(servers, data) as fleet:
        data.write()
        for instance_id in INSTANCES:
            add(fleet, library, data, instance_id)
        fleet.await_owners(data.partitions, when=fleet.is_shared)
        fleet.await_all()
        before = _settled_rebalances(servers, fleet.group_id)
        for member in list(fleet.members):  # the leader is one of them
            owned, instance_id = member.assignment, str(member.options.instance_id)
            fleet.stop(member)
            back = add(fleet, library, data, instance_id)
            fleet.await_owners(data.partitions, when=lambda b=back, o=owned: b.assignment == o)
        data.write()
        fleet.await_all()
        _await_replacements(servers, fleet.group_id, len(INSTANCES))
        assert _rebalances(servers, fleet.group_id) == before


def _settled_rebalances(servers: str, group_id: str) -> list[dict]:
    """Events come a little later than answers."""

    def is_settled() -> bool:
        last = _rebalances(servers, group_id)[-1:]
        return [event.get("members") for event in last] == [len(INSTANCES)]

    wait_until(is_settled, 10.0, f"{group_id} is told to have settled")
    return _rebalances(servers, group_id)


def _rebalances(servers: str, group_id: str) -> list[dict]:
    return [e for e in read_events(servers, group_id) if e["type"].startswith("rebalance")]


def _await_replacements(servers: str, group_id: str, count: int) -> None:
    """Whatever happened before the last of them has been told by then, too."""
    wait_until(
        lambda: kinds(read_events(servers, group_id)).count("member_replaced") == count,
        10.0,
        f"{count} members of {group_id} are replaced",
    )


@pytest.mark.parametrize("library", ["confluent-kafka", "drumbeat"])
def test_the_older_of_two_with_the_same_instance_is_fenced(servers, library):
    """The other libraries do not tell their users."""
    with Data(servers, 2) as data, group_of(servers, data) as fleet:
        older = add(fleet, library, data, "i1")
        fleet.await_owners(data.partitions)
        fleet.members.remove(older)
        add(fleet, library, data, "i1")
        wait_until(lambda: older.problem is not None, 20.0, "the older one is told")
        assert "fenced" in str(older.problem).lower()
        data.write()
        fleet.await_owners(data.partitions)
