"""Golden rows of sections 1.9 to 1.11: commits, fetches and deletes in every state."""

import re

from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from groups.golden_stage import STATES, Script, Stage
from groups.wire_clients import WireClients
from support.golden import BY_NAME
from support.groups import protocols
from support.wire import Wire, request_frame

script = Script()
scene = script.scene


@scene(range(586, 605))
@scene(range(605, 624))
@scene(range(624, 643))
@scene(range(643, 662))
def commits_of_simple_groups(stage: Stage) -> None:
    stage.rest()


@scene(range(662, 684))
@scene(range(684, 708))
@scene(range(708, 732))
@scene(range(732, 756))
def commits_of_members(stage: Stage) -> None:
    stage.walk("A", "B")


@scene(range(756, 761))
@scene(range(761, 766))
def commits_of_static_members(stage: Stage) -> None:
    (member_id,) = stage.clients.enter_static("i1")
    stage.clients.sync(stage.meet(member_id), 1)
    stage.rest()


FETCHED = (("t1", 0, 10, 4, "meta"), ("t1", 1, 11, -1, ""), ("t2", 2, 12, -1, ""))


@scene(range(766, 794))
@scene(range(795, 801))
@scene(*range(803, 806), 836)
def fetches_and_deletes_of_a_simple_group(stage: Stage) -> None:
    WireClients(stage.coordinator, "f-fetch").commit_all(*FETCHED)
    stage.rest()


@scene(794)
def all_topics_before_they_could_be_asked_for(stage: Stage) -> None:
    api = BY_NAME["OffsetFetch"]
    empty = request_frame(api, 1, api.request(stage.row["request"]["GroupId"]))
    with Wire(stage.coordinator.bootstrap_servers) as wire:
        wire.send_bytes(empty[:-4] + b"\xff" * 4)  # the number of topics
        assert wire.is_closed()
    stage.expect(connection="closed by broker")


@scene(801)
@scene(802)
def fetch_does_not_check_classic_members(stage: Stage) -> None:
    stage.clients.stable("A", "B")
    stage.rest()


_CONDITION = re.compile(r"(\w+), protocol type (\w+), subscription (\w*); delete t1-0 and t2-0")


@scene(*range(806, 836))
def deletes_of_a_group_with_members(stage: Stage) -> None:
    """Rows come in pairs about one group: OffsetDelete, DeleteGroups."""
    while stage.has_more:
        found = _CONDITION.fullmatch(stage.row["precondition"])
        assert found is not None
        state, protocol_type, subscription = found.groups()
        _bring(stage.clients, state, protocol_type, bytes.fromhex(subscription))
        stage.next(2)


def _bring(clients: WireClients, state: str, protocol_type: str, subscription: bytes) -> None:
    fields = {
        "protocol_type": protocol_type,
        "protocols": protocols("range", metadata=subscription),
    }
    (member_id,) = clients.completing("A", **fields)
    if state != "CompletingRebalance":
        clients.sync(member_id, 1, protocol_type=protocol_type)
    if state == "PreparingRebalance":
        clients.enter("B", **fields)
    assert state in STATES
    assert clients.state == state


@scene(1291, protocol_type="consumer")
@scene(1292, protocol_type="connect")
def deletes_of_an_empty_group(stage: Stage, protocol_type: str) -> None:
    clients = stage.clients
    clients.commit()
    (member_id,) = clients.completing("A", protocol_type=protocol_type)
    clients.leave(member_id)
    stage.rest()


@scene(*range(1294, 1300))
def negative_offsets_and_zero_ids(stage: Stage) -> None:
    clients = stage.clients
    for offset in (-1, -5):
        clients.commit(offset)
        stage.next(2)
    stage.rest()


@scene(1321)
def commit_that_does_not_fit_a_batch(stage: Stage) -> None:
    partitions = [OffsetCommitRequestPartition(p % 4, 1, -1, "x" * 4000) for p in range(300)]
    topic = OffsetCommitRequestTopic("t1", partitions=tuple(partitions))
    response = stage.coordinator.send(OffsetCommitRequest("large", topics=(topic,)), 9).response
    codes = {partition.error_code for partition in response.topics[0].partitions}
    stage.expect(ErrorCodes=sorted(codes))


@scene(1320)
def plan_that_does_not_fit_a_batch(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "large-plan")
    leader, follower = clients.completing("A", "B")
    parked = clients.sync(follower, 2)
    answer = clients.sync(leader, 2, {leader: bytes(1_200_000)})
    stage.expect(leader=answer.error_code, follower=parked.error_code, GroupState=clients.state)
