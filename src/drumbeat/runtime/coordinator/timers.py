"""Deadlines of one shard, as an index in front of the session's own table; and whose turn it is.

The table (`Session.deadlines`) is the truth. The index holds one entry per key, which is looked
at again when its time has come: a heartbeat that moves a deadline into the future changes only
the table, so it costs the same with one member and with a hundred thousand. Nor does clearing a
deadline touch the index, which is made anew from the table when too much of it means nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush

from drumbeat.core.deadline_keys import DeadlineKey

EXPIRIES_PER_TURN = 20
_STALE_ENTRIES_MIN = 32  # fewer than these are not worth the work


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

    def due(self, now_ms: int) -> Iterator[DeadlineKey]:
        """The keys whose deadline has passed, each of them once; those that moved are put back.

        One that is set anew to be due at once has to wait for the next call: with an initial
        delay of 0, a join phase goes on as long as every turn of the loop brings new members.
        """
        seen: set[DeadlineKey] = set()
        while self._heap and self._heap[0][0] <= now_ms:
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
            if key in seen:
                self._push(key, at_ms)
                return
            seen.add(key)
            yield key

    def _push(self, key: DeadlineKey, at_ms: int) -> None:
        self._indexed[key] = at_ms
        heappush(self._heap, (at_ms, key))
        count = len(self._deadlines)
        if len(self._heap) - count > max(_STALE_ENTRIES_MIN, count // 4):
            self._index_anew()

    def _index_anew(self) -> None:
        """A rebalance leaves entries for minutes after its deadlines were cleared."""
        self._indexed = dict(self._deadlines)
        self._heap = [(at_ms, key) for key, at_ms in self._deadlines.items()]
        heapify(self._heap)


class Turns:
    """How many deadlines a node deals with in one turn of its event loop, in all its shards.

    Sessions end together when a host or a network goes. Nobody else should have to wait until
    the last of them has been dealt with.
    """

    def __init__(self, limit: int = EXPIRIES_PER_TURN) -> None:
        self._limit = self._left = limit

    def take(self) -> bool:
        """Whether one more is allowed in this turn."""
        if self._left == self._limit:
            asyncio.get_running_loop().call_soon(self._begin)
        if not self._left:
            return False
        self._left -= 1
        return True

    def _begin(self) -> None:
        self._left = self._limit
