"""What a handler receives and what it may return.

A handler returns its response; or a `Deferred` that it resolves later; or `NO_RESPONSE`
(Produce with acks=0). It may also be a coroutine function.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple


class Request(NamedTuple):
    """One decoded request, without its body."""

    api_key: int
    api_version: int
    client_id: str | None
    client_host: str


class _NoResponse:
    __slots__ = ()


NO_RESPONSE: Final = _NoResponse()


class Deferred:
    """An answer that will come later, by one call of `resolve`.

    `mutes` says whether the connection handles its next request meanwhile. Waiting for a disk
    does not mute (pipelined producers share a sync); waiting for other clients does, as in
    Kafka, where a connection has one request in progress.
    """

    __slots__ = ("_listener", "_response", "mutes", "on_abandoned")

    def __init__(self, *, mutes: bool) -> None:
        self.mutes = mutes
        self.on_abandoned: Callable[[], None] | None = None  # the client went away
        self._response: Any = None
        self._listener: Callable[[Any], None] | None = None

    def resolve(self, response: Any) -> None:
        assert self._response is None, "resolved twice"
        self._response = response
        if self._listener is not None:
            self._listener(response)

    def when_resolved(self, listener: Callable[[Any], None]) -> None:
        self._listener = listener
        if self._response is not None:
            listener(self._response)

    def abandon(self) -> None:
        self._listener = None
        if self.on_abandoned is not None:
            self.on_abandoned()
