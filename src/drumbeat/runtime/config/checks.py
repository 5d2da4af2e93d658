"""Values that are right alone and wrong together, such as a minimum above its maximum."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

Check = Callable[[Mapping[str, Any]], str | None]


def contradictions(attributes: Mapping[str, Any]) -> list[str]:
    """What is wrong between `attributes`, as messages that start with a key."""
    return [message for check in _CHECKS if (message := check(attributes)) is not None]


def _in_order(*keys: str, strictly: bool = False) -> Check:
    """A check that the values of `keys` do not descend."""

    def check(attributes: Mapping[str, Any]) -> str | None:
        values = [(key, attributes[key.replace(".", "_")]) for key in keys]
        for (low_key, low), (high_key, high) in pairwise(values):
            if low > high or (strictly and low == high):
                bound = "less than" if strictly else "at most"
                return f"{low_key}: expected {bound} {high_key} ({high}), got {low}"
        return None

    return check


def _min_value_max(name: str) -> Check:
    prefix = "group.consumer"
    return _in_order(f"{prefix}.min.{name}", f"{prefix}.{name}", f"{prefix}.max.{name}")


def _check_roll(attributes: Mapping[str, Any]) -> str | None:
    roll_ms = attributes["log_roll_ms"]
    return None if roll_ms >= 1 else f"log.roll.ms: expected at least 1, got {roll_ms}"


def _check_queued_bytes(attributes: Mapping[str, Any]) -> str | None:
    queued, largest = (
        attributes[name] for name in ("queued_max_request_bytes", "socket_request_max_bytes")
    )
    if queued <= 0 or queued >= largest:
        return None
    return (
        "queued.max.request.bytes: expected -1 or at least "
        f"socket.request.max.bytes ({largest}), got {queued}"
    )


def _check_protocols(attributes: Mapping[str, Any]) -> str | None:
    protocols = attributes["group_coordinator_rebalance_protocols"]
    if "classic" in protocols:
        return None
    return (
        f"group.coordinator.rebalance.protocols: expected classic in it, got {','.join(protocols)}"
    )


# What KafkaConfig.validateValues and GroupCoordinatorConfig require of the keys in use. That the
# classic session timeouts leave a range to choose from is our own demand: Kafka would start and
# then refuse every member.
_CHECKS: tuple[Check, ...] = (
    _check_roll,
    _check_queued_bytes,
    _check_protocols,
    _in_order("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    _min_value_max("session.timeout.ms"),
    _min_value_max("heartbeat.interval.ms"),
    _min_value_max("assignment.interval.ms"),
    _in_order(
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.session.timeout.ms",
        strictly=True,
    ),
)
