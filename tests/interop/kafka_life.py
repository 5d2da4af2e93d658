"""A day in the life of groups of every kind: what a pipeline is shown, on a live broker.

Members join, leave, die, are replaced and share partitions under every protocol; offsets are
committed, reset, deleted, expire, and are part of transactions that end well, badly or not at all.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Self

from confluent_kafka import Consumer, Producer, TopicPartition

from drumbeat.protocol.apis.incremental_alter_configs import API as INCREMENTAL_ALTER_CONFIGS
from drumbeat.protocol.apis.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from drumbeat.protocol.apis.offset_commit import API as OFFSET_COMMIT
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from drumbeat.protocol.errors import ErrorCode
from drumbeat.protocol.java_hash import partition_for
from interop.java_programs import CONSUMER_GROUPS, Tools, java_command
from interop.programs import Program
from interop.python_programs import member_of
from interop.stage import Stage
from support.waiting import wait_until

CONFLUENT, KAFKA_PYTHON, DRUMBEAT = map(member_of, ("confluent-kafka", "kafka-python", "drumbeat"))
VERIFIABLE_SHARE_CONSUMER = "org.apache.kafka.tools.VerifiableShareConsumer"
SESSION_MS = 3_000
TRANSACTION_MS = 600_000  # longer than anything here takes
TIMEOUT_S = 40.0
RETENTION_VERSION = 2  # of OffsetCommit: 2 to 4 say how long an offset is to be kept

OFFSETS_TOPIC = "__consumer_offsets"
LOG_PARTITIONS = 4
TOPIC_RESOURCE = 2

# Few partitions of the log, and everything that waits waits less than it would.
SETTINGS = {
    "offsets.topic.num.partitions": str(LOG_PARTITIONS),
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "offsets.retention.check.interval.ms": "500",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "200",
    "log.cleaner.backoff.ms": "200",
}


class Life:
    """`with Life(servers, folder) as life: life.go_on()`; members stay until the block ends."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.servers = servers
        self._folder = folder
        self._tools = Tools(servers)
        self._running = ExitStack()
        self._polled: list[Consumer] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._running.close()

    def go_on(self) -> None:
        sharer = self._share()
        self._churned()
        self._static()
        self._cooperative()
        self._emptied()
        self._modern()
        self._transactional()
        self._short_lived()
        wait_until(lambda: bool(sharer.named("records_consumed")), TIMEOUT_S, "a share group reads")

    # -- classic groups --------------------------------------------------------------------------

    def _churned(self) -> None:
        """Three libraries; one member leaves, one is killed, one comes late."""
        stage = self._stage("churned", CONFLUENT)
        first = stage.start(session_timeout_ms=SESSION_MS)
        stage.settle(first)
        stage.produce()
        stage.consume(first)
        second = stage.start(client=KAFKA_PYTHON, session_timeout_ms=SESSION_MS)
        third = stage.start(client=DRUMBEAT, session_timeout_ms=SESSION_MS)
        stage.settle(first, second, third)
        stage.produce()
        stage.consume(first, second, third)
        second.stop()
        stage.settle(first, third)
        first.kill()
        stage.settle(third)
        stage.produce()
        stage.consume(first, second, third)
        fourth = stage.start(session_timeout_ms=SESSION_MS)
        stage.settle(third, fourth)
        stage.produce(per_partition=3)
        stage.consume(first, second, third, fourth)

    def _static(self) -> None:
        """A static member is killed and comes back before its session is over."""
        stage = self._stage("static", DRUMBEAT)
        stays = stage.start(group_instance_id="stays")
        stage.settle(stays)  # or whoever comes next may cut its first rebalance short
        dies = stage.start(group_instance_id="dies")
        stage.settle(stays, dies)
        stage.produce()
        stage.consume(stays, dies)
        dies.kill()
        back = stage.start(group_instance_id="dies")
        stage.settle(stays, back)
        stage.produce()
        stage.consume(stays, dies, back)

    def _cooperative(self) -> None:
        stage = self._stage("cooperative", CONFLUENT)
        members = []
        for _ in range(2):
            members.append(stage.start("cooperative-sticky"))
            stage.settle(*members)
            stage.produce()
            stage.consume(*members)

    def _emptied(self) -> None:
        """Its only member leaves, then an administrator moves its offsets."""
        stage = self._stage("emptied", KAFKA_PYTHON)
        member = stage.start()
        stage.settle(member)
        stage.produce()
        stage.consume(member)
        member.stop()
        wait_until(lambda: stage.describe().group_state == "Empty", TIMEOUT_S, "emptied is Empty")
        back = ("--reset-offsets", "--to-offset", "2", "--execute", "--topic", stage.topic.name)
        self._tools(CONSUMER_GROUPS, "--group", "emptied", *back)

    # -- the newer groups ------------------------------------------------------------------------

    def _modern(self) -> None:
        """KIP-848: one, two and three members; then the first of them leaves."""
        stage = self._stage("modern", CONFLUENT)
        stage.produce()
        consumers: list[Consumer] = []
        for size in (1, 2, 3):
            consumers.append(self._consumer("modern", stage.topic.name))
            self._poll_until(lambda size=size: _are_shared(consumers, size), consumers)
        self._read(stage, consumers)
        consumers.pop(0).close()
        self._poll_until(lambda: _are_shared(consumers, 2), consumers)
        stage.produce()
        self._read(stage, consumers)

    def _share(self) -> Program:
        stage = self._stage("shared", CONFLUENT)
        stage.produce()
        options = ("--bootstrap-server", self.servers, "--group-id", "shared")
        command = java_command(
            VERIFIABLE_SHARE_CONSUMER,
            *options,
            *("--topic", stage.topic.name, "--offset-reset-strategy", "earliest"),
        )
        return self._running.enter_context(Program(command, self._folder))

    # -- transactions, and offsets that go -------------------------------------------------------

    def _transactional(self) -> None:
        """Offsets of transactions that commit, abort and hang; the first is ahead of the log."""
        stage = self._stage("payments", CONFLUENT)
        stage.produce()
        self._transaction(stage, "payments", 7).commit_transaction()
        self._transaction(stage, "payments", 3).abort_transaction()
        self._transaction(stage, "hanging", 3)

    def _transaction(self, stage: Stage, group_id: str, offset: int) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "transactional.id": f"{group_id}-{offset}",
                "transaction.timeout.ms": TRANSACTION_MS,
            }
        )
        self._running.callback(producer.purge)
        producer.init_transactions()
        producer.begin_transaction()
        offsets = [TopicPartition(stage.topic.name, partition, offset) for partition in (0, 1)]
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group_id})
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())
        consumer.close()
        return producer

    def _short_lived(self) -> None:
        """A group that an administrator deletes, and one whose offset expires."""
        stage = self._stage("doomed", CONFLUENT)
        self._commit(stage, "deleted", retention_time_ms=-1)
        self._commit(stage, "expired", retention_time_ms=1)
        self._tools(CONSUMER_GROUPS, "--delete", "--group", "deleted")
        stage.group_id = "expired"
        wait_until(lambda: not stage.committed(), TIMEOUT_S, "an offset expires")

    def _commit(self, stage: Stage, group_id: str, retention_time_ms: int) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=3)
        request = OffsetCommitRequest(
            group_id=group_id,
            retention_time_ms=retention_time_ms,
            topics=(OffsetCommitRequestTopic(name=stage.topic.name, partitions=(partition,)),),
        )

        def is_done() -> bool:
            (topic,) = stage.wire.call(OFFSET_COMMIT, RETENTION_VERSION, request).topics
            return topic.partitions[0].error_code == ErrorCode.NONE

        wait_until(is_done, TIMEOUT_S, f"a commit of {group_id}")

    def have_log_compacted(self, checkpoint: Path) -> None:
        """All but what a hanging transaction keeps; `checkpoint` is where Kafka notes it."""
        stage = self._stage("rolling", CONFLUENT)
        changes = (("segment.ms", "1000"), ("min.cleanable.dirty.ratio", "0.01"))
        resource = AlterConfigsResource(
            TOPIC_RESOURCE,
            OFFSETS_TOPIC,
            tuple(AlterableConfig(name, 0, value) for name, value in changes),
        )
        request = IncrementalAlterConfigsRequest((resource,))
        (answer,) = stage.wire.call(INCREMENTAL_ALTER_CONFIGS, 1, request).responses
        assert answer.error_code == ErrorCode.NONE, answer
        waiting = set(range(LOG_PARTITIONS)) - {partition_for("hanging", LOG_PARTITIONS)}

        def is_done() -> bool:
            for partition in waiting:  # a commit begins a segment, once the settings are there
                self._commit(stage, _group_in(partition), retention_time_ms=-1)
            cleaned = re.findall(rf"^{OFFSETS_TOPIC} (\d+) [1-9]", checkpoint.read_text(), re.M)
            waiting.difference_update(map(int, cleaned))
            return not waiting

        wait_until(is_done, TIMEOUT_S, "Kafka's cleaner")

    # -- helpers ---------------------------------------------------------------------------------

    def _stage(self, group_id: str, client: Callable[..., list[str]]) -> Stage:
        stage = self._running.enter_context(Stage(self.servers, self._folder, client))
        stage.group_id = group_id
        return stage

    def _consumer(self, group_id: str, topic: str) -> Consumer:
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": group_id,
                "group.protocol": "consumer",
                "client.id": f"modern-{len(self._polled)}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        self._polled.append(consumer)
        self._running.callback(consumer.close)
        return consumer

    def _read(self, stage: Stage, consumers: Iterable[Consumer]) -> None:
        """Commit all that was produced."""
        ends = len(stage.produced) // len(stage.partitions)
        self._poll_until(
            lambda: (
                set(stage.committed().values()) == {ends}
                and len(stage.committed()) == len(stage.partitions)
            ),
            consumers,
        )

    def _poll_until(self, condition: Callable[[], bool], consumers: Iterable[Consumer]) -> None:
        def is_met() -> bool:
            for consumer in consumers:
                if consumer.consume(100, 0.05):
                    consumer.commit(asynchronous=False)
            return condition()

        wait_until(is_met, TIMEOUT_S, "members of a consumer group are done")


def _are_shared(consumers: Iterable[Consumer], count: int) -> bool:
    sizes = [len(consumer.assignment()) for consumer in consumers]
    return len(sizes) == count and sum(sizes) == 6 and max(sizes) - min(sizes) <= 1


def _group_in(log_partition: int) -> str:
    names = (f"rolling-{number}" for number in count())
    return next(name for name in names if partition_for(name, LOG_PARTITIONS) == log_partition)
