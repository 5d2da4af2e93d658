"""Small numbers for groups and partitions, so that numpy can hold what is known about each.

Numbers are given in the order of arrival and never taken back; they are nobody else's business.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.tables.builder import Bools, Ints

_LOW_BITS = 32


class Names:
    """Numbers for strings."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of_column(self, column: pa.Array) -> Ints:
        """One number per row; the column has no nulls."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes: Ints = column.indices.to_numpy(zero_copy_only=False)
        return self.of(column.dictionary.to_pylist())[codes]

    def of(self, names: Iterable[str]) -> Ints:
        known = self._numbers
        return np.array([known.setdefault(name, len(known)) for name in names], np.int64)


class Pairs:
    """Numbers for pairs of small numbers, many at a time."""

    def __init__(self) -> None:
        self._keys: Ints = np.empty(0, np.int64)  # ascending
        self._numbers: Ints = np.empty(0, np.int64)  # of these keys

    def of(self, high: Ints, low: Ints) -> Ints:
        keys = (high << _LOW_BITS) | low
        places, is_known = self._find(keys)
        if not is_known.all():
            self._insert(np.unique(keys[~is_known]))
            places, _ = self._find(keys)
        return self._numbers[places]

    def _find(self, keys: Ints) -> tuple[Ints, Bools]:
        if not len(self._keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return places, self._keys[places] == keys

    def _insert(self, keys: Ints) -> None:
        places = np.searchsorted(self._keys, keys)
        numbers = np.arange(len(self._keys), len(self._keys) + len(keys))
        self._keys = np.insert(self._keys, places, keys)
        self._numbers = np.insert(self._numbers, places, numbers)


class Slots:
    """A slot per (group, topic, partition), and a number per group."""

    def __init__(self) -> None:
        self.groups = Names()
        self._topics = Names()
        self._group_topics = Pairs()
        self._partitions = Pairs()

    def of_columns(self, groups: Ints, topics: pa.Array, partitions: Ints) -> Ints:
        return self._of(groups, self._topics.of_column(topics), partitions)

    def of_lists(self, group_ids: list[str], topics: list[str], partitions: list[int]) -> Ints:
        return self._of(
            self.groups.of(group_ids), self._topics.of(topics), np.array(partitions, np.int64)
        )

    def _of(self, groups: Ints, topics: Ints, partitions: Ints) -> Ints:
        return self._partitions.of(self._group_topics.of(groups, topics), partitions)
