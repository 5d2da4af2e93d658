"""Tasks and limits: nothing is read twice, nothing left out, nobody starves."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.client.values import TopicPartition
from drumbeat.pipeline.sources.broker_ranges import limit_ends, plan_inputs

SIZES = st.lists(st.integers(0, 1000), min_size=1, max_size=8)


def between(sizes):
    """Starts and ends of partitions with so many offsets."""
    starts = {TopicPartition("t", number): 100 * number for number in range(len(sizes))}
    ends = {tp: start + size for (tp, start), size in zip(starts.items(), sizes, strict=True)}
    return starts, ends


def offsets(inputs):
    return [
        (topic_range.tp, offset)
        for topic_range in (each.value for each in inputs)
        for offset in range(topic_range.start, topic_range.end)
    ]


@given(SIZES, st.one_of(st.none(), st.integers(1, 40)))
def test_tasks_have_every_offset_once(sizes, min_partitions):
    starts, ends = between(sizes)
    inputs = plan_inputs(starts, ends, min_partitions)
    assert offsets(inputs) == [
        (tp, offset) for tp, end in ends.items() for offset in range(starts[tp], end)
    ]
    assert len(inputs) >= min(min_partitions or 0, sum(sizes))
    assert all(each.value.start < each.value.end for each in inputs)


@given(SIZES, st.integers(1, 3000))
def test_a_limit_is_shared_out(sizes, limit):
    starts, ends = between(sizes)
    limited = limit_ends(starts, ends, limit)
    taken = {tp: limited[tp] - starts[tp] for tp in ends}
    assert sum(taken.values()) <= limit + sum(size > 0 for size in sizes)
    assert all(0 <= taken[tp] <= ends[tp] - starts[tp] for tp in ends)
    assert all(taken[tp] > 0 for tp in ends if ends[tp] > starts[tp])


def test_a_limit_beyond_what_there_is_changes_nothing():
    starts, ends = between([3, 4])
    assert limit_ends(starts, ends, 7) == ends


def test_large_partitions_get_more_tasks():
    starts, ends = between([900, 100, 0])
    tasks = [each.value.tp.partition for each in plan_inputs(starts, ends, 10)]
    assert (tasks.count(0), tasks.count(1), tasks.count(2)) == (9, 1, 0)
