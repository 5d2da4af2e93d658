"""What goes into a decision besides state and request, and what comes out of it.

The shell's duty for every Outcome, in this order: append `records` to the log as one batch, apply
them, follow `effects`, hand on `events`, and send `replies` once the log is synced. If `settle` is
set, `drumbeat.core.decide.settle` is called with it before anything else happens in the partition,
and its Outcome is carried out the same way.

Every request makes a Context, a Reply and an Outcome. They are classes, not NamedTuples, because
compiled code makes and reads those in half the time; `Final` is what keeps them as they are.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from drumbeat.core.config import GroupConfig
from drumbeat.core.effects import Effect
from drumbeat.core.events import GroupEvent
from drumbeat.core.records import Record


class TopicsView(Protocol):
    """What offsets need to know about topics."""

    def partition_count(self, topic: str) -> int | None:
        """None if there is no such topic."""

    def topic_name(self, topic_id: bytes) -> str | None:
        """None if no topic has this id."""

    def topic_id(self, topic: str) -> bytes:
        """NULL_UUID if there is no such topic."""


class Context:
    """Facts about one request that are not in it. Deadlines use the same, as request 0."""

    __slots__ = (
        "api_version",
        "client_host",
        "client_id",
        "config",
        "new_id",
        "now_ms",
        "request_id",
        "topics",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - one for each fact
        self,
        now_ms: int,
        config: GroupConfig,
        topics: TopicsView,
        request_id: int = 0,
        api_version: int = 0,
        client_id: str = "",
        client_host: str = "",
        new_id: str = "",
    ) -> None:
        self.now_ms: Final = now_ms
        self.config: Final = config
        self.topics: Final = topics
        self.request_id: Final = request_id
        self.api_version: Final = api_version
        self.client_id: Final = client_id  # null on the wire counts as ""
        self.client_host: Final = client_host  # in Java's form: /10.0.0.1
        self.new_id: Final = new_id  # a fresh UUID; only a new member needs one


class Reply:
    __slots__ = ("request_id", "response")

    def __init__(self, request_id: int, response: tuple[object, ...]) -> None:
        self.request_id: Final = request_id
        self.response: Final = response


class Settle(NamedTuple):
    """A group whose join phase may have come to its end, once the outcome's effects are followed.

    A separate step, because whether everybody has joined is a question about the state after it.
    """

    group_id: str
    is_expiry: bool = False  # a member's expiry may end even the initial delay of a new group


class Outcome:
    __slots__ = ("effects", "events", "records", "replies", "settle")

    def __init__(
        self,
        records: tuple[Record, ...] = (),
        replies: tuple[Reply, ...] = (),
        effects: tuple[Effect, ...] = (),
        events: tuple[GroupEvent, ...] = (),
        settle: Settle | None = None,
    ) -> None:
        self.records: Final = records
        self.replies: Final = replies
        self.effects: Final = effects
        self.events: Final = events
        self.settle: Final = settle

    def with_effects(self, effects: tuple[Effect, ...]) -> Outcome:
        return Outcome(self.records, self.replies, effects, self.events, self.settle)


NOTHING: Final = Outcome()
