"""Where each choice moves an offset, within what the partition holds."""

import pytest

from drumbeat.client.admin.reset_plan import (
    Bounds,
    CannotReset,
    ResetTo,
    as_lines,
    plan,
)
from drumbeat.client.values import TopicPartition

TP = TopicPartition("t", 0)
KNOWN = Bounds(earliest=10, latest=100, at_timestamp=42, of_other_group=77)
QUIET = Bounds(earliest=10, latest=100)

# choice, committed before, what is known -> after
CASES = [
    (ResetTo.earliest(), 50, KNOWN, 10),
    (ResetTo.latest(), 50, KNOWN, 100),
    (ResetTo.current(), 50, KNOWN, 50),
    (ResetTo.current(), None, KNOWN, 100),
    (ResetTo.current(), 5, KNOWN, 5),  # its record is gone, but it is where it is
    (ResetTo.offset(60), 50, KNOWN, 60),
    (ResetTo.offset(3), 50, KNOWN, 10),
    (ResetTo.offset(300), None, KNOWN, 100),
    (ResetTo.shift(5), 50, KNOWN, 55),
    (ResetTo.shift(-5), 50, KNOWN, 45),
    (ResetTo.shift(-500), 50, KNOWN, 10),
    (ResetTo.timestamp(1), 50, KNOWN, 42),
    (ResetTo.timestamp(1), 50, QUIET, 100),  # nothing so late
    (ResetTo.duration(1), 50, KNOWN, 42),
    (ResetTo.to_offsets({TP: 61}), 50, KNOWN, 61),
    (ResetTo.lines(["t,0,62", "", "other,1,5"]), None, KNOWN, 62),
    (ResetTo.group("g"), 50, KNOWN, 77),
]


@pytest.mark.parametrize(("to", "before", "bounds", "after"), CASES)
def test_choices(to: ResetTo, before: int | None, bounds: Bounds, after: int):
    committed = {} if before is None else {TP: before}
    assert [row[:3] for row in plan(to, committed, {TP: bounds})] == [(TP, before, after)]


@pytest.mark.parametrize(
    ("to", "bounds", "note"),
    [
        (ResetTo.offset(60), KNOWN, ""),
        (ResetTo.offset(3), KNOWN, "3 is before the first offset"),
        (ResetTo.shift(500), KNOWN, "550 is beyond the end"),
        (ResetTo.timestamp(1), KNOWN, ""),
        (ResetTo.timestamp(1), QUIET, "no record is so late: the end"),
        (ResetTo.current(), KNOWN, ""),
    ],
)
def test_a_target_that_was_not_asked_for_is_explained(to: ResetTo, bounds: Bounds, note: str):
    assert [row.note for row in plan(to, {TP: 50}, {TP: bounds})] == [note]


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (ResetTo.shift(1), "t-0: nothing is committed that could be shifted"),
        (ResetTo.group("g"), "group g has committed nothing for it"),
        (ResetTo.to_offsets({}), "no offset is given for it"),
    ],
)
def test_what_has_no_target_is_named(to: ResetTo, words: str):
    with pytest.raises(CannotReset, match=words):
        plan(to, {}, {TP: QUIET})


@pytest.mark.parametrize("line", ["t,0", "t,x,1", "a,b,t,0,1"])
def test_lines_that_are_no_offsets(line: str):
    with pytest.raises(CannotReset, match=r"is not topic,partition,offset"):
        ResetTo.lines([line])


def test_lines_of_several_groups_count_for_their_own():
    lines = ["g,t,0,1", '"h,1",t,0,2', "g,t,1,3"]
    assert ResetTo.lines(lines, "g").offsets == {TP: 1, TopicPartition("t", 1): 3}
    assert ResetTo.lines(lines, "h,1").offsets == {TP: 2}
    with pytest.raises(CannotReset, match="no offsets for group x"):
        ResetTo.lines(lines, "x")


@pytest.mark.parametrize(
    ("to", "timestamp"),
    [(ResetTo.timestamp(7), 7), (ResetTo.duration(100), 900), (ResetTo.latest(), None)],
)
def test_times_to_look_up(to: ResetTo, timestamp: int | None):
    assert to.timestamp_ms(now_ms=1000) == timestamp


def test_rows_are_sorted_and_can_be_written_and_read():
    tps = [TopicPartition("b", 1), TopicPartition("a", 2), TopicPartition("a", 1)]
    rows = plan(ResetTo.latest(), {}, dict.fromkeys(tps, KNOWN))
    assert as_lines(rows) == ["a,1,100", "a,2,100", "b,1,100"]
    assert ResetTo.lines(as_lines(rows)).offsets == dict.fromkeys(tps, 100)
