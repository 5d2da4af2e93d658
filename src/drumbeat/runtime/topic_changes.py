"""Creating, growing and deleting topics: Kafka's rules, then the catalog, then the logs."""

import logging
from collections.abc import Collection
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from drumbeat.protocol.apis.create_topics import CreatableTopic
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.config.alter import validate_topic
from drumbeat.runtime.durably import StorageFailed
from drumbeat.runtime.entropy import new_topic_id
from drumbeat.runtime.topic_names import collision, problem_with
from drumbeat.runtime.topics import CONSUMER_OFFSETS, GROUP_EVENTS, METADATA_TOPIC, Topic

if TYPE_CHECKING:
    from drumbeat.runtime.broker import Broker

log = logging.getLogger(__name__)

BROKER_DEFAULT = -1
NO_TIME = 0  # a request with this timeout, or less, is over before it begins
PARTITIONS_PER_REQUEST_MAX = 10_000  # what Kafka's controller creates at a time
SEGMENT_BYTES_MIN = 1 << 20  # what Kafka allows a topic
_DAY_MS = 24 * 60 * 60 * 1000


class Refusal(NamedTuple):
    error_code: ErrorCode
    message: str


def timed_out(timeout_ms: int) -> Refusal | None:
    if timeout_ms > NO_TIME:
        return None
    return Refusal(ErrorCode.REQUEST_TIMED_OUT, f"there is no time in {timeout_ms} ms")


def plan_topic(
    broker: "Broker", asked: CreatableTopic, others: Collection[str] | None = None
) -> Topic | Refusal:
    """The topic that `asked` describes beside `others`, which are all, or the rule it breaks."""
    refusal = (
        _refused_name(broker, asked.name, topic_names(broker) if others is None else others)
        or _refused_configs(broker, asked)
        or _refused_shape(asked)
        or _refused_assignment(broker, asked)
    )
    if refusal is not None:
        return refusal
    return Topic(
        name=asked.name,
        topic_id=new_topic_id(),
        partition_count=partitions_asked_for(broker, asked),
        replication_factor=_replication_factor(broker, asked),
        configs=MappingProxyType({c.name: c.value for c in asked.configs if c.value is not None}),
    )


def topic_names(broker: "Broker") -> list[str]:
    return [topic.name for topic in broker.topics]


def partitions_asked_for(broker: "Broker", asked: CreatableTopic) -> int:
    count = len(asked.assignments) or asked.num_partitions
    return broker.config.num_partitions if count == BROKER_DEFAULT else count


def _refused_name(broker: "Broker", name: str, others: Collection[str]) -> Refusal | None:
    if problem := problem_with(name):
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if name == METADATA_TOPIC:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{name} cannot be created")
    if broker.topics.get(name) is not None:
        return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
    if other := collision(name, others):
        return Refusal(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name!r} collides with existing {other!r}"
        )
    return None


def _refused_shape(asked: CreatableTopic) -> Refusal | None:
    if asked.assignments:
        return _refused_indexes(asked)
    if asked.replication_factor != BROKER_DEFAULT and asked.replication_factor < 1:
        return Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"replication factor {asked.replication_factor}; at least 1, or -1 for the default",
        )
    if asked.num_partitions != BROKER_DEFAULT and asked.num_partitions < 1:
        return Refusal(
            ErrorCode.INVALID_PARTITIONS,
            f"{asked.num_partitions} partitions; at least 1, or -1 for the default",
        )
    return None


def _refused_indexes(asked: CreatableTopic) -> Refusal | None:
    if (asked.num_partitions, asked.replication_factor) != (BROKER_DEFAULT, BROKER_DEFAULT):
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            "with a manual assignment, partitions and replication factor must both be -1",
        )
    indexes = sorted(assignment.partition_index for assignment in asked.assignments)
    if indexes != list(range(len(indexes))):
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions are to be numbered from 0 without gaps",
        )
    return None


def too_many_partitions(count: int) -> Refusal | None:
    if count <= PARTITIONS_PER_REQUEST_MAX:
        return None
    return Refusal(
        ErrorCode.POLICY_VIOLATION,
        f"{count} partitions; at most {PARTITIONS_PER_REQUEST_MAX} are created per request",
    )


def _refused_assignment(broker: "Broker", asked: CreatableTopic) -> Refusal | None:
    named = {broker_id for a in asked.assignments for broker_id in a.broker_ids}
    if any(not assignment.broker_ids for assignment in asked.assignments):
        return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition is assigned to no broker")
    if any(len(set(a.broker_ids)) < len(a.broker_ids) for a in asked.assignments):
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition is assigned to a broker twice"
        )
    if unknown := named - {broker.node_id}:
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"unknown brokers {sorted(unknown)} in the assignment",
        )
    return None


def _refused_configs(broker: "Broker", asked: CreatableTopic) -> Refusal | None:
    configs = {config.name: config.value for config in asked.configs}
    refusal = validate_topic(configs, broker.config)
    return refusal and Refusal(ErrorCode[refusal.error], refusal.message)


def _replication_factor(broker: "Broker", asked: CreatableTopic) -> int:
    if asked.assignments:
        return len(asked.assignments[0].broker_ids)
    if asked.replication_factor == BROKER_DEFAULT:
        return broker.config.default_replication_factor
    return asked.replication_factor


# -- topics that come into being by themselves ---------------------------------------------------


async def create_automatically(broker: "Broker", name: str) -> Topic | None:
    """The topic as auto-creation makes it; None if its name collides or the disk is full."""
    planned = _internal_topic(broker, name) or plan_topic(
        broker,
        CreatableTopic(name=name, num_partitions=BROKER_DEFAULT, replication_factor=BROKER_DEFAULT),
    )
    if isinstance(planned, Topic):
        try:
            await broker.catalog.create(planned)
        except StorageFailed as problem:
            log.warning("topic %s could not be created: %s", name, problem)
    return broker.topics.get(name)


def _internal_topic(broker: "Broker", name: str) -> Topic | None:
    config = broker.config
    shapes = {
        CONSUMER_OFFSETS: (
            config.offsets_topic_num_partitions,
            1,
            {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(max(config.offsets_topic_segment_bytes, SEGMENT_BYTES_MIN)),
            },
        ),
        GROUP_EVENTS: (1, 1, {"cleanup.policy": "delete", "retention.ms": str(7 * _DAY_MS)}),
    }
    if name not in shapes:
        return None
    partition_count, replication_factor, configs = shapes[name]
    return Topic(
        name, new_topic_id(), partition_count, replication_factor, MappingProxyType(configs)
    )


# -- deletion ------------------------------------------------------------------------------------


async def delete_topic(broker: "Broker", topic: Topic) -> bool:
    """The name is free once this returns; False if somebody else has deleted the topic."""
    if not await broker.catalog.delete(topic, broker.partitions.delete):
        return False
    await broker.groups.on_topics_deleted({topic.name: topic.topic_id})
    return True


async def finish_deletions(broker: "Broker") -> None:
    """What a crash cut short, before anybody is served."""
    if deleted := await broker.catalog.finish_deletions(broker.partitions.delete):
        await broker.groups.on_topics_deleted({topic.name: topic.topic_id for topic in deleted})
