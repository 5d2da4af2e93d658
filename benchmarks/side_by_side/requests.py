"""The requests of the load, encoded once, and what the servers are asked before it begins."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator import run_job
from benchmarks.side_by_side.generator.seats import Seat, Seats
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import find_coordinator, offset_fetch
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.apis.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from support.data_topics import create_topic
from support.wire import Wire, request_frame

TOPIC, TOPIC_PARTITIONS = "bench", 100
OFFSETS_PARTITIONS = 50
HEARTBEAT_VERSION, COMMIT_VERSION, OFFSET_FETCH_VERSION = 4, 8, 7
FIND_COORDINATOR_VERSION = 3
RETRY_S = 0.005
NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

Body = Callable[[Seat], Any]
_runs = count()


def heartbeat_of(seat: Seat) -> HeartbeatRequest:
    return HeartbeatRequest(seat.group_id, seat.generation_id, seat.member_id)


def commit_of(partitions: int) -> Body:
    offsets = tuple(OffsetCommitRequestPartition(index, 1_000) for index in range(partitions))
    topics = (OffsetCommitRequestTopic(TOPIC, partitions=offsets),)
    return lambda seat: OffsetCommitRequest(
        seat.group_id, seat.generation_id, seat.member_id, topics=topics
    )


def offset_fetch_of(partitions: int) -> Body:
    topics = (OffsetFetchRequestTopic(TOPIC, tuple(range(partitions))),)
    return lambda seat: OffsetFetchRequest(seat.group_id, topics)


def errors_in(response: Any) -> set[int]:
    """Every error code in a response, at any depth."""
    if isinstance(response, tuple):
        found = {response.error_code} if hasattr(response, "error_code") else set()
        return found.union(*(errors_in(field) for field in response))
    return set()


def call_raw(wire: Wire, frame: bytes) -> bytes:
    wire.send_bytes(frame)
    body = wire.receive_frame()
    return len(body).to_bytes(4, "big") + body


def call(wire: Wire, api: Api, version: int, body: Any) -> Any:
    response = wire.call(api, version, body)
    assert errors_in(response) <= {0}, f"{api.name}: {response}"
    return response


def frames_of(api: Api, version: int, bodies: Iterable[Any]) -> list[bytes]:
    return [request_frame(api, version, body) for body in bodies]


# -- before the load -------------------------------------------------------------------------------


def seat_groups(broker: Broker, groups: int) -> list[Seat]:
    """That many new groups with one member each, all of them settled."""
    run = next(_runs)
    group_ids = [f"{run}-group-{number}" for number in range(groups)]
    return run_job(Seats(broker.servers, group_ids))


def await_coordinator(broker: Broker, group_id: str) -> None:
    """Returns when the broker says that it coordinates the group."""
    broker.await_served()
    request = FindCoordinatorRequest(key=group_id)
    with Wire(broker.servers) as wire:
        while True:
            response = wire.call(find_coordinator.API, FIND_COORDINATOR_VERSION, request)
            if not response.error_code:
                return
            broker.check_alive()
            time.sleep(RETRY_S)


def await_offsets(broker: Broker, group_ids: Sequence[str]) -> list[Any]:
    """The answers to OffsetFetch, once the partitions of all these groups have been loaded."""
    topics = (OffsetFetchRequestTopic(TOPIC, tuple(range(TOPIC_PARTITIONS))),)
    answers: dict[str, Any] = {}
    with Wire(broker.servers) as wire:
        while missing := [group_id for group_id in group_ids if group_id not in answers]:
            for group_id in missing:
                wire.send(
                    offset_fetch.API, OFFSET_FETCH_VERSION, OffsetFetchRequest(group_id, topics)
                )
            for group_id in missing:
                response = wire.receive()
                if response.error_code not in NOT_YET:
                    assert errors_in(response) == {0}, response
                    answers[group_id] = response
            broker.check_alive()
            time.sleep(0 if len(answers) == len(group_ids) else RETRY_S)
    return [answers[group_id] for group_id in group_ids]


def one_group_per_partition(group_ids: Iterable[str]) -> list[str]:
    """So that asking for these makes a server load every partition of __consumer_offsets."""
    by_partition: dict[int, str] = {}
    for group_id in group_ids:
        by_partition.setdefault(partition_for(group_id, OFFSETS_PARTITIONS), group_id)
    return list(by_partition.values())


def prepare(broker: Broker, topic_partitions: int = TOPIC_PARTITIONS) -> None:
    """Wait until a fresh broker serves all groups, and give it the topic that is committed to."""
    await_coordinator(broker, "first")
    with Wire(broker.servers) as wire:
        create_topic(wire, TOPIC, partitions=topic_partitions)
    await_offsets(broker, one_group_per_partition(f"probe-{number}" for number in range(1_000)))
