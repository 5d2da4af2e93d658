"""Groups of one member each, joined and settled as fast as the connections allow."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from benchmarks.side_by_side.generator.member import Member
from benchmarks.side_by_side.generator.member_connection import MemberConnections


class Seat(NamedTuple):
    group_id: str
    generation_id: int
    member_id: str


class Seats(NamedTuple):
    servers: str
    group_ids: Sequence[str]
    connections: int = 100

    def run(self) -> list[Seat]:
        waiting = iter(self.group_ids)
        first = [Member(group_id) for group_id in islice(waiting, self.connections)]
        connections = MemberConnections(self.servers, first)
        for connection in connections:
            connection.send(connection.member.join())
        seats: list[Seat] = []
        while len(seats) < len(self.group_ids):
            for connection, frame in connections.arrived(1.0):
                request = connection.member.answer(frame)
                if request is None:
                    seats.append(_seat(connection.member))
                    if (group_id := next(waiting, None)) is None:
                        continue
                    connection.member = Member(group_id)
                    request = connection.member.join()
                connection.send(request)
        connections.close()
        return seats


def _seat(member: Member) -> Seat:
    return Seat(member.group_id, member.generation_id, member.member_id)
