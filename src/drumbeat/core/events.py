"""What happens to groups that Kafka's records cannot say: the contents of `__group_events`.

The key of such a record is the group id, the value a JSON object. Events are told, never asked:
nothing in the coordinator depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeAlias

EventField: TypeAlias = str | int | None


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


class GroupEvent(NamedTuple):
    type: GroupEventType
    group_id: str  # "" for an event of a whole partition
    at_ms: int
    fields: Mapping[str, EventField]


def event_value(event: GroupEvent) -> bytes:
    """The record's value: one JSON object, ASCII only, keys in the order they were given."""
    document = {
        "type": event.type.value,
        "group_id": event.group_id,
        "at_ms": event.at_ms,
        **event.fields,
    }
    return json.dumps(document, separators=(",", ":")).encode()
