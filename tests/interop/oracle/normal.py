"""Answers in a form that can be compared: names of fields, and signs for what may differ.

What may differ is what a broker draws or is: topic and producer ids, the cluster's id, ports,
and the words of messages that people read. Lists that have no order are put in one.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from drumbeat.protocol.schema import NULL_UUID, fields_of
from interop.oracle.batches import normal_batches, time_sign
from interop.oracle.connection import Closed, Rewritten, Silent
from interop.oracle.vocabulary import UNKNOWN_TOPIC_ID, Known, Step

CLOSED = "<connection closed>"

Plain = Any  # None, bool, int, float, str, bytes, or a list or dict of them


class Signs(NamedTuple):
    """What one broker calls the things that each broker names itself."""

    known: Known
    port: int

    def topic_id(self, value: bytes) -> Plain:
        names = {topic_id: topic.name for topic, topic_id in self.known.topic_ids.items()}
        names |= {NULL_UUID: "none", UNKNOWN_TOPIC_ID: "unknown"}
        return f"<id of {names.get(value, 'another')}>"

    def producer_id(self, value: int) -> Plain:
        ids = [producer_id for producer_id, _ in self.known.producers]
        if value < 0:
            return value
        return f"<producer {ids.index(value)}>" if value in ids else "<another producer>"

    def epoch(self, value: int) -> Plain:
        return value // self.known.epochs_per_restart if value > 0 else value

    def batches(self, value: bytes | None) -> Plain:
        return normal_batches(value, self.producer_id, self.epoch)

    def port_number(self, value: int) -> Plain:
        return "<port>" if value == self.port else value


def _time(_signs: Signs, value: int) -> Plain:
    return time_sign(value)


def _size(_signs: Signs, value: int) -> Plain:
    return "<size>" if value > 0 else value


def _text(_signs: Signs, value: str | None) -> Plain:
    return "<text>" if value else value


_SIGNS: Mapping[str, Callable[[Signs, Any], Plain]] = {
    "topic_id": Signs.topic_id,
    "producer_id": Signs.producer_id,
    "port": Signs.port_number,
    "cluster_id": _text,
    "error_message": _text,
    "batch_index_error_message": _text,
    "documentation": _text,
    "log_dir": _text,
    "total_bytes": _size,
    "usable_bytes": _size,
    "records": Signs.batches,
    "leader_epoch": Signs.epoch,
    "epoch": Signs.epoch,
    "timestamp": _time,
    "log_append_time_ms": _time,
}


def normal(step: Step, signs: Signs, result: Any) -> Plain:
    match result:
        case Closed():
            return CLOSED
        case Silent():
            return "<no answer>"
        case Rewritten():
            return {"received": result.received, "encoded by us": result.encoded}
        case _:
            return _message(step, signs, result)


def _message(step: Step, signs: Signs, message: Any) -> dict[str, Plain]:
    return {
        name: _value(step, signs, name, getattr(message, name))
        for name in _field_names(message.__class__, step.api_version)
    }


def _value(step: Step, signs: Signs, name: str, value: Any) -> Plain:
    if name in _SIGNS:
        return _SIGNS[name](signs, value)
    if not isinstance(value, tuple):
        return value
    if hasattr(value, "_fields"):
        return _message(step, signs, value)
    items = [_value(step, signs, "", item) for item in value]
    items = [item for item in items if step.shows(signs.known, name, item)]
    if name in step.unordered:
        items.sort(key=lambda item: str([item.get(key) for key in step.unordered[name]]))
    return items


@cache
def _field_names(message: type[Any], version: int) -> tuple[str, ...]:
    return tuple(field.name for field in fields_of(message) if field.is_in(version))


# -- comparing -----------------------------------------------------------------------------------


class Difference(NamedTuple):
    path: str
    kafka: Plain
    drumbeat: Plain

    def __str__(self) -> str:
        return f"{self.path}: Apache Kafka {self.kafka!r}, Drumbeat {self.drumbeat!r}"


def differences(kafka: Plain, drumbeat: Plain, path: str = "") -> list[Difference]:
    """Where two answers differ, field by field."""
    if isinstance(kafka, dict) and isinstance(drumbeat, dict):
        return [
            found
            for name in kafka.keys() | drumbeat.keys()
            for found in differences(
                kafka.get(name), drumbeat.get(name), f"{path}.{name}".lstrip(".")
            )
        ]
    if isinstance(kafka, list) and isinstance(drumbeat, list) and len(kafka) == len(drumbeat):
        return [
            found
            for place, (left, right) in enumerate(zip(kafka, drumbeat, strict=True))
            for found in differences(left, right, f"{path}[{_label(left, place)}]")
        ]
    return [] if kafka == drumbeat else [Difference(path, kafka, drumbeat)]


def _label(item: Plain, place: int) -> Plain:
    """Configurations are found by name, everything else by its place."""
    is_config = isinstance(item, dict) and "config_source" in item
    return item["name"] if is_config else place
