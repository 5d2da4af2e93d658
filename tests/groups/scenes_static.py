"""Golden rows of section 2.6: a static member comes back without its id and takes its place."""

from groups.golden_stage import Script, Stage
from groups.wire_clients import WireClients
from support.golden import answers
from support.groups import protocols

script = Script()
scene = script.scene


@scene(range(431, 441), version=5)
@scene(range(450, 460), version=8)
@scene(range(469, 479), version=9)
def sole_static_leader_is_replaced(stage: Stage, version: int) -> None:
    clients = stage.clients
    replacement = answers()[stage.rows[1]]
    everything = bytes.fromhex(replacement["response"]["Assignment"])
    old = clients.join("", version, "A", group_instance_id="i1").response.member_id
    stage.know(answers()[stage.rows[3]]["request"]["MemberId"], old)
    clients.sync(old, 1, {old: everything})
    stage.next(2)
    stage.expect(
        **{"with": clients.heartbeat(old, 1, 4, "i1"), "without": clients.heartbeat(old, 1)}
    )
    stage.rest()


@scene(range(441, 450), version=5)
@scene(range(460, 469), version=8)
@scene(range(479, 488), version=9)
def one_of_two_static_members_is_replaced(stage: Stage, version: int) -> None:
    clients = stage.clients
    leader, follower = stage.clients.enter_static("i1", "i2", version=version)
    stage.meet(leader)
    stage.meet(follower)
    sync = clients.sync(follower, 2, group_instance_id="i2")
    replacement = stage.next()  # Completing: a rebalance
    stage.answered(sync)
    clients.join(leader, version, group_instance_id="i1")
    stage.answered(replacement)
    clients.sync(leader, 3)
    clients.sync(stage.id_of("i2"), 3)
    stage.next()  # Stable: none
    _replaced_while_it_waits(stage, clients, version)
    stage.rest()  # those that come back with their ids


def _replaced_while_it_waits(stage: Stage, clients: WireClients, version: int) -> None:
    leader = stage.id_of("i1")
    parked = clients.join(
        stage.id_of("i2"), version, group_instance_id="i2", protocols=protocols("range", "rr")
    )
    replacement = stage.next()
    stage.answered(parked)
    clients.join(leader, version, group_instance_id="i1", protocols=protocols("range", "rr"))
    follower = replacement.response.member_id
    replacement = clients.join("", version, group_instance_id="i1")  # the leader, in Completing
    clients.join(follower, version, group_instance_id="i2")
    stage.meet(replacement.response.member_id)
    stage.know(answers()[stage.rows[-2]]["request"]["MemberId"], follower)
    stage.answered(replacement)
    clients.sync(stage.id_of("i1"), 5)
    clients.sync(follower, 5)
