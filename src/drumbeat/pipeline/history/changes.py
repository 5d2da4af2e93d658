"""What changed between two moments, and the way back to one of them."""

from __future__ import annotations

from drumbeat.pipeline.history.answer import Answer
from drumbeat.pipeline.history.replay import (
    GroupReplay,
    log_starts,
    replay_of_group,
)
from drumbeat.pipeline.history.store import History
from drumbeat.pipeline.history.times import END_OF_TIME_MS
from drumbeat.pipeline.tables.time_travel import Changed, differences
from drumbeat.pipeline.tables.undo import UndoPlan, undo_plan


def changes(
    history: History, between: tuple[int, int], group_id: str | None, cluster_id: str | None
) -> Answer:
    """Of one group, or of all."""
    replays = (
        [GroupReplay(history, source) for source in history.sources(cluster_id)]
        if group_id is None
        else [replay_of_group(history, group_id, cluster_id)]
    )
    rows: list[Changed] = []
    for replay in replays:
        before, after = (replay.state_at(at_ms) for at_ms in between)
        rows += differences(before, after)
    return Answer(Changed._fields, rows)


def way_back(history: History, replay: GroupReplay, at_ms: int) -> UndoPlan:
    """From the end of the log to the offsets of a moment, as far as their records still exist."""
    assert replay.group_id is not None
    then, now = replay.state_at(at_ms), replay.state_at(END_OF_TIME_MS)
    starts = log_starts(history, replay.source.cluster_id)
    return undo_plan(then, now, [replay.group_id], starts)
