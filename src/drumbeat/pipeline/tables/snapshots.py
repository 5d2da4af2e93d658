"""`group_state_snapshots`: the state of every group that changed, every few minutes of the log.

The newest rows of all groups up to a moment are the whole state at that moment, so that a state in
between takes a replay of a few minutes and not of the whole log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from drumbeat.core.state import State
from drumbeat.pipeline.schemas import GROUP_STATE_SNAPSHOTS
from drumbeat.pipeline.tables.builder import (
    NONE,
    LogPartition,
    TableBatch,
    batch_of_rows,
    int_column,
)
from drumbeat.pipeline.tables.coverage import Coverage
from drumbeat.pipeline.tables.replay import Replay
from drumbeat.pipeline.tables.state_json import group_json, restore_group

INTERVAL_MS: Final = 15 * 60 * 1_000


class Snapshots:
    """One snapshot at every multiple of `interval_ms` that the log gets past."""

    def __init__(self, source: LogPartition, interval_ms: int = INTERVAL_MS) -> None:
        assert interval_ms > 0
        self._source = source
        self._interval_ms = interval_ms
        self._coverage = Coverage(source)
        self._replay = Replay()
        self._changed: dict[str, None] = {}  # since the snapshot before
        self._newest_ts = NONE

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableBatch]:
        if not len(batch):
            return
        list(self._coverage.feed(batch))
        newest = np.maximum.accumulate(int_column(batch, "append_ts")).clip(min=self._newest_ts)
        intervals = newest // self._interval_ms
        before = self._newest_ts // self._interval_ms
        starts = np.flatnonzero(np.diff(intervals, prepend=before) > 0).tolist()
        for start, end in pairwise(sorted({0, *starts, len(batch)})):
            if start in starts:
                yield from self._snapshot(int(intervals[start]) * self._interval_ms)
                self._changed.clear()
            touched = self._replay.feed(batch.slice(start, end - start))
            self._changed |= dict.fromkeys(sorted(touched))
        self._newest_ts = int(newest[-1])

    def finish(self) -> Iterator[TableBatch]:
        """What changed since the last snapshot, as of the end of the log."""
        yield from self._snapshot(self._newest_ts + 1)

    def __getstate__(self) -> dict[str, Any]:
        """The state's own values cannot be pickled; their JSON can."""
        state = self._replay.state
        group_ids = dict.fromkeys((*state.groups, *state.offsets))
        pending = (group for by_group in state.pending_offsets.values() for group in by_group)
        groups = {
            group: group_json(state, group) for group in dict.fromkeys((*group_ids, *pending))
        }
        kept = {name: value for name, value in self.__dict__.items() if name != "_replay"}
        return kept | {"groups": groups, "log_offset": self._replay.log_offset}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        groups, log_offset = kept.pop("groups"), kept.pop("log_offset")
        self.__dict__.update(kept)
        self._replay = Replay(restored(groups.items()))
        self._replay.log_offset = log_offset

    def _snapshot(self, as_of: int) -> Iterator[TableBatch]:
        log_offset = self._replay.log_offset
        is_complete = self._coverage.is_complete(NONE, log_offset)
        rows = (
            {
                "log_offset": log_offset,
                "as_of": as_of,
                "group_id": group_id,
                "state": group_json(self._replay.state, group_id),
                "complete": is_complete,
            }
            for group_id in self._changed
        )
        yield from batch_of_rows(GROUP_STATE_SNAPSHOTS, self._source, rows)


def restored(groups: Iterable[tuple[str, str | None]]) -> State:
    """The state of groups by id and JSON; null for those that are gone."""
    state = State()
    for group_id, text in groups:
        if text is not None:
            restore_group(state, group_id, text)
    return state
