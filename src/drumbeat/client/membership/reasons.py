"""Why a member joins or leaves, in words for the coordinator's log (KIP-800)."""

from __future__ import annotations

from typing import Final

from drumbeat.client.errors import KafkaError

REASON_CHARACTERS_MAX: Final = 255  # what Kafka's client cuts its reasons to

METADATA_CHANGED: Final = "the partitions of the group's topics have changed"
SUBSCRIPTION_CHANGED: Final = "the subscription has changed"
GROUP_REBALANCING: Final = "the group is rebalancing"
COMMIT_MET_REBALANCE: Final = "an offset commit found the group rebalancing"
ASSIGNMENT_NOT_SUBSCRIBED: Final = "the assignment does not match the subscription"
GIVING_UP_PARTITIONS: Final = "gave up partitions that the new assignment leaves out"
GENERATION_LOST_MEANWHILE: Final = "the generation was lost before its assignment was taken"
POLL_TIMEOUT: Final = "the time between two polls exceeded max.poll.interval.ms"
LEFT_GROUP: Final = "the member has left the group"
CLOSED: Final = "the consumer is closed"
UNSUBSCRIBED: Final = "the consumer has unsubscribed"


def member_id_given(member_id: str) -> str:
    return f"the coordinator gave this member the id {member_id}"


def answered(api_name: str, error: KafkaError) -> str:
    return f"{api_name} was answered with {error.code.name}"


def rebalance_failed(error: Exception) -> str:
    code = error.code.name if isinstance(error, KafkaError) else type(error).__name__
    return f"the rebalance failed: {code}"


def truncated(reason: str) -> str:
    return reason[:REASON_CHARACTERS_MAX]
