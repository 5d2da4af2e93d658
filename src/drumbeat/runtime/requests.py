"""What a handler receives and what it may return.

A handler returns its response; or a `Deferred` that it resolves later; or `NO_RESPONSE`
(Produce with acks=0). It may also be a coroutine function.
"""

from collections.abc import Callable
from typing import Any, Final


class Request:
    """One decoded request, without its body."""

    __slots__ = ("api_key", "api_version", "client_host", "client_id")

    def __init__(
        self, api_key: int, api_version: int, client_id: str | None, client_host: str
    ) -> None:
        self.api_key: Final = api_key
        self.api_version: Final = api_version
        self.client_id: Final = client_id
        self.client_host: Final = client_host  # in Java's form: /10.0.0.1


Listener = Callable[[Any, Exception | None], None]


class _NoResponse:
    __slots__ = ()


NO_RESPONSE: Final = _NoResponse()


class Deferred:
    """An answer that will come later, by one call of `resolve` or `fail`.

    `mutes` says whether the connection handles its next request meanwhile. Waiting for a disk
    does not mute (pipelined producers share a sync); waiting for other clients does, as in
    Kafka, where a connection has one request in progress.
    """

    __slots__ = ("_listener", "_problem", "_response", "is_settled", "mutes", "on_abandoned")

    def __init__(self, mutes: bool) -> None:
        self.mutes = mutes
        self.on_abandoned: Callable[[], None] | None = None  # called if the client goes away
        self.is_settled = False
        self._response: Any = None
        self._problem: Exception | None = None
        self._listener: Listener | None = None

    def resolve(self, response: Any) -> None:
        self._settle(response, None)

    def fail(self, problem: Exception) -> None:
        """A bug or a lost disk: the client gets no answer but a closed connection."""
        self._settle(None, problem)

    def when_settled(self, listener: Listener) -> None:
        if self.is_settled:
            listener(self._response, self._problem)
        else:
            self._listener = listener

    def abandon(self) -> None:
        self._listener = None
        if self.on_abandoned is not None and not self.is_settled:
            self.on_abandoned()

    def _settle(self, response: Any, problem: Exception | None) -> None:
        assert not self.is_settled, "settled twice"
        self.is_settled = True
        self._response, self._problem = response, problem
        # Whoever listens holds us in turn: without this, only the collector could free the pair.
        listener, self._listener = self._listener, None
        if listener is not None:
            listener(response, problem)
