"""What goes into a decision besides state and request, and what comes out of it.

The shell's duty for every Outcome, in this order: append `records` to the log as one batch, apply
them, follow `effects`, hand on `events`, and send `replies` once the log is synced. If `settle` is
set, `drumbeat.core.decide.settle` is called with it before anything else happens in the partition,
and its Outcome is carried out the same way.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

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


class Context(NamedTuple):
    """Facts about one request that are not in it. Deadlines use the same, as request 0."""

    now_ms: int
    config: GroupConfig
    topics: TopicsView
    request_id: int = 0
    api_version: int = 0
    client_id: str = ""  # null on the wire counts as ""
    client_host: str = ""  # in Java's form: /10.0.0.1
    new_id: str = ""  # a fresh UUID; only JoinGroup needs one


class Reply(NamedTuple):
    request_id: int
    response: tuple[object, ...]


class Settle(NamedTuple):
    """A group whose join phase may have come to its end, once the outcome's effects are followed.

    A separate step, because whether everybody has joined is a question about the state after it.
    """

    group_id: str
    is_expiry: bool = False  # a member's expiry may end even the initial delay of a new group


class Outcome(NamedTuple):
    records: tuple[Record, ...] = ()
    replies: tuple[Reply, ...] = ()
    effects: tuple[Effect, ...] = ()
    events: tuple[GroupEvent, ...] = ()
    settle: Settle | None = None


NOTHING = Outcome()
