"""How many heartbeats, offset commits and offset fetches does a server answer?

Every connection is the member of a group of its own and repeats one request. Drumbeat has synced a
commit to disk before it answers; Kafka has it in the page cache, unless it syncs every append.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.side_by_side.bench import Bench
from benchmarks.side_by_side.brokers import Broker
from benchmarks.side_by_side.generator import run_job
from benchmarks.side_by_side.generator.flood import Flood
from benchmarks.side_by_side.generator.seats import Seat
from benchmarks.side_by_side.requests import (
    COMMIT_VERSION,
    HEARTBEAT_VERSION,
    OFFSET_FETCH_VERSION,
    Body,
    call,
    call_raw,
    commit_of,
    frames_of,
    heartbeat_of,
    offset_fetch_of,
    seat_groups,
)
from benchmarks.side_by_side.results import PER_CPU_S, PER_S, Key
from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import heartbeat, offset_commit, offset_fetch
from support.wire import Wire

CONNECTIONS = 100


class Load(NamedTuple):
    """A request that is repeated, and the one that goes before it, once for every member."""

    api: Api
    version: int
    body: Body
    before: Body | None = None

    def frames(self, broker: Broker, seats: list[Seat]) -> tuple[list[bytes], bytes]:
        """One frame per member, and the response to each of them."""
        frames = frames_of(self.api, self.version, map(self.body, seats))
        with Wire(broker.servers) as wire:
            if self.before is not None:
                for seat in seats:
                    call(wire, offset_commit.API, COMMIT_VERSION, self.before(seat))
            call(wire, self.api, self.version, self.body(seats[0]))
            return frames, call_raw(wire, frames[0])


LOADS = {
    "heartbeats": Load(heartbeat.API, HEARTBEAT_VERSION, heartbeat_of),
    **{
        f"commits x{partitions}": Load(offset_commit.API, COMMIT_VERSION, commit_of(partitions))
        for partitions in (1, 10, 20, 100)
    },
    **{
        f"offset fetches x{partitions}": Load(
            offset_fetch.API,
            OFFSET_FETCH_VERSION,
            offset_fetch_of(partitions),
            before=commit_of(partitions),
        )
        for partitions in (1, 20)
    },
}


def key(phase: str, load: str, connections: int = CONNECTIONS, depth: int = 1) -> Key:
    return Key(phase, _question(load, connections, depth), PER_CPU_S)


def _question(load: str, connections: int, depth: int) -> str:
    pipelined = f", {depth} in flight on each" if depth > 1 else ""
    return f"{load}, {connections:,} connection{'s' if connections > 1 else ''}{pipelined}"


class Prepared(NamedTuple):
    """A load for one broker, with its groups; may be run as often as one likes."""

    load: str
    broker: Broker
    depth: int
    frames: list[bytes]
    expected: bytes

    def flood(self, seconds: float) -> Flood:
        broker = self.broker
        return Flood(broker.servers, broker.pid, self.frames, self.expected, self.depth, seconds)

    def measure(self, bench: Bench, phase: str, seconds: float) -> None:
        flooded = bench.run(self.flood(seconds))
        bench.note(flooded.window)
        name = self.broker.name
        question = _question(self.load, len(self.frames), self.depth)
        bench.results.add(Key(phase, question, PER_CPU_S), name, flooded.per_cpu_s)
        bench.results.add(Key(phase, question, PER_S), name, flooded.per_s)

    def warm_up(self, seconds: float) -> float:
        return run_job(self.flood(seconds)).per_cpu_s


def prepare(broker: Broker, load: str, connections: int = CONNECTIONS, depth: int = 1) -> Prepared:
    frames, expected = LOADS[load].frames(broker, seat_groups(broker, connections))
    return Prepared(load, broker, depth, frames, expected)
