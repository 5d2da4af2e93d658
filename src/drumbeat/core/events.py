"""What happens to groups that Kafka's records cannot say: the contents of `__group_events`.

The key of such a record is the group id, the value a JSON object. Events are told, never asked:
nothing in the coordinator depends on them. `Reason` and `GroupEventType` are what readers select
by, so their values do not change once released.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.classic.members import JoinedMember

EventField: TypeAlias = str | int | None

CLIENT_REASON_CHARS_MAX = 255  # where Kafka's own client cuts it (KIP-800)

# What a JSON encoder does with a string. All of an encoder took 4.1 us for an event, this 1.5
# (compiled; interpreted 4.9 and 3.6).
_quoted: Final = json.encoder.encode_basestring_ascii
_NULL: Final = "null"


class GroupEventType(StrEnum):
    REBALANCE_BEGUN = "rebalance_begun"
    REBALANCE_COMPLETED = "rebalance_completed"
    REBALANCE_FAILED = "rebalance_failed"
    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    MEMBER_EXPIRED = "member_expired"
    MEMBER_FENCED = "member_fenced"
    MEMBER_REPLACED = "member_replaced"
    OFFSETS_RESET = "offsets_reset"
    OFFSETS_DELETED = "offsets_deleted"
    GROUP_DELETED = "group_deleted"
    PARTITION_LOADED = "partition_loaded"
    PARTITION_UNLOADED = "partition_unloaded"


class Reason(StrEnum):
    """Why a member went, or why a rebalance began or failed."""

    MEMBER_JOINED = "member_joined"
    MEMBER_CHANGED = "member_changed_protocols"
    LEADER_REJOINED = "leader_rejoined"
    MEMBER_LEFT = "member_left"
    SESSION_TIMEOUT = "session_timeout"
    NOT_REJOINED = "member_did_not_rejoin"
    NOT_SYNCED = "member_did_not_sync"
    GROUP_FULL = "group_max_size_reached"
    STATIC_REPLACED = "static_member_replaced"
    ASSIGNMENT_TOO_LARGE = "assignment_too_large"
    NOBODY_REJOINED = "nobody_rejoined"


class GroupEvent(NamedTuple):
    type: GroupEventType
    group_id: str  # "" for an event of a whole partition
    at_ms: int
    fields: Mapping[str, EventField]


class Cause(NamedTuple):
    """What set a rebalance off, and in the client's own words if it sent any."""

    reason: Reason
    member: JoinedMember | None = None
    client_reason: str | None = None


def event_value(event: GroupEvent) -> bytes:
    """The record's value: one JSON object, ASCII only, keys in the order they were given."""
    event_type, group_id, at_ms, fields = event
    members = [f'"type":"{event_type.value}","group_id":{_quoted(group_id)},"at_ms":{at_ms}']
    members += [f'"{name}":{_json(value)}' for name, value in fields.items()]
    return f"{{{','.join(members)}}}".encode()


def _json(value: EventField) -> str:
    if value is None:
        return _NULL
    return _quoted(value) if isinstance(value, str) else f"{value:d}"


def member_event(
    event_type: GroupEventType,
    group: ClassicGroupView,
    at_ms: int,
    member: JoinedMember,
    **fields: EventField,
) -> GroupEvent:
    return GroupEvent(
        event_type,
        group.group_id,
        at_ms,
        {**_identity(member), "generation_id": group.generation_id, **fields},
    )


def rebalance_begun(group: ClassicGroupView, at_ms: int, cause: Cause) -> GroupEvent:
    fields: dict[str, EventField] = {
        "reason": cause.reason.value,
        "client_reason": client_reason(cause.client_reason),
        "generation_id": group.generation_id,
        **_identity(cause.member),
    }
    return GroupEvent(GroupEventType.REBALANCE_BEGUN, group.group_id, at_ms, fields)


def rebalance_completed(group: ClassicGroupView, at_ms: int) -> GroupEvent:
    """Told when the leader's plan is stored."""
    fields = {**_generation(group), **_phases(group, at_ms)}
    return GroupEvent(GroupEventType.REBALANCE_COMPLETED, group.group_id, at_ms, fields)


def group_emptied(group: ClassicGroupView, at_ms: int, generation_id: int) -> GroupEvent:
    fields: dict[str, EventField] = {
        "generation_id": generation_id,
        "members": 0,
        "protocol": None,
        "leader": None,
        "join_ms": at_ms - group.rebalance_began_ms,
        "sync_ms": 0,
    }
    return GroupEvent(GroupEventType.REBALANCE_COMPLETED, group.group_id, at_ms, fields)


def rebalance_failed(group: ClassicGroupView, at_ms: int, reason: Reason) -> GroupEvent:
    fields = {**_generation(group), "reason": reason.value, **_phases(group, at_ms)}
    return GroupEvent(GroupEventType.REBALANCE_FAILED, group.group_id, at_ms, fields)


def client_reason(text: str | None) -> str | None:
    return text if text is None else text[:CLIENT_REASON_CHARS_MAX]


def _phases(group: ClassicGroupView, at_ms: int) -> dict[str, EventField]:
    """How long each phase of the rebalance took, or has taken so far."""
    is_joining = group.state is GroupState.PREPARING_REBALANCE
    join_ended_ms = at_ms if is_joining else group.state_timestamp_ms
    return {"join_ms": join_ended_ms - group.rebalance_began_ms, "sync_ms": at_ms - join_ended_ms}


def _generation(group: ClassicGroupView) -> dict[str, EventField]:
    return {
        "generation_id": group.generation_id,
        "members": len(group.members),
        "protocol": group.protocol_name,
        "leader": group.leader,
    }


def _identity(member: JoinedMember | None) -> dict[str, EventField]:
    if member is None:
        return {
            "member_id": None,
            "group_instance_id": None,
            "client_id": None,
            "client_host": None,
        }
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
    }
