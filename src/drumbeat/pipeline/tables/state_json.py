"""The whole state of one group as JSON, and back: nothing is lost on the way."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from drumbeat.core.records import MemberMetadata
from drumbeat.core.state import CommittedOffset, Group, Offsets, State
from drumbeat.pipeline.tables.classic_groups import generation_of

_BLOBS = ("subscription", "assignment")


def group_json(state: State, group_id: str) -> str | None:
    """None if the state has nothing about the group."""
    document: dict[str, Any] = {}
    if (group := state.groups.get(group_id)) is not None:
        document["group"] = _group_document(group)
    if group_id in state.offsets:
        document["offsets"] = _offset_documents(state.offsets[group_id])
    pending = {
        str(producer_id): _offset_documents(by_group[group_id])
        for producer_id, by_group in sorted(state.pending_offsets.items())
        if group_id in by_group
    }
    if pending:
        document["pending_offsets"] = pending
    return json.dumps(document, separators=(",", ":")) if document else None


def restore_group(state: State, group_id: str, text: str) -> None:
    """Put what `group_json` said of a group into a state that knows nothing of it."""
    document = json.loads(text)
    if "group" in document:
        state.groups[group_id] = _group(document["group"])
    if "offsets" in document:
        state.offsets[group_id] = _offsets(document["offsets"])
    for producer_id, offsets in document.get("pending_offsets", {}).items():
        by_group = state.pending_offsets.setdefault(int(producer_id), {})
        by_group[group_id] = _offsets(offsets)


def _group_document(group: Group) -> dict[str, Any]:
    owners = generation_of(group).owners
    assigned: dict[str, list[list[Any]]] = {}
    for partition, owner in owners.items():
        assigned.setdefault(owner.member_id, []).append(list(partition))
    members = [
        _member_document(member) | {"assigned_partitions": assigned.get(member.member_id, [])}
        for member in group.members.values()
    ]
    return group._asdict() | {"members": members}


def _member_document(member: MemberMetadata) -> dict[str, Any]:
    blobs = {name: b64encode(getattr(member, name)).decode() for name in _BLOBS}
    return member._asdict() | blobs


def _group(document: Mapping[str, Any]) -> Group:
    members = {}
    for fields in document["members"]:
        kept = {name: fields[name] for name in MemberMetadata._fields}
        blobs = {name: b64decode(fields[name]) for name in _BLOBS}
        members[fields["member_id"]] = MemberMetadata(**(kept | blobs))
    # A group without members is equal to one that never had any, whatever mapping says so.
    return Group(**{**document, "members": members})


def _offset_documents(offsets: Offsets) -> list[dict[str, Any]]:
    return [
        {"topic": topic, "partition": partition}
        | offset._asdict()
        | {"topic_id": offset.topic_id.hex()}
        for (topic, partition), offset in sorted(offsets.items())
    ]


def _offsets(documents: list[dict[str, Any]]) -> Offsets:
    offsets = {}
    for document in documents:
        place = (document.pop("topic"), document.pop("partition"))
        topic_id = bytes.fromhex(document.pop("topic_id"))
        offsets[place] = CommittedOffset(topic_id=topic_id, **document)
    return offsets
