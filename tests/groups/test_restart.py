"""A node is stopped and comes back: what groups find, and what they are told while it loads."""

import gc
from pathlib import Path
from typing import Any

import pytest

from drumbeat.core.record_codec import encode
from drumbeat.core.records import OffsetCommitRecord
from drumbeat.protocol.apis.delete_groups import DeleteGroupsRequest
from drumbeat.protocol.apis.describe_groups import DescribeGroupsRequest
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.list_groups import ListGroupsRequest
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from drumbeat.protocol.apis.sync_group import SyncGroupRequest
from drumbeat.protocol.java_hash import partition_for
from drumbeat.testing import Cluster
from groups.data_of_groups import Data
from groups.libraries import LIBRARIES
from groups.members import Fleet
from groups.restarts import ADMIN_CLIENT_ID, Bounced
from groups.scenes_time import Stopwatch, await_state
from support.data_topics import fresh_name
from support.groups import join_request
from support.ports import free_ports
from support.waiting import wait_until

LONG = {"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000}


def test_offsets_and_groups_are_back(tmp_path):
    with Bounced(tmp_path) as broker:
        members = broker.clients("members").stable("A", "B", **LONG)
        broker.clients("members").commit(11, members[0], 2)
        broker.clients("simple").commit_all(("t1", 0, 12, 3, "where"), ("t2", 1, -1, -1, ""))
        deleted = broker.clients("deleted")
        deleted.commit()
        deleted.delete()
        before = broker.clients("members").describe()
        for _ in range(2):
            broker.restart()
            clients = broker.clients("members")
            assert clients.describe() == before
            assert clients.committed() == {("t1", 0): 11}
            assert [clients.heartbeat(member_id, 2) for member_id in members] == [0, 0]
            assert broker.clients("simple").committed() == {("t1", 0): 12, ("t2", 1): -1}
            assert broker.clients("deleted").state == "Dead"
        assert clients.commit(13, members[1], 2) == 0


def test_sessions_start_in_full(tmp_path):
    """Somebody heard of last long before the restart has as long as everybody else."""
    session_ms = 1_000
    with Bounced(tmp_path) as broker:
        (member_id,) = broker.clients("g").stable("A", session_timeout_ms=session_ms)
        watch = Stopwatch()
        wait_until(lambda: watch.seconds > 0.7 * session_ms / 1000, 5.0, "most of it is over")
        broker.restart()
        watch = Stopwatch()
        clients = broker.clients("g")
        while watch.seconds < 0.5 * session_ms / 1000:
            assert clients.state == "Stable"
        await_state(clients, "Empty")
        assert watch.seconds >= 0.9 * session_ms / 1000
        assert clients.heartbeat(member_id, 1) == 25


# -- while it loads ------------------------------------------------------------------------------

GROUP = "large"
RECORDS_PER_BATCH = 5_000
BATCHES = 15  # takes much longer to load than to ask all of this
LOADING, REBALANCING = 14, 27

_T1 = (OffsetCommitRequestTopic("t1", partitions=(OffsetCommitRequestPartition(0, 1),)),)
_FETCHED = (OffsetFetchRequestTopic("t1", (0,)),)
_DELETED = (OffsetDeleteRequestTopic("t1", (OffsetDeleteRequestPartition(0),)),)
_LEAVING = (MemberIdentity("m"),)

# Request, version, where the error code is, and what it is.
WHILE_LOADING = [
    (FindCoordinatorRequest(GROUP), 3, "", 0),
    (HeartbeatRequest(GROUP, 1, "m"), 4, "", 0),
    (join_request(GROUP), 9, "", LOADING),
    # Kafka says 14 here, which its own consumer does not survive.
    (SyncGroupRequest(GROUP, 1, "m"), 4, "", REBALANCING),
    (LeaveGroupRequest(GROUP, members=_LEAVING), 5, "", LOADING),
    (OffsetCommitRequest(GROUP, topics=_T1), 9, "topics.partitions", LOADING),
    (OffsetFetchRequest(GROUP, _FETCHED), 1, "topics.partitions", LOADING),
    (OffsetFetchRequest(GROUP, None), 7, "", LOADING),
    (OffsetFetchRequest(GROUP, None, require_stable=True), 7, "", LOADING),
    (OffsetFetchRequest(groups=(OffsetFetchRequestGroup(GROUP),)), 9, "groups", LOADING),
    (OffsetDeleteRequest(GROUP, _DELETED), 0, "", LOADING),
    (DescribeGroupsRequest((GROUP,)), 6, "groups", LOADING),
    (DeleteGroupsRequest((GROUP,)), 2, "results", LOADING),
    (ListGroupsRequest(), 5, "", LOADING),
]


def code_of(answer: Any, where: str) -> int:
    for name in where.split(".") if where else ():
        (answer,) = getattr(answer, name)
    return int(answer.error_code)


def test_what_groups_are_told_while_their_partition_loads(tmp_path):
    with Bounced(tmp_path) as broker:
        assert broker.clients(GROUP).commit() == 0
        for number in range(BATCHES):
            offset = number * RECORDS_PER_BATCH
            records = [
                encode(OffsetCommitRecord(GROUP, "t1", p % 4, offset + p, -1, f"m{p}", 1))
                for p in range(RECORDS_PER_BATCH)
            ]
            assert broker.produce(partition_for(GROUP, 50), records, ADMIN_CLIENT_ID) == 0
        broker.stop()
        broker.start(is_awaited=False)
        told = []
        for request, version, where, _ in WHILE_LOADING:
            told.append(code_of(broker.coordinator.send(request, version).response, where))
        assert told == [code for *_, code in WHILE_LOADING]  # the last one is still refused
        wait_until(broker.is_loaded, 20.0, "everything is loaded")
        last = BATCHES * RECORDS_PER_BATCH - 1
        assert broker.clients(GROUP).committed() == {("t1", p): last - 3 + p for p in range(4)}


# -- real clients --------------------------------------------------------------------------------


@pytest.mark.clients
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("library", LIBRARIES)
def test_members_go_on_when_their_broker_is_back(tmp_path, library):
    """They lose their connections, and nothing else: not even their generation."""
    (port,) = free_ports(1)
    cluster = _cluster(tmp_path, port)
    with cluster, Fleet(cluster.bootstrap_servers, fresh_name("bounced-")) as fleet:
        with Data(cluster.bootstrap_servers, 4) as data:
            data.write()
            for _ in range(2):
                fleet.add(LIBRARIES[library], topics=(data.name,), session_ms=10_000)
            fleet.await_owners(data.partitions, when=fleet.is_shared)
            fleet.await_records(data.records)
        cluster.stop()
        cluster.start()
        with data.again(cluster.bootstrap_servers):
            data.write()
        fleet.await_records(data.records)
        fleet.await_owners(data.partitions)
    fleet.ledger.check()
    assert fleet.ledger.positions() == data.positions
    gc.collect()  # kafka-python does not close sockets that could not connect: now, not later


def _cluster(folder: Path, port: int) -> Cluster:
    return Cluster({"group.min.session.timeout.ms": "100"}, data=str(folder), port=port)
