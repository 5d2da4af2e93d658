"""Golden rows about how long the phases of a rebalance last: sections 2.3, 2.5 and 2.8."""

from itertools import count

from groups.golden_stage import Script, Stage
from groups.scenes_time import RANGE_AND_RR, Stopwatch, about, await_state, let_pass
from groups.scenes_votes import map_order
from groups.wire_clients import WireClients

script = Script()
scene = script.scene


# -- the join phase ------------------------------------------------------------------------------


@scene(421, version=0, leader={"session_timeout_ms": 1500}, follower={"session_timeout_ms": 1500})
@scene(
    422, version=9, leader={"rebalance_timeout_ms": 1500}, follower={"rebalance_timeout_ms": 1000}
)
def leader_only_heartbeats(
    stage: Stage, version: int, leader: dict[str, int], follower: dict[str, int]
) -> None:
    clients = stage.clients
    first, second = clients.stable_pair(leader, follower, version)
    stage.meet(second)
    watch = Stopwatch()
    parked = clients.join(second, version, "B", protocols=RANGE_AND_RR, **follower)
    while parked.answer is None and watch.seconds < 3:
        assert clients.heartbeat(first, 2) in (27, 25)
        let_pass(0.2)
    stage.answered(parked)
    assert watch.seconds == about(1.5)


@scene(423)
def later_joiner_does_not_extend_the_phase(stage: Stage) -> None:
    follower = {"rebalance_timeout_ms": 1000}
    for attempt in count():
        clients = WireClients(stage.coordinator, f"later-joiner-{attempt}")
        _, second = clients.stable_pair({"rebalance_timeout_ms": 1500}, follower)
        watch = Stopwatch()
        parked = clients.join(second, client_id="B", protocols=RANGE_AND_RR, **follower)
        clients.enter("D", rebalance_timeout_ms=6000)
        third = clients.member_id_of("D")
        # Either may become leader; the row is about the case in which it is the follower.
        if map_order([second, third])[0] == second:
            break
    stage.meet(second)
    stage.meet(third)
    stage.answered(parked)
    assert watch.seconds == about(1.5)


@scene(424, 425)
def new_member_brings_a_longer_timeout(stage: Stage) -> None:
    clients = stage.clients
    clients.stable("A", rebalance_timeout_ms=1000)
    watch = Stopwatch()
    parked = stage.enter("D", rebalance_timeout_ms=2500)
    stage.answered(parked)
    stage.expect(seconds=about(watch.seconds))


@scene(488, 489)
def static_follower_stays_away(stage: Stage) -> None:
    clients = stage.clients
    fields = {"rebalance_timeout_ms": 1200, "session_timeout_ms": 8000}
    leader, follower = stage.clients.enter_static("i1", "i2", **fields)
    stage.meet(leader)
    stage.meet(follower)
    for member_id in (leader, follower):
        clients.sync(member_id, 2)
    watch = Stopwatch()
    parked = clients.join(leader, group_instance_id="i1", **fields)
    stage.answered(parked)
    assert watch.seconds == about(1.2)
    clients.sync(leader, 3)
    before, watch = clients.state, Stopwatch()
    after = await_state(clients, "PreparingRebalance")  # it has not synced either
    stage.expect(before=before, after_seconds=about(watch.seconds), GroupState=after)


@scene(490, 491)
def only_a_static_member_remains(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "d-33")
    fields = {"rebalance_timeout_ms": 1200, "session_timeout_ms": 6000}
    (static,) = clients.enter_static("i1", **fields)
    stage.meet(static)
    dynamic = clients.enter("D", **fields)
    clients.join(static, group_instance_id="i1", **fields)
    for member_id in (static, dynamic.response.member_id):
        clients.sync(member_id, 2)
    clients.leave(dynamic.response.member_id)
    let_pass(1.7)
    error_code = clients.heartbeat(static, 2, group_instance_id="i1")
    stage.expect(GroupState=clients.state, ErrorCode=error_code)
    stage.next()


@scene(1316, 1317, settings={"group.max.size": "2"})
def late_rejoiner_does_not_end_the_phase(stage: Stage) -> None:
    clients = stage.clients
    fields = {"rebalance_timeout_ms": 3000}
    a, b = clients.stable("A", "B", **fields)
    stage.meet(b)
    watch = Stopwatch()
    leader = clients.join(a, client_id="A", **fields)
    clients.enter("D", **fields)
    stage.next()
    members = len(leader.response.members)
    stage.expect(join_phase_completed_after_s=about(watch.seconds), members=members)


# -- the initial delay ---------------------------------------------------------------------------

DELAY = {"group.initial.rebalance.delay.ms": "1500"}


@scene(524, settings=DELAY, rebalance_timeout_ms=10_000, second_at_s=None)
@scene(525, settings=DELAY, rebalance_timeout_ms=10_000, second_at_s=0.7)
@scene(526, settings=DELAY, rebalance_timeout_ms=2000, second_at_s=0.7)
@scene(527, settings=DELAY, rebalance_timeout_ms=1000, second_at_s=0.7)
def initial_delay(stage: Stage, rebalance_timeout_ms: int, second_at_s: float | None) -> None:
    clients = WireClients(stage.coordinator, f"delay-{stage.rows[0]}")
    fields = {"version": 1, "rebalance_timeout_ms": rebalance_timeout_ms}
    watch = Stopwatch()
    calls = [clients.enter("A", **fields)]
    if second_at_s is not None:
        let_pass(second_at_s)
        calls.append(clients.enter("B", **fields))
    answered = []
    for call in calls:
        assert call.error_code == 0
        answered.append(about(watch.seconds))
    stage.expect(answered_at_s=answered)


@scene(528, settings=DELAY)
def pending_id_does_not_hold_up_the_initial_delay(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "delay-pending")
    watch = Stopwatch()
    parked = clients.enter("A", version=1)
    let_pass(0.5)
    assert clients.join().error_code == 79
    assert parked.error_code == 0
    stage.expect(answered_at_s=[about(watch.seconds)])


@scene(range(529, 532), settings=DELAY)
def sole_member_leaves_during_the_initial_delay(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "e-6")
    parked = clients.enter("A")
    clients.leave(clients.member_id_of("A"))
    right_after, watch = clients.state, Stopwatch()
    await_state(clients, "Empty")
    stage.expect(
        state_right_after=right_after,
        parked_join=parked.error_code,
        Empty_after_s=about(watch.seconds),
    )
    stage.rest()


# -- the sync phase ------------------------------------------------------------------------------


PAIR = ({"rebalance_timeout_ms": 1500}, {"rebalance_timeout_ms": 1000})


@scene(426)
def leader_never_syncs(stage: Stage) -> None:
    clients = stage.clients
    leader, follower = clients.pair(*PAIR)
    stage.meet(follower)
    watch = Stopwatch()
    parked = clients.sync(follower, 2)
    while parked.answer is None and watch.seconds < 3:
        assert clients.heartbeat(leader, 2) in (0, 25)
        let_pass(0.2)
    stage.answered(parked)
    assert watch.seconds == about(1.5)


@scene(427)
def follower_never_syncs(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "never-syncs")
    leader, follower = clients.pair(*PAIR)
    watch = Stopwatch()
    clients.sync(leader, 2)
    leader_hears = 0
    while leader_hears == 0 and watch.seconds < 3:
        let_pass(0.1)
        clients.heartbeat(follower, 2)
        leader_hears = clients.heartbeat(leader, 2)
    seconds = about(watch.seconds)
    # Asked once more: its time may have come after its last heartbeat, just before the leader's.
    follower_hears = clients.heartbeat(follower, 2)
    stage.expect(follower=follower_hears, leader=leader_hears, after_seconds=seconds)


@scene(428)
def sole_member_never_syncs(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "never-syncs-alone")
    clients.completing("A", rebalance_timeout_ms=1000)
    watch = Stopwatch()
    state = await_state(clients, "Empty")
    stage.expect(GroupState=state, after_seconds=about(watch.seconds))
