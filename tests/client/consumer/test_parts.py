"""Subscriptions, statistics and hand-outs by themselves."""

import math
import re

import pytest

from drumbeat.client.consumer.handout import Handout
from drumbeat.client.consumer.partition_state import OffsetReset, PartitionState
from drumbeat.client.consumer.record_source import Reading, RecordSource
from drumbeat.client.consumer.subscription_state import SubscriptionState
from drumbeat.client.errors import IllegalStateError
from drumbeat.client.sampled import WINDOW_MS, Sampled
from drumbeat.client.values import OffsetAndMetadata, TopicPartition
from drumbeat.protocol.apis.fetch import PartitionData
from support.data_topics import batch

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def test_states_stay_with_partitions_that_stay():
    subscriptions = SubscriptionState(None)
    subscriptions.assign([ZERO])
    state = subscriptions.state(ZERO)
    state.seek(5)
    subscriptions.assign([ZERO, ONE])
    assert subscriptions.state(ZERO) is state
    assert subscriptions.consumed() == {ZERO: OffsetAndMetadata(5)}
    assert subscriptions.without_position() == [subscriptions.state(ONE)]
    version = state.version
    assert subscriptions.is_current(state, version)
    state.request_reset(OffsetReset.EARLIEST)
    assert not subscriptions.is_current(state, version)
    subscriptions.assign([ONE])
    subscriptions.assign([ZERO])
    assert subscriptions.state(ZERO) is not state


@pytest.mark.parametrize(
    ("first", "second"),
    [("topics", "assign"), ("assign", "pattern"), ("pattern", "topics"), ("topics", "pattern")],
)
def test_ways_to_subscribe_do_not_mix(first: str, second: str):
    subscriptions = SubscriptionState(None)
    ways = {
        "topics": lambda: subscriptions.subscribe(["t"]),
        "pattern": lambda: subscriptions.subscribe_pattern(re.compile("t")),
        "assign": lambda: subscriptions.assign([ZERO]),
    }
    ways[first]()
    with pytest.raises(IllegalStateError, match=r"unsubscribe\(\) lets you choose anew"):
        ways[second]()
    subscriptions.unsubscribe()
    ways[second]()


def test_a_pattern_is_for_whole_names():
    subscriptions = SubscriptionState(None)
    subscriptions.subscribe_pattern(re.compile("a."))
    assert [name for name in ("a", "ab", "abc", "cab") if subscriptions.matches(name)] == ["ab"]


def test_lag_and_lead():
    state = PartitionState(ZERO)
    assert (state.lag(is_read_committed=False), state.lead()) == (None, None)
    state.seek(5)
    state.high_watermark, state.last_stable_offset, state.log_start_offset = 12, 9, 2
    assert state.lag(is_read_committed=False) == 7
    assert state.lag(is_read_committed=True) == 4
    assert state.lead() == 3


def test_statistics_are_of_two_windows():
    sampled = Sampled(0)
    assert math.isnan(sampled.average(0))
    sampled.record(4, 0)
    sampled.record(8, WINDOW_MS)
    assert (sampled.average(WINDOW_MS), sampled.maximum(WINDOW_MS)) == (6, 8)
    assert sampled.minimum(WINDOW_MS) == 4
    assert sampled.rate(WINDOW_MS) == 12 / 30
    assert sampled.frequency(WINDOW_MS) == 2 / 30
    assert sampled.maximum(2 * WINDOW_MS) == 8
    assert sampled.minimum(2 * WINDOW_MS) == 8  # the first has gone
    assert math.isnan(sampled.maximum(3 * WINDOW_MS))
    assert (sampled.all_time, sampled.count) == (12, 2)


def test_a_handout_knows_what_was_taken():
    state = PartitionState(ZERO)
    state.seek(0)
    data = PartitionData(records=batch(*(b"%d" % n for n in range(5))))
    source = RecordSource(state, 0, data, Reading(False, True, None, None))
    handout = Handout(source, source.take(4))
    assert next(handout.iterator).value == b"0"
    handout.settle()
    assert state.position == 1
    assert next(handout.iterator).value == b"1"
    handout.recall()
    assert state.position == source.next_offset == 2
    assert list(handout.iterator) == []
    assert [record.value for record in source.take(9)] == [b"2", b"3", b"4"]
    handout.settle()  # of no importance any more
    assert state.position == 2
