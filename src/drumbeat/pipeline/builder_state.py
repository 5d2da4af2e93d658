"""What builders know after some records, as a file, and whether it still holds.

A state is only taken up if going on from it gives the very rows that the whole log would give. So
it carries what it has assumed: which offsets were read, where topics ended, and which events there
were. If one of these has changed, or the code has, the partition is derived from its beginning.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import IO, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from drumbeat.pipeline.builders import CHUNK_RECORDS, Builders
from drumbeat.pipeline.decode.batches import OffsetRange
from drumbeat.pipeline.lag.watermarks import Watermarks
from drumbeat.pipeline.offset_ranges import outside
from drumbeat.pipeline.tables.group_events import GroupEvents

FORMAT: Final = 1
_MAGIC: Final = b"drumbeat builders"
_CODE: Final = ("core", "protocol", "pipeline")  # whatever rows may depend on
_WATERMARKS: Final = "watermarks"
_EVENTS: Final = "events"
_PACKAGES: Final = frozenset({"collections", "drumbeat", "functools", "numpy", "pyarrow"})
_BUILTINS: Final = frozenset(
    {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "object", "range"}
    | {"set", "slice", "str", "tuple"}
)
_UNREADABLE: Final = (
    OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError,
    TypeError, ValueError, pa.ArrowException,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Which offsets of a partition were read, and where its log began at that time."""

    covered: tuple[OffsetRange, ...]
    log_start: int | None

    def through(self, last_offset: int) -> Read:
        everything = OffsetRange(0, last_offset + 1)
        within = (part.within(everything) for part in self.covered)
        return replace(self, covered=tuple(part for part in within if part.start < part.end))

    def holds(self, now: Read, last_offset: int) -> bool:
        """Whether the same offsets count as read, and the same reason is known for all others."""
        if now.through(last_offset).covered != self.covered:
            return False
        starts = (self.log_start, now.log_start)
        floor = 0 if None in starts else min(start for start in starts if start is not None)
        holes = outside(OffsetRange(floor, last_offset + 1), self.covered)
        return self.log_start == now.log_start or not any(holes)


class Circumstances(NamedTuple):
    """What builders ask besides the log. They are not part of a state, but handed to it."""

    read: Read
    events: GroupEvents
    watermarks: Watermarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What a state takes for granted."""

    read: Read
    ends: Mapping[tuple[str, int], int]  # samples, of places that are not sampled at present
    events: Mapping[str, tuple[int, int]]  # by group: a time, and how many there were by then

    def holds(self, now: Circumstances, last_offset: int) -> bool:
        return (
            self.read.holds(now.read, last_offset)
            and all(len(now.watermarks[place]) == n for place, n in self.ends.items())
            and all(now.events.count(group, t) == n for group, (t, n) in self.events.items())
        )


class Resumed(NamedTuple):
    builders: Builders
    assumed: Assumed


def is_settled(builders: Builders, watermarks: Watermarks) -> bool:
    """Whether no later sample can change a row that has been built.

    A topic that is not sampled any more is not waited for: should it come back, all is derived
    anew.
    """
    return all(
        series.newest_ms >= builders.newest_ms and series.is_paced
        for series in (watermarks[place] for place in tuple(watermarks.asked))
        if _is_sampled(watermarks, series.newest_ms)
    )


def write_state(
    path: str, builders: Builders, now: Circumstances, before: Assumed | None, fingerprint: str
) -> None:
    """Durably. `before` is what the state assumed that the builders went on from."""
    assumed = _assumed(builders, now, before)
    with open(path, "wb") as file:
        file.write(_header(fingerprint))
        _Pickler(file, pickle.HIGHEST_PROTOCOL).dump((assumed, builders))
        file.flush()
        os.fsync(file.fileno())


def read_state(path: str, now: Circumstances, fingerprint: str) -> Resumed | None:
    """None for what cannot be read, was written by other code, or does not hold any more."""
    try:
        with open(path, "rb") as file:
            if file.readline() != _header(fingerprint):
                return None
            assumed, builders = _Unpickler(file, now).load()
    except _UNREADABLE:
        return None
    return Resumed(builders, assumed) if assumed.holds(now, builders.last_offset) else None


@lru_cache(maxsize=1)
def code_fingerprint() -> str:
    """Equal for equal code. What is derived with other code is derived anew."""
    total = hashlib.sha256(repr((CHUNK_RECORDS, sys.version, np.__version__)).encode())
    total.update(pa.__version__.encode())
    for package in _CODE:
        for name, text in sorted(_sources(files("drumbeat") / package, package)):
            total.update(name.encode() + text)
    return total.hexdigest()


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, path)
        elif entry.name.endswith(".py"):
            yield path, entry.read_bytes()


def _header(fingerprint: str) -> bytes:
    return b"%s %d %s\n" % (_MAGIC, FORMAT, fingerprint.encode())


def _assumed(builders: Builders, now: Circumstances, before: Assumed | None) -> Assumed:
    watermarks, events = now.watermarks, now.events
    places = {*watermarks.asked, *(before.ends if before is not None else ())}
    sampled = {place: watermarks[place] for place in places}
    asked = {} if before is None else {group: until for group, (until, _) in before.events.items()}
    asked |= events.asked
    return Assumed(
        read=now.read.through(builders.last_offset),
        ends={
            place: len(series)
            for place, series in sampled.items()
            if not _is_sampled(watermarks, series.newest_ms)
        },
        events={group: (until, events.count(group, until)) for group, until in asked.items()},
    )


def _is_sampled(watermarks: Watermarks, newest_ms: int) -> bool:
    return bool(newest_ms) and newest_ms == watermarks.newest_ms


class _Pickler(pickle.Pickler):
    def persistent_id(self, value: Any) -> str | None:
        if isinstance(value, Watermarks):
            return _WATERMARKS
        return _EVENTS if isinstance(value, GroupEvents) else None

    def reducer_override(self, value: Any) -> Any:
        # By value. Python 3.11.2 would write a call of `getattr`, which has no place in a state.
        return (type(value), (value.value,)) if isinstance(value, Enum) else NotImplemented


class _Unpickler(pickle.Unpickler):
    """Takes nothing but values of the few packages that builders are made of."""

    def __init__(self, file: IO[bytes], now: Circumstances) -> None:
        super().__init__(file)
        self._given = {_WATERMARKS: now.watermarks, _EVENTS: now.events}

    def persistent_load(self, name: str) -> Any:
        return self._given[name]

    def find_class(self, module: str, name: str) -> Any:
        package = module.partition(".")[0]
        if package in _PACKAGES or (package == "builtins" and name in _BUILTINS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a state")
