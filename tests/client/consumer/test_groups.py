"""Members of a group: assignment, listeners, commits, static members."""

import asyncio
import re

import pytest

from client.consumer.stage import Diary, Stage, numbered, poll_until, read, run, tps
from drumbeat.client.consumer.consumer import Consumer
from drumbeat.client.consumer.listener import RebalanceListener
from drumbeat.client.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    IllegalStateError,
    KafkaError,
)
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from support.data_topics import create_topic, fresh_name
from support.wire import Wire

STRATEGIES = ["range", "roundrobin", "sticky", "cooperative-sticky"]


def assigned(consumer: Consumer) -> list[int]:
    return sorted(tp.partition for tp in consumer.assignment())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_two_members_share_and_one_takes_over(stage: Stage, strategy: str):
    topic = stage.topic(partitions=4, records=5)
    options = {"group_id": fresh_name("g"), "partition_assignment_strategy": strategy}

    async def work() -> None:
        first, second = stage.group(**options), stage.group(**options)
        async with first:
            first.subscribe([topic.name])
            records = await poll_until(lambda: len(first.assignment()) == 4, first)
            async with second:
                second.subscribe([topic.name])
                members = first, second
                records += await poll_until(
                    lambda: (
                        [len(member.assignment()) for member in members] == [2, 2]
                        and len({m.group_metadata().generation_id for m in members}) == 1
                    ),
                    *members,
                )
                assert not first.assignment() & second.assignment()
                assert first.group_metadata().member_id != second.group_metadata().member_id
            records += await poll_until(lambda: len(first.assignment()) == 4, first)
            await asyncio.to_thread(stage.produce, topic, 1, start=5)
            ends = {(p, 5) for p in range(4)}
            while not ends <= {(r.partition, r.offset) for r in records}:
                for polled in (await first.poll(100)).values():
                    records += polled
        seen = [(record.partition, record.offset) for record in records]
        assert sorted(seen) == [(p, n) for p in range(4) for n in range(6)]

    run(work)


def test_revoked_before_assigned(stage: Stage):
    topic = stage.topic(partitions=2)
    options = {"group_id": fresh_name("g"), "partition_assignment_strategy": "range"}
    diaries = Diary(), Diary()

    async def work() -> None:
        async with stage.group(**options) as first, stage.group(**options) as second:
            first.subscribe([topic.name], listener=diaries[0])
            await poll_until(lambda: len(first.assignment()) == 2, first)
            second.subscribe([topic.name], listener=diaries[1])
            await poll_until(lambda: len(second.assignment()) == 1, first, second)
            await poll_until(lambda: len(first.assignment()) == 1, first, second)

    run(work)
    theirs = diaries[1].entries[0][1]  # whose member id is lower is chance
    (mine,) = {0, 1} - set(theirs)
    assert diaries[0].entries[:3] == [
        ("assigned", [0, 1]),
        ("revoked", [0, 1]),
        ("assigned", [mine]),
    ]
    assert diaries[0].entries[-1][0] == "revoked"  # by close()
    assert diaries[1].entries == [("assigned", theirs), ("revoked", theirs)]


def test_cooperative_members_keep_what_stays(stage: Stage):
    topic = stage.topic(partitions=2)
    options = {
        "group_id": fresh_name("g"),
        "partition_assignment_strategy": "cooperative-sticky",
    }
    diary = Diary()

    async def work() -> None:
        async with stage.group(**options) as first, stage.group(**options) as second:
            first.subscribe([topic.name], listener=diary)
            await poll_until(lambda: len(first.assignment()) == 2, first)
            second.subscribe([topic.name])
            await poll_until(lambda: len(second.assignment()) == 1, first, second)

    run(work)
    revoked = [partitions for what, partitions in diary.entries if what == "revoked"]
    assert [len(partitions) for partitions in revoked if partitions] == [1, 1]


def test_async_listener_may_commit_and_seek(stage: Stage):
    topic = stage.topic(records=5)
    (tp,) = tps(topic, 0)
    group_id = fresh_name("g")

    class Listener(RebalanceListener):
        consumer: Consumer

        async def on_partitions_assigned(self, partitions) -> None:
            assert await self.consumer.committed(partitions) == {tp: None}
            await asyncio.sleep(0.2)  # nothing is read before it has said where to begin
            self.consumer.seek(tp, 3)

        async def on_partitions_revoked(self, partitions) -> None:
            await self.consumer.commit()

    async def work() -> None:
        listener = Listener()
        options = {"group_id": group_id, "enable_auto_commit": False}
        async with stage.group(**options) as consumer:
            listener.consumer = consumer
            consumer.subscribe([topic.name], listener=listener)
            assert await read(consumer, 2) == numbered(0, (3, 4))
            await consumer.unsubscribe()
            assert consumer.assignment() == frozenset()
            assert await consumer.committed([tp]) == {tp: OffsetAndMetadata(5, "", 0)}

    run(work)


def test_the_last_commit_is_a_listeners(stage: Stage):
    """close() revokes before it leaves: what the listener commits then, counts."""
    topic = stage.topic(records=5)
    (tp,) = tps(topic, 0)
    options = {"group_id": fresh_name("g"), "enable_auto_commit": False}

    class Listener(RebalanceListener):
        consumer: Consumer

        async def on_partitions_revoked(self, partitions) -> None:
            await self.consumer.commit()

    async def work() -> None:
        listener = Listener()
        async with stage.group(**options) as consumer:
            listener.consumer = consumer
            consumer.subscribe([topic.name], listener=listener)
            await read(consumer, 5)
        async with stage.group(**options) as consumer:
            assert await consumer.committed([tp]) == {tp: OffsetAndMetadata(5, "", 0)}

    run(work)


def test_a_listener_that_raises_is_heard_of(stage: Stage):
    topic = stage.topic(records=2)

    class Listener(RebalanceListener):
        def on_partitions_assigned(self, partitions) -> None:
            raise LookupError("no table for it")

    async def work() -> None:
        async with stage.group() as consumer:
            consumer.subscribe([topic.name], listener=Listener())
            with pytest.raises(Exception, match="no table for it") as caught:
                await poll_until(lambda: False, consumer)
            causes = caught.value, caught.value.__cause__
            assert any(isinstance(cause, LookupError) for cause in causes)
            assert await read(consumer, 2) == numbered(0, (0, 1))  # it goes on

    run(work)


def test_a_pattern_follows_new_topics(stage: Stage):
    prefix = fresh_name("pattern-")
    with Wire(stage.servers) as wire:
        create_topic(wire, f"{prefix}.a")
        create_topic(wire, f"not-{prefix}.a")

    async def work() -> None:
        async with stage.group(metadata_max_age_ms=50) as consumer:
            consumer.subscribe(pattern=re.escape(prefix) + r"\..")
            await poll_until(lambda: len(consumer.assignment()) == 1, consumer)
            assert consumer.subscription() == {f"{prefix}.a"}
            with Wire(stage.servers) as wire:
                create_topic(wire, f"{prefix}.b")
            await poll_until(lambda: len(consumer.assignment()) == 2, consumer)
            assert consumer.subscription() == {f"{prefix}.a", f"{prefix}.b"}

    run(work)


def test_changing_the_subscription(stage: Stage):
    one, other = stage.topic(records=1), stage.topic(records=1)

    async def work() -> None:
        async with stage.group() as consumer:
            consumer.subscribe(one.name)
            await read(consumer, 1)
            consumer.subscribe([other.name])
            assert await read(consumer, 1) == numbered(0, (0,))
            assert consumer.assignment() == {TopicPartition(other.name, 0)}
            with pytest.raises(IllegalStateError, match="unsubscribe"):
                consumer.assign(tps(one, 0))
            with pytest.raises(IllegalStateError, match="either topics or a pattern"):
                consumer.subscribe()
            await consumer.unsubscribe()
            consumer.assign(tps(one, 0))
            assert await consumer.position(*tps(one, 0)) == 1  # committed when it was given up

    run(work)


def test_a_topic_that_does_not_exist_is_named_and_waited_for(stage: Stage, caplog):
    name = fresh_name("later")

    async def work() -> None:
        async with stage.group(metadata_max_age_ms=50) as consumer:
            consumer.subscribe([name])
            await consumer.poll(300)
            assert f"topic {name}: UNKNOWN_TOPIC_OR_PARTITION" in caplog.text
            assert "create it first" in caplog.text
            with Wire(stage.servers) as wire:
                create_topic(wire, name)
            await poll_until(lambda: len(consumer.assignment()) == 1, consumer)

    run(work)


# -- commits -------------------------------------------------------------------------------------


def test_commits(stage: Stage):
    topic = stage.topic(partitions=2, records=3)
    zero, one = tps(topic, 0, 1)
    options = {"group_id": fresh_name("g"), "enable_auto_commit": False}

    async def work() -> None:
        async with stage.group(**options) as consumer:
            consumer.subscribe([topic.name])
            await read(consumer, 6)
            assert await consumer.committed([zero, one]) == {zero: None, one: None}
            await consumer.commit({zero: OffsetAndMetadata(1, "note")})
            assert (await consumer.committed([zero]))[zero] == OffsetAndMetadata(1, "note")
            await consumer.commit()
            heard = []
            consumer.commit_async(
                {one: OffsetAndMetadata(2)}, lambda offsets, error: heard.append((offsets, error))
            )
            await consumer.commit({zero: OffsetAndMetadata(3)})
            assert heard == [({one: OffsetAndMetadata(2)}, None)]
        async with stage.group(**options) as consumer:
            consumer.subscribe([topic.name])
            assert await read(consumer, 1) == numbered(1, (2,))

    run(work)


def test_commits_of_a_consumer_without_members(stage: Stage):
    topic = stage.topic(records=3)
    options = {"group_id": fresh_name("g"), "auto_commit_interval_ms": 0}

    async def work() -> None:
        async with stage.group(**options) as consumer:
            consumer.assign(tps(topic, 0))
            await read(consumer, 3)
        async with stage.group(**options) as consumer:
            (tp,) = tps(topic, 0)
            assert await consumer.committed([tp]) == {tp: OffsetAndMetadata(3, "", 0)}

    run(work)


def test_auto_commit_while_polling(stage: Stage):
    topic = stage.topic(records=3)
    (tp,) = tps(topic, 0)

    async def work() -> None:
        async with stage.group(auto_commit_interval_ms=20) as consumer:
            consumer.subscribe([topic.name])
            await read(consumer, 3)
            while (await consumer.committed([tp]))[tp] != OffsetAndMetadata(3, "", 0):
                await consumer.poll(10)
            metrics = consumer.metrics()["consumer-coordinator-metrics"]
            assert metrics["commit-total"] >= 1
            assert (metrics["join-total"], metrics["rebalance-total"]) == (2, 1)
            assert metrics["assigned-partitions"] == 1

    run(work)


def test_a_refused_commit_explains_itself(stage: Stage):
    """One that was thrown out has nothing to commit for; the text says how that comes about."""
    topic = stage.topic(records=3)
    options = {"group_id": fresh_name("g"), "enable_auto_commit": False}

    async def work() -> None:
        async with stage.group(**options, max_poll_interval_ms=100) as consumer:
            consumer.subscribe([topic.name])
            await read(consumer, 3)
            async with stage.group(**options) as other:
                other.subscribe([topic.name])
                await poll_until(lambda: len(other.assignment()) == 1, other)
                with pytest.raises(CommitFailedError, match="poll"):
                    await consumer.commit()
                assert "max_poll_interval_ms" in CommitFailedError.DEFAULT_MESSAGE

    run(work)


def test_metadata_of_a_commit_can_be_too_long(stage: Stage):
    topic = stage.topic(records=1)

    async def work() -> None:
        async with stage.group() as consumer:
            consumer.assign(tps(topic, 0))
            with pytest.raises(KafkaError, match=r"offset\.metadata\.max\.bytes"):
                await consumer.commit({tps(topic, 0)[0]: OffsetAndMetadata(1, "x" * 5_000)})

    run(work)


# -- staying and going ---------------------------------------------------------------------------


def test_a_static_member_is_expected_back(stage: Stage):
    topic = stage.topic(partitions=2)
    options = {"group_id": fresh_name("g"), "group_instance_id": "one"}

    async def work() -> None:
        async with stage.group(**options) as consumer:
            consumer.subscribe([topic.name])
            await poll_until(lambda: len(consumer.assignment()) == 2, consumer)
            before = consumer.group_metadata()
        async with stage.group(**options) as consumer:
            consumer.subscribe([topic.name])
            await poll_until(lambda: len(consumer.assignment()) == 2, consumer)
            after = consumer.group_metadata()
        assert after.generation_id == before.generation_id
        assert after.member_id != before.member_id

    run(work)


def test_the_same_instance_twice_is_fenced(stage: Stage):
    topic = stage.topic()
    options = {"group_id": fresh_name("g"), "group_instance_id": "one"}

    async def work() -> None:
        async with stage.group(**options) as first, stage.group(**options) as second:
            first.subscribe([topic.name])
            await poll_until(lambda: len(first.assignment()) == 1, first)
            second.subscribe([topic.name])
            await poll_until(lambda: len(second.assignment()) == 1, second)
            with pytest.raises(FencedInstanceIdError, match="same group_instance_id"):
                await poll_until(lambda: False, first)

    run(work)


def test_enforced_rebalance(stage: Stage):
    topic = stage.topic()

    async def work() -> None:
        async with stage.group() as consumer:
            consumer.subscribe([topic.name])
            await poll_until(lambda: len(consumer.assignment()) == 1, consumer)
            generation_id = consumer.group_metadata().generation_id
            consumer.enforce_rebalance("because")
            await poll_until(
                lambda: consumer.group_metadata().generation_id > generation_id, consumer
            )

    run(work)


def test_a_group_id_that_is_refused(stage: Stage):
    topic = stage.topic()

    async def work() -> None:
        async with stage.group(session_timeout_ms=3_600_000) as consumer:
            consumer.subscribe([topic.name])
            with pytest.raises(KafkaError, match=r"group\.max\.session\.timeout\.ms"):
                await poll_until(lambda: False, consumer)

    run(work)
