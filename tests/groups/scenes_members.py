"""Golden rows of sections 1.6 to 1.8: SyncGroup, Heartbeat and LeaveGroup in every state."""

from groups.golden_stage import Script, Stage

script = Script()
scene = script.scene


@scene(range(216, 221))
@scene(*range(313, 319))
def absent_group(stage: Stage) -> None:
    stage.rest()


@scene(*range(221, 240), *range(241, 257))
def sync_group(stage: Stage) -> None:
    clients = stage.clients
    for member_id in clients.completing("A", "B"):
        stage.meet(member_id)
    stage.next(15)
    first = stage.next()
    second = stage.next()
    stage.next()  # the leader's
    stage.answered(second)
    # Kafka never answers the first one (row 240); here it is told to try again.
    assert first.error_code == 27
    stage.next(7)  # Stable
    stage.hand_out("D")
    stage.next()
    assert clients.join(stage.id_of("D"), client_id="D").is_parked
    stage.rest()  # PreparingRebalance


@scene(range(257, 260))
@scene(range(260, 263))
def parked_sync_when_a_member_joins(stage: Stage) -> None:
    clients = stage.clients
    for member_id in clients.completing("A", "B"):
        stage.meet(member_id)
    stage.next(2)
    version = stage.row["version"]
    plain = {} if version >= 5 else {"protocol_type": None, "protocol_name": None}
    sync = clients.sync(stage.id_of("B"), 2, version=version, **plain)
    clients.enter("D", version=3)
    stage.answered(sync)


@scene(range(263, 280))
@scene(range(280, 297))
def heartbeat(stage: Stage) -> None:
    stage.next()
    stage.walk("A", "B")


@scene(range(297, 305))
@scene(range(305, 313))
def heartbeat_and_sync_of_a_static_member(stage: Stage) -> None:
    (member_id,) = stage.clients.enter_static("i1")
    stage.clients.sync(stage.meet(member_id), 1)
    stage.rest()


@scene(range(319, 335), refused=2)
@scene(range(335, 351), refused=2)
@scene(range(351, 370), refused=5)
@scene(range(370, 389), refused=5)
def leave_group_through_every_state(stage: Stage, refused: int) -> None:
    clients = stage.clients
    stage.enter("A")
    clients.sync(stage.id_of("A"), 1)
    stage.next(refused)
    stage.hand_out("P")
    stage.next(3)  # a pending id leaves, which rebalances even a Stable group
    clients.join(stage.id_of("A"))
    assert stage.enter("B").is_parked
    stage.hand_out("P")
    parked = stage.next()
    stage.next()
    stage.answered(parked)
    sync = clients.sync(stage.id_of("B"), 3)
    stage.next()  # the leader leaves
    stage.answered(sync)
    stage.next()
    entered = stage.enter("P")
    stage.next()  # a new member leaves while it waits
    stage.answered(entered)
    stage.rest()


@scene(range(389, 394))
@scene(range(394, 399))
def leave_group_of_static_members(stage: Stage) -> None:
    one, two = stage.clients.enter_static("i1", "i2")
    stage.meet(two)
    stage.clients.sync(one, 2)
    stage.clients.sync(two, 2)
    stage.rest()
