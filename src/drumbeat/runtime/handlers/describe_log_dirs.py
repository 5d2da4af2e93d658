"""DescribeLogDirs: the data directory and how much of it each partition takes."""

import os
from collections import defaultdict

from drumbeat.protocol.apis.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.requests import Request
from drumbeat.runtime.topics import Topic


async def handle(
    broker: Broker, request: Request, body: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    wanted = None
    if body.topics is not None:
        wanted = {
            (topic.topic, partition) for topic in body.topics for partition in topic.partitions
        }
    existing = set(broker.storage.logs.partitions())
    topics: dict[str, list[DescribeLogDirsPartition]] = defaultdict(list)
    for topic in list(broker.topics):
        for index in range(topic.partition_count):
            if wanted is None or (topic.name, index) in wanted:
                size = await _size(broker, topic, index) if (topic.name, index) in existing else 0
                topics[topic.name].append(DescribeLogDirsPartition(index, size))
    total_bytes, usable_bytes = _volume(broker.storage.directory)
    result = DescribeLogDirsResult(
        log_dir=broker.storage.directory,
        topics=tuple(DescribeLogDirsTopic(name, tuple(found)) for name, found in topics.items()),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )
    return DescribeLogDirsResponse(results=(result,))


async def _size(broker: Broker, topic: Topic, index: int) -> int:
    partition = await broker.open_partition(topic, index)
    return partition.log.size_bytes if partition else -1


def _volume(directory: str) -> tuple[int, int]:
    try:
        volume = os.statvfs(directory)
    except OSError:  # a node in memory has no volume
        return -1, -1
    return volume.f_blocks * volume.f_frsize, volume.f_bavail * volume.f_frsize
