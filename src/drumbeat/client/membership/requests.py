"""The requests of a member, made from what it is configured to be and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from drumbeat.client.assignors.port import Assignor
from drumbeat.client.membership.outbox import Request
from drumbeat.client.membership.reasons import truncated
from drumbeat.client.membership.values import Generation, MembershipConfig
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import heartbeat, join_group, leave_group, sync_group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from drumbeat.protocol.apis.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from drumbeat.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    Subscription,
    TopicPartitions,
    encode_subscription,
)

# The coordinator may take the whole rebalance timeout to answer a JoinGroup.
JOIN_GROUP_TIMEOUT_LAPSE_MS = 5_000

# The first versions that know static members (KIP-345).
STATIC_JOIN, STATIC_SYNC, STATIC_HEARTBEAT = 5, 3, 3


class RequestMaker:
    def __init__(self, config: MembershipConfig, assignors: Sequence[Assignor]) -> None:
        self._config = config
        self._assignors = assignors

    def join(
        self,
        generation: Generation,
        topics: Iterable[str],
        owned: Iterable[TopicPartition],
        reason: str,
    ) -> Request:
        config = self._config
        message = JoinGroupRequest(
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=generation.member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=self._protocols(generation, sorted(topics), sorted(owned)),
            reason=truncated(reason),
        )
        patience_ms = config.max_poll_interval_ms + JOIN_GROUP_TIMEOUT_LAPSE_MS
        return Request(
            join_group.API,
            message,
            timeout_ms=max(config.request_timeout_ms, patience_ms),
            versions=self._versions(join_group.API.versions, STATIC_JOIN),
        )

    def _protocols(
        self, generation: Generation, topics: Sequence[str], owned: Sequence[TopicPartition]
    ) -> tuple[JoinGroupRequestProtocol, ...]:
        return tuple(
            JoinGroupRequestProtocol(
                assignor.name,
                encode_subscription(
                    Subscription(
                        topics=tuple(topics),
                        user_data=assignor.subscription_user_data(topics),
                        owned_partitions=by_topic(owned),
                        generation_id=generation.generation_id,
                        rack_id=self._config.client_rack or None,
                    )
                ),
            )
            for assignor in self._assignors
        )

    def sync(
        self, generation: Generation, assignments: tuple[SyncGroupRequestAssignment, ...]
    ) -> Request:
        message = SyncGroupRequest(
            group_id=self._config.group_id,
            generation_id=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=generation.protocol_name,
            assignments=assignments,
        )
        versions = self._versions(sync_group.API.versions, STATIC_SYNC)
        return Request(sync_group.API, message, versions=versions)

    def heartbeat(self, generation: Generation) -> Request:
        message = HeartbeatRequest(
            group_id=self._config.group_id,
            generation_id=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self._config.group_instance_id,
        )
        versions = self._versions(heartbeat.API.versions, STATIC_HEARTBEAT)
        return Request(heartbeat.API, message, versions=versions)

    def leave(self, generation: Generation, reason: str) -> Request:
        """By member id alone, even of a static member: its successor must not be thrown out."""
        member = MemberIdentity(member_id=generation.member_id, reason=truncated(reason))
        message = LeaveGroupRequest(
            group_id=self._config.group_id, member_id=generation.member_id, members=(member,)
        )
        return Request(leave_group.API, message)

    def _versions(self, known: range, static_from: int) -> range | None:
        """Without this, an old broker would take a static member for a dynamic one."""
        return range(static_from, known.stop) if self._config.is_static else None


def by_topic(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    """Neighbours of one topic together, in the given order."""
    return tuple(
        TopicPartitions(topic, tuple(each.partition for each in group))
        for topic, group in groupby(partitions, key=lambda each: each.topic)
    )
