"""Keys go where Java's producer puts them; records without a key stay together."""

import pytest
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.client.producer.partitioner import StickyPartitioner, murmur2, partition_for_key

# What Java's Utils.murmur2 returns for these bytes, as a signed int.
JAVA_HASHES = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("key", "java"), JAVA_HASHES)
def test_the_hash_is_javas(key: bytes, java: int):
    assert murmur2(key) == java & 0xFFFFFFFF


@given(st.binary(max_size=40))
def test_the_hash_is_that_of_another_implementation(key: bytes):
    assert murmur2(key) == aiokafka_murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_a_key_has_one_partition(key: bytes, count: int):
    assert partition_for_key(key, count) == (murmur2(key) & 0x7FFFFFFF) % count


class Turns:
    """A partitioner whose dice are a counter, fed with records."""

    def __init__(self, batch_size: int) -> None:
        self._draws = iter(range(1000))
        self._sticky = StickyPartitioner(batch_size, lambda limit: next(self._draws) % limit)

    def record(self, size: int, *, fits_batch: bool) -> int:
        if self._sticky.is_over(size, fits_batch=fits_batch):
            self._sticky.begin(size, (0, 1, 2))
        return self._sticky.partition


def test_a_turn_ends_with_the_batch():
    turns = Turns(batch_size=100)
    fits = [True, True, True, False, True, True, True, False]
    partitions = [turns.record(30, fits_batch=fit) for fit in fits]
    assert partitions == [0, 0, 0, 1, 1, 1, 1, 2]


def test_a_batch_that_was_sent_early_does_not_end_the_turn():
    """What lingered and left is followed by another batch for the same partition."""
    turns = Turns(batch_size=100)
    assert [turns.record(30, fits_batch=False) for _ in range(4)] == [0, 0, 0, 1]


def test_a_turn_is_two_batches_at_most():
    turns = Turns(batch_size=100)
    partitions = [turns.record(30, fits_batch=True) for _ in range(8)]
    assert partitions == [0, 0, 0, 0, 0, 0, 1, 1]
