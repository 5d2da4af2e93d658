"""Who coordinates a group or a transactional id: asked once, kept until it proves wrong."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Protocol

from drumbeat.client.config.common import Address
from drumbeat.client.errors import error_for
from drumbeat.client.net.nodes import coordinator_id
from drumbeat.protocol.apis.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from drumbeat.protocol.errors import ErrorCode

KEYS_SINCE = 4  # from this version on a request names several keys, and a response answers each


class CoordinatorType(IntEnum):
    GROUP = 0
    TRANSACTION = 1


def find_request(key: str, kind: CoordinatorType, version: int) -> FindCoordinatorRequest:
    if version >= KEYS_SINCE:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=(key,))
    return FindCoordinatorRequest(key=key, key_type=kind)


def found(response: FindCoordinatorResponse) -> Coordinator:
    """The coordinator that a response to `find_request` names, or the error it has."""
    coordinator = (
        response.coordinators[0]
        if response.coordinators
        else Coordinator(
            node_id=response.node_id,
            host=response.host,
            port=response.port,
            error_code=response.error_code,
            error_message=response.error_message,
        )
    )
    if coordinator.error_code != ErrorCode.NONE:
        raise error_for(coordinator.error_code, coordinator.error_message)
    return coordinator


class Place(Protocol):
    """Where a coordinator is, whoever found it."""

    @property
    def node_id(self) -> int: ...

    @property
    def host(self) -> str: ...

    @property
    def port(self) -> int: ...


class Coordinators:
    """Known coordinators; `learn` is told the address of each connection id."""

    def __init__(self, learn: Callable[[int, Address], None]) -> None:
        self._learn = learn
        self._known: dict[tuple[CoordinatorType, str], int] = {}
        self._places: dict[tuple[CoordinatorType, str], str] = {}

    def get(self, key: str, kind: CoordinatorType) -> int | None:
        return self._known.get((kind, key))

    def put(self, key: str, kind: CoordinatorType, coordinator: Place) -> int:
        connection_id = coordinator_id(coordinator.node_id)
        address = Address(coordinator.host, coordinator.port)
        self._learn(connection_id, address)
        self._known[kind, key] = connection_id
        self._places[kind, key] = f"node {coordinator.node_id} at {address}"
        return connection_id

    def forget(self, key: str, kind: CoordinatorType) -> None:
        self._known.pop((kind, key), None)

    def place(self, key: str, kind: CoordinatorType) -> str:
        """Where it was last, in words; for errors, so also after it was forgotten."""
        return self._places.get((kind, key), "not found yet")
