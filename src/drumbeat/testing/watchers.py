"""A request on its way to its handler, and what a test may have stand in that way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from drumbeat.protocol.api import Api
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.requests import Request
from drumbeat.testing.observed import SeenRequest

WAIT_TIMEOUT_S = 10.0


class Call(NamedTuple):
    api: Api
    broker: Broker
    request: Request
    body: Any

    def handle(self) -> Any:
        """What the node would answer: a response, a Deferred or NO_RESPONSE."""
        result = HANDLERS[self.api.key](self.broker, self.request, self.body)
        return self.broker.tasks.defer(result) if asyncio.iscoroutine(result) else result

    def __str__(self) -> str:
        return f"{self.api.name} v{self.request.api_version} of {self.request.client_id!r}"


class Target(NamedTuple):
    """Whose requests are meant; None is everybody."""

    client_id: str | None = None
    group_id: str | None = None

    def matches(self, call: Call) -> bool:
        if self.client_id not in (None, call.request.client_id):
            return False
        return self.group_id is None or self.group_id in _group_ids(call.body)

    def __str__(self) -> str:
        named = {"client_id": self.client_id, "group": self.group_id}
        return ", ".join(f"{name}={value!r}" for name, value in named.items() if value is not None)


class Watcher:
    """Meets the requests of one API until it is cancelled, at the end of a `with` block too."""

    def __init__(self, api: Api, target: Target) -> None:
        self.api = api
        self.target = target
        self.hits = 0  # requests that were meant
        self._others: dict[str, None] = {}  # requests that were not
        self._hit = threading.Condition()
        self._on_cancelled: Callable[[Watcher], None] | None = None

    def wait(self, n: int = 1, timeout: float = WAIT_TIMEOUT_S) -> None:
        """Until it has met `n` requests; TimeoutError says which came instead."""
        with self._hit:
            if not self._hit.wait_for(lambda: self.hits >= n, timeout):
                wanted = f"{self.hits} of {n} {self.api.name} {self.target}".rstrip()
                others = ", ".join(list(self._others)) or "none"
                raise TimeoutError(
                    f"{wanted} came within {timeout:g} s; others that came: {others}"
                )

    async def wait_async(
        self,
        n: int = 1,
        timeout: float = WAIT_TIMEOUT_S,  # noqa: ASYNC109 - as in `wait`; what came is told
    ) -> None:
        """`wait` for coroutines."""
        await asyncio.to_thread(self.wait, n, timeout)

    def meets(self, call: Call) -> bool:
        """Whether this request is meant; counts it if it is."""
        if not self.target.matches(call):
            self._others[str(call)] = None
            return False
        with self._hit:
            self.hits += 1
            self._hit.notify_all()
        return True

    def cancel(self) -> None:
        """Meet no more. Harmless when there is nothing left to meet."""
        if self._on_cancelled is not None:
            self._on_cancelled(self)

    def when_cancelled(self, tell: Callable[[Watcher], None]) -> None:
        self._on_cancelled = tell

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.cancel()


class Recording(Watcher):
    """The requests of one API that came since it began."""

    def __init__(self, api: Api, target: Target) -> None:
        super().__init__(api, target)
        self._seen: list[SeenRequest] = []

    @property
    def requests(self) -> tuple[SeenRequest, ...]:
        return tuple(self._seen)

    def note(self, call: Call) -> None:
        seen = SeenRequest(
            api=call.api.name,
            version=call.request.api_version,
            client_id=call.request.client_id,
            body=call.body,
        )
        self._seen.append(seen)


def _group_ids(body: Any) -> set[str]:
    """The groups that a request is about."""
    several = (*(getattr(body, "groups", None) or ()), *getattr(body, "groups_names", ()))
    named = {getattr(group, "group_id", group) for group in several}
    keys = {*getattr(body, "coordinator_keys", ()), getattr(body, "key", "")}  # FindCoordinator
    return {*named, *keys, getattr(body, "group_id", "")} - {""}
