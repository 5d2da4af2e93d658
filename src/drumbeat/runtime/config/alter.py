"""Changes to configurations, as pure functions: AlterConfigs and IncrementalAlterConfigs.

A change is taken whole or refused whole, with Kafka's error name and a message for the operator.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from drumbeat.runtime.config.broker import BROKER_KEYS
from drumbeat.runtime.config.broker_config import BrokerConfig
from drumbeat.runtime.config.definitions import ConfigType, ConfigValueError
from drumbeat.runtime.config.resolve import ConfigProblemsError, resolve
from drumbeat.runtime.config.table import ConfigTable
from drumbeat.runtime.config.topic import TOPIC_KEYS, topic_value

# Kafka stores a value behind a 16-bit length.
_VALUE_CHARACTERS_MAX = 32_767


class OpType(IntEnum):
    """IncrementalAlterConfigs' operations, with their numbers on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterOperation(NamedTuple):
    """One operation of a request, as it came off the wire."""

    name: str
    op_type: int
    value: str | None


class Refusal(NamedTuple):
    """Why a change is not taken: the name of Kafka's error code, and what to tell the caller."""

    error: str
    message: str


def alter_topic(
    overrides: Mapping[str, str], operations: Sequence[AlterOperation]
) -> dict[str, str] | Refusal:
    """A topic's overrides after IncrementalAlterConfigs; `validate_topic` looks at the values."""
    return _alter(TOPIC_KEYS, overrides, operations)


def replace_topic(configs: Mapping[str, str | None]) -> dict[str, str] | Refusal:
    """A topic's overrides after AlterConfigs, which drops what it does not name."""
    return alter_topic({}, _as_operations(configs))


def validate_topic(overrides: Mapping[str, str | None], broker: BrokerConfig) -> Refusal | None:
    """What is wrong with a topic's overrides, if anything; CreateTopics asks too."""
    if nulls := [name for name, value in overrides.items() if value is None]:
        return Refusal("INVALID_CONFIG", f"no value given for {', '.join(nulls)}")
    valid = {name: value for name, value in overrides.items() if value is not None}
    if unknown := [name for name in valid if name not in TOPIC_KEYS]:
        return Refusal("INVALID_CONFIG", f"unknown topic config {', '.join(unknown)}")
    settings = broker.layers.merged()
    try:
        values = {name: topic_value(name, valid, settings) for name in TOPIC_KEYS}
    except ConfigValueError as error:
        return Refusal("INVALID_CONFIG", str(error))
    if values["remote.storage.enable"]:
        return Refusal("INVALID_CONFIG", "remote.storage.enable: there is no tiered storage here")
    low, high = (values[f"{bound}.compaction.lag.ms"] for bound in ("min", "max"))
    assert isinstance(low, int)
    assert isinstance(high, int)
    if low > high:
        text = f"min.compaction.lag.ms: expected at most max.compaction.lag.ms ({high}), got {low}"
        return Refusal("INVALID_CONFIG", text)
    return None


def alter_broker(
    config: BrokerConfig, operations: Sequence[AlterOperation], *, all_brokers: bool
) -> BrokerConfig | Refusal:
    """A broker's configuration after IncrementalAlterConfigs for it, or for all brokers."""
    layers = config.layers
    current = layers.dynamic_default if all_brokers else layers.dynamic_broker
    return _reconfigured(config, _alter_dynamic(current, operations), all_brokers)


def replace_broker(
    config: BrokerConfig, configs: Mapping[str, str | None], *, all_brokers: bool
) -> BrokerConfig | Refusal:
    """A broker's configuration after AlterConfigs, which drops what it does not name."""
    return _reconfigured(config, _alter_dynamic({}, _as_operations(configs)), all_brokers)


def _as_operations(configs: Mapping[str, str | None]) -> list[AlterOperation]:
    return [AlterOperation(name, OpType.SET, value) for name, value in configs.items()]


def _alter_dynamic(
    current: Mapping[str, str], operations: Sequence[AlterOperation]
) -> dict[str, str] | Refusal:
    # What is not set while running can be deleted all the same: it changes nothing.
    names = [operation.name for operation in operations if operation.op_type != OpType.DELETE]
    fixed = [name for name in names if name not in BROKER_KEYS or not BROKER_KEYS[name].is_dynamic]
    if fixed:
        return Refusal("INVALID_REQUEST", f"cannot be changed while running: {', '.join(fixed)}")
    return _alter(BROKER_KEYS, current, operations)


def _reconfigured(
    config: BrokerConfig, dynamic: Mapping[str, str] | Refusal, all_brokers: bool
) -> BrokerConfig | Refusal:
    if isinstance(dynamic, Refusal):
        return dynamic
    layer = "dynamic_default" if all_brokers else "dynamic_broker"
    try:
        return resolve(config.layers._replace(**{layer: dynamic})).config
    except ConfigProblemsError as error:
        # Kafka answers INVALID_REQUEST to broker values it cannot use, and keeps to it
        # (KAFKA-13609); for topics it is INVALID_CONFIG.
        return Refusal("INVALID_REQUEST", str(error))


def _alter(
    table: ConfigTable, overrides: Mapping[str, str], operations: Sequence[AlterOperation]
) -> dict[str, str] | Refusal:
    if (refusal := _malformed(operations)) is not None:
        return refusal
    altered = dict(overrides)
    for operation in operations:
        if operation.op_type == OpType.DELETE:
            altered.pop(operation.name, None)
            continue
        value = _new_value(table, altered, operation)
        if isinstance(value, Refusal):
            return value
        altered[operation.name] = value
    return altered


def _new_value(
    table: ConfigTable, overrides: Mapping[str, str], operation: AlterOperation
) -> str | Refusal:
    name, op_type, value = operation
    assert value is not None
    edit = _LIST_EDITS.get(op_type)
    if edit is not None:
        if name not in table or table[name].type is not ConfigType.LIST:
            verb = OpType(op_type).name
            return Refusal("INVALID_CONFIG", f"{name}: {verb} needs a key whose value is a list")
        current = overrides.get(name, table[name].default or "")
        value = ",".join(edit(_elements(current) if current else [], _elements(value)))
    if len(value) > _VALUE_CHARACTERS_MAX:
        limit = f"expected at most {_VALUE_CHARACTERS_MAX} characters, got {len(value)}"
        return Refusal("INVALID_CONFIG", f"{name}: {limit}")
    return value


def _malformed(operations: Sequence[AlterOperation]) -> Refusal | None:
    counts = Counter(operation.name for operation in operations)
    if repeated := [name for name, count in counts.items() if count > 1]:
        return Refusal("INVALID_REQUEST", f"given more than once: {', '.join(repeated)}")
    if odd := [op for op in operations if op.op_type not in OpType._value2member_map_]:
        return Refusal("INVALID_REQUEST", f"{odd[0].name}: unknown operation {odd[0].op_type}")
    nulls = [op.name for op in operations if op.op_type != OpType.DELETE and op.value is None]
    if nulls:
        return Refusal("INVALID_REQUEST", f"no value given for {', '.join(nulls)}")
    return None


def _elements(text: str) -> list[str]:
    """As Java splits: what is empty behind the last comma is no element, an empty text is one."""
    elements = text.rstrip(",").split(",")
    return [] if text and elements == [""] else elements


def _append(current: list[str], operand: list[str]) -> list[str]:
    return current + [element for element in operand if element not in current]


def _subtract(current: list[str], operand: list[str]) -> list[str]:
    return [element for element in current if element not in operand]


_LIST_EDITS: dict[int, Callable[[list[str], list[str]], list[str]]] = {
    OpType.APPEND: _append,
    OpType.SUBTRACT: _subtract,
}
