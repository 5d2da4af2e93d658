"""Headers of many records: the n-th header of all records that have so many is read at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.decode.arena import Arena, Flags, Ints

_HEADER_BYTES_MIN: Final = 2
_NOWHERE: Final = -1


class HeaderIndex(NamedTuple):
    """One entry per header, in order. A null value has length -1."""

    record: Ints  # which of the records it belongs to
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints


class _Step(NamedTuple):
    found: HeaderIndex
    after: Ints


def index_headers(arena: Arena, positions: Ints, ends: Ints) -> tuple[HeaderIndex, Ints]:
    """The headers that begin at each position with their count, and the position behind the last.

    That is negative where counts and lengths make no sense; where they lead to another place than
    `ends`, where the record is to end, the caller sees it.
    """
    counts, after = arena.varints(positions)
    is_bad: Flags = (counts < 0) | (counts * _HEADER_BYTES_MIN > ends - after)
    records = np.flatnonzero((counts > 0) & ~is_bad)
    steps: list[HeaderIndex] = []
    while records.size:
        found, after[records] = _read(arena, records, after[records])
        steps.append(found)
        has_more = counts[records] > len(steps)
        is_bad[records] |= (
            (found.key_length < 0)
            | (found.value_length < -1)
            | (has_more & (after[records] >= ends[records]))
        )
        records = records[has_more & ~is_bad[records]]
    after[is_bad] = _NOWHERE
    return _in_order(steps), after


def _read(arena: Arena, records: Ints, positions: Ints) -> _Step:
    key_length, key_start = arena.varints(positions)
    value_length, value_start = arena.varints(key_start + np.maximum(key_length, 0))
    found = HeaderIndex(records, key_start, key_length, value_start, value_length)
    return _Step(found, value_start + np.maximum(value_length, 0))


def _in_order(steps: list[HeaderIndex]) -> HeaderIndex:
    if not steps:
        return HeaderIndex(*[np.zeros(0, np.int64)] * len(HeaderIndex._fields))
    columns = [np.concatenate(parts) for parts in zip(*steps, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return HeaderIndex(*(column[order] for column in columns))
