"""The resources that have configs: topics and this broker. Shared by the three configs APIs."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.config import alter as changes
from drumbeat.runtime.durably import StorageFailed
from drumbeat.runtime.topic_names import problem_with
from drumbeat.runtime.topics import Topic

TOPIC, BROKER = 2, 4
BROKER_LOGGER, CLIENT_METRICS, GROUP = 8, 16, 32  # which have no configs here
RESOURCE_TYPES = (TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP)


class Refusal(NamedTuple):
    error_code: ErrorCode
    message: str


def topic_problem(broker: Broker, name: str) -> Refusal | None:
    if refusal := name_problem(name):
        return refusal
    return _unknown_topic(name) if broker.topics.get(name) is None else None


def name_problem(name: str) -> Refusal | None:
    problem = problem_with(name)
    return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem) if problem else None


def _unknown_topic(name: str) -> Refusal:
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")


def broker_problem(broker: Broker, name: str) -> Refusal | None:
    """The empty name stands for the defaults of all brokers."""
    if name in ("", str(broker.node_id)):
        return None
    return Refusal(
        ErrorCode.INVALID_REQUEST,
        f"this is broker {broker.node_id}; it knows nothing of broker {name!r}",
    )


class Resource(NamedTuple):
    """What a request names."""

    type: int
    name: str


class NamesResource(Protocol):
    """One resource of a request that alters configs."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...


Asked = TypeVar("Asked", bound=NamesResource)

# The fields of both APIs' answers for a resource: error code and message, its type and its name.
Answer: TypeAlias = tuple[ErrorCode, str | None, int, str]
_NAMED_TWICE = Refusal(ErrorCode.INVALID_REQUEST, "each resource is to be named once")


async def alter_each(
    resources: Sequence[Asked], alter_one: Callable[[Asked], Awaitable[Refusal | None]]
) -> list[Answer]:
    """Alter one resource after the other; those that are named twice stay as they are."""
    named = [Resource(asked.resource_type, asked.resource_name) for asked in resources]
    times, answers = Counter(named), []
    for resource, asked in zip(named, resources, strict=True):
        refusal = _NAMED_TWICE if times[resource] > 1 else await alter_one(asked)
        problem = (ErrorCode.NONE, None) if refusal is None else refusal
        answers.append((*problem, *resource))
    return answers


class Change(NamedTuple):
    """What a request makes of a topic's overrides, unseen, or of the broker's configuration."""

    of_topic: Callable[[Mapping[str, str]], dict[str, str] | changes.Refusal]
    of_broker: Callable[[BrokerConfig], BrokerConfig | changes.Refusal]


async def alter(
    broker: Broker, resource: Resource, change: Change, *, validate_only: bool
) -> Refusal | None:
    """Have a change stored and take effect, or only looked at."""
    if resource.type == TOPIC:
        return await _change_topic(broker, resource.name, change, validate_only)
    if resource.type == BROKER:
        refusal = broker_problem(broker, resource.name)
        return refusal or await _change_broker(broker, change, validate_only)
    return Refusal(ErrorCode.INVALID_REQUEST, f"unknown resource type {resource.type}")


def _altered_name_problem(name: str) -> Refusal | None:
    if not name:
        return Refusal(ErrorCode.INVALID_REQUEST, "the topic name is empty")
    return name_problem(name)


async def _change_topic(
    broker: Broker, name: str, change: Change, validate_only: bool
) -> Refusal | None:
    def changed(topic: Topic | None) -> Topic | Refusal:
        # Kafka finds what is wrong with the operations before it looks at the name, and with the
        # values before it misses the topic.
        overrides = change.of_topic(topic.configs if topic is not None else {})
        if isinstance(overrides, changes.Refusal):
            return Refusal(ErrorCode[overrides.error], overrides.message)
        if refusal := _altered_name_problem(name):
            return refusal
        if problem := changes.validate_topic(overrides, broker.config):
            return Refusal(ErrorCode[problem.error], problem.message)
        if topic is None:
            return _unknown_topic(name)
        return topic if validate_only else topic._replace(configs=MappingProxyType(overrides))

    try:
        decided = await broker.catalog.change(name, changed)
    except StorageFailed as problem:
        return Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(problem))
    if isinstance(decided, Refusal):
        return decided
    broker.partitions.configure(decided, broker.config)
    return None


async def _change_broker(broker: Broker, change: Change, validate_only: bool) -> Refusal | None:
    async with broker.configuring:
        changed = change.of_broker(broker.config)
        if isinstance(changed, changes.Refusal):
            return Refusal(ErrorCode[changed.error], changed.message)
        if validate_only:
            return None
        try:
            await broker.configure(changed)
        except StorageFailed as problem:
            return Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(problem))
        return None
