"""Golden rows of sections 0, 1.3 and 1.5: what a JoinGroup meets, from bad frames to re-joins."""

from drumbeat.protocol.frame import frame
from groups.golden_stage import Script, Stage
from groups.wire_clients import WireClients
from support.golden import BY_NAME, answers
from support.groups import join_request, protocols
from support.wire import ConnectionClosed, Wire, request_frame

script = Script()
scene = script.scene

KAFKAS_OWN_LIMITS = {"group.min.session.timeout.ms": "6000"}


@scene(range(27, 37), 43)
def raw_frames(stage: Stage) -> None:
    while stage.has_more:
        with Wire(stage.coordinator.bootstrap_servers) as wire:
            wire.send_bytes(frame(bytes.fromhex(stage.row["request"]["raw_hex"])))
            try:
                answer = wire.receive_frame().hex()
            except ConnectionClosed:
                stage.expect(connection="closed by broker")
            else:
                # Kafka was asked before it had an offsets topic: 16 where 25 is due now.
                stage.expect(raw=answer.replace("0019", "0010"))


@scene(range(37, 43))
def group_id_null(stage: Stage) -> None:
    while stage.has_more:
        row = stage.row
        api, version = BY_NAME[row["api"]], row["version"]
        empty = request_frame(api, version, api.request(group_id=""))
        header_size = 4 + 10 + len("wire") + api.request_header_version(version) - 1
        is_compact = api.request_header_version(version) == 2
        null = b"\x00" if is_compact else b"\xff\xff"
        with Wire(stage.coordinator.bootstrap_servers) as wire:
            wire.send_bytes(empty[:header_size] + null + empty[header_size + len(null) :])
            assert wire.is_closed()
        stage.expect(connection="closed by broker")


@scene(range(65, 87), settings={"offsets.topic.num.partitions": "1"})
def group_id_empty(stage: Stage) -> None:
    stage.rest()


@scene(range(90, 98), settings=KAFKAS_OWN_LIMITS)
def session_timeout_out_of_range(stage: Stage) -> None:
    stage.rest()


@scene(100, 101, 102, *range(104, 130), settings={"offsets.topic.num.partitions": "1"})
def absent_group(stage: Stage) -> None:
    """Two of the rows list all groups of the broker, so both versions are played in one run."""
    stage.next(21)
    WireClients(stage.coordinator, "g-10").join()
    stage.uuids.clear()
    stage.rest()


@scene(130, 131, 1341)
def pending_id_with_an_instance_id(stage: Stage) -> None:
    stage.hand_out("cl")
    stage.next(2)
    # The last row was taken from another group, in which the same had happened.
    stage.next(GroupId=answers()[130]["request"]["GroupId"])


@scene(132)
@scene(133)
@scene(range(134, 145))
@scene(range(145, 156))
@scene(158)
@scene(159)
@scene(160)
@scene(161)
@scene(162)
@scene(163)
@scene(164)
@scene(165)
def first_member(stage: Stage) -> None:
    stage.rest()


@scene(156, 157)
def checks_at_version_0(stage: Stage) -> None:
    stage.clients.enter(version=0)
    stage.rest()


@scene(166, client_id=None)
@scene(167, client_id="")
def nameless_client(stage: Stage, client_id: str | None) -> None:
    request = join_request(f"nameless-{client_id}")
    stage.answered(stage.coordinator.send(request, 9, client_id))


@scene(range(168, 192), version=0)
@scene(range(192, 216), version=9)
def existing_member_through_every_state(stage: Stage, version: int) -> None:
    clients = stage.clients
    stage.enter("cl", version=version)
    stage.next(2)  # same protocols in Completing; then changed ones: generation 2
    if version:
        stage.hand_out("cl2")
    parked = stage.next(client_id="cl2")  # a new member; the other one is missing
    stage.next()
    if not version:
        stage.meet(clients.member_id_of("cl2"))
    stage.next()  # the missing one joins: generation 3
    stage.answered(parked)
    stage.next()
    sync = stage.next()
    stage.next()  # the leader's plan has a stranger in it, and nothing for the follower
    stage.answered(sync)
    stage.next()
    follower = stage.next()  # the same names in another order
    stage.next()  # generation 4: now rr wins
    stage.answered(follower)
    leader_id, follower_id = stage.id_of("cl"), stage.id_of("cl2")
    clients.sync(leader_id, 4, protocol_name="rr")
    clients.sync(follower_id, 4, protocol_name="rr")
    stage.next()  # the follower's metadata changed
    clients.join(leader_id, protocols=protocols("range", "rr"))
    clients.sync(leader_id, 5, version=4)
    leader = stage.next()  # Stable: a leader's re-join is a rebalance
    stage.next()  # the one that is missing leaves
    stage.answered(leader)
    clients.leave(leader_id)
    stage.rest()  # Empty
