"""The actions of one input, and who is to be told when what they ask for has happened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from drumbeat.client.errors import KafkaError
from drumbeat.client.membership.actions import (
    Action,
    Callback,
    CallbackKind,
    Partitions,
    RefreshMetadata,
    SendRequest,
)
from drumbeat.client.membership.values import Coordinator
from drumbeat.protocol.api import Api

# The response or what went wrong instead; now_ms.
OnResponse = Callable[[Any, int], None]
# What the callback raised; now_ms.
OnDone = Callable[[Exception | None, int], None]
# None: fresh metadata is there; now_ms.
OnRefresh = Callable[[KafkaError | None, int], None]


class Request(NamedTuple):
    """A request, before it gets an id and a destination."""

    api: Api
    message: Any
    timeout_ms: int | None = None
    versions: range | None = None


class _SentRequest(NamedTuple):
    to_coordinator: bool
    then: OnResponse


class _StartedCallback(NamedTuple):
    kind: CallbackKind
    then: OnDone


class Outbox:
    """Ids are never used twice, so whatever is forgotten here is ignored when it arrives."""

    def __init__(self) -> None:
        self._actions: list[Action] = []
        self._last_id = 0
        self._requests: dict[int, _SentRequest] = {}
        self._callbacks: dict[int, _StartedCallback] = {}
        self._refreshes: dict[int, OnRefresh] = {}

    def add(self, action: Action) -> None:
        self._actions.append(action)

    def take(self) -> list[Action]:
        actions, self._actions = self._actions, []
        return actions

    # -- asking ----------------------------------------------------------------------------------

    def send(self, request: Request, destination: Coordinator | None, then: OnResponse) -> int:
        request_id = self._next_id()
        self._requests[request_id] = _SentRequest(destination is not None, then)
        self.add(
            SendRequest(
                id=request_id,
                api=request.api,
                request=request.message,
                destination=destination,
                timeout_ms=request.timeout_ms,
                versions=request.versions,
            )
        )
        return request_id

    def call_back(self, kind: CallbackKind, partitions: Partitions, then: OnDone) -> int:
        callback_id = self._next_id()
        self._callbacks[callback_id] = _StartedCallback(kind, then)
        self.add(Callback(id=callback_id, kind=kind, partitions=partitions))
        return callback_id

    def refresh(self, topics: frozenset[str] | None, then: OnRefresh) -> int:
        refresh_id = self._next_id()
        self._refreshes[refresh_id] = then
        self.add(RefreshMetadata(id=refresh_id, topics=topics))
        return refresh_id

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    # -- being told ------------------------------------------------------------------------------

    def responded(self, request_id: int, response: Any, now_ms: int) -> None:
        if (sent := self._requests.pop(request_id, None)) is not None:
            sent.then(response, now_ms)

    def done(self, callback_id: int, error: Exception | None, now_ms: int) -> None:
        if (started := self._callbacks.pop(callback_id, None)) is not None:
            started.then(error, now_ms)

    def refreshed(self, refresh_id: int, error: KafkaError | None, now_ms: int) -> None:
        if (then := self._refreshes.pop(refresh_id, None)) is not None:
            then(error, now_ms)

    # -- giving up -------------------------------------------------------------------------------

    @property
    def listener_is_running(self) -> bool:
        return any(started.kind.is_listener for started in self._callbacks.values())

    def fail_coordinator_requests(self, error: KafkaError, now_ms: int) -> None:
        """What was under way to a coordinator that is no longer ours gets no better answer."""
        lost = [sent for sent in self._requests.items() if sent[1].to_coordinator]
        for request_id, _ in lost:
            del self._requests[request_id]
        for _, sent in lost:
            sent.then(error, now_ms)

    def forget_request(self, request_id: int) -> None:
        self._requests.pop(request_id, None)

    def forget_callback(self, callback_id: int) -> None:
        self._callbacks.pop(callback_id, None)

    def forget_refresh(self, refresh_id: int) -> None:
        self._refreshes.pop(refresh_id, None)
