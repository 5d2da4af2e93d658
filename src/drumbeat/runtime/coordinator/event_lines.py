"""What happens to groups, as log lines: the events of `__group_events`, in words.

Written when the events are, not when they happen: nobody waits for a log line. Heartbeats and
commits make no events, so they log nothing.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from drumbeat.core.events import GroupEvent, GroupEventType

log = logging.getLogger(__name__)

_Fields = Mapping[str, Any]


class _Line(NamedTuple):
    level: int
    words: Callable[[_Fields], str]


def log_events(events: Iterable[GroupEvent]) -> None:
    for event in events:
        level, words = LINES[event.type]
        if event.type is GroupEventType.PARTITION_LOADED and not event.fields["records"]:
            level = logging.DEBUG  # new, or never used: there are many of these
        if log.isEnabledFor(level):
            where = f"group {event.group_id}" if event.group_id else _partition(event.fields)
            log.log(
                level, "%s: %s", where, words(event.fields), extra={"fields": _as_fields(event)}
            )


def _as_fields(event: GroupEvent) -> dict[str, object]:
    """By the names that they have in `__group_events`; what is unknown is left out."""
    group = {"group_id": event.group_id} if event.group_id else {}
    known = {name: value for name, value in event.fields.items() if value is not None}
    return {"event": event.type.value, **group, "at_ms": event.at_ms, **known}


def _partition(fields: _Fields) -> str:
    return f"__consumer_offsets-{fields['partition']}"


def _member(fields: _Fields) -> str:
    instance_id = fields.get("group_instance_id")
    static = f", static as {instance_id}" if instance_id is not None else ""
    return f"{fields['member_id']} ({fields['client_id']} at {fields['client_host']}{static})"


def _quoted(client_reason: str | None) -> str:
    """The client's own words, apart from ours."""
    return f"; it says: {client_reason}" if client_reason else ""


def _rebalance_begun(fields: _Fields) -> str:
    member = f", {fields['member_id']}" if fields["member_id"] is not None else ""
    said = _quoted(fields["client_reason"])
    generation = fields["generation_id"]
    return f"preparing to rebalance generation {generation} ({fields['reason']}{member}{said})"


def _rebalance_completed(fields: _Fields) -> str:
    if not fields["members"]:
        return f"empty since generation {fields['generation_id']}"
    members = "1 member" if fields["members"] == 1 else f"{fields['members']} members"
    return (
        f"stabilized generation {fields['generation_id']} with {members}, "
        f"protocol {fields['protocol']}, leader {fields['leader']} "
        f"(joined in {fields['join_ms']} ms, synced in {fields['sync_ms']} ms)"
    )


def _rebalance_failed(fields: _Fields) -> str:
    took_ms = fields["join_ms"] + fields["sync_ms"]
    return (
        f"rebalance of generation {fields['generation_id']} given up "
        f"after {took_ms} ms ({fields['reason']})"
    )


def _member_joined(fields: _Fields) -> str:
    return f"member {_member(fields)} joined{_quoted(fields.get('client_reason'))}"


def _member_left(fields: _Fields) -> str:
    by = (fields.get("requested_by_client_id"), fields.get("requested_by_client_host"))
    is_own = by == (fields["client_id"], fields["client_host"])
    asked = "" if is_own else f" at the request of {by[0]} at {by[1]}"
    return f"member {_member(fields)} left{asked}{_quoted(fields.get('client_reason'))}"


def _member_expired(fields: _Fields) -> str:
    return f"member {_member(fields)} failed ({fields['reason']})"


def _member_fenced(fields: _Fields) -> str:
    return f"member {_member(fields)} fenced: another has its instance id"


def _member_replaced(fields: _Fields) -> str:
    return f"member {_member(fields)} takes the place of {fields['replaced_member_id']}"


def _offsets_reset(fields: _Fields) -> str:
    return (
        f"offset of {fields['topic']}-{fields['partition']} set to {fields['committed_offset']}, "
        f"it was {fields['previous_offset']} ({fields['client_id']} at {fields['client_host']})"
    )


def _offsets_deleted(fields: _Fields) -> str:
    return (
        f"offset of {fields['topic']}-{fields['partition']} deleted, "
        f"it was {fields['previous_offset']} ({fields['client_id']} at {fields['client_host']})"
    )


def _group_deleted(fields: _Fields) -> str:
    is_asked = fields["client_id"] is not None
    by = f"{fields['client_id']} at {fields['client_host']}" if is_asked else "retention is over"
    return f"deleted with {fields['offsets']} offsets ({by})"


def _partition_loaded(fields: _Fields) -> str:
    return f"loaded {fields['records']} records in {fields['load_ms']} ms"


def _partition_unloaded(_fields: _Fields) -> str:
    return "unloaded"


LINES: Mapping[GroupEventType, _Line] = {
    GroupEventType.REBALANCE_BEGUN: _Line(logging.INFO, _rebalance_begun),
    GroupEventType.REBALANCE_COMPLETED: _Line(logging.INFO, _rebalance_completed),
    GroupEventType.REBALANCE_FAILED: _Line(logging.INFO, _rebalance_failed),
    GroupEventType.MEMBER_JOINED: _Line(logging.INFO, _member_joined),
    GroupEventType.MEMBER_LEFT: _Line(logging.INFO, _member_left),
    GroupEventType.MEMBER_EXPIRED: _Line(logging.INFO, _member_expired),
    GroupEventType.MEMBER_FENCED: _Line(logging.WARNING, _member_fenced),
    GroupEventType.MEMBER_REPLACED: _Line(logging.INFO, _member_replaced),
    # Also what a job does that commits for a group without being in it, with every commit.
    GroupEventType.OFFSETS_RESET: _Line(logging.DEBUG, _offsets_reset),
    GroupEventType.OFFSETS_DELETED: _Line(logging.INFO, _offsets_deleted),
    GroupEventType.GROUP_DELETED: _Line(logging.INFO, _group_deleted),
    GroupEventType.PARTITION_LOADED: _Line(logging.INFO, _partition_loaded),
    GroupEventType.PARTITION_UNLOADED: _Line(logging.DEBUG, _partition_unloaded),
}
