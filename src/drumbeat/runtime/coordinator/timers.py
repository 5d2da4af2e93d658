"""Deadlines of one shard, as an index in front of the session's own table.

The table (`Session.deadlines`) is the truth. The index holds one entry per key, which is looked
at again when its time has come: a heartbeat that moves a deadline into the future changes only
the table, so it costs the same with one member and with a hundred thousand.
"""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from drumbeat.core.deadline_keys import DeadlineKey


class Timers:
    def __init__(self, deadlines: Mapping[DeadlineKey, int]) -> None:
        self._deadlines = deadlines
        self._heap: list[tuple[int, DeadlineKey]] = []
        self._indexed: dict[DeadlineKey, int] = {}

    def note(self, key: DeadlineKey, at_ms: int) -> bool:
        """A deadline was set. True if it is now the first to come."""
        indexed_ms = self._indexed.get(key)
        if indexed_ms is not None and indexed_ms <= at_ms:
            return False
        self._push(key, at_ms)
        return self._heap[0][0] == at_ms

    def next_ms(self) -> int | None:
        """When to look again; None if there is no deadline."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int, limit: int) -> Iterator[DeadlineKey]:
        """Up to `limit` keys whose deadline has passed; those that moved are put back."""
        while self._heap and self._heap[0][0] <= now_ms and limit > 0:
            indexed_ms, key = heappop(self._heap)
            if self._indexed.get(key) != indexed_ms:
                continue  # an earlier entry took this one's place
            del self._indexed[key]
            at_ms = self._deadlines.get(key)
            if at_ms is None:
                continue
            if at_ms > now_ms:
                self._push(key, at_ms)
                continue
            limit -= 1
            yield key

    def _push(self, key: DeadlineKey, at_ms: int) -> None:
        self._indexed[key] = at_ms
        heappush(self._heap, (at_ms, key))
