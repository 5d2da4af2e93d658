"""Subscriptions and assignments as Java clients write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.protocol.consumer_protocol import (
    LATEST_VERSION,
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from drumbeat.protocol.errors import ProtocolError

OWNED = (TopicPartitions("a", (0,)), TopicPartitions("b", (0, 1)))
FULL = Subscription(("a", "b"), None, OWNED, 7, "rk")
FULL_HEX = (
    "0003 00000002 0001 61 0001 62 ffffffff 00000002 0001 61 00000001 00000000"
    "0001 62 00000002 00000000 00000001 00000007 0002 726b"
)

SUBSCRIPTIONS = {
    "v0": (Subscription(("t",)), 0, "0000 00000001 0001 74 ffffffff"),
    "v0 with user data": (Subscription((), b"ab"), 0, "0000 00000000 00000002 6162"),
    "v1": (Subscription(("t",)), 1, "0001 00000001 0001 74 ffffffff 00000000"),
    "v2": (Subscription(("t",)), 2, "0002 00000001 0001 74 ffffffff 00000000 ffffffff"),
    "v3": (Subscription(("t",)), 3, "0003 00000001 0001 74 ffffffff 00000000 ffffffff ffff"),
    "v3, all of it": (FULL, 3, FULL_HEX),
}


@pytest.mark.parametrize(
    ("subscription", "version", "blob"), SUBSCRIPTIONS.values(), ids=SUBSCRIPTIONS
)
def test_subscriptions(subscription, version, blob):
    assert encode_subscription(subscription, version) == bytes.fromhex(blob)
    assert decode_subscription(bytes.fromhex(blob)) == subscription


def test_a_later_version_is_read_as_the_newest_we_know():
    blob = b"\x00\x63" + bytes.fromhex(FULL_HEX)[2:] + b"fields of the future"
    assert decode_subscription(blob) == FULL


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
def test_assignments(version):
    blob = bytes.fromhex(f"{version:04x} 00000001 0001 74 00000001 00000000 ffffffff")
    assignment = Assignment((TopicPartitions("t", (0,)),))
    assert encode_assignment(assignment, version) == blob
    assert decode_assignment(blob) == assignment
    assert decode_assignment(b"\x00\x63" + blob[2:] + b"more") == assignment


@pytest.mark.parametrize("decode", [decode_subscription, decode_assignment])
def test_damage(decode):
    encoded = (
        encode_subscription(FULL)
        if decode is decode_subscription
        else encode_assignment(Assignment(OWNED, b"x"))
    )
    for stop in range(len(encoded)):
        with pytest.raises(ProtocolError):
            decode(encoded[:stop])
    with pytest.raises(ProtocolError, match="version -1"):
        decode(b"\xff\xff" + encoded[2:])


# blobs of a group's members, topics that the coordinator understands; None: unknown
TOPICS = {
    "no members": ([], set()),
    "one": (["0000 00000001 0001 74 ffffffff"], {"t"}),
    "two": (["0000 00000001 0001 74 ffffffff", "0003 00000001 0001 75 ffffffff"], {"t", "u"}),
    "nothing behind the v0 part of a v3": (["0003 00000001 0001 74 ffffffff"], {"t"}),
    "a version of the future": (["7fff 00000001 0001 74 ffffffff ab"], {"t"}),
    "a negative version": (["ffff 00000001 0001 74 ffffffff"], {"t"}),
    "empty": ([""], None),
    "no version": (["00"], None),
    "only a version": (["0000"], None),
    "user data missing": (["0000 00000001 0001 74"], None),
    "user data cut": (["0000 00000001 0001 74 00000009 61"], None),
    "topic is null": (["0000 00000001 ffff ffffffff"], None),
    "topics are null": (["0000 ffffffff ffffffff"], None),
    "more topics than bytes": (["0000 7fffffff 0001 74 ffffffff"], None),
    "one of two unreadable": (["0000 00000001 0001 74 ffffffff", "6a756e6b"], None),
}


@pytest.mark.parametrize(("blobs", "topics"), TOPICS.values(), ids=TOPICS)
def test_subscribed_topics(blobs, topics):
    assert subscribed_topics(bytes.fromhex(blob) for blob in blobs) == topics


@given(st.binary(max_size=40))
def test_any_bytes_are_topics_or_unknown(blob):
    found = subscribed_topics([blob])
    assert found is None or all(isinstance(topic, str) for topic in found)
