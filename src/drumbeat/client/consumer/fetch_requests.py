"""Fetch requests and responses: which partitions at which offsets, and which answer is whose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.net.metadata import ClusterMetadata
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import fetch
from drumbeat.protocol.apis.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from drumbeat.protocol.schema import NULL_UUID

FETCH = fetch.API
IDS_SINCE = 13
VERSIONS_WITH_NAMES = range(FETCH.versions.start, IDS_SINCE)


class Wanted(NamedTuple):
    """One partition of a request; `version` is the state's when it was made."""

    state: PartitionState
    offset: int
    version: int


class FetchPlan:
    """A request to one node, and the reading of its response."""

    def __init__(
        self, config: ConsumerConfig, metadata: ClusterMetadata, wanted: list[Wanted]
    ) -> None:
        self._config = config
        self._metadata = metadata
        self.wanted = wanted

    @property
    def versions(self) -> range | None:
        """Without its id a topic cannot be asked for by id."""
        ids = (self._metadata.topic_id(want.state.tp.topic) for want in self.wanted)
        return VERSIONS_WITH_NAMES if NULL_UUID in ids else None

    def request(self, _version: int) -> FetchRequest:
        config, metadata = self._config, self._metadata
        topics: dict[str, list[FetchPartition]] = {}
        for state, offset, _ in self.wanted:
            topics.setdefault(state.tp.topic, []).append(
                FetchPartition(
                    partition=state.tp.partition,
                    current_leader_epoch=metadata.leader_epoch(state.tp),
                    fetch_offset=offset,
                    partition_max_bytes=config.max_partition_fetch_bytes,
                )
            )
        return FetchRequest(
            max_wait_ms=config.fetch_max_wait_ms,
            min_bytes=config.fetch_min_bytes,
            max_bytes=config.fetch_max_bytes,
            isolation_level=int(config.isolation_level == "read_committed"),
            topics=tuple(
                FetchTopic(name, metadata.topic_id(name), tuple(partitions))
                for name, partitions in topics.items()
            ),
            rack_id=config.client_rack,
        )

    def answers(self, response: FetchResponse) -> Iterator[tuple[Wanted, PartitionData]]:
        wanted = {want.state.tp: want for want in self.wanted}
        for topic in response.responses:
            name = topic.topic or self._metadata.topic_names.get(topic.topic_id, "")
            for data in topic.partitions:
                want = wanted.get(TopicPartition(name, data.partition_index))
                if want is not None:
                    yield want, data
