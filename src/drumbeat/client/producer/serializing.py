"""What users give, as what goes into a batch; whatever cannot is refused here, by name.

A record that only fails when its batch is encoded would take the others with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from drumbeat.client.config.producer import Serializer
from drumbeat.client.errors import SerializationError
from drumbeat.protocol.record_section import Headers

HeaderPairs = Iterable[tuple[str, bytes | None]]

_TIMESTAMP_MAX: Final = 2**63 - 1


def serialized(serializer: Serializer | None, topic: str, given: Any, what: str) -> bytes | None:
    """A key or a value as bytes; `what` is which."""
    if serializer is not None:
        try:
            given = serializer(topic, given)
        except Exception as problem:
            text = f"{what}_serializer raised for {topic}: {problem}"
            raise SerializationError(text) from problem
    if given is None or isinstance(given, bytes):
        return given
    if isinstance(given, bytearray | memoryview):
        return bytes(given)
    hint = f"return bytes from {what}_serializer" if serializer else f"set {what}_serializer"
    raise SerializationError(
        f"the {what} for {topic} is {type(given).__name__}, not bytes or None: {hint}"
    )


def checked_headers(headers: HeaderPairs) -> Headers:
    """Pairs of text and bytes."""
    pairs = tuple(headers)
    for pair in pairs:
        match pair:
            case (str(), bytes() | None):
                continue
        raise SerializationError(f"a header is a pair of str and bytes (or None), not {pair!r}")
    return pairs


def is_partition_below(partition: int, count: int) -> bool:
    """Whether it is one of `count` partitions."""
    try:
        return 0 <= partition < count
    except TypeError:
        raise TypeError(f"partition takes a number or None, not {partition!r}") from None


def checked_timestamp(timestamp_ms: object) -> int:
    if not isinstance(timestamp_ms, int) or not 0 <= timestamp_ms <= _TIMESTAMP_MAX:
        raise ValueError(f"timestamp_ms takes milliseconds since 1970, not {timestamp_ms!r}")
    return timestamp_ms
