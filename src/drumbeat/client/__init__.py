"""Kafka's clients: Consumer, Producer and Admin for asyncio, and each again for plain code.

They work against Drumbeat and against Apache Kafka. Names are loaded when they are first used, so
that a producer does not wait for a consumer's code.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drumbeat.client.admin import Admin
    from drumbeat.client.admin.sync import SyncAdmin
    from drumbeat.client.consumer import Consumer, RebalanceListener, SyncConsumer
    from drumbeat.client.errors import DrumbeatError, KafkaError
    from drumbeat.client.producer import Producer, SyncProducer
    from drumbeat.client.values import (
        ConsumerGroupMetadata,
        ConsumerRecord,
        OffsetAndMetadata,
        OffsetAndTimestamp,
        RecordMetadata,
        TimestampType,
        TopicPartition,
    )

__all__ = [
    "Admin",
    "Consumer",
    "ConsumerGroupMetadata",
    "ConsumerRecord",
    "DrumbeatError",
    "KafkaError",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Producer",
    "RebalanceListener",
    "RecordMetadata",
    "SyncAdmin",
    "SyncConsumer",
    "SyncProducer",
    "TimestampType",
    "TopicPartition",
]

_HOMES = {
    "Admin": "admin",
    "SyncAdmin": "admin.sync",
    "Consumer": "consumer",
    "SyncConsumer": "consumer",
    "RebalanceListener": "consumer",
    "Producer": "producer",
    "SyncProducer": "producer",
    "DrumbeatError": "errors",
    "KafkaError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'values')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
