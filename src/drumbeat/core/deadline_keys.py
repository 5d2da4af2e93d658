"""What a deadline is about. A key has at most one deadline; setting it again moves it."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class DeadlineKind(IntEnum):
    SESSION = 0  # a member must be heard of; an id that was handed out must come back
    JOIN = 1  # a group's join phase ends
    SYNC = 2  # every member of the generation must have sent SyncGroup


class DeadlineKey(NamedTuple):
    kind: DeadlineKind
    group_id: str
    member_id: str = ""  # "" for the deadlines of a whole group
