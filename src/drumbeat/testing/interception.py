"""Faults and recordings of one cluster, between its node's dispatcher and the handlers.

A node that nobody watches does not know of them: the handler of an API is replaced while somebody
watches it, and put back afterwards.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS
from drumbeat.runtime.broker import Broker
from drumbeat.runtime.dispatch import Dispatcher
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.requests import Request
from drumbeat.testing.faults import Fault
from drumbeat.testing.watchers import Call, Recording, Watcher


class Interception:
    """What is in it outlives a restart of the node."""

    def __init__(self) -> None:
        self._watchers: list[Watcher] = []  # the oldest fault strikes first
        self._dispatcher: Dispatcher | None = None

    def attach(self, dispatcher: Dispatcher) -> None:
        """To a node that has just been made."""
        self._dispatcher = dispatcher
        for watcher in self._watchers:
            self._install(watcher.api)

    def add(self, watcher: Watcher) -> None:
        self._watchers.append(watcher)
        self._install(watcher.api)

    def remove(self, watcher: Watcher) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)
            self._install(watcher.api)

    def clear(self) -> None:
        for watcher in list(self._watchers):
            self.remove(watcher)

    def _install(self, api: Api) -> None:
        """The handler that this API needs now: the node's own, if nobody watches."""
        if self._dispatcher is None:
            return
        is_watched = any(watcher.api is api for watcher in self._watchers)
        handler = partial(self._handle, api.key) if is_watched else HANDLERS[api.key]
        self._dispatcher.replace_handler(api.key, handler)

    def _handle(self, api_key: int, broker: Broker, request: Request, body: Any) -> Any:
        call = Call(APIS[api_key], broker, request, body)
        watchers = [watcher for watcher in self._watchers if watcher.api is call.api]
        for watcher in watchers:
            if isinstance(watcher, Recording) and watcher.meets(call):
                watcher.note(call)
        for watcher in watchers:
            if isinstance(watcher, Fault) and watcher.meets(call):
                return self._strike(watcher, call)
        return call.handle()

    def _strike(self, fault: Fault, call: Call) -> Any:
        try:
            return fault.strike(call)
        finally:
            if fault.is_spent:
                self.remove(fault)
