"""How a leader shares partitions out: anew each time (eager), or step by step (cooperative)."""

from collections.abc import Mapping
from typing import NamedTuple

from sim.topics import TopicPartition

Plan = dict[str, list[TopicPartition]]


class Wish(NamedTuple):
    """What a member's subscription says."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    generation_id: int = -1


def eager_plan(wishes: Mapping[str, Wish], partitions: list[TopicPartition]) -> Plan:
    """Each partition to the least loaded of those who read its topic."""
    plan: Plan = {member_id: [] for member_id in wishes}
    for tp in partitions:
        readers = [member_id for member_id in sorted(wishes) if tp[0] in wishes[member_id].topics]
        if readers:
            plan[min(readers, key=lambda member_id: len(plan[member_id]))].append(tp)
    return plan


def cooperative_plan(wishes: Mapping[str, Wish], partitions: list[TopicPartition]) -> Plan:
    """Members keep what they own up to a fair share; what must move is first given up.

    A partition that somebody else still owns is left out, and goes to its new owner in the
    rebalance that begins when the old one has given it up (KIP-429).
    """
    owners = _owners(wishes)
    fair = -(-len(partitions) // max(len(wishes), 1))
    plan: Plan = {member_id: [] for member_id in wishes}
    homeless: list[TopicPartition] = []
    for tp in partitions:
        owner = owners.get(tp)
        if owner is not None and tp[0] in wishes[owner].topics and len(plan[owner]) < fair:
            plan[owner].append(tp)
        else:
            homeless.append(tp)
    for tp in homeless:
        readers = [member_id for member_id in sorted(wishes) if tp[0] in wishes[member_id].topics]
        if readers:
            chosen = min(readers, key=lambda member_id: len(plan[member_id]))
            plan[chosen].append(tp)
    return {
        member_id: [tp for tp in share if owners.get(tp, member_id) == member_id]
        for member_id, share in plan.items()
    }


def _owners(wishes: Mapping[str, Wish]) -> dict[TopicPartition, str]:
    """Of two that claim a partition, the one of the later generation has it."""
    owners: dict[TopicPartition, str] = {}
    for member_id in sorted(wishes, key=lambda m: (wishes[m].generation_id, m)):
        owners.update(dict.fromkeys(wishes[member_id].owned, member_id))
    return owners
