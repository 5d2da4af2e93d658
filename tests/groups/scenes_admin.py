"""Golden rows of sections 1.4 and 1.12: finding, listing, describing and deleting groups."""

from drumbeat.protocol.java_hash import partition_for
from groups.golden_stage import Script, Stage
from groups.wire_clients import WireClients
from support.golden import BY_NAME
from support.groups import protocols

script = Script()
scene = script.scene


@scene(*range(47, 59), *range(60, 64))
def find_coordinator(stage: Stage) -> None:
    stage.rest()


@scene(429, 430)
def described_assignments_are_cleared_when_a_plan_is_given_up(stage: Stage) -> None:
    clients = stage.clients
    for member_id in clients.stable("A", "B"):
        stage.meet(member_id)
    clients.join(stage.id_of("A"))
    clients.join(stage.id_of("B"))
    stage.next()
    clients.join(stage.id_of("A"), protocols=protocols("range", "rr"))
    stage.next()


@scene(range(837, 846))
def describe_groups(stage: Stage) -> None:
    for member_id in stage.clients.stable("A", "B"):
        stage.meet(member_id)
    stage.rest()


@scene(846)
def describe_a_group_of_another_type(stage: Stage) -> None:
    clients = stage.clients
    fields = {"protocol_type": "connect", "protocols": protocols("sessioned", metadata=b"xyz")}
    member_id = stage.meet(clients.completing("cl", **fields)[0])
    chosen = {"protocol_type": "connect", "protocol_name": "sessioned"}
    clients.sync(member_id, 1, {member_id: b"ASG"}, **chosen)
    stage.rest()


@scene(range(847, 856), settings={"offsets.topic.num.partitions": "1"})
def list_groups(stage: Stage) -> None:
    """Rows say which types, states and protocol types were seen together."""
    _one_group_of_each_kind(stage)
    while stage.has_more:
        row = stage.row
        api = BY_NAME["ListGroups"]
        filters = [tuple(row["request"].get(key, ())) for key in ("StatesFilter", "TypesFilter")]
        version = row["version"]
        response = stage.coordinator.send(api.request(*filters), version).response
        seen = {
            (
                group.protocol_type,
                group.group_state if version >= 4 else None,
                group.group_type if version >= 5 else None,
            )
            for group in response.groups
        }
        stage.expect(ErrorCode=response.error_code, combinations=sorted(map(str, seen)))


def _one_group_of_each_kind(stage: Stage) -> None:
    WireClients(stage.coordinator, "simple").commit()
    for protocol_type in ("consumer", "connect"):
        fields = {"protocol_type": protocol_type}
        for state in ("completing", "stable", "preparing", "empty"):
            clients = WireClients(stage.coordinator, f"{protocol_type}-{state}")
            (member_id,) = clients.completing("A", **fields)
            if state in ("stable", "preparing"):
                clients.sync(member_id, 1, **fields)
            if state == "preparing":
                clients.enter("B", **fields)
            if state == "empty" and protocol_type == "consumer":
                clients.leave(member_id)


@scene(range(856, 859))
def delete_groups(stage: Stage) -> None:
    coordinator = stage.coordinator
    if WireClients(coordinator, "f-40").state != "Stable":
        WireClients(coordinator, "f-40").stable("A", "B")
    for group_id in ("f-42", "f-43"):
        WireClients(coordinator, group_id).commit()
    stage.rest()


@scene(range(1003, 1012))
def partition_of_a_group(stage: Stage) -> None:
    while stage.has_more:
        group_id = stage.row["response"]["GroupId"]
        stage.expect(GroupId=group_id, partition=partition_for(group_id, 50))
