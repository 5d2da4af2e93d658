"""The consumer for plain code: same behaviour, own thread, and Ctrl-C."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from client.consumer.stage import Diary, Stage, numbered, tps
from drumbeat.client import OffsetAndMetadata, SyncConsumer, TopicPartition
from drumbeat.client.errors import ConfigError, ConsumerClosedError, NoBrokersAvailable, WakeupError
from drumbeat.protocol.apis import describe_groups
from drumbeat.protocol.apis.describe_groups import DescribeGroupsRequest
from support.data_topics import fresh_name
from support.ports import free_ports
from support.waiting import wait_until
from support.wire import Wire

EXIT_TIMEOUT_S = 20.0


def group(stage: Stage, **options) -> SyncConsumer:
    defaults = {
        "group_id": fresh_name("g"),
        "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 50,
    }
    return SyncConsumer(bootstrap_servers=stage.servers, **{**defaults, **options})


def read(consumer: SyncConsumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    while len(values) < count:
        for records in consumer.poll(200).values():
            values += (record.value for record in records)
    return values


def test_everything_the_async_one_does(stage: Stage):
    topic = stage.topic(partitions=2, records=3)
    zero, one = tps(topic, 0, 1)
    with group(stage, enable_auto_commit=False) as consumer:
        consumer.assign([zero, one])
        assert consumer.assignment() == {zero, one}
        assert consumer.subscription() == frozenset()
        assert len(read(consumer, 6)) == 6
        consumer.seek_to_beginning(zero)
        consumer.pause(one)
        assert consumer.paused() == {one}
        assert consumer.position(zero) == 0
        assert read(consumer, 3) == numbered(0, range(3))
        consumer.resume(one)
        consumer.seek(one, 2)
        assert read(consumer, 1) == numbered(1, (2,))
        consumer.seek_to_end()
        assert consumer.position(one) == 3
        consumer.commit({zero: OffsetAndMetadata(1)})
        assert consumer.committed([zero, one]) == {zero: OffsetAndMetadata(1), one: None}
        assert consumer.beginning_offsets([zero]) == {zero: 0}
        assert consumer.end_offsets([zero]) == {zero: 3}
        assert consumer.offsets_for_times({zero: 0})[zero] is not None
        assert len(consumer.partitions_for(topic.name) or ()) == 2
        assert topic.name in consumer.list_topics()
        assert consumer.current_lag(zero) == 0
        assert "consumer-fetch-manager-metrics" in consumer.metrics()
        assert consumer.group_metadata().generation_id == -1


def test_iterating_commits_what_was_taken(stage: Stage):
    topic = stage.topic(records=5)
    (tp,) = tps(topic, 0)
    group_id = fresh_name("g")
    with group(stage, group_id=group_id, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic.name])
        for record in consumer:
            if record.offset == 2:
                consumer.commit()
                break
        assert consumer.committed([tp])[tp] == OffsetAndMetadata(3, "", 0)
        assert [record.offset for _, record in zip(range(2), consumer, strict=False)] == [3, 4]
    with group(stage, group_id=group_id) as consumer:
        consumer.subscribe([topic.name])
        assert read(consumer, 2) == numbered(0, (3, 4))


def test_listeners_run_in_the_callers_thread_and_may_use_the_consumer(stage: Stage):
    topic = stage.topic(records=5)
    (tp,) = tps(topic, 0)

    class Listener(Diary):
        def on_partitions_assigned(self, partitions) -> None:
            assert threading.current_thread() is threading.main_thread()
            assert consumer.committed(partitions) == {tp: None}
            consumer.seek(tp, 3)
            super().on_partitions_assigned(partitions)

        def on_partitions_revoked(self, partitions) -> None:
            consumer.commit({tp: OffsetAndMetadata(4)})
            super().on_partitions_revoked(partitions)

    heard = []
    listener = Listener()
    with group(stage, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic.name], listener=listener)
        assert read(consumer, 2) == numbered(0, (3, 4))
        consumer.commit_async(callback=lambda *told: heard.append((*told, threading.get_ident())))
        consumer.commit()
        assert heard == [({tp: OffsetAndMetadata(5, "", 0)}, None, threading.get_ident())]
        consumer.unsubscribe()
        assert consumer.committed([tp]) == {tp: OffsetAndMetadata(4)}
    assert listener.told == ["assigned", "revoked"]


def test_wakeup_from_another_thread(stage: Stage):
    topic = stage.topic()
    with group(stage) as consumer:
        consumer.assign(tps(topic, 0))
        threading.Timer(0.05, consumer.wakeup).start()
        with pytest.raises(WakeupError):
            consumer.poll(60_000)


def test_beginnings_and_ends(stage: Stage):
    with pytest.raises(ConfigError, match="did you mean 'max_poll_records'"):
        SyncConsumer(max_poll_record=1)
    (port,) = free_ports(1)
    with pytest.raises(NoBrokersAvailable, match=f"127.0.0.1:{port}: connection refused"):
        SyncConsumer(bootstrap_servers=f"127.0.0.1:{port}").start()
    consumer = group(stage)
    with pytest.raises(ConsumerClosedError, match="not started"):
        consumer.poll()
    consumer.start()
    consumer.assign([TopicPartition("t", 0)])
    consumer.close()
    consumer.close()
    with pytest.raises(ConsumerClosedError):
        consumer.poll()


WITH_BLOCK = """
with SyncConsumer(**options) as consumer:
    consumer.subscribe([topic])
    for record in consumer:
        print("ready", flush=True)
"""
WITHOUT_BLOCK = """
consumer = SyncConsumer(**options)
consumer.start()
consumer.subscribe([topic])
while True:
    if consumer.poll(60_000):
        print("ready", flush=True)
"""
ASYNC = """
async def main():
    async with Consumer(**options) as consumer:
        consumer.subscribe([topic])
        async for record in consumer:
            print("ready", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("script", [WITH_BLOCK, WITHOUT_BLOCK, ASYNC])
def test_ctrl_c_leaves_the_group(stage: Stage, script: str, tmp_path: Path):
    topic, group_id = stage.topic(records=1), fresh_name("g")
    program = tmp_path / "script.py"
    options = {
        "bootstrap_servers": stage.servers,
        "group_id": group_id,
        "auto_offset_reset": "earliest",
    }
    program.write_text(
        "import asyncio, signal\nfrom drumbeat.client import Consumer, SyncConsumer\n"
        # Whoever starts the tests in the background has them, and their children, ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"topic, options = {topic.name!r}, {options!r}\n{script}"
    )
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert member_count(stage, group_id) == 1
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=EXIT_TIMEOUT_S)
    finally:
        process.kill()
        process.wait()
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode in (1, 130, -signal.SIGINT)
    # The session would last 45 seconds.
    wait_until(lambda: member_count(stage, group_id) == 0, 5.0, "the group to be empty")


def member_count(stage: Stage, group_id: str) -> int:
    with Wire(stage.servers) as wire:
        response = wire.call(describe_groups.API, 5, DescribeGroupsRequest((group_id,)))
        return len(response.groups[0].members)
