"""The world around simulated members: virtual time, a network that fails, and the real core.

The coordinator of the group is `drumbeat.core` itself, on one of several brokers; it moves.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drumbeat.client.errors import NodeDisconnected, RequestTimedOut
from drumbeat.client.membership import SendRequest
from drumbeat.protocol.apis.find_coordinator import Coordinator as Named
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorResponse
from drumbeat.protocol.apis.heartbeat import HeartbeatResponse
from drumbeat.protocol.apis.join_group import JoinGroupResponse
from drumbeat.protocol.apis.leave_group import LeaveGroupResponse
from drumbeat.protocol.apis.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from drumbeat.protocol.apis.sync_group import SyncGroupResponse
from drumbeat.protocol.errors import ErrorCode
from support.coordinator import Call, Coordinator, Topics

BROKERS = (0, 1, 2)
GROUP = "g"
REQUEST_TIMEOUT_MS = 4_000

Reply = Callable[[Any], None]


@dataclass
class Faults:
    """How often what goes wrong; all of it stops when the world heals."""

    lost: float = 0.03  # the request or its answer, with the connection
    hangs: float = 0.01  # no answer, until the request times out
    slow: float = 0.05  # takes seconds
    refresh_fails: float = 0.1
    callback_raises: float = 0.05
    callback_is_slow: float = 0.05
    dawdles: float = 0.03  # the application does not poll for longer than it may


CALM = Faults(0, 0, 0, 0, 0, 0, 0)


class World:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.faults = Faults()
        self.partitions = {"t1": 3, "t2": 4, "t3": 2}
        self.coordinator = Coordinator(
            checks=False,
            topics=Topics(self.partitions),
            group_initial_rebalance_delay_ms=self.random.choice((0, 300)),
        )
        self.now_ms = self.coordinator.now_ms
        self.home: int | None = 0  # the broker that serves the group; None while nobody does
        self.is_loading = False
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._waiting: dict[int, tuple[Call, Reply]] = {}
        self._arrivals: dict[tuple[str, int], int] = {}
        self._armed_at_ms = -1

    # -- time ------------------------------------------------------------------------------------

    def after(self, delay_ms: int, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now_ms + delay_ms, next(self._order), do))

    def run_for(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        while self._events and self._events[0][0] <= end_ms:
            self.now_ms, _, do = heapq.heappop(self._events)
            do()
        self.now_ms = end_ms

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    # -- the network -----------------------------------------------------------------------------

    def send(self, sender: str, action: SendRequest, reply: Reply) -> None:
        """Carries the request, and the answer back; `reply` is called exactly once."""
        node = self.random.choice(BROKERS)
        if action.destination is not None:
            node = action.destination.node_id
        answered: list[bool] = []

        def once(response: Any) -> None:
            if not answered:
                answered.append(True)
                reply(response)

        def arrive() -> None:
            self._serve(node, action.request, carry_back)

        def carry_back(response: Any) -> None:
            if not self._loses(once):
                self.after(self._delay(), lambda: once(response))

        self.after(action.timeout_ms or REQUEST_TIMEOUT_MS, lambda: once(RequestTimedOut()))
        if not self._loses(once):
            self.after(self._in_turn(sender, node), arrive)

    def _loses(self, once: Reply) -> bool:
        if self.chance(self.faults.lost):
            self.after(self._delay(), lambda: once(NodeDisconnected()))
            return True
        return self.chance(self.faults.hangs)

    def _delay(self) -> int:
        if self.chance(self.faults.slow):
            return self.random.randrange(500, 3_000)
        return self.random.randrange(1, 20)

    def _in_turn(self, sender: str, node: int) -> int:
        """A connection does not let requests overtake each other."""
        at_ms = max(self.now_ms + self._delay(), self._arrivals.get((sender, node), 0))
        self._arrivals[sender, node] = at_ms
        return at_ms - self.now_ms

    # -- the brokers -----------------------------------------------------------------------------

    def _serve(self, node: int, request: Any, reply: Reply) -> None:
        if type(request).__name__ == "FindCoordinatorRequest":
            reply(self._named())
        elif node != self.home:
            reply(refusal(request, ErrorCode.NOT_COORDINATOR))
        elif self.is_loading:
            reply(refusal(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
        else:
            self._catch_up()
            call = self.coordinator.send(request)
            self._waiting[call.request_id] = (call, reply)
            self._deliver()

    def _named(self) -> FindCoordinatorResponse:
        if self.home is None:
            named = Named(GROUP, -1, "", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
        else:
            named = Named(GROUP, self.home, f"broker-{self.home}", 9092)
        return FindCoordinatorResponse(coordinators=(named,))

    def _catch_up(self) -> None:
        self.coordinator.advance(self.now_ms - self.coordinator.now_ms)

    def _deliver(self) -> None:
        """Answers that are ready go out; the next deadline is waited for."""
        for request_id, (call, reply) in list(self._waiting.items()):
            if not call.is_parked:
                del self._waiting[request_id]
                reply(call.response)
        deadlines = self.coordinator.session.deadlines
        if deadlines and (at_ms := min(deadlines.values())) != self._armed_at_ms:
            self._armed_at_ms = at_ms
            self.after(max(at_ms - self.now_ms, 0), self._on_deadline)

    def _on_deadline(self) -> None:
        self._armed_at_ms = -1
        if self.home is not None and not self.is_loading:
            self._catch_up()
            self._deliver()

    # -- what befalls the coordinator ------------------------------------------------------------

    def move(self) -> None:
        """Another broker takes over; whoever waits is told, or cut off if the broker has died."""
        if self.home is None or self.is_loading:
            return
        self._catch_up()
        if self.chance(0.5):
            self.coordinator.unload()
            self._deliver()
        for _, reply in self._waiting.values():
            reply(NodeDisconnected())
        self._waiting.clear()
        self.home = None
        self.after(self.random.randrange(10, 2_000), self._elect)

    def _elect(self) -> None:
        self.home = self.random.choice(BROKERS)
        self.is_loading = True
        self.after(self.random.randrange(10, 1_000), self._load)

    def _load(self) -> None:
        self.is_loading = False
        self.coordinator.now_ms = self.now_ms
        self.coordinator.restart()
        self._deliver()

    @property
    def group(self) -> Any:
        """The group as its coordinator has it; None if it has no members."""
        return self.coordinator.session.groups.get(GROUP)


def refusal(request: Any, code: ErrorCode) -> Any:
    name = type(request).__name__
    if name == "OffsetCommitRequest":
        return OffsetCommitResponse(
            topics=tuple(
                OffsetCommitResponseTopic(
                    topic_id=topic.topic_id,
                    partitions=tuple(
                        OffsetCommitResponsePartition(partition.partition_index, code)
                        for partition in topic.partitions
                    ),
                )
                for topic in request.topics
            )
        )
    if name == "HeartbeatRequest" and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatResponse()  # Kafka does not want heartbeats to fail while it loads
    responses = {
        "JoinGroupRequest": JoinGroupResponse,
        "SyncGroupRequest": SyncGroupResponse,
        "HeartbeatRequest": HeartbeatResponse,
        "LeaveGroupRequest": LeaveGroupResponse,
    }
    return responses[name](error_code=code)
