"""Groups in a state that tests can name, each with an id of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCoordinator
from support.groups import protocols

_numbers = count()


@dataclass
class Group:
    """A group, its members by what they are in it, and the other words that tables use."""

    clients: WireClients
    generation_id: int = 0
    member_ids: dict[str, str] = field(default_factory=dict)

    def member_id(self, word: str) -> str:
        """`leader`, `follower`, `pending`, `former`; a word that names nobody stands for itself."""
        return {"none": "", **self.member_ids}.get(word, word)

    def generation(self, word: str) -> int:
        relative = {"current": 0, "old": -1, "next": 1}
        return self.generation_id + relative[word] if word in relative else int(word)

    @property
    def state(self) -> str:
        return self.clients.state


Builder = Callable[[WireClients], Group]
STATES: dict[str, Builder] = {}


def state(builder: Builder) -> Builder:
    STATES[builder.__name__] = builder
    return builder


def build(coordinator: WireCoordinator, name: str) -> Group:
    """`name` is one of STATES, and may end with the protocol type: "stable connect"."""
    word, _, protocol_type = name.partition(" ")
    group_id = f"{name}-{next(_numbers)}"
    return STATES[word](WireClients(coordinator, group_id, protocol_type or "consumer"))


@state
def absent(clients: WireClients) -> Group:
    return Group(clients)


@state
def simple(clients: WireClients) -> Group:
    """Offsets and nothing else."""
    assert clients.commit() == 0
    return Group(clients)


@state
def handed(clients: WireClients) -> Group:
    """Empty, and an id was handed out."""
    return Group(clients, 0, {"pending": clients.join().response.member_id})


@state
def completing(clients: WireClients) -> Group:
    leader, follower = clients.completing("A", "B")
    return Group(clients, 2, {"leader": leader, "follower": follower})


@state
def stable(clients: WireClients) -> Group:
    leader, follower = clients.stable("A", "B")
    return Group(clients, 2, {"leader": leader, "follower": follower})


@state
def preparing(clients: WireClients) -> Group:
    """The leader is parked in JoinGroup, the follower is missing."""
    group = stable(clients)
    assert clients.join(group.member_id("leader"), client_id="A").is_parked
    return group


@state
def sole(clients: WireClients) -> Group:
    """Stable, with one member."""
    (leader,) = clients.stable("A")
    return Group(clients, 1, {"leader": leader})


@state
def pending(clients: WireClients) -> Group:
    """Stable, and an id was handed out."""
    group = stable(clients)
    group.member_ids["pending"] = clients.join().response.member_id
    return group


@state
def static(clients: WireClients) -> Group:
    """Stable, with the members of the instances i1 and i2."""
    leader, follower = clients.enter_static("i1", "i2")
    for member_id in (leader, follower):
        clients.sync(member_id, 2)
    return Group(clients, 2, {"leader": leader, "follower": follower})


@state
def empty(clients: WireClients) -> Group:
    """Its member has left. It has committed t1-0."""
    (former,) = clients.completing("A")
    clients.leave(former)
    clients.commit()
    return Group(clients, 2, {"former": former})


@state
def committed(clients: WireClients) -> Group:
    """Stable, subscribed to t1, with offsets of t1-0 and t2-0."""
    clients.commit_all(("t1", 0, 1, -1, ""), ("t2", 0, 1, -1, ""))
    return stable(clients)


@state
def unreadable(clients: WireClients) -> Group:
    """Stable, with members whose subscription cannot be read, and offsets."""
    clients.commit_all(("t1", 0, 1, -1, ""), ("t2", 0, 1, -1, ""))
    leader, follower = clients.stable("A", "B", protocols=protocols("range", metadata=b"junk"))
    return Group(clients, 2, {"leader": leader, "follower": follower})
