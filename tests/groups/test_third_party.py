"""Groups of unmodified clients, and of ours: they come, go, and share partitions between them.

After each step every partition has one owner. At the end every record was read, none was
committed twice, and what is committed is what was read.
"""

import pytest

from groups.data_of_groups import Data, group_of
from groups.libraries import ASSIGNORS, LIBRARIES
from groups.scenes_mixed import share_a_group, take_turns
from support.data_topics import fresh_name

pytestmark = pytest.mark.clients

EVERY_ASSIGNOR = [
    (library, assignor) for library, offered in ASSIGNORS.items() for assignor in offered
]


@pytest.mark.parametrize(("library", "assignor"), EVERY_ASSIGNOR)
def test_members_come_and_go(servers, library, assignor):
    with Data(servers, 5) as data, group_of(servers, data) as fleet:
        data.write()
        joining = {"topics": (data.name,), "assignor": assignor}
        first = fleet.add(LIBRARIES[library], **joining)
        fleet.await_owners(data.partitions)
        fleet.add(LIBRARIES[library], **joining)
        fleet.add(LIBRARIES[library], **joining)
        fleet.await_owners(data.partitions, when=fleet.is_shared)
        data.write()
        fleet.await_all()
        fleet.stop(first)
        fleet.await_owners(data.partitions)
        data.write()


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_all_libraries_in_one_group(servers, assignor):
    share_a_group(servers, tuple(LIBRARIES), assignor)


@pytest.mark.parametrize(
    ("theirs", "assignor"),
    [
        ("kafka-python", "cooperative-sticky"),
        ("aiokafka", "sticky"),
        ("confluent-kafka", "cooperative-sticky"),
    ],
)
def test_ours_and_another_library(servers, theirs, assignor):
    """Where members must read each other's user data; `make interop` has all the pairs."""
    take_turns(servers, theirs, assignor)


def test_twenty_members(servers):
    """More members than partitions at the end: some have nothing to do."""
    with Data(servers, 16) as data, group_of(servers, data) as fleet:
        data.write()
        for library, count in zip(LIBRARIES.values(), (3, 6, 5, 6), strict=True):
            for _ in range(count):
                fleet.add(library, topics=(data.name,))
        fleet.await_owners(data.partitions)
        fleet.await_all()
        for member in fleet.members[::2]:
            fleet.stop(member)
        fleet.await_owners(data.partitions)
        data.write()


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_from_one_to_twenty_of_ours(servers, assignor):
    with Data(servers, 20) as data, group_of(servers, data) as fleet:
        for count in (1, 2, 5, 20):
            data.write(3)
            while len(fleet.members) < count:
                fleet.add(LIBRARIES["drumbeat"], topics=(data.name,), assignor=assignor)
            fleet.await_owners(data.partitions, when=fleet.is_shared)
            fleet.await_all()
        for member in fleet.members[:19]:
            fleet.stop(member)
        fleet.await_owners(data.partitions)
        data.write()


@pytest.mark.parametrize("library", LIBRARIES)
def test_member_that_does_not_poll_is_out_until_it_does(servers, library):
    """Its heartbeats go on, but max.poll.interval.ms is over: the library itself leaves."""
    with Data(servers, 4) as data, group_of(servers, data) as fleet:
        data.write()
        other = fleet.add(LIBRARIES[library], topics=(data.name,))
        slow = fleet.add(LIBRARIES[library], topics=(data.name,), session_ms=1500, max_poll_ms=1600)
        fleet.await_owners(data.partitions, when=fleet.is_shared)
        slow.stall()
        fleet.await_owners(data.partitions, among=[other])
        data.write()
        fleet.await_all()
        slow.resume()
        fleet.await_owners(data.partitions, when=lambda: slow.assignment)
        data.write()


@pytest.mark.parametrize("library", LIBRARIES)
def test_topic_gets_more_partitions(servers, library):
    with Data(servers, 2) as data, group_of(servers, data) as fleet:
        data.write()
        for _ in range(2):
            fleet.add(LIBRARIES[library], topics=(data.name,))
        fleet.await_owners(data.partitions, when=fleet.is_shared)
        data.grow(5)
        fleet.await_owners(data.partitions)
        data.write()


@pytest.mark.parametrize("library", LIBRARIES)
def test_subscription_changes(servers, library):
    with (
        Data(servers, 3) as one,
        Data(servers, 3) as two,
        group_of(servers, one, two) as fleet,
    ):
        one.write()
        two.write()
        changing = fleet.add(LIBRARIES[library], topics=(one.name,))
        fleet.await_owners(one.partitions)
        changing.subscribe(one.name, two.name)
        fleet.await_owners([*one.partitions, *two.partitions])
        other = fleet.add(LIBRARIES[library], topics=(one.name,))
        fleet.await_owners([*one.partitions, *two.partitions], when=lambda: other.assignment)
        fleet.await_all()
        changing.subscribe(two.name)
        fleet.await_owners(
            [*one.partitions, *two.partitions],
            when=lambda: changing.assignment == set(two.partitions),
        )
        one.write()


@pytest.mark.parametrize("library", LIBRARIES)
def test_pattern_matches_a_new_topic(servers, library):
    prefix = fresh_name("pattern-")
    with (
        Data(servers, 2, f"not-{prefix}") as other,
        Data(servers, 3, f"{prefix}-one") as one,
        group_of(servers, one) as fleet,
    ):
        other.write()
        one.write()
        for _ in range(2):
            fleet.add(LIBRARIES[library], pattern=f"^{prefix}-.*")
        fleet.await_owners(one.partitions, when=fleet.is_shared)
        with Data(servers, 3, f"{prefix}-two") as two:
            fleet.topics.append(two)
            two.write()
            fleet.await_owners([*one.partitions, *two.partitions])
