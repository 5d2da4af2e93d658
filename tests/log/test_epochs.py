"""Epoch history: who began where, and where each ended."""

import pytest

from drumbeat.log.epochs import EpochHistory
from drumbeat.log.port import EpochEntry

HISTORY = [(0, 0), (2, 10), (5, 30)]

ENDS = """
epoch  answer
-1     (-1, -1)
0      (0, 10)
1      (0, 10)
2      (2, 30)
3      (2, 30)
4      (2, 30)
5      (5, 42)
6      (-1, -1)
"""


def history(entries=HISTORY):
    return EpochHistory(EpochEntry(*entry) for entry in entries)


@pytest.mark.parametrize("row", ENDS.strip().split("\n")[1:])
def test_where_an_epoch_ended(row):
    epoch, answer = row.split(maxsplit=1)
    assert repr(tuple(history().end_offset_for(int(epoch), 42))) == answer


def test_an_epoch_older_than_all_known_ends_where_they_begin():
    assert history(HISTORY[1:]).end_offset_for(1, 42) == (1, 10)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ((6, 40), [*HISTORY, (6, 40)]),
        ((6, 30), [*HISTORY[:2], (6, 30)]),  # the one before wrote nothing
        ((5, 31), [*HISTORY[:2], (5, 31)]),
        ((1, 5), [(0, 0), (1, 5)]),
        ((0, 0), [(0, 0)]),
    ],
)
def test_a_new_entry_replaces_what_contradicts_it(entry, expected):
    subject = history()
    subject.assign(EpochEntry(*entry))
    assert subject.entries == expected


@pytest.mark.parametrize(
    ("epoch", "offset", "expected"),
    [(4, 50, HISTORY), (5, 50, HISTORY), (7, 50, [*HISTORY, (7, 50)]), (-1, 9, HISTORY)],
)
def test_batches_teach_only_newer_epochs(epoch, offset, expected):
    subject = history()
    subject.note(epoch, offset)
    assert subject.entries == expected


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, HISTORY),
        (9, [(0, 9), (2, 10), (5, 30)]),
        (10, [(2, 10), (5, 30)]),
        (15, [(2, 15), (5, 30)]),
        (99, [(5, 99)]),
    ],
)
def test_truncating_from_the_start_keeps_the_epoch_that_holds_it(start, expected):
    subject = history()
    subject.truncate_from_start(start)
    assert subject.entries == expected


@pytest.mark.parametrize(
    ("end", "expected"), [(42, HISTORY), (30, HISTORY), (29, HISTORY[:2]), (0, HISTORY[:1])]
)
def test_truncating_from_the_end_keeps_what_begins_in_the_log(end, expected):
    subject = history()
    subject.truncate_from_end(end)
    assert subject.entries == expected


def test_an_empty_history_knows_no_epoch():
    assert EpochHistory().latest == -1
    assert EpochHistory().end_offset_for(0, 5) == (-1, -1)
    with pytest.raises(ValueError, match="negative"):
        EpochHistory([EpochEntry(-1, 0)])
