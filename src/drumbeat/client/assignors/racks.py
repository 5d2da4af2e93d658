"""When racks are worth a thought (KIP-881), for the range and the sticky assignors alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set

from drumbeat.client.assignors.port import MemberSubscription


def racks_of_members(members: Mapping[str, MemberSubscription]) -> dict[str, str]:
    """The members that say where they are."""
    return {member_id: member.rack_id for member_id, member in members.items() if member.rack_id}


def racks_matter(member_racks: Set[str], partitions: Collection[frozenset[str]]) -> bool:
    """Whether some rack has members, and replicas of some partitions but not of all.

    Where every rack has everything, each member reads from its own rack whatever it is given.
    """
    everywhere = frozenset[str]().union(*partitions)
    return not everywhere.isdisjoint(member_racks) and any(
        racks != everywhere for racks in partitions
    )
