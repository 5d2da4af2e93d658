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
from support.waiting import POLL_INTERVAL_S
from support.wire import Wire

KAFKA_ATTEMPTS = 50


def described(wire: Wire, name: str) -> MetadataResponseTopic:
    """The topic as it is known; asking does not create it."""
    asked = MetadataRequest((MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
    # Kafka's controller answers before its broker has heard of what was created.
    for _ in range(KAFKA_ATTEMPTS if IS_KAFKA else 1):
        (topic,) = wire.call(API, API.versions[-1], asked).topics
        if topic.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            break
        time.sleep(POLL_INTERVAL_S)
    return topic


def partition_count(wire: Wire, name: str) -> int:
    return len(described(wire, name).partitions)
