"""Who had what: members claim partitions, and several may claim the same one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from drumbeat.client.assignors.port import NO_GENERATION, MemberSubscription, PartitionRacks
from drumbeat.client.values import TopicPartition


class Claim(NamedTuple):
    """What a member says it was given last, and in which generation, if it says that."""

    partitions: Sequence[TopicPartition] = ()
    generation_id: int = NO_GENERATION


@dataclass(slots=True)
class Settlement:
    """Each partition in at most one list of `owned`; contested are those claimed twice at once."""

    owned: dict[str, list[TopicPartition]] = field(default_factory=dict)
    contested: set[TopicPartition] = field(default_factory=set)


def settle(
    cluster: PartitionRacks,
    members: Mapping[str, MemberSubscription],
    claims: Mapping[str, Claim],
) -> Settlement:
    """The newest claim to a partition wins; of equally new ones none does.

    Claims to partitions that do not exist (any more) are dropped. Java drops them by topic only,
    and then gives other partitions of that topic to two members.
    """
    settlement = Settlement()
    owners: dict[TopicPartition, str] = {}
    for member_id, claim in claims.items():
        owned = settlement.owned[member_id] = []
        for tp in claim.partitions:
            if not 0 <= tp.partition < len(cluster.get(tp.topic, ())):
                continue
            if (rival := owners.get(tp)) is None:
                owned.append(tp)
                owners[tp] = member_id
            elif (lead := claim.generation_id - _subscribed_in(members[rival])) >= 0:
                _take_over(settlement, tp, member_id if lead else None, rival)
                owners[tp] = member_id
    return settlement


def _subscribed_in(rival: MemberSubscription) -> int:
    """Java looks for the rival's generation in its subscription, not in what it claims."""
    return max(NO_GENERATION, rival.generation_id)


def _take_over(
    settlement: Settlement, tp: TopicPartition, successor: str | None, rival: str
) -> None:
    """In this order: a member may list a partition twice and then is its own rival."""
    if successor is None:
        settlement.contested.add(tp)
    else:
        settlement.owned[successor].append(tp)
    if tp in settlement.owned[rival]:
        settlement.owned[rival].remove(tp)


def previous_owners(
    members: Mapping[str, MemberSubscription], claims: Mapping[str, Claim], generation_max: int
) -> dict[TopicPartition, str]:
    """Who had a partition before its last owner, of those who still want it.

    Java also takes members that do not want it any more, and either gives it to them or fails.
    """
    newest: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, claim in claims.items():
        if claim.generation_id >= generation_max:
            continue
        topics = frozenset(members[member_id].topics)
        for tp in claim.partitions:
            if tp.topic in topics and (tp not in newest or claim.generation_id > newest[tp][0]):
                newest[tp] = (claim.generation_id, member_id)
    return {tp: member_id for tp, (_, member_id) in newest.items()}
