"""The words that steps are made of, and what they stand for in one sequence on one broker.

A step says "the member's own id" or "the generation before"; which id and which number that is,
each broker's own answers decide. Every sequence has its own groups, clients and topics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum, unique
from typing import Any, ClassVar

from drumbeat.protocol.api import Api


class Word(Enum):
    """Prints as it is written. No two words of a kind may have the same meaning."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        unique(cls)

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class Member(Word):
    OWN = "the id that the client was given last, or none"
    NONE = "none"
    STRANGER = "one that nobody has"
    PREVIOUS = "the id that the client had before its last one"
    NEIGHBOUR = "the id of the next client"


class Generation(Word):
    CURRENT = "the client's last one"
    NEWEST = "the newest that any client knows"
    PREVIOUS = "one before the newest"
    NEXT = "one after the newest"
    NONE = "-1"


class Instance(Word):
    OWN = "the client's, if it is static"
    NONE = "none"
    STRANGER = "one that nobody has"
    FIRST = "the one that two static clients share"


class Group(Word):
    MAIN = "where the members are"
    OTHER = "one more of this sequence"
    MISSING = "one that never exists"
    EMPTY = "the empty string"


class Topic(Word):
    ORDERS = "shared by all sequences, four partitions"
    PAYMENTS = "shared by all sequences, one partition"
    OWN = "of this sequence, once it is created"
    SECOND = "one more of this sequence, once it is created"
    MISSING = "one that never exists"
    INTERNAL = "__consumer_offsets"
    INVALID = "a name that no topic can have"
    NAMELESS = "the empty string"


CLIENTS = range(6)
INSTANCES = {3: "i", 4: "i", 5: "j"}  # by client; the others are dynamic
SHARED_TOPICS = {Topic.ORDERS: ("orders", 4), Topic.PAYMENTS: ("payments", 1)}
STRANGER = "stranger-00000000-0000-4000-8000-000000000000"
UNKNOWN_TOPIC_ID = b"\x07" * 16
NO_PRODUCER = (-1, -1)


@dataclass
class Known:
    """What the clients of one sequence have been told by one broker, in its own ids."""

    prefix: str
    epochs_per_restart: int = 1
    member_ids: dict[int, list[str]] = field(default_factory=dict)
    generations: dict[int, int] = field(default_factory=dict)
    rosters: dict[int, tuple[str, ...]] = field(default_factory=dict)  # of clients that lead
    protocols: dict[int, tuple[str, str | None]] = field(default_factory=dict)  # type and name
    topic_ids: dict[Topic, bytes] = field(default_factory=dict)
    producers: list[tuple[int, int]] = field(default_factory=list)  # id and epoch
    sequences: dict[tuple[Topic, int, int], int] = field(default_factory=dict)  # that are due

    # -- names -----------------------------------------------------------------------------------

    def client_id(self, client: int) -> str:
        return f"{self.prefix}c{client}"

    def group(self, group: Group) -> str:
        return "" if group is Group.EMPTY else f"{self.prefix}{group.name.lower()}"

    def topic(self, topic: Topic) -> str:
        if topic in SHARED_TOPICS:
            return SHARED_TOPICS[topic][0]
        return _FIXED_TOPICS.get(topic, f"{self.prefix}{topic.name.lower()}")

    def topic_id(self, topic: Topic) -> bytes:
        return self.topic_ids.get(topic, UNKNOWN_TOPIC_ID)

    def learn_topic(self, name: str | None, topic_id: bytes) -> None:
        for topic in (Topic.OWN, Topic.SECOND):
            if name == self.topic(topic) and any(topic_id):
                self.topic_ids[topic] = topic_id

    def leader_epoch(self, restarts: int) -> int:
        """The epoch of a partition after so many restarts; -1 is none on any broker."""
        return restarts * self.epochs_per_restart if restarts > 0 else restarts

    # -- members ---------------------------------------------------------------------------------

    def member_id(self, client: int, member: Member = Member.OWN) -> str:
        own = self.member_ids.get(client, [])
        match member:
            case Member.NONE:
                return ""
            case Member.STRANGER:
                return STRANGER
            case Member.NEIGHBOUR:
                return self.member_id((client + 1) % len(CLIENTS))
            case Member.PREVIOUS:
                return own[-2] if len(own) > 1 else ""
            case Member.OWN:
                return own[-1] if own else ""

    def generation_id(self, client: int, generation: Generation = Generation.CURRENT) -> int:
        newest = max(self.generations.values(), default=0)
        match generation:
            case Generation.CURRENT:
                return self.generations.get(client, newest)
            case Generation.NEWEST:
                return newest
            case Generation.PREVIOUS:
                return newest - 1
            case Generation.NEXT:
                return newest + 1
            case Generation.NONE:
                return -1

    def instance_id(self, client: int, instance: Instance = Instance.OWN) -> str | None:
        match instance:
            case Instance.OWN:
                return INSTANCES.get(client)
            case Instance.NONE:
                return None
            case Instance.STRANGER:
                return "stranger"
            case Instance.FIRST:
                return INSTANCES[3]

    def learn_member(self, client: int, member_id: str) -> None:
        ids = self.member_ids.setdefault(client, [])
        if member_id and member_id not in ids[-1:]:
            ids.append(member_id)

    def client_of(self, member_id: str) -> int:
        """Which client was given the id; the last one for an id that no client knows of."""
        owners = (client for client, ids in self.member_ids.items() if member_id in ids)
        return next(owners, len(CLIENTS))


_FIXED_TOPICS = {
    Topic.INTERNAL: "__consumer_offsets",
    Topic.INVALID: "not/a/topic",
    Topic.NAMELESS: "",
}


@dataclass(frozen=True, kw_only=True, repr=False)
class Step:
    """One request of one client. `version` None stands for the newest."""

    api: ClassVar[Api]
    may_park: ClassVar[bool] = False  # the answer may wait for what other clients do
    reads_committed: ClassVar[bool] = False  # Kafka answers from what is committed already
    writes_metadata: ClassVar[bool] = False  # Kafka's broker learns of it a little later

    client: int = 0
    version: int | None = None

    @property
    def unordered(self) -> Mapping[str, tuple[str, ...]]:
        """Lists of the answer that have no order, and what to sort them by."""
        return {}

    def shows(self, known: Known, field_name: str, item: Any) -> bool:
        """Whether this item of a list in the answer is to be compared; others' topics are not."""
        return True

    @property
    def is_silent(self) -> bool:
        """No answer is due."""
        return False

    @property
    def api_version(self) -> int:
        return self.api.versions[-1] if self.version is None else self.version

    def request(self, known: Known) -> Any:
        """The body, in the broker's own ids."""
        raise AssertionError(f"{type(self).__name__} has no request")

    def learn(self, known: Known, response: Any) -> None:
        """Take from the answer what later steps refer to."""

    def __repr__(self) -> str:
        """As it would be written: only what differs from the defaults."""
        chosen = (
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if getattr(self, f.name) != f.default
        )
        return f"{type(self).__name__}({', '.join(chosen)})"


@dataclass(frozen=True, kw_only=True, repr=False)
class Wait(Step):
    """Let time pass; nothing is sent."""

    ms: int = 4000
