"""What members of the consumer protocol hide in JoinGroup and SyncGroup, as plain values."""

from collections.abc import Iterable

from drumbeat.protocol.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from sim.clients.assignor import Wish
from sim.topics import TopicPartition


def write_wish(wish: Wish, version: int) -> bytes:
    subscription = Subscription(
        topics=wish.topics,
        owned_partitions=_to_wire(wish.owned),
        generation_id=wish.generation_id,
    )
    return encode_subscription(subscription, version)


def read_wish(blob: bytes) -> Wish:
    subscription = decode_subscription(blob)
    owned = tuple(_from_wire(subscription.owned_partitions))
    return Wish(subscription.topics, owned, subscription.generation_id)


def write_share(partitions: Iterable[TopicPartition], token: bytes) -> bytes:
    return encode_assignment(Assignment(_to_wire(partitions), token), 0)


def read_share(blob: bytes) -> list[TopicPartition]:
    return _from_wire(decode_assignment(blob).assigned_partitions)


def _to_wire(partitions: Iterable[TopicPartition]) -> tuple[TopicPartitions, ...]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return tuple(TopicPartitions(topic, tuple(found)) for topic, found in by_topic.items())


def _from_wire(topics: Iterable[TopicPartitions]) -> list[TopicPartition]:
    return [(topic, partition) for topic, partitions in topics for partition in partitions]
