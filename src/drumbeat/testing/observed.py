"""What a test sees of a cluster: groups, members, events, requests. Values, made when asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from drumbeat.core.events import EventField, GroupEventType
from drumbeat.log.port import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    session_timeout_ms: int
    partitions: frozenset[TopicPartition]  # what it was last assigned

    def __str__(self) -> str:
        owned = ", ".join(map(str, sorted(self.partitions))) or "nothing"
        return f"{self.client_id} ({self.member_id}) owns {owned}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group at one moment. `state` is Kafka's word for it; of an unknown group it is Dead."""

    group_id: str
    state: str
    generation_id: int = -1
    protocol: str | None = None
    leader: str | None = None
    members: tuple[Member, ...] = ()

    @property
    def assignment(self) -> dict[str, frozenset[TopicPartition]]:
        """Partitions by member id."""
        return {member.member_id: member.partitions for member in self.members}

    @property
    def owners(self) -> dict[TopicPartition, str]:
        """The client id of the member that owns each partition.

        A key equals the TopicPartition of kafka-python and of aiokafka, and a plain tuple.
        """
        return {tp: member.client_id for member in self.members for tp in member.partitions}

    def __str__(self) -> str:
        members = "; ".join(map(str, self.members)) or "no members"
        return f"{self.state}, generation {self.generation_id}, {members}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One record of `__group_events`: what happened, when, to whom and why.

    What an event does not have is None; `fields` has all of it, by the names in the record.
    """

    type: GroupEventType
    group_id: str
    at: datetime
    reason: str | None = None
    generation_id: int | None = None
    member_id: str | None = None
    client_id: str | None = None
    fields: Mapping[str, EventField]

    def __str__(self) -> str:
        told = {name: value for name, value in self.fields.items() if value is not None}
        rest = " ".join(f"{name}={value}" for name, value in told.items())
        return f"{self.at:%H:%M:%S.%f} {self.group_id} {self.type} {rest}".rstrip()


_HEAD = ("type", "group_id", "at_ms")
_NAMED = ("reason", "generation_id", "member_id", "client_id")


def event_of(document: Mapping[str, Any]) -> Event:
    """An event from the value of its record."""
    fields = {name: value for name, value in document.items() if name not in _HEAD}
    return Event(
        type=GroupEventType(document["type"]),
        group_id=document["group_id"],
        at=datetime.fromtimestamp(document["at_ms"] / 1000, UTC),
        fields=fields,
        **{name: fields.get(name) for name in _NAMED},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRequest:
    """A request as it reached the node; `body` is the decoded message."""

    api: str
    version: int
    client_id: str | None
    body: Any
