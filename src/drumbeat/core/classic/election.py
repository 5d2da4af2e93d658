"""Who leads a group and which protocol it speaks, with ties broken as Java's HashMap would.

Kafka keeps members and votes in hash maps and takes the first of them; clients must not depend on
that order, but whoever compares two coordinators sees it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Set

from drumbeat.core.classic.group import ClassicGroupView
from drumbeat.core.classic.members import JoinedMember
from drumbeat.protocol.java_hash import bucket, hash_map_order, table_size


def in_map_order(
    group: ClassicGroupView, members: Iterable[JoinedMember] | None = None
) -> list[JoinedMember]:
    """All members, or those given (in order of joining), as Kafka's map of members iterates."""
    size = table_size(group.members_peak)
    return sorted(
        group.members.values() if members is None else members,
        key=lambda member: bucket(member.id_hash, size),
    )


def first_in_map_order(
    group: ClassicGroupView, members: Iterable[JoinedMember]
) -> JoinedMember | None:
    size = table_size(group.members_peak)
    return min(members, key=lambda member: bucket(member.id_hash, size), default=None)


def leader_without(group: ClassicGroupView, removed: Set[str]) -> str | None:
    """The leader once `removed` are gone: another one only if it is among them."""
    if group.leader not in removed:
        return group.leader
    remaining = (member for member in group.members.values() if member.member_id not in removed)
    first = first_in_map_order(group, remaining)
    return first.member_id if first else None


def select_protocol(members: Collection[JoinedMember]) -> str:
    """Each member votes for the first protocol it lists that all of them know.

    A tie goes to the protocol that Kafka's map of votes would yield first.
    """
    candidates = set.intersection(*({name for name, _ in m.protocols} for m in members))
    votes = Counter(
        next(name for name, _ in member.protocols if name in candidates) for member in members
    )
    most = max(votes.values())
    return next(
        name for name in hash_map_order(votes, table_size(len(votes))) if votes[name] == most
    )
