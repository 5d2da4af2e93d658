"""Where the records of many batches are, and their keys and values in them.

Only the chain of record lengths has to be followed in order: its k-th step is taken in all batches
at once, and in plain Python once few batches have that many records. All fields are then read for
all records at once. What looks wrong is left to the protocol's own reader, which decides and says
why.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from drumbeat.pipeline.decode.arena import VARLONG_BYTES_MAX, Arena, Flags, Ints
from drumbeat.pipeline.decode.errors import BadBatch
from drumbeat.pipeline.decode.headers import Batches
from drumbeat.pipeline.decode.record_headers import index_headers
from drumbeat.pipeline.decode.sections import Sections
from drumbeat.protocol.record_batch import BatchHeader, CorruptBatch
from drumbeat.protocol.record_section import read_rows
from drumbeat.protocol.varint import MalformedVarint, read_varint

# Below this many batches a step of numpy costs more than the same steps in Python.
BATCHES_PER_STEP_MIN: Final = 64
_RECORD_BYTES_MIN: Final = 7
_NO_HEADERS: Final = 0
_PAIR: Final = np.dtype("<u2")


class RecordIndex(NamedTuple):
    """One entry per record. A null key or value has length -1."""

    batch: Ints  # which of the batches it is in
    offset_delta: Ints
    timestamp_delta: Ints
    key_start: Ints
    key_length: Ints
    value_start: Ints
    value_length: Ints

    def part(self, chosen: slice | Flags) -> RecordIndex:
        return RecordIndex(*(column[chosen] for column in self))


class Indexed(NamedTuple):
    """The records of sections up to the first batch that is `bad`, if there is one."""

    records: RecordIndex
    bad: BadBatch | None


def index_records(sections: Sections) -> Indexed:
    counts = sections.batches.ints("record_count")
    sizes = sections.ends - sections.starts
    # A count that the section cannot hold is not to become the size of anything.
    crowded = np.flatnonzero(counts * _RECORD_BYTES_MIN > sizes)[:1]
    believed = int(crowded[0]) if crowded.size else len(counts)
    index, doubtful = _index(sections, counts[:believed])
    for place in (*doubtful.tolist(), *crowded.tolist()):
        problem = _problem(sections, place)
        if problem is not None:
            bad = BadBatch(int(sections.batches.positions[place]), problem)
            return Indexed(index.part(slice(int(counts[:place].sum()))), bad)
    return Indexed(index, sections.bad)


def _index(sections: Sections, counts: Ints) -> tuple[RecordIndex, Ints]:
    """All records, and the batches among whose records something looks wrong."""
    arena = sections.arena
    batch = np.repeat(np.arange(len(counts)), counts)
    length_at = _follow_lengths(sections, counts)
    length, start = arena.varints(length_at)
    timestamp_delta, offset_at = arena.varints(start + 1, VARLONG_BYTES_MAX)
    offset_delta, key_length_at = arena.varints(offset_at)
    key_length, key_start = arena.varints(key_length_at)
    value_length, value_start = arena.varints(key_start + np.maximum(key_length, 0))
    headers_at = value_start + np.maximum(value_length, 0)
    is_doubtful = (
        (_headers_end(arena, headers_at, start + length) != start + length)
        | (start + length != _ends(sections, counts, length_at))
        | (key_length < -1)
        | (value_length < -1)
        | (offset_at - start > VARLONG_BYTES_MAX)  # the widest may be too wide
        | _is_out_of_order(sections.batches, batch, offset_delta)
    )
    index = RecordIndex(
        batch, offset_delta, timestamp_delta, key_start, key_length, value_start, value_length
    )
    stuffed = np.flatnonzero((counts == 0) & (sections.starts < sections.ends)[: len(counts)])
    return index, np.union1d(batch[is_doubtful], stuffed)


def _headers_end(arena: Arena, positions: Ints, ends: Ints) -> Ints:
    """Where the headers of each record end; few topics have records with any."""
    after: Ints = positions + 1
    rows = np.flatnonzero(arena.byte(positions) != _NO_HEADERS)
    if rows.size:
        _, after[rows] = index_headers(arena, positions[rows], ends[rows])
    return after


def _ends(sections: Sections, counts: Ints, length_at: Ints) -> Ints:
    """Where each record has to end: where the next begins, or the section ends."""
    ends = np.empty_like(length_at)
    ends[:-1] = length_at[1:]
    has_records = counts > 0
    ends[np.cumsum(counts)[has_records] - 1] = sections.ends[: len(counts)][has_records]
    return ends


def _is_out_of_order(batches: Batches, batch: Ints, offset_delta: Ints) -> Flags:
    is_wrong = (offset_delta < 0) | (offset_delta > batches.ints("last_offset_delta")[batch])
    is_wrong[1:] |= (offset_delta[1:] <= offset_delta[:-1]) & (batch[1:] == batch[:-1])
    return is_wrong


def _problem(sections: Sections, place: int) -> str | None:
    header = BatchHeader(*sections.batches.headers[place].item())
    section = sections.arena.bytes(int(sections.starts[place]), int(sections.ends[place]))
    try:
        rows = read_rows(section, 0, header)
    except CorruptBatch as error:
        return str(error)
    if rows and rows[-1][0] > header.last_offset:
        return f"record at offset {rows[-1][0]} in a batch up to {header.last_offset}"
    return None


# -- the chain of lengths --------------------------------------------------------------------------


def _follow_lengths(sections: Sections, counts: Ints) -> Ints:
    """Where each record begins, if the lengths before it are right."""
    order = np.argsort(-counts, kind="stable")  # batches with more records to come stand in front
    counts_down = counts[order]
    rows = (np.cumsum(counts) - counts)[order]
    at = sections.starts[order]
    found = np.zeros(int(counts.sum()), np.int64)
    working = _working(counts_down, 0)
    found[rows[:working]] = at[:working]
    together = 1
    if len(order) >= BATCHES_PER_STEP_MIN:
        together = max(together, int(counts_down[BATCHES_PER_STEP_MIN - 1]))
    stride = _Stride(sections.arena)
    for step in range(1, together):
        working = _working(counts_down, step)
        at[:working] += stride.at(at[:working])
        found[rows[:working] + step] = at[:working]
    for place in range(_working(counts_down, together)):
        row, stop = int(rows[place]) + together, int(rows[place] + counts_down[place])
        found[row:stop] = _follow_alone(sections.arena.data, int(at[place]), stop - row)
    return found


def _working(counts_down: Ints, step: int) -> int:
    """How many batches have more than `step` records."""
    return len(counts_down) - int(np.searchsorted(counts_down[::-1], step, "right"))


class _Stride:
    """From the beginning of a record to that of the next.

    What the first two bytes say comes from a table: of the calls into numpy that a step takes,
    few batches would pay each one dearly.
    """

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._pairs = arena.everywhere(_PAIR)

    def at(self, positions: Ints) -> Ints:
        pairs = self._pairs[np.minimum(positions, self._arena.size)]
        strides: Ints = _strides()[pairs]
        if not strides.all():
            length, start = self._arena.varints(positions)
            return start + np.maximum(length, 0) - positions
        return strides


@cache
def _strides() -> Ints:
    """By the first two bytes of a record; 0 if its length takes more."""
    pairs = np.arange(1 << 16)
    low, high = pairs & 0xFF, pairs >> 8
    two_bytes = np.where(high < 128, 2 + (high << 6 | (low & 0x7F) >> 1), 0)
    return np.where(low < 128, 1 + (low >> 1), two_bytes)


def _follow_alone(data: bytearray, position: int, count: int) -> list[int]:
    """Where each of the `count` records behind the one at `position` begins."""
    found: list[int] = []
    try:
        for _ in range(count):
            low, high = data[position], data[position + 1]
            if low < 128:
                position += 1 + (low >> 1)
            elif high < 128:  # lengths of one or two bytes are not worth a call
                position += 2 + ((high << 6) | (low & 0x7F) >> 1)
            else:
                length, start = read_varint(data, position)
                position = start + length
            found.append(position)
    except (IndexError, MalformedVarint):
        found += [0] * (count - len(found))  # which no record before it leads to
    return found
