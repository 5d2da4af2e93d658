"""Faults of the coordinator itself: members that expire, partitions that move, time that passes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from drumbeat.core.classic.members import session_key
from drumbeat.core.deadlines import expire
from drumbeat.core.outcome import Context, Outcome
from drumbeat.core.session import View
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.coordinator.shard import Shard
from drumbeat.testing.clock import MovableClock
from drumbeat.testing.names import error_named
from drumbeat.testing.observed import Group, Member
from drumbeat.testing.views import group_now, look, shard_of

_ANSWERS = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


# -- members -------------------------------------------------------------------------------------


def expire_member(
    broker: Broker, group_id: str, member_id: str | None, client_id: str | None
) -> Member:
    """End a member's session as if nothing had been heard of it for too long."""
    group = group_now(broker, group_id)
    member = _chosen_member(group, member_id, client_id)
    shard = shard_of(broker, group_id)
    assert shard is not None, "the group has just been seen in it"

    def job(view: View, context: Context) -> Iterator[Outcome]:
        yield expire(view, context, session_key(group_id, member.member_id))

    for _ in shard.run(job):
        pass
    if look(shard, lambda view: _has_member(view, group_id, member.member_id)):
        raise RuntimeError(
            f"{member.client_id!r} waits for the answer to a JoinGroup or SyncGroup, and its "
            f"session does not run meanwhile; group {group_id!r} is {group.state}: wait_for it to "
            "be Stable first"
        )
    return member


def _chosen_member(group: Group, member_id: str | None, client_id: str | None) -> Member:
    if (member_id is None) is (client_id is None):
        raise TypeError("expire_member takes a member_id or a client_id, one of the two")
    found = [m for m in group.members if member_id == m.member_id or client_id == m.client_id]
    if len(found) == 1:
        return found[0]
    wanted = f"client_id {client_id!r}" if member_id is None else f"member_id {member_id!r}"
    how_many = "several members" if found else "no member"
    raise LookupError(f"group {group.group_id!r} has {how_many} with {wanted}; it is {group}")


def _has_member(view: View, group_id: str, member_id: str) -> bool:
    group = view.live_groups.get(group_id)
    return group is not None and member_id in group.members


# -- partitions ----------------------------------------------------------------------------------


class _Unloaded(NamedTuple):
    released: asyncio.Event
    load: asyncio.Future[None] | None  # under way, and waiting to be released


class UnloadedCoordinators:
    """Partitions of `__consumer_offsets` that a test has taken from the node."""

    def __init__(self) -> None:
        self._unloaded: dict[int, _Unloaded] = {}

    async def unload(self, broker: Broker, group_id: str, answering: str) -> None:
        error_code = error_named(answering)
        if error_code not in _ANSWERS:
            allowed = " or ".join(code.name for code in _ANSWERS)
            raise ValueError(f"answering={answering!r}: a coordinator that is away says {allowed}")
        await self.reload(broker, group_id)
        groups, released = broker.groups, asyncio.Event()
        await groups.ensure_topic()
        index = groups.partition_for(group_id)
        await groups.unload(index)
        is_loading = error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        load = asyncio.ensure_future(groups.load(index, released.wait())) if is_loading else None
        self._unloaded[index] = _Unloaded(released, load)

    async def reload(self, broker: Broker, group_id: str) -> None:
        """Have the node serve it again; harmless if it does."""
        await self._reload(broker, broker.groups.partition_for(group_id))

    async def reload_all(self, broker: Broker) -> None:
        for index in list(self._unloaded):
            await self._reload(broker, index)

    async def _reload(self, broker: Broker, index: int) -> None:
        unloaded = self._unloaded.pop(index, None)
        if unloaded is None:
            return
        unloaded.released.set()
        await (unloaded.load or broker.groups.load(index, unloaded.released.wait()))

    def forget(self) -> None:
        """A node that starts serves them all."""
        self._unloaded.clear()


# -- time ----------------------------------------------------------------------------------------


async def fast_forward(broker: Broker, clock: MovableClock, ms: int) -> None:
    """Let time pass in which nobody says anything.

    What was due on the way happens at its own time, in order: a group whose members expire is
    empty from then on, not from the end. The periodic jobs run once, at the end.
    """
    end_ms = clock.steady_ms() + ms
    while due := _next_due(broker.groups.active_shards(), end_ms):
        next_ms, shards = due
        clock.move_to(next_ms)
        # Only these: looking at a shard counts against what a node does in one turn of its loop.
        for shard in shards:
            shard.expire_due()
        await asyncio.sleep(0)
    clock.move_to(end_ms)
    await broker.groups.sweep()
    await broker.enforce_retention()


def _next_due(shards: Iterable[Shard], end_ms: int) -> tuple[int, list[Shard]] | None:
    """The next deadline that is not after `end_ms`, and the shards that have one then."""
    deadlines = [(s.next_deadline_ms, s) for s in shards]
    due = [(at_ms, s) for at_ms, s in deadlines if at_ms is not None and at_ms <= end_ms]
    if not due:
        return None
    next_ms = min(at_ms for at_ms, _ in due)
    return next_ms, [s for at_ms, s in due if at_ms == next_ms]
