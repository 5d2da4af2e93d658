"""Whatever a leader does to an idempotent producer: everything once, in order; or a clear error."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client.producer.scripted_leader import OFFERED, TOPIC, Fault, ScriptedLeader
from drumbeat.client.errors import (
    KafkaError,
    ProducerClosedError,
    RecordTooLargeError,
    RequestTimedOut,
)
from drumbeat.client.producer import DeliveryFuture, Producer
from drumbeat.protocol.errors import ErrorCode

QUICK = {"retry_backoff_ms": 1, "reconnect_backoff_ms": 1, "linger_ms": 0}
# After these the batch is sent again.
PASSING = (
    Fault.LOST_REQUEST,
    Fault.LOST_ANSWER,
    Fault.NOT_LEADER,
    Fault.NOT_ENOUGH_REPLICAS,
    Fault.STORED_BY_TOO_FEW,
    Fault.NONE,
)
TIMEOUT_S = 10.0
VALUES = [b"%d" % number for number in range(20)]


async def produce(leader: ScriptedLeader, values: list[bytes], **options: Any) -> list[Any]:
    """Records as they were acknowledged: offsets, or errors."""
    async with leader.listening() as address:
        producer = Producer(bootstrap_servers=address, **{**QUICK, **options})
        await producer.start()
        try:
            deliveries = [await producer.send(TOPIC, value) for value in values]
            async with asyncio.timeout(TIMEOUT_S):
                return [await outcome(delivery) for delivery in deliveries]
        finally:
            await producer.close(timeout_ms=0)


async def outcome(delivery: DeliveryFuture) -> int | Exception:
    try:
        return (await delivery).offset
    except KafkaError as error:
        return error


@settings(max_examples=25)
@given(st.lists(st.sampled_from(PASSING), max_size=12), st.integers(1, 5))
def test_once_and_in_order(faults: list[Fault], in_flight: int):
    leader = ScriptedLeader(faults)
    # One record per batch: as many requests as there are faults, several at a time.
    options = {"batch_size": 1, "max_in_flight_requests_per_connection": in_flight}
    offsets = asyncio.run(produce(leader, VALUES, **options))
    assert leader.values == VALUES
    assert offsets == list(range(len(VALUES)))


@settings(max_examples=15)
@given(st.lists(st.sampled_from((*PASSING, Fault.FORGOTTEN, Fault.OUT_OF_ORDER)), max_size=8))
def test_lost_state_loses_no_record_and_no_order(faults: list[Fault]):
    """A leader that claims to have forgotten something may make duplicates, never gaps."""
    leader = ScriptedLeader(faults)
    asyncio.run(produce(leader, VALUES, batch_size=1))
    first_seen = list(dict.fromkeys(leader.values))
    assert first_seen == VALUES


@pytest.mark.parametrize("fault", [Fault.FORGOTTEN, Fault.OUT_OF_ORDER])
def test_a_gap_that_cannot_be_closed_takes_another_epoch(fault: Fault):
    leader = ScriptedLeader([Fault.NONE, fault])
    offsets = asyncio.run(
        produce(leader, VALUES[:6], batch_size=1, max_in_flight_requests_per_connection=1)
    )
    assert offsets == list(range(6))
    assert leader.epochs == [0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_a_batch_that_is_too_large_is_sent_in_parts(is_idempotent: bool):
    leader = ScriptedLeader(records_max=3)
    options = {"enable_idempotence": is_idempotent, "linger_ms": 20}
    if not is_idempotent:  # then only one at a time keeps the order
        options["max_in_flight_requests_per_connection"] = 1
    offsets = asyncio.run(produce(leader, VALUES, **options))
    assert leader.values == VALUES
    assert offsets == list(range(len(VALUES)))


def test_one_record_that_is_too_large_for_the_broker():
    leader = ScriptedLeader([Fault.TOO_LARGE])
    (error,) = asyncio.run(produce(leader, VALUES[:1]))
    assert isinstance(error, RecordTooLargeError)
    assert "max.message.bytes" in str(error)


def test_a_refused_batch_fails_alone():
    leader = ScriptedLeader([Fault.NONE, Fault.INVALID])
    first, second, *others = asyncio.run(produce(leader, VALUES[:6], batch_size=1))
    assert first == 0
    assert isinstance(second, KafkaError)
    assert second.code is ErrorCode.INVALID_RECORD
    assert others == [1, 2, 3, 4]
    assert leader.values == [VALUES[0], *VALUES[2:6]]


def test_no_retries_means_none():
    leader = ScriptedLeader([Fault.NOT_LEADER])
    options = {"retries": 0, "batch_size": 1, "max_in_flight_requests_per_connection": 1}
    first, second = asyncio.run(produce(leader, VALUES[:2], **options))
    assert isinstance(first, KafkaError)
    assert first.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert second == 0


def test_delivery_timeout_ends_the_retries():
    leader = ScriptedLeader([Fault.NOT_LEADER] * 100_000)
    options = {"delivery_timeout_ms": 150, "request_timeout_ms": 100}
    (error,) = asyncio.run(produce(leader, VALUES[:1], **options))
    assert isinstance(error, KafkaError)
    assert error.code in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert leader.values == []


def test_after_a_timeout_the_producer_goes_on():
    """The expired batch may be in the log or not: here it is not, and a new epoch begins."""
    leader = ScriptedLeader([Fault.NOT_LEADER] * 60)

    async def check() -> None:
        async with leader.listening() as address:
            options = {**QUICK, "delivery_timeout_ms": 60, "request_timeout_ms": 50}
            options["retry_backoff_max_ms"] = 5
            async with Producer(bootstrap_servers=address, **options) as producer:
                error = await outcome(await producer.send(TOPIC, b"lost"))
                assert isinstance(error, RequestTimedOut | KafkaError)
                while isinstance(await outcome(await producer.send(TOPIC, b"kept")), Exception):
                    pass
        assert leader.values == [b"kept"]

    asyncio.run(check())


def test_close_gives_up_after_its_timeout():
    leader = ScriptedLeader([Fault.NOT_LEADER] * 100_000)

    async def check() -> None:
        async with leader.listening() as address:
            producer = Producer(bootstrap_servers=address, **QUICK)
            await producer.start()
            delivery = await producer.send(TOPIC, b"v")
            await producer.close(timeout_ms=50)
            with pytest.raises(ProducerClosedError, match="closed before delivery"):
                await delivery
            with pytest.raises(ProducerClosedError, match="make a new one"):
                await producer.send(TOPIC, b"v")

    asyncio.run(check())


def test_a_buffer_that_stays_full():
    leader = ScriptedLeader([Fault.NOT_LEADER] * 100_000)

    async def check() -> None:
        async with leader.listening() as address:
            options = {**QUICK, "buffer_memory": 3_000, "max_block_ms": 50}
            producer = Producer(bootstrap_servers=address, **options)
            await producer.start()
            sent = [await producer.send(TOPIC, bytes(1000)) for _ in range(2)]
            waiting = [asyncio.ensure_future(producer.send(TOPIC, bytes(1000))) for _ in range(3)]
            for outcome in await asyncio.gather(*waiting, return_exceptions=True):
                assert isinstance(outcome, RequestTimedOut)
                assert "buffer_memory=3000 was full for max_block_ms=50" in str(outcome)
            assert not any(delivery.done() for delivery in sent)
            await producer.close(timeout_ms=0)

    asyncio.run(check())


def test_a_broker_that_gives_no_producer_ids():
    leader = ScriptedLeader(offered=OFFERED[:-1])

    async def check() -> None:
        async with leader.listening() as address:
            producer = Producer(bootstrap_servers=address, **QUICK)
            await producer.start()
            for _ in range(2):
                with pytest.raises(KafkaError, match="enable_idempotence=False does without"):
                    await producer.send_and_wait(TOPIC, b"v")
            await producer.close()

    asyncio.run(check())
    assert asyncio.run(produce(leader, VALUES, enable_idempotence=False)) == list(range(20))


def test_cancelling_one_who_waits_leaves_the_record_alone():
    leader = ScriptedLeader([Fault.NOT_LEADER] * 5)

    async def check() -> None:
        async with (
            leader.listening() as address,
            Producer(bootstrap_servers=address, **QUICK) as producer,
        ):
            delivery = await producer.send(TOPIC, b"v")
            waiting = [asyncio.ensure_future(delivery) for _ in range(2)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            assert (await waiting[1]).offset == 0

    asyncio.run(check())
