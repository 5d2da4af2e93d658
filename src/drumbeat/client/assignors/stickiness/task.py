"""What a sticky assignment is made from, and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from drumbeat.client.assignors.port import MemberSubscription, PartitionRacks
from drumbeat.client.assignors.stickiness.claims import Claim, Settlement
from drumbeat.client.assignors.stickiness.racks import Racks
from drumbeat.client.values import TopicPartition

Assignment = dict[str, list[TopicPartition]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyTask:
    """`cluster` holds the topics that somebody wants and that exist; members in map order."""

    cluster: PartitionRacks
    members: Mapping[str, MemberSubscription]
    claims: Mapping[str, Claim]
    settlement: Settlement
    racks: Racks
    generation_max: int


class StickyResult(NamedTuple):
    """`moved` is what one member still has and another is to get; None if not kept track of."""

    assignment: Assignment
    moved: dict[TopicPartition, str] | None
