"""What a consumer says when it is asked for what cannot be, or its broker is gone."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from client.consumer.stage import Stage, numbered, poll_until, read, run, tps
from drumbeat.client.admin import SyncAdmin
from drumbeat.client.consumer import Consumer, SyncConsumer
from drumbeat.client.errors import (
    ConfigError,
    ConsumerClosedError,
    IllegalStateError,
    InvalidTopicError,
    KafkaError,
    NodeDisconnected,
    RequestTimedOut,
    UnknownTopicOrPartitionError,
)
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.protocol.errors import ErrorCode
from drumbeat.testing import Cluster
from support.data_topics import fresh_name

LIMIT_MS = 300


# -- partitions that do not exist ----------------------------------------------------------------


def warnings_about(caplog: pytest.LogCaptureFixture, tp: TopicPartition) -> list[str]:
    warnings = [r for r in caplog.records if r.levelno == logging.WARNING]
    return [r.getMessage() for r in warnings if str(tp) in r.getMessage()]


@pytest.mark.parametrize("seeks", [False, True])
def test_a_partition_that_does_not_exist_is_reported_once_and_read_once_it_does(
    stage: Stage, caplog: pytest.LogCaptureFixture, seeks: bool
):
    topic = stage.topic(partitions=2, records=3)
    zero, later = tps(topic, 0, 2)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([zero, later])
            if seeks:
                consumer.seek(later, 0)
            assert await read(consumer, 3) == numbered(0, range(3))
            await poll_until(lambda: bool(warnings_about(caplog, later)), consumer)
            await consumer.poll(LIMIT_MS)  # long enough to ask again
            with SyncAdmin(bootstrap_servers=stage.servers) as admin:
                await asyncio.to_thread(admin.create_partitions, {topic.name: 3})
            stage.produce(topic, 2, start=7)
            values = await read(consumer, 4)
            assert sorted(values) == numbered(0, (7, 8)) + numbered(2, (7, 8))

    with caplog.at_level(logging.WARNING, "drumbeat.client"):
        run(work)
    (warning,) = warnings_about(caplog, later)
    assert warning == (
        f"assigned, and waited for: {later} does not exist: topic {topic.name} has 2 partitions, "
        "numbered from 0: check the number, or add partitions to the topic"
    )


def test_a_topic_that_does_not_exist_is_reported_once(
    stage: Stage, caplog: pytest.LogCaptureFixture
):
    name = fresh_name("missing")

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([TopicPartition(name, 0)])
            assert await consumer.poll(LIMIT_MS) == {}
            assert await consumer.poll(LIMIT_MS) == {}

    with caplog.at_level(logging.WARNING, "drumbeat.client"):
        run(work)
    (warning,) = [text for text in caplog.messages if name in text]
    assert warning.startswith(f"topic {name}: UNKNOWN_TOPIC_OR_PARTITION (3): ")
    assert "create it first, or check its name" in warning


@pytest.mark.parametrize(
    ("exists", "expected"),
    [(True, "does not exist: topic {0} has 1 partition,"), (False, "{0}-9: .*create it first")],
)
def test_positions_in_partitions_that_do_not_exist(stage: Stage, exists: bool, expected: str):
    name = stage.topic().name if exists else fresh_name("missing")
    tp = TopicPartition(name, 9)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([tp])
            with pytest.raises(UnknownTopicOrPartitionError, match=expected.format(name)) as caught:
                await consumer.position(tp, LIMIT_MS)
            assert f"the position of {tp} is not known after {LIMIT_MS} ms" in str(caught.value)
            with pytest.raises(UnknownTopicOrPartitionError, match=expected.format(name)) as caught:
                await consumer.end_offsets([tp], LIMIT_MS)
            assert f"gave up after {LIMIT_MS} ms" in str(caught.value)

    run(work)


def test_a_coordinator_that_denies_a_partition_is_believed_at_once():
    """As in Kafka's client: poll raises, and looks again when it is called again."""
    with Cluster() as broker:
        stage = Stage(broker.bootstrap_servers)
        topic = stage.topic(records=2)

        async def work() -> None:
            async with stage.group(group_id="g") as consumer:
                consumer.assign(tps(topic, 0))
                broker.fail_next("OffsetFetch", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                with pytest.raises(UnknownTopicOrPartitionError, match=f"says that {topic.name}-0"):
                    await poll_until(lambda: False, consumer)
                assert await read(consumer, 2) == numbered(0, range(2))

        run(work)


# -- brokers that are gone -----------------------------------------------------------------------


def commit_by_assigning(consumer: Consumer, topic: str) -> None:
    consumer.assign([TopicPartition(topic, 0)])


def commit_as_member(consumer: Consumer, topic: str) -> None:
    consumer.subscribe([topic])


@pytest.mark.parametrize("begin", [commit_by_assigning, commit_as_member])
@pytest.mark.parametrize(
    ("stop", "error", "why"),
    [
        (Cluster.stop, NodeDisconnected, "{0}: connection refused: .*; gave up after [0-9]+ ms"),
        (Cluster.pause, RequestTimedOut, "not done within [0-9]+ ms: .*no answer of {0} to Offset"),
    ],
)
def test_a_commit_without_a_broker_ends(
    begin: Callable[[Consumer, str], None],
    stop: Callable[[Cluster], None],
    error: type[KafkaError],
    why: str,
):
    broker = Cluster()
    broker.start()
    stage = Stage(broker.bootstrap_servers)
    topic = stage.topic(records=2)

    async def work() -> None:
        options = {"default_api_timeout_ms": LIMIT_MS, "enable_auto_commit": False}
        consumer = stage.group(group_id="billing", **options)
        await consumer.start()
        begin(consumer, topic.name)
        await read(consumer, 2)
        await consumer.commit()
        await asyncio.to_thread(stop, broker)
        place = rf"group billing could not commit \(coordinator: node [0-9]+ at {stage.servers}\): "
        with pytest.raises(error, match=place + why.format(stage.servers)):
            await consumer.commit()
        told = asyncio.get_running_loop().create_future()
        consumer.commit_async(callback=lambda _offsets, problem: told.set_result(problem))
        if stop is Cluster.pause:
            with pytest.raises(error, match=place):  # and those before it do not make it longer
                await consumer.commit()
        else:
            await poll_until(told.done, consumer)
            with pytest.raises(KafkaError, match=place):
                raise told.result()
        await consumer.close(LIMIT_MS)

    try:
        run(work)
    finally:
        broker.stop()


# -- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"group_id": "g"}])
@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("stcky", "'stcky' .*did you mean 'sticky'"),
        ("Range", "'Range' .*did you mean 'range'"),
        (["range", "roundrobbin"], "'roundrobbin' .*did you mean 'roundrobin'"),
        ("org.apache.kafka.clients.consumer.StickyAsignor", r"mean 'org.*\.StickyAssignor'"),
        ("zzz", "'zzz' .*use range, roundrobin, sticky, cooperative-sticky"),
        (5, "5 in partition_assignment_strategy is no assignor"),
        (["range", "range"], "the same name twice"),
    ],
)
def test_an_assignor_that_does_not_exist(options: dict[str, str], strategy: Any, expected: str):
    with pytest.raises(ConfigError, match=expected):
        Consumer(partition_assignment_strategy=strategy, **options)


# -- calls that do not fit -----------------------------------------------------------------------

ZERO = TopicPartition("t", 0)


@pytest.mark.parametrize(
    "call",
    [
        lambda consumer: consumer.subscribe(["t"]),
        lambda consumer: consumer.commit(),
        lambda consumer: consumer.commit({ZERO: OffsetAndMetadata(1)}),
        lambda consumer: consumer.commit_async(),
        lambda consumer: consumer.committed([ZERO]),
        lambda consumer: consumer.group_metadata(),
        lambda consumer: consumer.enforce_rebalance(),
    ],
)
def test_what_needs_a_group(stage: Stage, call: Callable[[SyncConsumer], object]):
    with (
        SyncConsumer(bootstrap_servers=stage.servers) as consumer,
        pytest.raises(IllegalStateError, match=r"needs? a group.*: set group_id"),
    ):
        call(consumer)


WRONG_ARGUMENTS: list[tuple[Callable[[SyncConsumer], object], type[Exception], str]] = [
    (lambda c: c.subscribe([3]), InvalidTopicError, "3 is int: a topic's name is str"),
    (lambda c: c.subscribe(["a b"]), InvalidTopicError, "'a b' is not the name of a topic"),
    (lambda c: c.assign("orders"), TypeError, r"\[TopicPartition\(...\)\], not 'orders'"),
    (lambda c: c.assign(["orders"]), TypeError, r"'orders' is not a TopicPartition\(topic, par"),
    (lambda c: c.assign([("t", "0")]), TypeError, r"\('t', '0'\) is not a TopicPartition"),
    (lambda c: c.assign([("t", -1)]), IllegalStateError, "t: partition -1 is negative"),
    (lambda c: c.assign([("a/b", 0)]), InvalidTopicError, "'a/b' is not the name of a topic"),
    (lambda c: c.assign([(None, 0)]), InvalidTopicError, "a topic's name is str"),
    (lambda c: c.commit([1]), TypeError, "commits take {TopicPartition: OffsetAndMetadata}"),
    (lambda c: c.commit({ZERO: 5}), TypeError, "t-0: 5 is not an offset, .*OffsetAndMetadata"),
    (lambda c: c.commit({ZERO: OffsetAndMetadata(-2)}), IllegalStateError, "t-0: offset -2 is neg"),
    (lambda c: c.commit({"t": OffsetAndMetadata(1)}), TypeError, "'t' is not a TopicPartition"),
    (lambda c: c.committed(["t"]), TypeError, "'t' is not a TopicPartition"),
    (lambda c: c.end_offsets(ZERO), TypeError, "takes several partitions"),
    (lambda c: c.partitions_for("a/b"), InvalidTopicError, "'a/b' is not the name of a topic"),
]


@pytest.mark.parametrize(("call", "error", "expected"), WRONG_ARGUMENTS)
def test_wrong_arguments(
    stage: Stage,
    call: Callable[[SyncConsumer], object],
    error: type[Exception],
    expected: str,
):
    with (
        SyncConsumer(bootstrap_servers=stage.servers, group_id=fresh_name("g")) as consumer,
        pytest.raises(error, match=expected),
    ):
        call(consumer)


def test_seeking_to_no_offset(stage: Stage):
    (tp,) = tps(stage.topic(), 0)

    async def work() -> None:
        async with stage.consumer() as consumer:
            consumer.assign([tp])
            with pytest.raises(TypeError, match=f"{tp}: .*'5'.* is not an offset"):
                consumer.seek(tp, "5")
            with pytest.raises(IllegalStateError, match=f"{tp}: offset -1 is negative"):
                consumer.seek(tp, -1)
            assert await consumer.position(tp) == 0

    run(work)


AFTER_CLOSE: list[Callable[[Consumer], Any]] = [
    lambda consumer: consumer.poll(),
    lambda consumer: consumer.next_record(),
    lambda consumer: consumer.subscribe(["t"]),
    lambda consumer: consumer.unsubscribe(),
    lambda consumer: consumer.assign([ZERO]),
    lambda consumer: consumer.seek(ZERO, 0),
    lambda consumer: consumer.seek_to_end(),
    lambda consumer: consumer.pause(),
    lambda consumer: consumer.resume(),
    lambda consumer: consumer.position(ZERO),
    lambda consumer: consumer.offsets_for_times({ZERO: 0}),
    lambda consumer: consumer.beginning_offsets([ZERO]),
    lambda consumer: consumer.end_offsets([ZERO]),
    lambda consumer: consumer.commit(),
    lambda consumer: consumer.commit_async(),
    lambda consumer: consumer.committed([ZERO]),
    lambda consumer: consumer.partitions_for("t"),
    lambda consumer: consumer.list_topics(),
]


async def waited(call: Callable[[Consumer], Any], consumer: Consumer) -> None:
    result = call(consumer)
    if result is not None:
        await result


def test_a_closed_consumer_says_so(stage: Stage):
    async def work() -> None:
        async with stage.group() as consumer:
            pass
        for call in AFTER_CLOSE:
            with pytest.raises(ConsumerClosedError, match="this consumer is closed: make a new"):
                await waited(call, consumer)

    run(work)
