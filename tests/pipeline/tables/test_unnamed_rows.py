"""Rows wait for the names of their topics, but not for ever."""

from __future__ import annotations

from drumbeat.pipeline.tables import unnamed_rows
from drumbeat.pipeline.tables.group_history import GroupHistory, TopicLearned
from drumbeat.pipeline.tables.unnamed_rows import UnnamedRow, UnnamedRows

A, B = bytes([1]) * 16, bytes([2]) * 16


def row(number, *topics):
    return UnnamedRow({"number": number}, frozenset(topics))


def learn(history, learned):
    assert list(history.learn(learned)) == []
    return learned


def test_a_row_waits_for_all_of_its_topics():
    history = GroupHistory()
    rows = UnnamedRows(history)
    both, named = row(1, A, B), row(2, "orders")
    assert list(rows.add(both, 1)) == []
    assert list(rows.add(named, 2)) == [named]
    assert list(rows.learn(learn(history, TopicLearned(3, A, "a")))) == []
    assert list(rows) == [both]
    assert list(rows.learn(learn(history, TopicLearned(4, B, "b")))) == [both]
    assert list(rows) == []


def test_a_name_counts_from_where_the_log_tells_it():
    history = GroupHistory()
    learned = learn(history, TopicLearned(5, A, "a"))
    assert [history.topic_name(A, offset) for offset in (4, 5, 6)] == [None, "a", "a"]
    rows = UnnamedRows(history)
    assert list(rows.add(row(1, A), 4)) == []
    assert list(rows.learn(learned)) == [row(1, A)]


def test_the_oldest_row_goes_without_a_name_when_too_many_wait(monkeypatch):
    monkeypatch.setattr(unnamed_rows, "WAITING_MAX", 2)
    rows = UnnamedRows(GroupHistory())
    done = [list(rows.add(row(n, A), n)) for n in range(4)]
    assert done == [[], [], [row(0, A)], [row(1, A)]]
    assert list(rows) == [row(2, A), row(3, A)]
