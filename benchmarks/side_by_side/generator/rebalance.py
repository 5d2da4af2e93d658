"""Many members of one group: how long until all share one generation, and again when one leaves.

A new member is first given its id. With `ids_first` nobody joins before all have theirs, so that
every server gets the same three requests from each; without, a server that is quick enough closes
a generation while others still arrive, and has to begin again.
Members whose generation lacks somebody ask with heartbeats whether there is a new one, far more
often than a real member does: what is measured is the server, not the heartbeat interval.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from benchmarks.side_by_side.generator.member import Member, Phase
from benchmarks.side_by_side.generator.member_connection import MemberConnection, MemberConnections
from benchmarks.side_by_side.generator.window import OpenWindow, Window
from drumbeat.protocol.apis import leave_group
from drumbeat.protocol.apis.leave_group import LeaveGroupRequest, MemberIdentity
from support.wire import Wire

ASK_INTERVAL_S = 0.01
SETTLE_TIMEOUT_S = 60.0
LEAVE_VERSION = 5


class Rebalanced(NamedTuple):
    from_empty: Window
    after_leave: Window


class Rebalance(NamedTuple):
    servers: str
    server_pid: int
    group_id: str
    members: int
    ids_first: bool

    def run(self) -> Rebalanced:
        templates: dict[object, bytes] = {}
        members = [Member(self.group_id, templates) for _ in range(self.members)]
        connections = MemberConnections(self.servers, members)
        with Wire(self.servers) as wire:
            from_empty = self._settle_from_empty(connections)
            after_leave = self._settle_after_leave(connections, wire)
            # One request empties the group, so that the next measurement finds none of it.
            self._leave(wire, [connection.member for connection in connections])
        connections.close()
        return Rebalanced(from_empty, after_leave)

    def _settle_from_empty(self, connections: MemberConnections) -> Window:
        window = OpenWindow(self.server_pid)
        for connection in connections:
            connection.send(connection.member.join())
        if self.ids_first:
            _await_ids(connections, self.members)
        _settle(connections, list(connections))
        return window.close()

    def _settle_after_leave(self, connections: MemberConnections, wire: Wire) -> Window:
        leaving = next(connection for connection in connections if connection.member.size is None)
        staying = [connection for connection in connections if connection is not leaving]
        window = OpenWindow(self.server_pid)
        self._leave(wire, [leaving.member])
        for connection in staying:
            connection.send(connection.member.ask())
        _settle(connections, staying)
        return window.close()

    def _leave(self, wire: Wire, members: list[Member]) -> None:
        identities = tuple(MemberIdentity(member.member_id) for member in members)
        request = LeaveGroupRequest(group_id=self.group_id, members=identities)
        response = wire.call(leave_group.API, LEAVE_VERSION, request)
        assert response.error_code == 0, response


def _await_ids(connections: MemberConnections, members: int) -> None:
    """Returns when all members have an id and have sent their second JoinGroup."""
    joins: list[tuple[MemberConnection, bytes]] = []
    while len(joins) < members:
        for connection, frame in connections.arrived(ASK_INTERVAL_S):
            request = connection.member.answer(frame)
            assert request is not None, "a member without id was let in"
            joins.append((connection, request))
    for connection, request in joins:
        connection.send(request)


def _settle(connections: MemberConnections, expected: list[MemberConnection]) -> None:
    """Returns when all of `expected`, and nobody else, have synced in one generation."""
    deadline = time.perf_counter() + SETTLE_TIMEOUT_S
    waiting = len(expected)  # members that wait for a response
    asked_at = time.perf_counter()
    while waiting or not _share_a_generation(expected):
        now = time.perf_counter()
        if now > deadline:
            raise TimeoutError(f"{len(expected)} members have not settled")
        if now - asked_at > ASK_INTERVAL_S:
            asked_at = now
            waiting += _ask_the_unsettled(expected)
        for connection, frame in connections.arrived(ASK_INTERVAL_S):
            request = connection.member.answer(frame)
            if request is None:
                waiting -= 1
            else:
                connection.send(request)


def _share_a_generation(expected: list[MemberConnection]) -> bool:
    complete = _complete_generation(expected)
    return all(connection.member.generation_id == complete for connection in expected)


def _ask_the_unsettled(expected: list[MemberConnection]) -> int:
    complete = _complete_generation(expected)
    asking = [
        connection
        for connection in expected
        if connection.member.phase is Phase.SETTLED and connection.member.generation_id != complete
    ]
    for connection in asking:
        connection.send(connection.member.ask())
    return len(asking)


def _complete_generation(expected: list[MemberConnection]) -> int | None:
    """The generation whose leader was told of exactly as many members as are expected."""
    return next(
        (
            connection.member.generation_id
            for connection in expected
            if connection.member.size == len(expected)
        ),
        None,
    )
