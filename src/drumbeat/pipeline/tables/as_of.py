"""Values that change along the log, looked up as of a place in it, many rows at a time."""

from __future__ import annotations

import numpy as np

from drumbeat.pipeline.tables.builder import NONE, Ints


class Changes:
    """What changes within a batch: for slot `slots[n]` at `places[n]`, to `values[n]`."""

    def __init__(self, slots: Ints, places: Ints, values: Ints) -> None:
        order = np.lexsort((np.arange(len(slots)), places, slots))
        self.slots, self.places, self.values = slots[order], places[order], values[order]


class PerSlot:
    """A row of numbers per slot, as of the end of what was read; NONE until it is set."""

    def __init__(self, width: int) -> None:
        self._rows: Ints = np.full((0, width), NONE, np.int64)

    def get(self, slots: Ints) -> Ints:
        self._grow(slots)
        return self._rows[slots]

    def set(self, slots: Ints, rows: Ints) -> None:
        self._grow(slots)
        self._rows[slots] = rows

    def get_as_of(self, slots: Ints, places: Ints, changes: Changes) -> Ints:
        """The rows at `places`, a change at the same place included; then take the changes in."""
        rows = self.get(slots)
        if len(changes.slots) and len(slots):
            changed, wanted = ranks(changes.slots, changes.places, slots, places)
            newest = np.searchsorted(changed, wanted, "right") - 1
            is_changed = (newest >= 0) & (changes.slots[newest] == slots)
            rows[is_changed] = changes.values[newest[is_changed]]
        if len(changes.slots):
            is_last = np.append(changes.slots[1:] != changes.slots[:-1], True)
            self.set(changes.slots[is_last], changes.values[is_last])
        return rows

    def _grow(self, slots: Ints) -> None:
        needed = int(slots.max()) + 1 if len(slots) else 0
        if needed > len(self._rows):
            width = self._rows.shape[1]
            room = np.full((max(needed, 2 * len(self._rows)), width), NONE, np.int64)
            room[: len(self._rows)] = self._rows
            self._rows = room


def ranks(slots: Ints, places: Ints, other_slots: Ints, other_places: Ints) -> tuple[Ints, Ints]:
    """Both as single numbers that sort by slot and then by place, for searchsorted."""
    first = min(places.min(), other_places.min())
    span = max(places.max(), other_places.max()) - first + 1
    return slots * span + (places - first), other_slots * span + (other_places - first)
