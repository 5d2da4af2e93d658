"""The cluster itself: brokers, what they speak, where they keep data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from drumbeat.client.admin.results import checked, named_error
from drumbeat.client.admin.routing import Router
from drumbeat.client.errors import KafkaError, UnsupportedVersionError, error_for
from drumbeat.client.net.metadata import Broker
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.apis import APIS, api_versions, describe_cluster, describe_log_dirs
from drumbeat.protocol.apis.describe_cluster import DescribeClusterRequest
from drumbeat.protocol.apis.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription:
    cluster_id: str | None
    controller_id: int
    brokers: tuple[Broker, ...]


class ApiVersionRange(NamedTuple):
    """`name` is "" for an API that this client does not know."""

    api_key: int
    name: str
    min_version: int
    max_version: int


class ReplicaInfo(NamedTuple):
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirDescription:
    """`error` is why the folder is offline; sizes are -1 where the broker is too old to say."""

    path: str
    error: KafkaError | None = None
    total_bytes: int = -1
    usable_bytes: int = -1
    replicas: Mapping[TopicPartition, ReplicaInfo] = field(default_factory=dict)


class ClusterAdmin(Router):
    async def describe_cluster(self) -> ClusterDescription:
        """Id, controller and brokers."""
        try:
            return await self._cluster.retry(self._describe_cluster)
        except UnsupportedVersionError:  # before Kafka 2.8 the metadata has to do
            known = await self._cluster.refresh()
            return ClusterDescription(
                cluster_id=known.cluster_id,
                controller_id=known.controller_id,
                brokers=tuple(known.brokers[node_id] for node_id in sorted(known.brokers)),
            )

    async def _describe_cluster(self) -> ClusterDescription:
        cluster = self._cluster
        response = await cluster.send(
            cluster.least_loaded(), describe_cluster.API, DescribeClusterRequest()
        )
        if response.error_code:
            raise error_for(response.error_code, response.error_message)
        return ClusterDescription(
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers=tuple(
                Broker(one.broker_id, one.host, one.port, one.rack)
                for one in sorted(response.brokers)
            ),
        )

    async def api_versions(self, broker_id: int | None = None) -> tuple[ApiVersionRange, ...]:
        """Which APIs a broker speaks; any broker's if none is named."""
        cluster = self._cluster
        node_id = cluster.least_loaded() if broker_id is None else broker_id
        body = api_versions.ApiVersionsRequest("drumbeat-admin", "1")
        response = await cluster.send(node_id, api_versions.API, body)
        if response.error_code:
            raise error_for(response.error_code)
        return tuple(
            ApiVersionRange(key, APIS[key].name if key in APIS else "", low, high)
            for key, low, high in sorted(response.api_keys)
        )

    async def describe_log_dirs(
        self, broker_ids: Iterable[int] | None = None
    ) -> dict[int, tuple[LogDirDescription, ...]]:
        """Data folders by broker, with the size of each partition."""
        asked = await self._broker_ids() if broker_ids is None else list(broker_ids)

        async def request(
            node_id: int, _asked: list[int]
        ) -> dict[int, tuple[LogDirDescription, ...] | KafkaError]:
            body = DescribeLogDirsRequest(topics=None)
            response = await self._cluster.send(node_id, describe_log_dirs.API, body)
            if response.error_code:
                return {node_id: named_error(f"broker {node_id}", response.error_code)}
            return {node_id: tuple(map(_log_dir, response.results))}

        return checked(await self._ask(asked, self._brokers, request))


def _log_dir(result: DescribeLogDirsResult) -> LogDirDescription:
    return LogDirDescription(
        path=result.log_dir,
        error=named_error(result.log_dir, result.error_code) if result.error_code else None,
        total_bytes=result.total_bytes,
        usable_bytes=result.usable_bytes,
        replicas={
            TopicPartition(topic.name, one.partition_index): ReplicaInfo(
                one.partition_size, one.offset_lag, one.is_future_key
            )
            for topic in result.topics
            for one in topic.partitions
        },
    )
