"""The way to the coordinator: found through the least loaded broker, lost, found again."""

from __future__ import annotations

from typing import Any, NamedTuple

from drumbeat.client.errors import KafkaError, NodeDisconnected, error_for
from drumbeat.client.membership.actions import Connect, Disconnect
from drumbeat.client.membership.heartbeats import HeartbeatClock
from drumbeat.client.membership.member import Member
from drumbeat.client.membership.outbox import Outbox, Request
from drumbeat.client.membership.topics import TopicInterest
from drumbeat.client.membership.values import Coordinator
from drumbeat.client.membership.waits import Waits
from drumbeat.protocol.apis import find_coordinator
from drumbeat.protocol.apis.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from drumbeat.protocol.errors import ErrorCode

GROUP_KEY_TYPE = 0


class Surroundings(NamedTuple):
    """Whom it concerns."""

    member: Member
    topics: TopicInterest
    clock: HeartbeatClock


class CoordinatorLink:
    """`failures` counts what went wrong since a coordinator last answered.

    Without it, a coordinator that is named by all brokers and cannot be reached would be looked
    for without a pause.
    """

    def __init__(self, group_id: str, outbox: Outbox, waits: Waits, around: Surroundings) -> None:
        self._group_id = group_id
        self._outbox = outbox
        self._waits = waits
        self._around = around
        self._is_looking = False
        self._is_refreshing = False
        self._failures = 0
        self._retry_at_ms = 0
        self.coordinator: Coordinator | None = None

    def ready(self, now_ms: int) -> bool:
        """Whether the coordinator is known; looks for it if nobody does."""
        if self.coordinator is not None:
            return True
        if not self._is_looking and now_ms >= self._retry_at_ms:
            self._look()
        return False

    @property
    def look_at_ms(self) -> int | None:
        """When to look for it; None while it is known, or an answer is awaited."""
        if self.coordinator is not None or self._is_looking:
            return None
        return self._retry_at_ms

    def answered(self) -> None:
        self._failures = 0

    def lost(self, cause: str, now_ms: int) -> None:
        if self.coordinator is None:
            return
        self._outbox.add(Disconnect(coordinator=self.coordinator, cause=cause))
        self.coordinator = None
        self._retry_at_ms = now_ms + self._waits.after(self._failures)
        self._failures += 1
        self._outbox.fail_coordinator_requests(NodeDisconnected(cause), now_ms)

    def _look(self) -> None:
        self._is_looking = True
        # Up to v3 the broker reads the key, later ones the list.
        message = FindCoordinatorRequest(
            key=self._group_id, key_type=GROUP_KEY_TYPE, coordinator_keys=(self._group_id,)
        )
        self._outbox.send(Request(find_coordinator.API, message), None, self._on_response)

    def _on_response(self, response: Any, now_ms: int) -> None:
        self._is_looking = False
        found = response if isinstance(response, KafkaError) else _named(response)
        if isinstance(found, Coordinator):
            self.coordinator = found
            self._outbox.add(Connect(coordinator=found))
            self._around.clock.coordinator_found(now_ms)
        else:
            self._not_found(found, now_ms)

    def _not_found(self, error: KafkaError, now_ms: int) -> None:
        self._failures += 1
        self._retry_at_ms = now_ms + self._waits.after(self._failures)
        if not error.retriable:
            self._around.member.fail(error)
        elif not self._is_refreshing:
            # The brokers that we know of may all be gone.
            self._is_refreshing = True
            self._outbox.refresh(self._around.topics.watched, self._on_refresh)

    def _on_refresh(self, _error: KafkaError | None, _now_ms: int) -> None:
        self._is_refreshing = False


def _named(response: FindCoordinatorResponse) -> Coordinator | KafkaError:
    named = response.coordinators[0] if response.coordinators else response  # a list since v4
    if named.error_code != ErrorCode.NONE:
        return error_for(named.error_code, named.error_message or None)
    if not named.host or named.node_id < 0:
        return error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE, "FindCoordinator named no broker")
    return Coordinator(named.node_id, named.host, named.port)
