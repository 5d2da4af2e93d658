"""A coordinator behind real sockets, with the face of the one that tests drive without any.

Every client id has its own connections, and one that waits for an answer is not used for
anything else: a JoinGroup that is parked mutes its connection. A request that may be parked is
followed by others of the same group, so that it has been handled when `send` returns.
"""

import select
from typing import Any

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import heartbeat, join_group, sync_group
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest
from support.brokers import IS_KAFKA
from support.coordinator import BY_REQUEST
from support.wire import Wire

MAY_PARK = {join_group.API.key, sync_group.API.key}
# For an answer to come once the broker has handled the request. Kafka hands it to other threads.
GRACE_S = 0.3 if IS_KAFKA else 0.01
PROBES = 2  # one is read in the same turn as the request, the next one after it


class WireCall:
    """One request, and its answer once there is one."""

    def __init__(self, owner: "WireCoordinator", wire: Wire, api: Api, version: int) -> None:
        self._owner = owner
        self.wire = wire
        self.api = api
        self.version = version
        self._answer: Any = None

    @property
    def answer(self) -> Any:
        if self._answer is None and is_readable(self.wire, 0):
            self._receive()
        return self._answer

    @property
    def is_parked(self) -> bool:
        self._owner.settle(self)
        return self._answer is None

    @property
    def response(self) -> Any:
        """The answer; waits for it."""
        if self._answer is None:
            self._receive()
        return self._answer

    @property
    def error_code(self) -> int:
        return self.response.error_code

    def hang_up(self) -> None:
        self.wire.socket.close()

    def _receive(self) -> None:
        self._answer = self.wire.receive()
        self._owner.on_answer(self)


class WireCoordinator:
    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.generations: dict[str, int] = {}
        self._probe = Wire(bootstrap_servers, "probe")
        self._wires: list[Wire] = [self._probe]
        self._free: dict[str | None, list[Wire]] = {}
        self._groups: dict[WireCall, str] = {}  # of requests that may be parked

    def __enter__(self) -> "WireCoordinator":
        return self

    def __exit__(self, *_exc: object) -> None:
        for wire in self._wires:
            wire.socket.close()

    def send(
        self, request: Any, version: int | None = None, client_id: str | None = "cl"
    ) -> WireCall:
        api = BY_REQUEST[type(request)]
        call = WireCall(
            self, self._connection(client_id), api, api.versions[-1] if version is None else version
        )
        self._groups[call] = getattr(request, "group_id", "")
        call.wire.send(api, call.version, request)
        if api.key in MAY_PARK:
            self.settle(call)
        else:
            assert call.response is not None
        return call

    def settle(self, call: WireCall) -> None:
        """Return once the call is answered, or surely waits for something else to happen."""
        probe = HeartbeatRequest(self._groups.get(call, ""), -1, "probe")
        for _ in range(PROBES):
            if call.answer is not None:
                return
            self._probe.call(heartbeat.API, 0, probe)
        if call.answer is None and is_readable(call.wire, GRACE_S):
            assert call.response is not None

    def on_answer(self, call: WireCall) -> None:
        self._free.setdefault(call.wire.client_id, []).append(call.wire)
        group_id = self._groups.pop(call, "")
        if call.api is join_group.API and call.response.error_code == 0:
            self.generations[group_id] = call.response.generation_id

    def _connection(self, client_id: str | None) -> Wire:
        if free := self._free.get(client_id):
            return free.pop()
        wire = Wire(self.bootstrap_servers, client_id)
        self._wires.append(wire)
        # Once it has been answered, the broker reads it in order with all other connections.
        wire.call(heartbeat.API, 0, HeartbeatRequest("", -1, "probe"))
        return wire


def is_readable(wire: Wire, timeout_s: float) -> bool:
    # Not select: a test process may hold more descriptors than that can look at.
    poller = select.poll()
    poller.register(wire.socket, select.POLLIN)
    return bool(poller.poll(timeout_s * 1000))
