"""Reading partitions: assignment by hand, positions, pauses, limits."""

import asyncio
import json

import pytest

from client.consumer.stage import Stage, never, numbered, poll_until, read, run, tps
from drumbeat.client.errors import (
    ConsumerClosedError,
    IllegalStateError,
    InvalidTopicError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    SerializationError,
    UnknownTopicOrPartitionError,
    WakeupError,
)
from drumbeat.client.values import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TimestampType,
    TopicPartition,
)
from drumbeat.protocol.compression import Codec
from drumbeat.protocol.records import BatchOptions, Record, encode_batch
from support.data_topics import BASE_TIMESTAMP, produce_to
from support.wire import Wire


def test_a_record_has_everything(stage: Stage):
    topic = stage.topic()
    headers = (("trace", b"1"), ("empty", None))
    written = [Record(0, 5, b"k", b"value", headers), Record(1, 7, None, None)]
    with Wire(stage.servers) as wire:
        produce_to(wire, topic, encode_batch(written))

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign(tps(topic, 0))
            ((tp, (first, second)),) = (await consumer.poll(5_000)).items()
            assert tp == TopicPartition(topic.name, 0)
            assert first == (
                topic.name, 0, 0, 5, TimestampType.CREATE_TIME, b"k", b"value", headers, 0, 1, 5,
            )  # fmt: skip
            assert (second.offset, second.key, second.value) == (1, None, None)
            assert (second.serialized_key_size, second.serialized_value_size) == (-1, -1)

    run(work)


@pytest.mark.parametrize("codec", list(Codec))
def test_all_codecs(stage: Stage, codec: Codec):
    topic = stage.topic()
    records = [Record(i, 9, b"k", b"v%d" % i) for i in range(300)]
    with Wire(stage.servers) as wire:
        produce_to(wire, topic, encode_batch(records, BatchOptions(codec=codec)))

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign(tps(topic, 0))
            assert await read(consumer, 300) == [record.value for record in records]

    run(work)


def test_poll_respects_max_poll_records(stage: Stage):
    topic = stage.topic(partitions=2, records=25)

    async def work() -> None:
        async with stage.consumer(max_poll_records=10) as consumer:
            consumer.assign(tps(topic, 0, 1))
            sizes, values = [], []
            while len(values) < 50:
                polled = await consumer.poll(5_000)
                sizes.append(sum(map(len, polled.values())))
                values += [record.value for records in polled.values() for record in records]
            assert max(sizes) == 10
            assert sorted(values) == sorted(numbered(0, range(25)) + numbered(1, range(25)))

    run(work)


def test_small_fetches_get_everything(stage: Stage):
    topic = stage.topic(partitions=2)
    for start in range(0, 50, 5):
        stage.produce(topic, 5, start=start)

    async def work() -> None:
        sizes = {"max_partition_fetch_bytes": 1, "fetch_max_bytes": 1, "fetch_max_wait_ms": 10}
        async with stage.consumer(**sizes) as consumer:
            consumer.assign(tps(topic, 0, 1))
            values = await read(consumer, 100)
            for partition in (0, 1):
                mine = [value for value in values if value.startswith(b"%d:" % partition)]
                assert mine == numbered(partition, range(50))

    run(work)


def test_poll_returns_when_the_time_is_up(stage: Stage):
    topic = stage.topic()

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign(tps(topic, 0))
            assert await consumer.poll(0) == {}
            assert await consumer.poll(50) == {}
            assert await consumer.position(tps(topic, 0)[0]) == 0

    run(work)


@pytest.mark.parametrize(("reset", "expected"), [("earliest", 0), ("latest", 4)])
def test_auto_offset_reset(stage: Stage, reset: str, expected: int):
    topic = stage.topic(records=4)

    async def work() -> None:
        async with stage.group(auto_offset_reset=reset) as consumer:
            consumer.assign(tps(topic, 0))
            assert await consumer.position(*tps(topic, 0)) == expected

    run(work)


def test_no_reset_says_what_to_do(stage: Stage):
    topic = stage.topic(records=4)
    (tp,) = tps(topic, 0)

    async def work() -> None:
        async with stage.group(auto_offset_reset="none") as consumer:
            consumer.assign([tp])
            with pytest.raises(NoOffsetForPartitionError, match=f"{tp}, and auto_offset_reset"):
                await poll_until(never, consumer)
            consumer.seek(tp, 99)
            with pytest.raises(OffsetOutOfRangeError, match="nothing at offset 99"):
                await poll_until(never, consumer)
            consumer.seek(tp, 2)
            assert await read(consumer, 2) == numbered(0, (2, 3))

    run(work)


def test_an_offset_out_of_range_is_reset(stage: Stage):
    topic = stage.topic(records=4)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign(tps(topic, 0))
            consumer.seek(*tps(topic, 0), 1_000)
            assert await read(consumer, 4) == numbered(0, range(4))

    run(work)


def test_seeking(stage: Stage):
    topic = stage.topic(records=10)
    (tp,) = tps(topic, 0)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([tp])
            assert len(await read(consumer, 10)) == 10
            consumer.seek(tp, 7)
            assert await consumer.position(tp) == 7
            assert await read(consumer, 3) == numbered(0, (7, 8, 9))
            consumer.seek(tp, OffsetAndMetadata(9, "note", 0))
            assert await read(consumer, 1) == numbered(0, (9,))
            consumer.seek_to_beginning()
            assert await read(consumer, 10) == numbered(0, range(10))
            consumer.seek_to_end(tp)
            assert await consumer.position(tp) == 10
            found = await consumer.offsets_for_times({tp: BASE_TIMESTAMP + 4})
            assert found == {tp: OffsetAndTimestamp(4, BASE_TIMESTAMP + 4, 0)}
            assert await consumer.offsets_for_times({tp: BASE_TIMESTAMP + 99}) == {tp: None}
            with pytest.raises(IllegalStateError, match="negative"):
                consumer.seek(tp, -1)

    run(work)


def test_seek_in_the_middle_of_what_was_fetched(stage: Stage):
    topic = stage.topic(records=100)
    (tp,) = tps(topic, 0)

    async def work() -> None:
        async with stage.consumer(max_poll_records=10) as consumer:
            consumer.assign([tp])
            assert await read(consumer, 10) == numbered(0, range(10))
            consumer.seek(tp, 50)
            assert await read(consumer, 10) == numbered(0, range(50, 60))
            consumer.seek(tp, 5)
            assert await read(consumer, 10) == numbered(0, range(5, 15))

    run(work)


def test_pause_and_resume(stage: Stage):
    topic = stage.topic(partitions=2, records=6)
    zero, one = tps(topic, 0, 1)

    async def work() -> None:
        async with stage.consumer(max_poll_records=2) as consumer:
            consumer.assign([zero, one])
            consumer.pause(zero)
            assert consumer.paused() == {zero}
            assert await read(consumer, 6) == numbered(1, range(6))
            assert await consumer.poll(50) == {}
            consumer.resume(zero)
            assert await read(consumer, 2) == numbered(0, range(2))
            consumer.pause()
            assert await consumer.poll(50) == {}
            consumer.resume()
            assert await read(consumer, 4) == numbered(0, range(2, 6))

    run(work)


def test_offsets_and_metadata(stage: Stage):
    topic = stage.topic(partitions=2, records=3)
    zero, one = tps(topic, 0, 1)

    async def work() -> None:
        async with stage.consumer() as consumer:
            assert await consumer.beginning_offsets([zero, one]) == {zero: 0, one: 0}
            assert await consumer.end_offsets([zero, one]) == {zero: 3, one: 3}
            partitions = await consumer.partitions_for(topic.name)
            assert [partition.index for partition in partitions or ()] == [0, 1]
            assert await consumer.partitions_for("missing") is None
            assert len((await consumer.list_topics())[topic.name]) == 2
            missing = TopicPartition("missing", 0)
            with pytest.raises(UnknownTopicOrPartitionError, match=r"missing-0: .*create it"):
                await consumer.end_offsets([missing], timeout_ms=50)

    run(work)


def test_taking_records_one_by_one(stage: Stage):
    topic = stage.topic(partitions=2, records=7)
    zero, one = tps(topic, 0, 1)

    async def work() -> None:
        async with stage.group(max_poll_records=3, enable_auto_commit=False) as consumer:
            consumer.assign([zero, one])
            seen = []
            async for record in consumer:
                seen.append(record.value)
                tp = TopicPartition(record.topic, record.partition)
                assert await consumer.position(tp) == record.offset + 1
                if len(seen) == 5:
                    await consumer.commit()
                    break
            committed = await consumer.committed([zero, one])
            assert sum(o.offset for o in committed.values() if o is not None) == 5
            # What was handed out and not taken comes again, whoever asks for it.
            seen += await read(consumer, 9)
            assert sorted(seen) == sorted(numbered(0, range(7)) + numbered(1, range(7)))

    run(work)


def test_pause_takes_back_what_is_not_taken(stage: Stage):
    topic = stage.topic(partitions=1, records=5)
    (tp,) = tps(topic, 0)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([tp])
            assert (await anext(consumer)).offset == 0
            consumer.pause(tp)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await anext(consumer)
            consumer.resume(tp)
            assert [(await anext(consumer)).offset for _ in range(4)] == [1, 2, 3, 4]

    run(work)


def test_a_cancelled_poll_loses_nothing(stage: Stage):
    topic = stage.topic()

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign(tps(topic, 0))
            for _ in range(5):
                polling = asyncio.create_task(consumer.poll(10_000))
                await asyncio.sleep(0.01)
                polling.cancel()
                await asyncio.gather(polling, return_exceptions=True)
            await asyncio.to_thread(stage.produce, topic, 20)
            assert await read(consumer, 20) == numbered(0, range(20))

    run(work)


def test_wakeup(stage: Stage):
    topic = stage.topic(records=1)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign(tps(topic, 0))
            await read(consumer, 1)
            polling = asyncio.create_task(consumer.poll(60_000))
            await asyncio.sleep(0)
            await asyncio.to_thread(consumer.wakeup)
            with pytest.raises(WakeupError):
                await polling
            consumer.wakeup()  # counts for the next poll if none is under way
            with pytest.raises(WakeupError):
                await consumer.poll(0)
            assert await consumer.poll(0) == {}

    run(work)


def test_deserializers(stage: Stage):
    topic = stage.topic()
    values = [b'{"n": 1}', b'{"n": 2}', b"not json", b'{"n": 4}']
    with Wire(stage.servers) as wire:
        produce_to(wire, topic, encode_batch([Record(i, 9, b"k", v) for i, v in enumerate(values)]))
    (tp,) = tps(topic, 0)

    async def work() -> None:
        async with stage.consumer(
            key_deserializer=lambda _topic, data: data.decode(),
            value_deserializer=lambda _topic, data: json.loads(data),
        ) as consumer:
            consumer.assign([tp])
            assert await read(consumer, 2) == [{"n": 1}, {"n": 2}]
            for _ in range(2):
                with pytest.raises(SerializationError, match=f"offset 2 of {tp}: seek"):
                    await consumer.poll(1_000)
            assert await consumer.position(tp) == 2
            consumer.seek(tp, 3)
            (record,) = (await consumer.poll(1_000))[tp]
            assert (record.key, record.value) == ("k", {"n": 4})

    run(work)


def test_using_it_wrongly(stage: Stage):
    topic = stage.topic(partitions=2)
    zero, one = tps(topic, 0, 1)

    async def work() -> None:
        unstarted = stage.consumer()
        with pytest.raises(IllegalStateError, match="not started"):
            await unstarted.poll()
        async with stage.consumer() as consumer:
            with pytest.raises(IllegalStateError, match="reads nothing yet"):
                await consumer.poll()
            with pytest.raises(IllegalStateError, match="set group_id"):
                consumer.subscribe([topic.name])
            with pytest.raises(IllegalStateError, match="set group_id"):
                await consumer.commit()
            consumer.assign([zero])
            with pytest.raises(IllegalStateError, match=f"{one} is not assigned"):
                consumer.seek(one, 0)
            polling = asyncio.create_task(consumer.poll(60_000))
            await asyncio.sleep(0)
            with pytest.raises(IllegalStateError, match="another task is polling"):
                await consumer.poll()
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
        with pytest.raises(ConsumerClosedError):
            await consumer.poll()
        await consumer.close()

    run(work)


def test_new_partitions_of_hand_follow_the_broker(stage: Stage):
    """Assigning anew keeps the positions of what stays."""
    topic = stage.topic(partitions=2, records=4)
    zero, one = tps(topic, 0, 1)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([zero])
            await read(consumer, 4)
            consumer.assign([zero, one])
            assert await read(consumer, 4) == numbered(1, range(4))
            assert await consumer.position(zero) == 4
            assert consumer.assignment() == {zero, one}
            assert await poll_until(lambda: consumer.current_lag(zero) == 0, consumer) == []

    run(work)


def test_metrics_have_kafkas_names(stage: Stage):
    topic = stage.topic(records=6)

    async def work() -> None:
        async with stage.consumer(max_poll_records=4) as consumer:
            consumer.assign(tps(topic, 0))
            await consumer.poll(5_000)
            fetching = consumer.metrics()["consumer-fetch-manager-metrics"]
            assert fetching["records-consumed-total"] == 4
            assert fetching["records-lag-max"] == 2
            await read(consumer, 2)
            metrics = consumer.metrics()
            assert metrics["consumer-fetch-manager-metrics"]["fetch-total"] >= 1
            assert metrics["consumer-fetch-manager-metrics"]["fetch-latency-avg"] >= 0
            assert metrics["consumer-metrics"]["last-poll-seconds-ago"] == 0
            assert metrics[f"consumer-fetch-manager-metrics.{topic.name}.0"]["records-lag"] == 0

    run(work)


@pytest.mark.parametrize("name", ["", ".", "..", "two words", "a" * 250, "orders.*"])
def test_a_name_that_no_topic_can_have_is_refused_at_once(stage: Stage, name: str):
    async def work() -> None:
        async with stage.consumer(group_id="g") as consumer:
            with pytest.raises(InvalidTopicError, match="is not the name of a topic"):
                consumer.subscribe([name])

    run(work)
