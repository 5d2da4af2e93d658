"""One rebalance after the other: prepare, join, complete.

Started and driven by poll() alone, so that no listener is called while the application works on
records. Answers may come at any time; they wait for the next poll().
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from drumbeat.client.errors import KafkaError
from drumbeat.client.membership.completing import JoinComplete, Verdict
from drumbeat.client.membership.joining import Joining
from drumbeat.client.membership.parts import Parts
from drumbeat.client.membership.preparing import JoinPrepare
from drumbeat.client.membership.reactions import Reaction

# Errors that are answered by joining again at once follow each other in practice: an unknown member
# id, then the new one that is required. More of them in a row is a loop, which must not be tight.
AT_ONCE_MAX: Final = 3


class Stage(Enum):
    IDLE = auto()
    REFRESHING = auto()  # a pattern is to be matched against fresh metadata
    READY = auto()  # to prepare, then to join
    PREPARING = auto()
    JOINING = auto()
    COMPLETING = auto()


class Rebalance:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._member = parts.member
        self._topics = parts.topics
        self._outbox = parts.outbox
        self._prepare = JoinPrepare(parts)
        self._join = Joining(parts, self._on_synced, self._on_failed)
        self._complete = JoinComplete(parts)
        self._stage = Stage.IDLE
        self._failures = 0
        self._at_once = 0  # how many of the last failures in a row called for that
        self._retry_at_ms = 0
        self._refresh_id = 0
        # Each says whether the next step can follow at once. The other stages wait for answers.
        self._steps: dict[Stage, Callable[[int], bool]] = {
            Stage.IDLE: self._idle,
            Stage.READY: self._ready,
            Stage.PREPARING: self._preparing,
            Stage.COMPLETING: self._completing,
        }

    @property
    def stage(self) -> Stage:
        return self._stage

    @property
    def next_ms(self) -> int | None:
        """When to be advanced for the sake of time alone."""
        if self._stage is Stage.PREPARING:
            return self._prepare.next_ms
        if self._stage in (Stage.IDLE, Stage.READY) and self._member.rejoin_needed:
            return self._retry_at_ms
        return None

    def advance(self, now_ms: int) -> None:
        """As far as possible; a failure is raised before anything else is begun."""
        while not self._member.has_failed:
            step = self._steps.get(self._stage)
            if step is None or not step(now_ms):
                break

    def abandon(self) -> None:
        """The member leaves. A callback of the listener that runs is not for us to end."""
        self._outbox.forget_refresh(self._refresh_id)
        self._join.abandon()
        self._prepare.begin()
        self._stage = Stage.IDLE
        self._failures = self._at_once = 0
        self._retry_at_ms = 0

    # -- steps -----------------------------------------------------------------------------------

    def _idle(self, now_ms: int) -> bool:
        reason = self._topics.rejoin_reason
        if reason is not None and not self._member.rejoin_needed:
            self._member.request_rejoin(reason)
        if not self._member.rejoin_needed or now_ms < self._retry_at_ms:
            return False
        if self._member.fenced is None and not self._parts.link.ready(now_ms):
            return False
        if self._topics.is_pattern and self._member.fenced is None:
            self._stage = Stage.REFRESHING
            self._refresh_id = self._outbox.refresh(None, self._on_matched)
            return False
        self._stage = Stage.READY
        return True

    def _on_matched(self, error: KafkaError | None, now_ms: int) -> None:
        if error is None:
            self._stage = Stage.READY
        else:
            self._fail(Reaction.RETRY if error.retriable else Reaction.RAISE, error, now_ms)
            self._stage = Stage.IDLE

    def _preparing(self, now_ms: int) -> bool:
        if not self._prepare.advance(now_ms):
            return False
        self._stage = Stage.READY
        return True

    def _ready(self, now_ms: int) -> bool:
        member = self._member
        if member.needs_prepare:
            self._prepare.begin()
            self._stage = Stage.PREPARING
            return True
        if member.fenced is not None:
            member.fail(member.fenced)
            return False
        if now_ms >= self._retry_at_ms and self._parts.link.ready(now_ms):
            self._stage = Stage.JOINING
            self._join.start(now_ms)
        return False

    def _completing(self, now_ms: int) -> bool:
        verdict = self._complete.advance()
        if verdict is Verdict.WAIT:
            return False
        self._stage = Stage.IDLE
        self._member.needs_prepare = True
        if verdict is Verdict.DONE:
            self._failures = self._at_once = 0
        else:
            self._back_off(Reaction.REJOIN, now_ms)
        return True

    # -- what came of it -------------------------------------------------------------------------

    def _on_synced(self, assignment: bytes, _now_ms: int) -> None:
        self._complete.begin(assignment)
        self._stage = Stage.COMPLETING

    def _on_failed(self, error: Exception, reaction: Reaction, now_ms: int) -> None:
        self._stage = Stage.READY
        self._fail(reaction, error, now_ms)

    def _fail(self, reaction: Reaction, error: Exception, now_ms: int) -> None:
        if reaction is Reaction.RAISE:
            self._member.fail(error)
        self._back_off(reaction, now_ms)

    def _back_off(self, reaction: Reaction, now_ms: int) -> None:
        self._failures += 1
        self._at_once = self._at_once + 1 if reaction.is_at_once else 0
        is_free = 0 < self._at_once <= AT_ONCE_MAX
        self._retry_at_ms = now_ms if is_free else now_ms + self._parts.waits.after(self._failures)
