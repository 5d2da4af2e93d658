"""The values that users of the clients hold: partitions, offsets, records."""

from enum import IntEnum
from typing import Any, NamedTuple

from drumbeat.protocol.record_section import Headers


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndMetadata(NamedTuple):
    """A position to commit: the offset of the next record to read, and a note for the reader."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int = -1


class TimestampType(IntEnum):
    """Whose clock a record's timestamp is from."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class ConsumerRecord(NamedTuple):
    """One record as a consumer receives it; key and value are deserialised, -1 is null's size."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: Any
    value: Any
    headers: Headers
    leader_epoch: int
    serialized_key_size: int
    serialized_value_size: int


class RecordMetadata(NamedTuple):
    """Where a produced record went; offset and timestamp are -1 where the broker did not say."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int


class ConsumerGroupMetadata(NamedTuple):
    """Which member of which generation a consumer is."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
