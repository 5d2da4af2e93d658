"""The way back: offsets as they were at a moment, in the file that Kafka's reset tool takes.

`kafka-consumer-groups --reset-offsets --from-file FILE` reads lines of topic,partition,offset, and
of group,topic,partition,offset when it is given several groups.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from drumbeat.core.state import State, TopicPartition


class Reset(NamedTuple):
    group_id: str
    topic: str
    partition: int
    offset: int
    current_offset: int | None  # None: not committed any more
    is_raised: bool = False  # the records at the old offset are gone: to the first there is


class UndoPlan(NamedTuple):
    resets: tuple[Reset, ...]
    deletes: tuple[tuple[str, str, int], ...]  # committed since: --delete-offsets undoes these
    active_groups: tuple[str, ...]  # have members now: the tool refuses until these have stopped


def undo_plan(
    then: State,
    now: State,
    group_ids: Collection[str] | None = None,
    log_starts: Mapping[TopicPartition, int] | None = None,
) -> UndoPlan:
    """How to get from `now` back to the offsets of `then`; of all groups unless some are named.

    With `log_starts`, no offset is below the first record that is still there.
    """
    wanted = {*then.offsets, *now.offsets} if group_ids is None else set(group_ids)
    resets: list[Reset] = []
    deletes: list[tuple[str, str, int]] = []
    for group_id in sorted(wanted):
        resets += _resets(then, now, group_id, log_starts or {})
        since = now.offsets.get(group_id, {}).keys() - then.offsets.get(group_id, {}).keys()
        deletes += [(group_id, *partition) for partition in sorted(since)]
    moved = {reset.group_id for reset in resets} | {group_id for group_id, _, _ in deletes}
    active = (group for group in moved if group in now.groups and now.groups[group].members)
    return UndoPlan(tuple(resets), tuple(deletes), tuple(sorted(active)))


def reset_csv(resets: Iterable[Reset]) -> str:
    """For one group the short form, for several the long one."""
    rows = list(resets)
    is_one_group = len({reset.group_id for reset in rows}) <= 1
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for reset in rows:
        place = (reset.topic, reset.partition, reset.offset)
        writer.writerow(place if is_one_group else (reset.group_id, *place))
    return text.getvalue()


def _resets(
    then: State, now: State, group_id: str, log_starts: Mapping[TopicPartition, int]
) -> list[Reset]:
    resets = []
    current = now.offsets.get(group_id, {})
    for place, known in sorted(then.offsets.get(group_id, {}).items()):
        offset = max(known.committed_offset, log_starts.get(place, known.committed_offset))
        current_offset = current[place].committed_offset if place in current else None
        if current_offset != offset:
            is_raised = offset > known.committed_offset
            resets.append(Reset(group_id, *place, offset, current_offset, is_raised))
    return resets
