"""Offsets that brokers know: by timestamp from leaders, committed ones from the coordinator.

The requests and what their answers mean. `OffsetLookup` asks once and says what is still missing;
who wants to wait retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.errors import KafkaError, UnknownTopicOrPartitionError, error_for
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.values import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from drumbeat.protocol.apis import list_offsets, offset_fetch
from drumbeat.protocol.apis.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from drumbeat.protocol.apis.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from drumbeat.protocol.errors import ErrorCode

LIST_OFFSETS, OFFSET_FETCH = list_offsets.API, offset_fetch.API
CONSUMER_REPLICA_ID = -1
# Later versions name topics by id, which a group may outlive.
OFFSET_FETCH_VERSIONS = range(1, 10)
GROUPS_SINCE = 8

# After these the coordinator is somewhere else, or has to be found again.
COORDINATOR_LOST = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)

Committed = dict[TopicPartition, OffsetAndMetadata | None]
Timestamps = Mapping[TopicPartition, int]


class NoSuchPartitionError(UnknownTopicOrPartitionError):
    """As in Kafka's client, a coordinator that says so is believed at once; leaders are not."""

    @property
    def retriable(self) -> bool:
        return False


class Listed(NamedTuple):
    """`offsets` has None where no record is that young; `problem` is why some are missing."""

    offsets: dict[TopicPartition, OffsetAndTimestamp | None]
    problem: KafkaError | None


class OffsetLookup:
    def __init__(self, config: ConsumerConfig, cluster: Cluster) -> None:
        self._cluster = cluster
        self._group_id = config.group_id or ""
        self._isolation = int(config.isolation_level == "read_committed")
        self._timeout_ms = config.request_timeout_ms

    # -- by timestamp ----------------------------------------------------------------------------

    async def by_timestamp(self, wanted: Timestamps, timeout_ms: int | None = None) -> Listed:
        """All of them, or the error that remains after `timeout_ms`."""
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}

        async def attempt() -> Listed:
            missing = {tp: timestamp for tp, timestamp in wanted.items() if tp not in found}
            listed = await self.by_timestamp_once(missing)
            found.update(listed.offsets)
            if listed.problem is not None:
                raise listed.problem
            return Listed(found, None)

        return await self._cluster.retry(attempt, timeout_ms=timeout_ms)

    async def by_timestamp_once(self, wanted: Timestamps) -> Listed:
        """What the leaders answer now. Metadata is refreshed if it proves old."""
        self._cluster.watch_also({tp.topic for tp in wanted})
        if any(self._cluster.metadata.leader(tp) is None for tp in wanted):
            await self._cluster.refresh()
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        by_leader, problem = self._by_leader(wanted)
        answers = await asyncio.gather(
            *(self._ask_leader(node, part) for node, part in by_leader.items()),
            return_exceptions=True,
        )
        for answer in answers:
            if isinstance(answer, ListOffsetsResponse):
                problem = _read_listed(answer, found) or problem
            elif isinstance(answer, KafkaError):
                problem = answer
            elif isinstance(answer, BaseException):
                raise answer
        if problem is not None:
            self._cluster.request_refresh()
        return Listed(found, problem)

    def _by_leader(
        self, wanted: Timestamps
    ) -> tuple[dict[int, dict[TopicPartition, int]], KafkaError | None]:
        by_leader: dict[int, dict[TopicPartition, int]] = {}
        problem = None
        for tp, timestamp in wanted.items():
            leader = self._cluster.metadata.leader(tp)
            if leader is None:
                problem = self._cluster.problem_of(tp)
            else:
                by_leader.setdefault(leader, {})[tp] = timestamp
        return by_leader, problem

    async def _ask_leader(self, node_id: int, wanted: Timestamps) -> ListOffsetsResponse:
        metadata = self._cluster.metadata
        topics: dict[str, list[ListOffsetsPartition]] = {}
        for tp, timestamp in wanted.items():
            topics.setdefault(tp.topic, []).append(
                ListOffsetsPartition(tp.partition, metadata.leader_epoch(tp), timestamp)
            )
        request = ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=self._isolation,
            topics=tuple(ListOffsetsTopic(name, tuple(parts)) for name, parts in topics.items()),
            timeout_ms=self._timeout_ms,
        )
        response: ListOffsetsResponse = await self._cluster.send(node_id, LIST_OFFSETS, request)
        return response

    # -- committed -------------------------------------------------------------------------------

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> Committed:
        wanted = tuple(partitions)
        return await self._cluster.retry(lambda: self.committed_once(wanted), timeout_ms=timeout_ms)

    async def committed_once(self, partitions: Iterable[TopicPartition]) -> Committed:
        """What the group has committed; None where it has not."""
        wanted = tuple(partitions)
        try:
            node_id = await self._cluster.coordinator(self._group_id, timeout_ms=0)
            response: OffsetFetchResponse = await self._cluster.send(
                node_id,
                OFFSET_FETCH,
                lambda version: self._offset_fetch(wanted, version),
                versions=OFFSET_FETCH_VERSIONS,
            )
            return _read_committed(response, wanted)
        except KafkaError as problem:
            if problem.code in COORDINATOR_LOST:
                self._cluster.forget_coordinator(self._group_id)
            raise

    def _offset_fetch(
        self, partitions: Iterable[TopicPartition], version: int
    ) -> OffsetFetchRequest:
        topics: dict[str, list[int]] = {}
        for tp in partitions:
            topics.setdefault(tp.topic, []).append(tp.partition)
        if version >= GROUPS_SINCE:
            group = OffsetFetchRequestGroup(
                group_id=self._group_id,
                topics=tuple(
                    OffsetFetchRequestTopics(name=name, partition_indexes=tuple(indexes))
                    for name, indexes in topics.items()
                ),
            )
            return OffsetFetchRequest(groups=(group,), require_stable=True)
        return OffsetFetchRequest(
            group_id=self._group_id,
            topics=tuple(
                OffsetFetchRequestTopic(name, tuple(indexes)) for name, indexes in topics.items()
            ),
            require_stable=True,
        )


def _read_listed(
    response: ListOffsetsResponse, found: dict[TopicPartition, OffsetAndTimestamp | None]
) -> KafkaError | None:
    problem = None
    for topic in response.topics:
        for answer in topic.partitions:
            tp = TopicPartition(topic.name, answer.partition_index)
            # A log of an age that had no timestamps has no record of that time.
            if answer.error_code in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT):
                found[tp] = (
                    OffsetAndTimestamp(answer.offset, answer.timestamp, answer.leader_epoch)
                    if answer.offset >= 0
                    else None
                )
            else:
                problem = _about(tp, answer.error_code)
    return problem


def _read_committed(response: OffsetFetchResponse, wanted: Iterable[TopicPartition]) -> Committed:
    group = (
        response.groups[0]
        if response.groups
        else OffsetFetchResponseGroup(error_code=response.error_code)
    )
    if group.error_code != ErrorCode.NONE:
        raise error_for(group.error_code)
    committed: Committed = dict.fromkeys(wanted)
    for topic in group.topics or response.topics:
        for answer in topic.partitions:
            tp = TopicPartition(topic.name, answer.partition_index)
            if answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise NoSuchPartitionError(f"the coordinator says that {tp} does not exist")
            if answer.error_code != ErrorCode.NONE:
                raise _about(tp, answer.error_code)
            if answer.committed_offset >= 0:
                committed[tp] = OffsetAndMetadata(
                    answer.committed_offset, answer.metadata or "", answer.committed_leader_epoch
                )
    return committed


def _about(tp: TopicPartition, code: int) -> KafkaError:
    return error_for(code, f"{tp}: {error_for(code).message}")
