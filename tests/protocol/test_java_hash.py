"""Java's hash of strings, and the order of its hash maps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.protocol.java_hash import (
    hash_map_order,
    java_hash,
    java_text_order,
    partition_for,
    table_size,
)

PARTITIONS = [
    ("", 0),
    ("a", 47),
    ("test", 48),
    ("my-group", 12),
    ("consumer-group-1", 20),
    ("console-consumer-12345", 6),
    ("grüße", 23),
    ("polygenelubricants", 0),  # its hash is Integer.MIN_VALUE, which has no absolute value
    ("😀", 49),
]


@pytest.mark.parametrize(("group_id", "partition"), PARTITIONS)
def test_partition_of_a_group(group_id, partition):
    assert partition_for(group_id, 50) == partition


def test_hash_wraps_around_to_negative():
    assert java_hash("polygenelubricants") == -(2**31)
    assert java_hash("console-consumer-12345") < 2**31
    assert java_hash("ab") == 31 * ord("a") + ord("b")


@given(st.text(max_size=70) | st.text("ab", min_size=60, max_size=200))
def test_hash_is_the_sum_that_java_documents(text):
    units = text.encode("utf-16-be")
    pairs = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    plain = sum(unit * 31 ** (len(pairs) - 1 - n) for n, unit in enumerate(pairs)) % 2**32
    assert java_hash(text) % 2**32 == plain
    assert -(2**31) <= java_hash(text) < 2**31


@pytest.mark.parametrize(
    ("count", "size"), [(0, 16), (12, 16), (13, 32), (24, 32), (25, 64), (10_000, 16_384)]
)
def test_table_doubles_above_three_quarters(count, size):
    assert table_size(count) == size


def test_usual_protocols_in_map_order():
    names = ["cooperative-sticky", "roundrobin", "range", "sticky"]
    assert hash_map_order(names, 16) == ["sticky", "range", "roundrobin", "cooperative-sticky"]


def test_one_bucket_keeps_the_order_of_insertion():
    assert java_hash("Aa") == java_hash("BB")
    assert hash_map_order(["BB", "Aa"], 16) == ["BB", "Aa"]
    assert hash_map_order(["Aa", "BB"], 16) == ["Aa", "BB"]


def test_strings_are_ordered_by_utf_16_unit():
    assert sorted(["\uffee", "😀", "a", ""], key=java_text_order) == ["", "a", "😀", "\uffee"]
