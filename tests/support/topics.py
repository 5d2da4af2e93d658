"""What Metadata says about a topic."""

import time

from drumbeat.protocol.apis.metadata import (
    API,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)
from drumbeat.protocol.errors import ErrorCode
from support.brokers import IS_KAFKA
from support.data_topics import create_topic
from support.waiting import POLL_INTERVAL_S, wait_until
from support.wire import Wire

KAFKA_ATTEMPTS = 50


def looked_up(wire: Wire, name: str) -> MetadataResponseTopic:
    """The topic as the broker knows it now; asking does not create it."""
    asked = MetadataRequest((MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
    (topic,) = wire.call(API, API.versions[-1], asked).topics
    return topic


def described(wire: Wire, name: str) -> MetadataResponseTopic:
    """A topic that has been created."""
    # Kafka's controller answers before its broker has heard of what was created.
    for _ in range(KAFKA_ATTEMPTS if IS_KAFKA else 1):
        topic = looked_up(wire, name)
        if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            break
        time.sleep(POLL_INTERVAL_S)
    return topic


def not_created(wire: Wire, name: str) -> MetadataResponseTopic:
    """A topic that nobody should have created, as the broker knows it in the end."""
    if IS_KAFKA:
        create_topic(wire)  # once its broker has heard of this, it has of everything before
    return looked_up(wire, name)


def await_gone(wire: Wire, name: str) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    wait_until(lambda: looked_up(wire, name).error_code == unknown, 10.0, f"{name} to be gone")


def partition_count(wire: Wire, name: str) -> int:
    return len(described(wire, name).partitions)
