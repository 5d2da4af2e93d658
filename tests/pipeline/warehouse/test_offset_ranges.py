"""Ranges of offsets behave as the sets of offsets that they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.offset_ranges import merged, outside

RANGES = st.builds(OffsetRange, st.integers(0, 30), st.integers(0, 30))


def offsets_of(ranges):
    return {offset for start, end in ranges for offset in range(start, end)}


@given(st.lists(RANGES))
def test_merged_ranges_hold_the_same_offsets_in_order_and_apart(ranges):
    found = merged(ranges)
    assert offsets_of(found) == offsets_of(ranges)
    bounds = [bound for range_ in found for bound in range_]
    assert bounds == sorted(set(bounds))


@given(RANGES, st.lists(RANGES))
def test_outside_is_the_difference(wanted, taken):
    found = list(outside(wanted, merged(taken)))
    assert offsets_of(found) == offsets_of([wanted]) - offsets_of(taken)
    assert all(start < end for start, end in found)
