"""The bytes that sticky members send to the leader, and what is read from foreign ones."""

import pytest

from client.assignors.groups import partitions
from drumbeat.client.assignors.stickiness.claims import Claim
from drumbeat.client.assignors.user_data import (
    decode_generation,
    decode_sticky,
    encode_generation,
    encode_sticky,
)

V0 = bytes.fromhex(
    "00000002"  # topics
    "0001 74 00000002 00000000 00000003"  # t: 0, 3
    "0001 75 00000001 00000001"  # u: 1
)
V1 = V0 + bytes.fromhex("00000005")
HAD = partitions("t03 u1")


def test_what_a_member_had():
    assert encode_sticky(HAD, 5) == V1
    assert encode_sticky([], 5) == bytes.fromhex("00000000 00000005")


def test_topics_are_in_the_order_of_a_hash_map():
    """And in one bucket (32 apart) the newest is first, since that is how Java fills this map."""
    names = [f"x{digit}{digit}" for digit in "012"]
    positions = [encode_sticky([(name, 0) for name in names], 1).index(n.encode()) for n in names]
    assert positions == sorted(positions, reverse=True)


READ = [
    ("v1", V1, Claim(tuple(HAD), 5)),
    ("v0 has no generation", V0, Claim(tuple(HAD), -1)),
    ("what follows v1 is ignored", V1 + b"more", Claim(tuple(HAD), 5)),
    ("nothing", b"", Claim()),
    ("no user data", None, Claim()),
    ("cut short", V0[:-1], Claim()),
    ("a length below zero", bytes.fromhex("ffffffff 00000005"), Claim()),
    ("a length beyond the end", bytes.fromhex("7fffffff 00000005"), Claim()),
    ("not UTF-8", bytes.fromhex("00000001 0001 ff 00000000 00000005"), Claim()),
]


@pytest.mark.parametrize(("user_data", "claim"), [r[1:] for r in READ], ids=[r[0] for r in READ])
def test_what_is_read(user_data, claim):
    assert decode_sticky(user_data) == claim


@pytest.mark.parametrize("generation_id", [-1, 0, 7, 2**31 - 1])
def test_the_generation_alone(generation_id):
    data = encode_generation(generation_id)
    assert data == generation_id.to_bytes(4, "big", signed=True)
    assert decode_generation(data) == generation_id
    assert decode_generation(data + b"more") == generation_id


@pytest.mark.parametrize("user_data", [None, b"", b"\0\0\0"])
def test_no_generation(user_data):
    assert decode_generation(user_data) == -1
