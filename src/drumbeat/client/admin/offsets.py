"""Offsets of partitions: first, last, by time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from drumbeat.client.admin.results import checked, named_error
from drumbeat.client.admin.routing import Router
from drumbeat.client.admin.topics import by_topic
from drumbeat.client.errors import KafkaError
from drumbeat.client.values import OffsetAndTimestamp, TopicPartition
from drumbeat.protocol.apis import list_offsets
from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

_CONSUMER_REPLICA: Final = -1
_ISOLATION_LEVELS: Final = {"read_uncommitted": 0, "read_committed": 1}
_MAX_TIMESTAMP_SINCE: Final = 7


class OffsetSpec(IntEnum):
    """Which offset of a partition; a timestamp in milliseconds does too."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3


class OffsetsAdmin(Router):
    async def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec | int],
        *,
        isolation_level: str = "read_uncommitted",
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """The offset that each spec names; a timestamp, the first record at or after it.

        Offset -1: there is no such record.
        """
        level = _ISOLATION_LEVELS[isolation_level]
        oldest = (
            _MAX_TIMESTAMP_SINCE
            if OffsetSpec.MAX_TIMESTAMP in specs.values()
            else list_offsets.API.versions.start
        )
        versions = range(oldest, list_offsets.API.versions.stop)

        async def request(
            node_id: int, asked: list[TopicPartition]
        ) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
            topics = tuple(
                ListOffsetsTopic(
                    topic,
                    tuple(ListOffsetsPartition(tp.partition, timestamp=specs[tp]) for tp in tps),
                )
                for topic, tps in by_topic(asked).items()
            )
            timeout_ms = self._config.request_timeout_ms
            body = ListOffsetsRequest(_CONSUMER_REPLICA, level, topics, timeout_ms)
            response = await self._cluster.send(node_id, list_offsets.API, body, versions=versions)
            return {
                (tp := TopicPartition(topic.name, one.partition_index)): named_error(
                    tp, one.error_code
                )
                if one.error_code
                else OffsetAndTimestamp(one.offset, one.timestamp, one.leader_epoch)
                for topic in response.topics
                for one in topic.partitions
            }

        wanted = {TopicPartition(*tp): spec for tp, spec in specs.items()}
        return checked(await self._ask(wanted, self._leaders, request))
