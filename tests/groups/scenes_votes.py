"""Golden rows of sections 2.4 and 2.8: who leads, which protocol wins, and full groups."""

import re

from drumbeat.protocol.java_hash import java_hash
from groups.golden_stage import Script, Stage
from groups.wire_clients import WireClients
from support.groups import protocols

script = Script()
scene = script.scene

_LIST = re.compile(r"\[([\w,-]+)\]")
VOTES = {"votes range,range,rr": ["range,rr", "range,rr", "rr,range"]}


@scene(range(492, 524))
def vote(stage: Stage) -> None:
    while stage.has_more:
        condition = stage.row["precondition"]
        lists = VOTES.get(condition) or _LIST.findall(condition)
        clients = WireClients(stage.coordinator, f"vote: {condition}")
        known: list[tuple[str, str]] = []
        for number, names in enumerate(lists):
            call = clients.enter(f"m{number}", protocols=protocols(*names.split(",")))
            for member_id, own in known:
                clients.join(member_id, protocols=protocols(*own.split(",")))
            known.append((call.response.member_id, names))
        stage.expect(ProtocolName=call.response.protocol_name)


def map_order(member_ids: list[str]) -> list[str]:
    """As Java's HashMap has them while there are at most 12: 16 buckets, each in its own order."""

    def bucket(member_id: str) -> int:
        spread = java_hash(member_id) & 0xFFFFFFFF
        return (spread ^ spread >> 16) & 15

    return sorted(member_ids, key=bucket)


def _five_members(clients: WireClients, **fields: int) -> list[str]:
    """Joined one after the other, which is the order of members in the same bucket."""
    members = clients.completing("a", "b", "c", "d", "e", version=3, **fields)
    assert len(members) == 5
    return members


@scene(1318)
def order_of_members(stage: Stage) -> None:
    groups, in_order, described_in_order, led_by_the_first = 6, 0, 0, 0
    for number in range(groups):
        clients = WireClients(stage.coordinator, f"order-{number}")
        joined = _five_members(clients)
        answer = clients.join(joined[0], 3, "a").response
        in_order += [member.member_id for member in answer.members] == map_order(joined)
        described = [member.member_id for member in clients.describe().members]
        described_in_order += described == map_order(joined)
        clients.leave(joined[0])
        calls = [clients.join(member_id, 3) for member_id in joined[1:]]
        led_by_the_first += calls[0].response.leader == map_order(joined[1:])[0]
    stage.expect(
        groups=groups,
        members_in_map_order=in_order,
        describe_in_map_order=described_in_order,
        new_leader_first_in_map_order=led_by_the_first,
    )


@scene(1319)
def order_of_leaders(stage: Stage) -> None:
    groups, led_by_the_first = 4, 0
    for number in range(groups):
        clients = WireClients(stage.coordinator, f"absent-leader-{number}")
        joined = _five_members(clients, rebalance_timeout_ms=150)
        changed = {"protocols": protocols("range", "rr"), "rebalance_timeout_ms": 150}
        calls = [clients.join(member_id, 3, **changed) for member_id in joined[1:]]
        led_by_the_first += calls[0].response.leader == map_order(joined[1:])[0]
    stage.expect(groups=groups, new_leader_first_in_map_order=led_by_the_first)


FULL = {"group.max.size": "2"}


@scene(range(532, 535), settings=FULL)
@scene(range(535, 539), settings=FULL)
def full_group(stage: Stage) -> None:
    stage.clients.completing("A", "B", version=3)
    stage.rest()


@scene(539, settings=FULL)
def ids_are_handed_out_to_any_number(stage: Stage) -> None:
    clients = WireClients(stage.coordinator, "handed-out")
    codes = {clients.join().error_code for _ in range(3)}
    stage.expect(ErrorCode=codes.pop())


@scene(540, 541, settings={**FULL, "group.initial.rebalance.delay.ms": "3000"})
def full_group_in_its_initial_delay(stage: Stage) -> None:
    stage.hand_out("D")
    for client_id in ("A", "B"):
        assert stage.clients.enter(client_id).is_parked
    stage.rest()


@scene(range(1309, 1312), settings=FULL)
def late_rejoiner_of_a_full_group(stage: Stage) -> None:
    clients = stage.clients
    a, b = clients.stable("A", "B")
    stage.know("B-<uuid-2>", b)
    clients.join(a, client_id="A")
    stage.next()  # an id is handed out
    clients.join(stage.id_of("D"), client_id="D")
    stage.next()
    generation_id = clients.live.generation_id
    assert clients.heartbeat(a, generation_id) == 27
    stage.next(GenerationId=generation_id)
