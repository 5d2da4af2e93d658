"""What real clients make of each fault: they recover, every record is read and committed once."""

from datetime import timedelta
from typing import NamedTuple

import pytest

from drumbeat.testing import Cluster, GroupEventType
from groups.data_of_groups import Data, ReadingGroup, group_of
from groups.libraries import LIBRARIES
from groups.members import Member
from support.waiting import wait_until

pytestmark = pytest.mark.clients

LIMIT_S = 30.0
CONFIG = {"group.min.session.timeout.ms": 100}
LIBRARY_NAMES = sorted(LIBRARIES)


@pytest.fixture(scope="module")
def shared():
    with Cluster(CONFIG) as cluster:
        yield cluster


class Scene(NamedTuple):
    """One member that reads all of a topic, in a group that is Stable."""

    cluster: Cluster
    data: Data
    fleet: ReadingGroup
    member: Member

    @property
    def group(self) -> str:
        return self.fleet.group_id

    def await_stable(self, after: int = 0) -> int:
        """The generation id, once the member is alone in a generation after this one."""

        def is_so() -> bool:
            group = self.cluster.group(self.group)
            newer = group.state == "Stable" and group.generation_id > after
            return newer and len(group.owners) == len(self.data.partitions)

        wait_until(is_so, LIMIT_S, f"a generation after {after}")
        return self.cluster.group(self.group).generation_id


@pytest.fixture(params=LIBRARY_NAMES)
def scene(request, shared):
    """At the end of each test more is written; all of it must be read, and committed once."""
    servers = shared.bootstrap_servers
    with Data(servers, 2) as data, group_of(servers, data) as fleet:
        data.write(5)
        member = fleet.add(LIBRARIES[request.param], topics=(data.name,))
        fleet.await_all()
        scene = Scene(shared, data, fleet, member)
        scene.await_stable()
        yield scene
        shared.clear_faults()
        data.write(5)


def reasons(scene: Scene, event_type: GroupEventType) -> list[str | None]:
    return [e.reason for e in scene.cluster.events(scene.group) if e.type == event_type]


def test_a_member_that_is_expired_comes_back_as_another(scene):
    generation_id = scene.await_stable()
    gone = scene.cluster.expire_member(scene.group, client_id=scene.member.name)
    scene.await_stable(after=generation_id)
    (back,) = scene.cluster.group(scene.group).members
    assert back.client_id == gone.client_id
    assert back.member_id != gone.member_id
    assert reasons(scene, GroupEventType.MEMBER_EXPIRED) == ["session_timeout"]


def test_a_heartbeat_that_tells_of_a_rebalance_has_them_join_again(scene):
    joins = scene.cluster.record("JoinGroup", group=scene.group)
    scene.cluster.fail_next("Heartbeat", "REBALANCE_IN_PROGRESS", group=scene.group)
    joins.wait(timeout=LIMIT_S)
    scene.await_stable()


# kafka-python joins again and goes on from its position, past what it could not commit.
THAT_READ_AGAIN = [name for name in LIBRARY_NAMES if name != "kafka-python"]


@pytest.mark.parametrize("scene", THAT_READ_AGAIN, indirect=True)
def test_a_commit_that_is_refused_is_made_again(scene):
    scene.cluster.fail_next("OffsetCommit", "REBALANCE_IN_PROGRESS", group=scene.group)
    scene.data.write(5)
    scene.fleet.await_all()


LOST = [("OffsetCommit", True), ("OffsetCommit", False), ("Heartbeat", False), ("Fetch", False)]


@pytest.mark.parametrize(("api", "processed"), LOST)
def test_a_lost_answer_costs_no_record(scene, api, processed):
    fault = scene.cluster.drop_next(api, client_id=scene.member.name, processed=processed)
    scene.data.write(5)
    fault.wait(timeout=LIMIT_S)
    scene.fleet.await_all()


@pytest.mark.parametrize("answering", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_coordinator_that_is_away_for_a_while(scene, answering):
    asked = scene.cluster.record("Heartbeat", group=scene.group)
    with scene.cluster.coordinator_unloaded(scene.group, answering=answering):
        asked.wait(timeout=LIMIT_S)
        assert scene.cluster.group(scene.group).state == "Dead"
    scene.data.write(5)
    scene.fleet.await_all()
    loads = [e.type for e in scene.cluster.events("") if e.fields["partition"] == partition(scene)]
    assert loads[-2:] == [GroupEventType.PARTITION_UNLOADED, GroupEventType.PARTITION_LOADED]


def partition(scene: Scene) -> int:
    return scene.cluster.node.broker.groups.partition_for(scene.group)


def test_an_hour_of_silence_expires_a_member_and_keeps_what_it_reads(scene):
    generation_id = scene.await_stable()
    committed = scene.cluster.committed(scene.group)
    scene.cluster.fast_forward(timedelta(hours=1))
    scene.await_stable(after=generation_id)
    assert scene.cluster.committed(scene.group) == committed


@pytest.mark.parametrize("library", LIBRARY_NAMES)
def test_a_restart_in_the_middle(library):
    with Cluster(CONFIG) as cluster:
        servers = cluster.bootstrap_servers
        data = Data(servers, 2)
        with group_of(servers, data) as fleet:
            with data:
                data.write(5)
                for _ in range(2):
                    fleet.add(LIBRARIES[library], topics=(data.name,))
                fleet.await_owners(data.partitions, when=fleet.is_shared)
                fleet.await_all()
            cluster.restart()
            with data.again(servers):
                data.write(5)
            fleet.await_all()
            fleet.await_owners(data.partitions, when=fleet.is_shared)
