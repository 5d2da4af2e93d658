"""What a decision changes in the volatile session: one small fact per change.

`drumbeat.core.session.follow` is the only reader. Each costs O(1) to follow, except those that
begin or end a phase for every member at once. Replies and group events are not effects: they have
their own places in an Outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from drumbeat.core.classic.members import JoinedMember, ParkedRequest
from drumbeat.core.deadline_keys import DeadlineKey
from drumbeat.core.state import Group


class SetDeadline(NamedTuple):
    key: DeadlineKey
    at_ms: int


class ClearDeadline(NamedTuple):
    key: DeadlineKey


class PendingMemberAdded(NamedTuple):
    """MEMBER_ID_REQUIRED was answered; the id counts once it comes back in a JoinGroup."""

    group_id: str
    member_id: str


class PendingMemberRemoved(NamedTuple):
    group_id: str
    member_id: str


class MemberJoined(NamedTuple):
    """A member that was not in the group is in it now. The first one is the leader."""

    group_id: str
    protocol_type: str
    member: JoinedMember


class MemberUpdated(NamedTuple):
    """A member joined again: its timeouts and protocols are the new ones."""

    group_id: str
    member: JoinedMember


class MemberReplaced(NamedTuple):
    """A static member came back under a new id; assignment and leadership pass on (KIP-345)."""

    group_id: str
    replaced_member_id: str
    member: JoinedMember


class MembersRemoved(NamedTuple):
    group_id: str
    member_ids: tuple[str, ...]
    leader: str | None  # from now on: the same one unless it is among the removed


class JoinParked(NamedTuple):
    group_id: str
    member_id: str
    request: ParkedRequest


class SyncParked(NamedTuple):
    group_id: str
    member_id: str
    request: ParkedRequest


class SyncReceived(NamedTuple):
    """A member of a Stable group fetched its assignment."""

    group_id: str
    member_id: str


class RebalanceBegun(NamedTuple):
    """-> PreparingRebalance. Out of CompletingRebalance the assignments are forgotten."""

    group_id: str
    at_ms: int


class JoinPhaseArmed(NamedTuple):
    """The JOIN deadline is set, `delay_ms` from now.

    `remaining_ms` is by how much the initial delay of a new group may still be extended.
    """

    group_id: str
    delay_ms: int
    remaining_ms: int = 0


class JoinPhaseCompleted(NamedTuple):
    """-> CompletingRebalance: a new generation of everybody who is in the group."""

    group_id: str
    at_ms: int
    generation_id: int
    protocol_name: str
    leader: str
    subscribed_topics: frozenset[str] | None  # None: unknown


class SyncPhaseCompleted(NamedTuple):
    """-> Stable: the leader's plan is durable."""

    group_id: str
    at_ms: int
    assignments: Mapping[str, bytes]


class GroupEmptied(NamedTuple):
    """-> Empty: a join phase ended without members."""

    group_id: str
    at_ms: int
    generation_id: int


class GroupOpened(NamedTuple):
    """A durable group comes to life: as Stable if it has members (after a load), else as Empty."""

    group_id: str
    group: Group
    subscribed_topics: frozenset[str] | None = None


class GroupForgotten(NamedTuple):
    """The group was deleted or expired; ids handed out for it are worth nothing."""

    group_id: str


class GroupDied(NamedTuple):
    """-> Dead: the partition is leaving this node."""

    group_id: str
    at_ms: int


Effect: TypeAlias = (
    SetDeadline
    | ClearDeadline
    | GroupOpened
    | PendingMemberAdded
    | PendingMemberRemoved
    | MemberJoined
    | MemberUpdated
    | MemberReplaced
    | MembersRemoved
    | JoinParked
    | SyncParked
    | SyncReceived
    | RebalanceBegun
    | JoinPhaseArmed
    | JoinPhaseCompleted
    | SyncPhaseCompleted
    | GroupEmptied
    | GroupForgotten
    | GroupDied
)
