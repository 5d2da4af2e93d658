"""Waiting for a group to be as a test expects it; a time-out says what there was instead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from drumbeat.core.classic.group_state import GroupState
from drumbeat.core.events import GroupEventType
from drumbeat.runtime.broker import Broker
from drumbeat.testing.names import unknown
from drumbeat.testing.observed import Event, Group
from drumbeat.testing.views import events_now, group_now, known_groups

T = TypeVar("T")
CurrentBroker = Callable[[], Broker]  # a restart in the meantime makes a new one

POLL_INTERVAL_S = 0.01
EVENTS_TOLD_MAX = 10


async def wait_for_group(
    broker: CurrentBroker, group_id: str, state: str | None, members: int | None, timeout_s: float
) -> Group:
    if state is not None and state not in set(GroupState):
        raise ValueError(unknown("state", state, GroupState))

    async def look() -> Group | None:
        group = group_now(broker(), group_id)
        is_so = state in (None, group.state) and members in (None, len(group.members))
        return group if is_so else None

    wanted = state or ""
    if members is not None:
        wanted = f"{wanted} with {members} member{'' if members == 1 else 's'}".strip()
    failure = f"group {group_id!r} was not {wanted} within {timeout_s:g} s"
    return await _poll(look, broker, group_id, timeout_s, failure)


async def wait_for_group_event(
    broker: CurrentBroker, group_id: str, event_type: str, n: int, timeout_s: float
) -> Event:
    """The n-th event of this type since the cluster began."""
    if event_type not in set(GroupEventType):
        raise ValueError(unknown("event", event_type, GroupEventType))

    async def look() -> Event | None:
        every = await events_now(broker())
        found = [e for e in every if e.type == event_type and e.group_id == group_id]
        return found[n - 1] if len(found) >= n else None

    failure = f"group {group_id!r}: fewer than {n} {event_type} within {timeout_s:g} s"
    return await _poll(look, broker, group_id, timeout_s, failure)


async def _poll(
    look: Callable[[], Awaitable[T | None]],
    broker: CurrentBroker,
    group_id: str,
    timeout_s: float,
    failure: str,
) -> T:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    while (found := await look()) is None:
        if loop.time() > deadline:
            raise TimeoutError(f"{failure}; {await _what_was_seen(broker(), group_id)}")
        await asyncio.sleep(POLL_INTERVAL_S)
    return found


async def _what_was_seen(broker: Broker, group_id: str) -> str:
    group = group_now(broker, group_id)
    events = [event for event in await events_now(broker) if event.group_id == group_id]
    if events:
        told = "\n".join(f"  {event}" for event in events[-EVENTS_TOLD_MAX:])
        return f"it is {group}; its last events:\n{told}"
    others = ", ".join(known_groups(broker)) or "none"
    return f"it is {group}, and nothing has happened to it; groups that are known: {others}"
