"""The table of states, and that a group keeps to it."""

import itertools

import pytest

from drumbeat.core.classic.group import ClassicGroup
from drumbeat.core.classic.group_state import VALID_PREVIOUS_STATES, GroupState
from support.coordinator import START_MS

TABLE = """
to                    from
Empty                 PreparingRebalance
PreparingRebalance    Stable CompletingRebalance Empty
CompletingRebalance   PreparingRebalance
Stable                CompletingRebalance
Dead                  Empty PreparingRebalance CompletingRebalance Stable Dead
"""

EXPECTED = {to: set(previous) for to, *previous in map(str.split, TABLE.strip().splitlines()[1:])}


def test_table_is_total():
    assert VALID_PREVIOUS_STATES.keys() == set(GroupState)


@pytest.mark.parametrize(("previous", "state"), list(itertools.product(GroupState, GroupState)))
def test_every_pair(previous, state):
    group = ClassicGroup("g")
    group.state = previous
    if previous in EXPECTED[state]:
        group.transition_to(state, START_MS)
        assert (group.state, group.state_timestamp_ms) == (state, START_MS)
    else:
        with pytest.raises(AssertionError):
            group.transition_to(state, START_MS)
