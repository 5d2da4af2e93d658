"""Staying in the group between rebalances: heartbeats on their own clock, and the watchdog.

Java does this on a thread of its own. It is held back while JoinGroup is under way: the coordinator
keeps a joining member without heartbeats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drumbeat.client.membership import reasons
from drumbeat.client.membership.parts import Parts
from drumbeat.client.membership.reactions import HEARTBEAT, Reaction, reaction_to
from drumbeat.client.membership.values import Generation, MemberState


class KeepAlive:
    def __init__(self, parts: Parts, leave: Callable[[str], None]) -> None:
        self._parts = parts
        self._member = parts.member
        self._clock = parts.clock
        self._link = parts.link
        self._leave = leave

    @property
    def next_ms(self) -> int | None:
        if not self._member.state.is_joined:
            return None
        return self._clock.next_ms if self._link.coordinator is not None else self._link.look_at_ms

    def tick(self, now_ms: int) -> None:
        clock = self._clock
        if not self._member.state.is_joined or not self._link.ready(now_ms):
            return
        if now_ms >= clock.session_ends_ms:
            self._link.lost("no heartbeat was answered for a whole session timeout", now_ms)
        elif now_ms >= clock.poll_by_ms:
            self._leave(reasons.POLL_TIMEOUT)
        elif now_ms >= clock.beat_at_ms:
            self._beat(now_ms)

    def _beat(self, now_ms: int) -> None:
        sent = self._member.generation

        def on_heartbeat(response: Any, now_ms: int) -> None:
            self._on_heartbeat(response, sent, now_ms)

        self._clock.sent(now_ms)
        request = self._parts.requests.heartbeat(sent)
        self._parts.outbox.send(request, self._link.coordinator, on_heartbeat)

    def _on_heartbeat(self, response: Any, sent: Generation, now_ms: int) -> None:
        reaction, error = reaction_to(HEARTBEAT, response)
        if reaction is not Reaction.REDISCOVER:
            self._link.answered()
        if error is None or reaction is Reaction.REJOIN:
            # While the group rebalances, heartbeats keep the member in it until it has joined.
            self._clock.succeeded(now_ms)
            if error is not None and self._member.state is MemberState.STABLE:
                self._member.request_rejoin(reasons.GROUP_REBALANCING)
            return
        reason = reasons.answered("Heartbeat", error)
        is_stale = self._member.generation != sent
        if reaction is Reaction.REDISCOVER:
            self._link.lost(reason, now_ms)
            self._clock.failed(now_ms)
        elif reaction in _ENDINGS and is_stale:
            self._clock.succeeded(now_ms)
        elif reaction is Reaction.FENCED:
            self._member.fence(error, reason)
        elif reaction in _ENDINGS:
            self._member.reset(reason, keep_member_id=reaction is Reaction.RESET_GENERATION)
        else:
            self._clock.failed(now_ms)
            if reaction is Reaction.RAISE:
                self._member.fail(error)


# What is said about the generation that the heartbeat was sent in.
_ENDINGS = frozenset({Reaction.FENCED, Reaction.RESET_GENERATION, Reaction.RESET_MEMBER_ID})
