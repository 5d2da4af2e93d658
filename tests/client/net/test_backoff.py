"""Delays double up to the maximum, give or take a fifth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.client.net.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "expected"), [(0, 0), (1, 100), (2, 200), (4, 800), (5, 1000), (1_000_000, 1000)]
)
def test_doubles_to_the_maximum(failures: int, expected: int):
    assert Backoff(100, 1_000).delay_ms(failures, 0.5) == expected


def test_an_initial_delay_above_the_maximum_is_constant():
    assert [Backoff(500, 100).delay_ms(n, 0.5) for n in (1, 2, 9)] == [500, 500, 500]


@given(st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_jitter_is_a_fifth(failures: int, dice: float):
    middle = Backoff(100, 1_000).delay_ms(failures, 0.5)
    assert 0.8 * middle <= Backoff(100, 1_000).delay_ms(failures, dice) <= 1.2 * middle
