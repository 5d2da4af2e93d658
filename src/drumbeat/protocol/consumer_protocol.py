"""The blobs that consumers hide in JoinGroup and SyncGroup: subscription and assignment.

To the group protocol both are opaque bytes; members with protocol type "consumer" agree on the
layouts below, an int16 version in front. Later versions only append fields, so a reader takes a
version it does not know for the newest one it does.
"""

import struct
from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple

from drumbeat.protocol.compiler import decoder, encoder
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.schema import Int32, V

PROTOCOL_TYPE = "consumer"
LATEST_VERSION = 3

_VERSION = struct.Struct(">h")


class TopicPartitions(NamedTuple):
    topic: str = ""
    partitions: tuple[Int32, ...] = ()


class Subscription(NamedTuple):
    """What a member asks for, and what it still owns (KIP-429)."""

    topics: tuple[str, ...] = ()
    user_data: bytes | None = None
    owned_partitions: Annotated[tuple[TopicPartitions, ...], V(1)] = ()
    generation_id: Annotated[Int32, V(2)] = -1
    rack_id: Annotated[str | None, V(3)] = None


class Assignment(NamedTuple):
    """What the leader gives a member; the same in all versions."""

    assigned_partitions: tuple[TopicPartitions, ...] = ()
    user_data: bytes | None = None


def encode_subscription(subscription: Subscription, version: int = LATEST_VERSION) -> bytes:
    return _encode(Subscription, subscription, version)


def decode_subscription(blob: bytes) -> Subscription:
    subscription: Subscription = _decode(Subscription, blob)
    return subscription


def encode_assignment(assignment: Assignment, version: int = LATEST_VERSION) -> bytes:
    return _encode(Assignment, assignment, version)


def decode_assignment(blob: bytes) -> Assignment:
    assignment: Assignment = _decode(Assignment, blob)
    return assignment


def subscribed_topics(blobs: Iterable[bytes]) -> frozenset[str] | None:
    """Every topic that one of these subscriptions names; None if one of them cannot be read.

    Only the part that v0 has is looked at, whatever version a blob claims to be: the coordinator
    must not depend on how far its clients have come.
    """
    decode = decoder(Subscription, 0, False)
    topics: set[str] = set()
    try:
        for blob in blobs:
            topics.update(decode(blob, _VERSION.size).topics)
    except ProtocolError:
        return None
    return frozenset(topics)


def _encode(message: type[Any], value: Any, version: int) -> bytes:
    return _VERSION.pack(version) + encoder(message, version, False)(value)


def _decode(message: type[Any], blob: bytes) -> Any:
    if len(blob) < _VERSION.size:
        raise ProtocolError(f"{message.__name__} of {len(blob)} bytes has no version")
    (version,) = _VERSION.unpack_from(blob)
    if version < 0:
        raise ProtocolError(f"{message.__name__} has version {version}")
    return decoder(message, min(version, LATEST_VERSION), False)(blob, _VERSION.size)
