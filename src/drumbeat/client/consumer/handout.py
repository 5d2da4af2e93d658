"""Records on their way to an application that takes them one by one.

The application advances a plain list iterator, which costs nothing per record; where it has got to
is worked out only when somebody asks. What it has not taken can be recalled at any time, from
another thread too: emptying a list iterator is one step for the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import length_hint

from drumbeat.client.consumer.record_source import RecordSource
from drumbeat.client.values import ConsumerRecord

NOTHING: Iterator[ConsumerRecord] = iter(())


class Handout:
    def __init__(self, source: RecordSource, records: list[ConsumerRecord]) -> None:
        self._source = source
        self.state = source.state
        self.records = records
        self.iterator = iter(records)

    def take_all(self) -> None:
        self._settle(len(self.records))

    def settle(self) -> None:
        """Set the partition's position to what was taken so far."""
        self._settle(len(self.records) - length_hint(self.iterator))

    def recall(self) -> None:
        """Take back what was not taken, and settle."""
        rest = list(self.iterator)
        self._settle(len(self.records) - len(rest))
        if rest:
            self._source.unread(len(rest))
            self.records = []

    def _settle(self, taken: int) -> None:
        state = self.state
        if state.position is None or not self.records:
            return
        if taken == len(self.records):
            state.advance(self._source.next_offset, self._source.leader_epoch)
        elif taken:
            last = self.records[taken - 1]
            state.advance(last.offset + 1, last.leader_epoch)
