"""The volatile half of a partition's coordinator: groups in motion, parked requests, deadlines.

`follow` is its only writer. A restart forgets it all: `drumbeat.core.loading` begins it anew from
the durable state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from drumbeat.core.classic.changes import CHANGES, opened
from drumbeat.core.classic.group import ClassicGroup, ClassicGroupView
from drumbeat.core.deadline_keys import DeadlineKey
from drumbeat.core.effects import ClearDeadline, Effect, GroupForgotten, GroupOpened, SetDeadline
from drumbeat.core.state import CommittedOffset, Group, State, TopicPartition


@dataclass(slots=True)
class Session:
    """Groups that are in motion, by id: a group without members or pending ids is not here.

    `deadlines` is the truth about every deadline. The shell's timer is an index into it: when the
    timer fires for a key it looks here and waits on if the deadline has moved, so that a heartbeat
    costs one dictionary write.
    """

    groups: dict[str, ClassicGroup] = field(default_factory=dict)
    deadlines: dict[DeadlineKey, int] = field(default_factory=dict)
    parked_count: int = 0


class SessionCounts(Protocol):
    """What is held against the limits of `GroupConfig`."""

    @property
    def parked_count(self) -> int: ...


class View(NamedTuple):
    """What a decision may look at: the durable and the volatile half, both read-only.

    Made once per partition; its mappings are live. A group that is in `groups` but not in
    `live_groups` is Empty.
    """

    groups: Mapping[str, Group]
    offsets: Mapping[str, Mapping[TopicPartition, CommittedOffset]]
    pending_offsets: Mapping[int, Mapping[str, Mapping[TopicPartition, CommittedOffset]]]
    live_groups: Mapping[str, ClassicGroupView]
    counts: SessionCounts


def view_of(state: State, session: Session) -> View:
    return View(state.groups, state.offsets, state.pending_offsets, session.groups, session)


def follow(session: Session, effect: Effect) -> None:
    """Make one change that a decision asked for."""
    if isinstance(effect, SetDeadline):
        session.deadlines[effect.key] = effect.at_ms
    elif isinstance(effect, ClearDeadline):
        session.deadlines.pop(effect.key, None)
    elif isinstance(effect, GroupOpened):
        session.groups[effect.group_id] = opened(effect)
    elif isinstance(effect, GroupForgotten):
        session.parked_count -= session.groups.pop(effect.group_id).parked_count
    else:
        group = session.groups[effect.group_id]
        parked_count = group.parked_count
        CHANGES[type(effect)](group, effect)
        session.parked_count += group.parked_count - parked_count
        if group.is_idle:
            del session.groups[effect.group_id]
