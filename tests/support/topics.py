"""What Metadata says about a topic."""

from drumbeat.protocol.apis.metadata import (
    API,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponseTopic,
)
from support.wire import Wire


def described(wire: Wire, name: str) -> MetadataResponseTopic:
    """The topic as it is known; asking does not create it."""
    asked = MetadataRequest((MetadataRequestTopic(name=name),), allow_auto_topic_creation=False)
    (topic,) = wire.call(API, API.versions[-1], asked).topics
    return topic


def partition_count(wire: Wire, name: str) -> int:
    return len(described(wire, name).partitions)
