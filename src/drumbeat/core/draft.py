"""An Outcome while it is being written: the lists that a decision's helpers add to."""

from __future__ import annotations

from drumbeat.core.effects import Effect
from drumbeat.core.events import GroupEvent
from drumbeat.core.outcome import Outcome, Reply, Settle
from drumbeat.core.records import Record


class Draft:
    __slots__ = ("effects", "events", "records", "replies")

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.replies: list[Reply] = []
        self.effects: list[Effect] = []
        self.events: list[GroupEvent] = []

    def reply(self, request_id: int, response: tuple[object, ...]) -> None:
        self.replies.append(Reply(request_id, response))

    def outcome(self, settle: Settle | None = None) -> Outcome:
        # fmt: off
        return Outcome(
            tuple(self.records), tuple(self.replies), tuple(self.effects), tuple(self.events),
            settle,
        )
        # fmt: on
