"""The resources that have configs: topics and this broker. Shared by the three configs APIs."""

from types import MappingProxyType
from typing import NamedTuple

from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.config import BrokerConfig
from drumbeat.runtime.config import alter as changes
from drumbeat.runtime.topic_names import problem_with

TOPIC, BROKER = 2, 4


class Refusal(NamedTuple):
    error_code: ErrorCode
    message: str


def topic_problem(broker: Broker, name: str) -> Refusal | None:
    if problem := problem_with(name):
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if broker.topics.get(name) is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
    return None


def broker_problem(broker: Broker, name: str) -> Refusal | None:
    """The empty name stands for the defaults of all brokers."""
    if name in ("", str(broker.node_id)):
        return None
    return Refusal(
        ErrorCode.INVALID_REQUEST,
        f"this is broker {broker.node_id}; it knows nothing of broker {name!r}",
    )


async def change_topic(
    broker: Broker, name: str, changed: dict[str, str] | changes.Refusal, validate_only: bool
) -> Refusal | None:
    """Have a topic's changed overrides stored and take effect."""
    if isinstance(changed, changes.Refusal):
        return Refusal(ErrorCode[changed.error], changed.message)
    topic = broker.topics.get(name)
    assert topic is not None
    if not validate_only:
        topic = topic._replace(configs=MappingProxyType(changed))
        await broker.topics.replace(topic)
        broker.partitions.configure(topic, broker.config)
    return None


async def change_broker(
    broker: Broker, changed: BrokerConfig | changes.Refusal, validate_only: bool
) -> Refusal | None:
    if isinstance(changed, changes.Refusal):
        return Refusal(ErrorCode[changed.error], changed.message)
    if not validate_only:
        await broker.configure(changed)
    return None
