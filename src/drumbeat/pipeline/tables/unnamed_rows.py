"""Rows that are done but for the names of topics.

Newer groups know topics by id, and the log may tell a name only after a row's end: with the first
commit, for example. Until then the row waits, so that it does not depend on how far was read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from drumbeat.pipeline.tables.group_changes import Topic
from drumbeat.pipeline.tables.group_history import GroupHistory, TopicLearned

WAITING_MAX: Final = 10_000  # per topic: nobody may ever commit in it


class UnnamedRow(NamedTuple):
    row: dict[str, Any]
    topics: frozenset[Topic]


class UnnamedRows:
    """The rows of a table that wait."""

    def __init__(self, history: GroupHistory) -> None:
        self._history = history
        self._waiting: dict[bytes, deque[UnnamedRow]] = {}  # by one of the topics without a name

    def __iter__(self) -> Iterator[UnnamedRow]:
        for rows in self._waiting.values():
            yield from rows

    def add(self, row: UnnamedRow, log_offset: int) -> Iterator[UnnamedRow]:
        """What waits no longer: this row, if the log has told all names; or one too many."""
        unknown = [
            topic
            for topic in row.topics
            if isinstance(topic, bytes) and self._history.topic_name(topic, log_offset) is None
        ]
        if not unknown:
            yield row
            return
        waiting = self._waiting.setdefault(min(unknown), deque())
        waiting.append(row)
        if len(waiting) > WAITING_MAX:
            yield waiting.popleft()

    def learn(self, learned: TopicLearned) -> Iterator[UnnamedRow]:
        """What waits no longer because of it."""
        for row in self._waiting.pop(learned.topic_id, ()):
            yield from self.add(row, learned.log_offset)
