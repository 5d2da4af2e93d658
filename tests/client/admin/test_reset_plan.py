"""Where each choice moves an offset, within what the partition holds."""

import pytest

from drumbeat.client.admin.reset_plan import (
    Bounds,
    CannotReset,
    OffsetChange,
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
    (ResetTo.current(), 5, KNOWN, 10),  # its record is gone
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
    assert plan(to, committed, {TP: bounds}) == [OffsetChange(TP, before, after)]


@pytest.mark.parametrize(
    ("to", "words"),
    [
        (ResetTo.shift(1), "t-0: this reset has no offset"),
        (ResetTo.group("g"), "group g has no offset"),
        (ResetTo.to_offsets({}), "no offset for it"),
    ],
)
def test_what_has_no_target_is_named(to: ResetTo, words: str):
    with pytest.raises(CannotReset, match=words):
        plan(to, {}, {TP: QUIET})


@pytest.mark.parametrize("line", ["t,0", "t,x,1", "t,0,1,2"])
def test_lines_that_are_no_offsets(line: str):
    with pytest.raises(CannotReset, match=r"is not topic,partition,offset"):
        ResetTo.lines([line])


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
