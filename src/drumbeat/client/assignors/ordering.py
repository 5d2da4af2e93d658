"""The orders in which Java's assignors look at members; their results depend on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drumbeat.client.assignors.port import MemberSubscription
from drumbeat.protocol.java_hash import java_text_order
from drumbeat.protocol.java_map import java_map_order


def in_map_order(members: Mapping[str, MemberSubscription]) -> dict[str, MemberSubscription]:
    """As the leader's HashMap iterates, having been filled in the order of `members`."""
    return {member_id: members[member_id] for member_id in java_map_order(members)}


def in_turn(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Static members by instance id, then the others by member id.

    An instance id outlives a restart, so a static member comes back to its place.
    """
    return sorted(members, key=lambda member_id: _turn(member_id, members[member_id]))


def _turn(member_id: str, member: MemberSubscription) -> tuple[bool, bytes]:
    instance_id = member.group_instance_id
    if instance_id is None:
        return True, java_text_order(member_id)
    return False, java_text_order(instance_id)


def subscribed_topics(members: Iterable[MemberSubscription]) -> set[str]:
    return {topic for member in members for topic in member.topics}
