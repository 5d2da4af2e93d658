"""What `__group_events` says about rebalances, where a cluster has that topic."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import pyarrow as pa

from drumbeat.core.events import GroupEventType
from drumbeat.pipeline.schemas import GROUP_EVENTS

_REQUIRED: Final = {"group_id": str, "type": str, "at_ms": int}
CAUSE_COLUMNS: Final = ("group_id", "type", "at_ms", "reason", "client_reason", "generation_id")


class Begun(NamedTuple):
    """Why and when a rebalance began."""

    at_ms: int
    reason: str | None
    client_reason: str | None
    generation_id: int | None  # that the group had until then


def is_event(value: bytes | None) -> bool:
    """Whether it can be a row: anybody may write to the topic."""
    try:
        document = json.loads(value or b"null")
    except ValueError:
        return False
    return isinstance(document, dict) and all(
        isinstance(document.get(name), kind) for name, kind in _REQUIRED.items()
    )


def read_group_events(values: Iterable[bytes]) -> pa.RecordBatch:
    """Values of the topic's records as `group_events`; what an event does not say is null."""
    names = GROUP_EVENTS.arrow_schema.names
    rows: list[dict[str, Any]] = []
    for value in values:
        document = json.loads(value)
        rows.append({name: document.get(name) for name in names} | {"value": value.decode()})
    return pa.RecordBatch.from_pylist(rows, schema=GROUP_EVENTS.arrow_schema)


class GroupEvents:
    """Rows of `group_events`, found by group and time. They may be added in any order.

    `asked` says of each group up to which time rows depend on its events.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch] = ()) -> None:
        self._begun: dict[str, list[Begun]] = {}  # by group, ascending
        self.asked: dict[str, int] = {}
        for batch in batches:
            self.add(batch)

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name).to_pylist() for name in CAUSE_COLUMNS]
        for group_id, event_type, *fields in zip(*columns, strict=True):
            if event_type == GroupEventType.REBALANCE_BEGUN:
                self._begun.setdefault(group_id, []).append(Begun(*fields))
        for begun in self._begun.values():
            begun.sort(key=_at_ms)

    def began(
        self, group_id: str, after_ms: int, until_ms: int, generations: range
    ) -> Begun | None:
        """The first rebalance of the group that began in that time, in one of these generations.

        A rebalance that starts anew before it is done is told again; the first one is why. Time
        alone does not tell: the last member goes, and another comes, within one millisecond.
        """
        self.asked[group_id] = max(until_ms, self.asked.get(group_id, 0))
        begun = self._begun.get(group_id, [])
        first = bisect_left(begun, after_ms, key=_at_ms)
        end = bisect_right(begun, until_ms, key=_at_ms)
        return next(
            (one for one in begun[first:end] if _is_among(one.generation_id, generations)), None
        )

    def count(self, group_id: str, until_ms: int) -> int:
        """How many rebalances of the group began by then."""
        return bisect_right(self._begun.get(group_id, []), until_ms, key=_at_ms)


def _is_among(generation_id: int | None, generations: range) -> bool:
    return generation_id is None or generation_id in generations


def _at_ms(begun: Begun) -> int:
    return begun.at_ms
