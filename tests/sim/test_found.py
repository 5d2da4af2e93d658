"""Bugs that the simulator has found, each as the short story that brings it out."""

import asyncio
from random import Random
from typing import Any

import pytest

from drumbeat.core.config import GroupConfig
from drumbeat.core.state import State
from drumbeat.log.errors import LogFull
from drumbeat.log.memory import MemoryStore
from drumbeat.log.port import LogSettings, TopicPartition
from drumbeat.protocol.apis import join_group, offset_commit, sync_group
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.config import load_config, topic_config
from drumbeat.runtime.coordinator.counts import CoordinatorCounts
from drumbeat.runtime.coordinator.shard import Environment, Shard
from drumbeat.runtime.coordinator.timers import Turns
from drumbeat.runtime.partition import Partition
from drumbeat.runtime.requests import Deferred, Request
from drumbeat.runtime.tasks import answer_of
from drumbeat.runtime.topics import CONSUMER_OFFSETS, Topic
from sim.disk import Disk
from sim.history import Operation
from sim.node import Machine, Node, task_factory
from sim.virtual_time import VirtualClock, VirtualLoop
from support.coordinator import DEFAULT_TOPICS
from support.groups import join_request

CONFIG = load_config(None).config


class Nobody:
    """A sim.node.NodeWatcher that looks away."""

    def arrived(self, operation: Operation) -> None: ...
    def answered(self, operation: Operation, answer: bytes) -> None: ...
    def crashed(self, unsynced: int, survived: int) -> None: ...
    def stopped(self, served: list[int]) -> None: ...


async def answer(shard: Shard, api_key: int, version: int, body: Any) -> Any:
    result = shard.submit(Request(api_key, version, "c", "10.0.0.1"), body)
    return await answer_of(result) if isinstance(result, Deferred) else result


async def active_shard(store: MemoryStore, failures: list[Exception]) -> Shard:
    log = await store.acquire(TopicPartition(CONSUMER_OFFSETS, 0), LogSettings())
    environment = Environment(
        clock=VirtualClock(asyncio.get_running_loop()),
        config=GroupConfig(group_initial_rebalance_delay_ms=0),
        codec=Codec.NONE,
        topics=DEFAULT_TOPICS,
        turns=Turns(),
        new_id=lambda: "id",
        tell=lambda _events: None,
        on_failed=lambda _shard, problem: failures.append(problem),
        counts=CoordinatorCounts(),
    )
    shard = Shard(0, Partition(log, topic_config({}, CONFIG)), environment)
    shard.activate(State())
    return shard


def test_records_that_nobody_waits_for_are_not_lost_in_silence() -> None:
    """The last member expires, and the record of it finds no space: the shard has to know."""

    async def main() -> list[Exception]:
        store = MemoryStore()
        failures: list[Exception] = []
        shard = await active_shard(store, failures)
        joined = await answer(shard, join_group.API.key, 0, join_request())
        plan = sync_group.SyncGroupRequest("g", joined.generation_id, joined.member_id)
        await answer(shard, sync_group.API.key, 0, plan)
        store.faults.fail_next_sync(LogFull)
        await asyncio.sleep(60)
        return failures

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert [type(problem) for problem in runner.run(main())] == [LogFull]


def test_a_write_that_fails_after_its_shard_has_stopped_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A node stops while its disk is full: nobody waits for the record, but it is gone."""

    async def main() -> list[Exception]:
        store = MemoryStore()
        failures: list[Exception] = []
        shard = await active_shard(store, failures)
        store.faults.fail_next_sync(LogFull)
        partition = offset_commit.OffsetCommitRequestPartition(0, 7)
        topic = offset_commit.OffsetCommitRequestTopic("t1", partitions=(partition,))
        commit = offset_commit.OffsetCommitRequest("g", topics=(topic,))
        waits = shard.submit(Request(offset_commit.API.key, 2, "c", "10.0.0.1"), commit)
        shard.stop()
        await asyncio.sleep(1)
        refused = await answer_of(waits)
        assert refused.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
        return failures

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        assert runner.run(main()) == [], "nobody serves the partition, so nobody reloads it"
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "the log failed" in caplog.text


def test_a_node_that_stops_while_it_loads_serves_nothing_afterwards() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.set_task_factory(task_factory)
        loop.io_delay_s = lambda: 1.0
        disk = Disk(Random(1))
        disk.topics.save(Topic(CONSUMER_OFFSETS, bytes(15) + b"\1", 1, 1))
        await (await disk.acquire(TopicPartition(CONSUMER_OFFSETS, 0), LogSettings())).release()
        machine = Machine(
            disk=disk, clock=VirtualClock(loop), config=CONFIG, new_shard=Shard, watcher=Nobody()
        )
        node = Node(machine)
        await node.start()
        assert node.broker is not None
        assert node.broker.groups.is_loading
        await node.broker.stop()
        assert not node.broker.groups.is_loading
        await asyncio.sleep(60)
        assert not node.broker.groups.active_shards()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())
