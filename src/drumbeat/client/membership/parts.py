"""What the phases of a rebalance work on together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.client.assignors.port import Assignor, RebalanceProtocol
from drumbeat.client.membership.heartbeats import HeartbeatClock
from drumbeat.client.membership.leading import common_protocol
from drumbeat.client.membership.link import CoordinatorLink, Surroundings
from drumbeat.client.membership.member import Member
from drumbeat.client.membership.outbox import Outbox
from drumbeat.client.membership.requests import RequestMaker
from drumbeat.client.membership.topics import TopicInterest
from drumbeat.client.membership.values import MembershipConfig
from drumbeat.client.membership.waits import Dice, Waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    config: MembershipConfig
    assignors: Sequence[Assignor]
    protocol: RebalanceProtocol
    outbox: Outbox
    waits: Waits
    member: Member
    topics: TopicInterest
    link: CoordinatorLink
    clock: HeartbeatClock
    requests: RequestMaker

    @classmethod
    def of(cls, config: MembershipConfig, assignors: Sequence[Assignor], dice: Dice) -> Parts:
        outbox, waits = Outbox(), Waits(config, dice)
        member, topics = Member(outbox), TopicInterest(config.client_rack)
        clock = HeartbeatClock(config, waits)
        return cls(
            config=config,
            assignors=assignors,
            protocol=common_protocol(assignors),
            outbox=outbox,
            waits=waits,
            member=member,
            topics=topics,
            link=CoordinatorLink(
                config.group_id, outbox, waits, Surroundings(member, topics, clock)
            ),
            clock=clock,
            requests=RequestMaker(config, assignors),
        )
