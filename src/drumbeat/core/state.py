"""The durable state of one `__consumer_offsets` partition: what its log says, and nothing more.

Only `drumbeat.core.reducer` writes it. Everybody else holds a `core.session.View`, whose mappings
are read-only and whose values are frozen, so that a write anywhere else is a type error.
What a restart may forget (a rebalance in progress, parked requests) is in `core.session`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from drumbeat.core.records import (
    NO_EXPIRE_TIMESTAMP,
    NO_LEADER_EPOCH,
    NO_STATE_TIMESTAMP,
    MemberMetadata,
)
from drumbeat.protocol.schema import NULL_UUID

TopicPartition: TypeAlias = tuple[str, int]

_NO_MEMBERS: Mapping[str, MemberMetadata] = MappingProxyType({})


class Group(NamedTuple):
    """A classic group as its newest GroupMetadata record tells it.

    A group that has only ever stored offsets (a simple group) has no such record: it is `Group()`.
    """

    protocol_type: str = ""  # "" until the group has had a member
    generation_id: int = 0
    protocol_name: str | None = None
    leader: str | None = None
    state_timestamp_ms: int = NO_STATE_TIMESTAMP
    members: Mapping[str, MemberMetadata] = _NO_MEMBERS  # by member id, in the record's order


class CommittedOffset(NamedTuple):
    """A group's position in one partition, and where in the log that was said."""

    committed_offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = NO_EXPIRE_TIMESTAMP
    topic_id: bytes = NULL_UUID
    log_offset: int = -1  # the later one in the log wins when a transaction commits


Offsets: TypeAlias = dict[TopicPartition, CommittedOffset]


@dataclass(slots=True)
class State:
    """Groups by id; offsets by group; offsets of open transactions by producer id, then group.

    Every group with offsets, committed or pending, is in `groups` too: the reducer creates a
    simple group when the log mentions a group that it does not know.
    """

    groups: dict[str, Group] = field(default_factory=dict)
    offsets: dict[str, Offsets] = field(default_factory=dict)
    pending_offsets: dict[int, dict[str, Offsets]] = field(default_factory=dict)
