"""What the sticky assignors write into a subscription's user data, byte for byte as in Java.

Sticky: what the member had and (since v1) in which generation. Cooperative-sticky: the generation
only, since the subscription itself has the partitions. Nothing in the bytes tells the version.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from drumbeat.client.assignors.port import NO_GENERATION
from drumbeat.client.assignors.stickiness.claims import Claim
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.compiler import decoder, encoder
from drumbeat.protocol.consumer_protocol import TopicPartitions
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.java_hash import java_hash
from drumbeat.protocol.java_map import JavaMapOrder
from drumbeat.protocol.schema import Int32, V

_GENERATION = struct.Struct(">i")
_LATEST_VERSION = 1


class StickyUserData(NamedTuple):
    previous_assignment: tuple[TopicPartitions, ...] = ()
    generation: Annotated[Int32, V(1)] = NO_GENERATION


def encode_sticky(partitions: Iterable[TopicPartition], generation_id: int) -> bytes:
    by_topic = defaultdict[str, list[int]](list)
    order = JavaMapOrder[str]()
    for topic, partition in partitions:
        by_topic[topic].append(partition)
        order.compute_if_absent(topic, java_hash(topic))
    previous_assignment = tuple(TopicPartitions(t, tuple(by_topic[t])) for t in order)
    encode = encoder(StickyUserData, _LATEST_VERSION, False)
    return encode(StickyUserData(previous_assignment, generation_id))


def decode_sticky(user_data: bytes | None) -> Claim:
    """Bytes that end before the generation are v0; bytes that make no sense claim nothing."""
    if not user_data:
        return Claim()
    for version in range(_LATEST_VERSION, -1, -1):
        try:
            data: StickyUserData = decoder(StickyUserData, version, False)(user_data, 0)
        except ProtocolError:
            continue
        partitions = tuple(
            TopicPartition(topic, partition)
            for topic, numbers in data.previous_assignment
            for partition in numbers
        )
        return Claim(partitions, data.generation)
    return Claim()


def encode_generation(generation_id: int) -> bytes:
    return _GENERATION.pack(generation_id)


def decode_generation(user_data: bytes | None) -> int:
    if user_data is None or len(user_data) < _GENERATION.size:
        return NO_GENERATION
    generation_id: int = _GENERATION.unpack_from(user_data)[0]
    return generation_id
