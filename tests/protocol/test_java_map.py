"""The order of a HashMap as it is filled; all of it seen with Java 17."""

import pytest

from drumbeat.protocol.java_hash import java_hash
from drumbeat.protocol.java_map import JavaMapOrder, java_map_order

ORDERS = [
    ([], []),
    (["b", "a"], ["a", "b"]),
    (["BB", "Aa"], ["BB", "Aa"]),
    (["sticky", "range", "roundrobin"], ["sticky", "range", "roundrobin"]),
]


@pytest.mark.parametrize(("keys", "order"), ORDERS)
def test_order(keys, order):
    assert java_map_order(keys) == order
    assert java_map_order([*keys, *keys]) == order


def hash_codes(*codes: int) -> JavaMapOrder[int]:
    order = JavaMapOrder[int]()
    for code in codes:
        order.put(code, code)
    return order


def test_the_table_doubles_above_three_quarters():
    assert next(iter(hash_codes(17, *range(2, 13)))) == 17  # 12 keys: 17 is in bucket 1 of 16
    assert list(hash_codes(17, *range(2, 14)))[-1] == 17  # 13 keys: and in bucket 17 of 32


def test_a_long_chain_doubles_a_small_table():
    """Eight keys may share a bucket; the ninth splits it."""
    chain = range(16, 16 * 9, 16)
    assert list(hash_codes(1, *chain)) == [*chain, 1]
    ninth = 16 * 9
    evens, odds = [*range(32, ninth, 32)], [*range(16, ninth + 1, 32)]
    assert list(hash_codes(1, *chain, ninth)) == [*evens, 1, *odds]


def test_it_does_not_shrink():
    order = hash_codes(17, *range(2, 14))
    for code in range(4, 14):
        order.remove(code)
    assert (list(order), len(order), order.first()) == ([2, 3, 17], 3, 2)


def test_compute_if_absent_puts_new_keys_first():
    order = JavaMapOrder[str]()
    for key in ("Aa", "BB", "Aa"):
        order.compute_if_absent(key, java_hash(key))
    assert list(order) == ["BB", "Aa"]


def test_compute_if_absent_grows_the_table_the_next_time():
    order = JavaMapOrder[int]()
    for code in (17, *range(2, 14)):
        order.compute_if_absent(code, code)
    assert order.first() == 17
    order.compute_if_absent(17, 17)
    assert order.first() == 2
