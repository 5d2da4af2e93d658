"""The state of groups at any moment, what changed between two, and the way back.

A moment is a prefix of the log: everything before the first record that was written later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from drumbeat.core.state import Group, Offsets, State
from drumbeat.pipeline.tables.builder import NONE, int_column
from drumbeat.pipeline.tables.replay import Replay
from drumbeat.pipeline.tables.snapshots import restored


class Difference(StrEnum):
    GROUP_ADDED = "group_added"
    GROUP_REMOVED = "group_removed"
    GENERATION = "generation"
    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    OFFSET_ADDED = "offset_added"
    OFFSET_REMOVED = "offset_removed"
    OFFSET_MOVED = "offset_moved"


class Changed(NamedTuple):
    group_id: str
    difference: Difference
    topic: str | None = None
    partition: int | None = None
    member_id: str | None = None
    before: int | None = None  # generation, or committed offset
    after: int | None = None


def state_at(
    batches: Iterable[pa.RecordBatch], at_ms: int, snapshots: Iterable[pa.RecordBatch] = ()
) -> State:
    """The state of one log partition after everything that was written up to `at_ms`.

    With `group_state_snapshots` of that partition, `batches` may start at the record after the
    newest one that is usable (`usable_snapshot` says which), and are skipped up to there otherwise.
    """
    replay, replayed = _start(snapshots, at_ms)
    for batch in batches:
        is_new = int_column(batch, "log_offset") > replayed
        is_late = int_column(batch, "append_ts") > at_ms
        if not (is_late & is_new).any():
            replay.feed(batch.filter(pa.array(is_new)))
            continue
        end = int(np.argmax(is_late & is_new))
        replay.feed(batch.slice(0, end).filter(pa.array(is_new[:end])))
        break
    return replay.state


def usable_snapshot(snapshots: Iterable[pa.RecordBatch], at_ms: int) -> int:
    """Log offset up to which snapshots know the state at that moment; -1 if they do not help."""
    offsets = [
        int_column(batch, "log_offset")[int_column(batch, "as_of") <= at_ms + 1]
        for batch in snapshots
    ]
    return max((int(column.max(initial=NONE)) for column in offsets), default=NONE)


def differences(before: State, after: State) -> Iterator[Changed]:
    """What changed, group by group in the order of their ids."""
    group_ids = {*before.groups, *after.groups, *before.offsets, *after.offsets}
    for group_id in sorted(group_ids):
        yield from _of_group(group_id, before.groups.get(group_id), after.groups.get(group_id))
        yield from _of_offsets(
            group_id, before.offsets.get(group_id, {}), after.offsets.get(group_id, {})
        )


def _start(snapshots: Iterable[pa.RecordBatch], at_ms: int) -> tuple[Replay, int]:
    batches = list(snapshots)
    replayed = usable_snapshot(batches, at_ms)
    newest: dict[str, tuple[int, str | None]] = {}
    for batch in batches:
        names = ("group_id", "as_of", "state")
        columns = [batch.column(name).to_pylist() for name in names]
        for group_id, as_of, state in zip(*columns, strict=True):
            if as_of <= at_ms + 1 and as_of >= newest.get(group_id, (NONE, None))[0]:
                newest[group_id] = (as_of, state)
    state = restored((group_id, state) for group_id, (_, state) in newest.items())
    return Replay(state), replayed


def _of_group(group_id: str, before: Group | None, after: Group | None) -> Iterator[Changed]:
    if before is None and after is not None:
        yield Changed(group_id, Difference.GROUP_ADDED, after=after.generation_id)
    if before is not None and after is None:
        yield Changed(group_id, Difference.GROUP_REMOVED, before=before.generation_id)
    old, new = before or Group(), after or Group()
    if before and after and old.generation_id != new.generation_id:
        yield Changed(
            group_id,
            Difference.GENERATION,
            before=old.generation_id,
            after=new.generation_id,
        )
    for member_id in sorted(new.members.keys() - old.members.keys()):
        yield Changed(group_id, Difference.MEMBER_JOINED, member_id=member_id)
    for member_id in sorted(old.members.keys() - new.members.keys()):
        yield Changed(group_id, Difference.MEMBER_LEFT, member_id=member_id)


def _of_offsets(group_id: str, before: Offsets, after: Offsets) -> Iterator[Changed]:
    for topic, partition in sorted({*before, *after}):
        old, new = before.get((topic, partition)), after.get((topic, partition))
        was = None if old is None else old.committed_offset
        is_now = None if new is None else new.committed_offset
        if was != is_now:
            kind = _KINDS.get((was is None, is_now is None), Difference.OFFSET_MOVED)
            yield Changed(group_id, kind, topic, partition, before=was, after=is_now)


_KINDS = {
    (True, False): Difference.OFFSET_ADDED,
    (False, True): Difference.OFFSET_REMOVED,
}
