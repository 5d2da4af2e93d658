"""What goes into a decision besides state and request, and what comes out of it.

The shell's duty for every Outcome, in this order: append `records` to the log as one batch, apply
them, follow `effects`, hand on `events`, and send `replies` once the log is synced. If `settle`
names a group, `drumbeat.core.decide.settle` is called for it before anything else happens in the
partition, and its Outcome carried out the same way.
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


class Outcome(NamedTuple):
    records: tuple[Record, ...] = ()
    replies: tuple[Reply, ...] = ()
    effects: tuple[Effect, ...] = ()
    events: tuple[GroupEvent, ...] = ()
    settle: str | None = None


NOTHING = Outcome()
