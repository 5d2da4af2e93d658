"""A node as monitoring sees it: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes.

It listens before the node does and until after the node has stopped, so that who asks meanwhile
hears what is missing. Imported only where `metrics.port` is set.
"""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Final

from drumbeat.runtime.broker import IN_MEMORY, Broker
from drumbeat.runtime.handlers import HANDLERS
from drumbeat.runtime.metrics.exposition import CONTENT_TYPE, Family, counter, gauge, render
from drumbeat.runtime.metrics.groups import collect_groups
from drumbeat.runtime.metrics.logs import collect_logs
from drumbeat.runtime.metrics.process import collect_process
from drumbeat.runtime.metrics.requests import MeasuredDispatcher, collect_requests
from drumbeat.runtime.topics import CONSUMER_OFFSETS
from drumbeat.server.disk_probe import DiskProbe, DiskStatus
from drumbeat.server.http_server import JSON, HttpServer, Response
from drumbeat.server.listener import Listener, ListenError

METRICS, HEALTH, READINESS = "/metrics", "/healthz", "/readyz"
NAMES_MAX: Final = 5  # partitions that a reason names; all others are counted

_GOOD_DISK = DiskStatus(None)


class Monitoring:
    """`dispatcher` is the one to have requests answered by, so that they are counted."""

    def __init__(self, broker: Broker) -> None:
        self.dispatcher = MeasuredDispatcher(broker, HANDLERS, broker.tasks)
        self._broker = broker
        self._listener: Listener | None = None
        directory = broker.storage.directory
        self._probe = None if directory == IN_MEMORY else DiskProbe(directory)
        self._http = HttpServer(
            {METRICS: self.metrics, HEALTH: self.health, READINESS: self.readiness}
        )
        self._host, self._port = "", 0

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host or '127.0.0.1'}:{self._port}"

    async def start(self, listener: Listener) -> None:
        """Serve, and tell what becomes of `listener`. Raises ListenError."""
        self._listener = listener
        config = self._broker.config
        self._host = config.metrics_host or config.listeners[0].host or ""
        port = config.metrics_port or 0
        try:
            self._port = await self._http.start(self._host, port)
        except OSError as problem:
            reason = problem.strerror or problem
            raise ListenError(
                f"cannot serve metrics on {self._host or 'every interface'}, port {port}: "
                f"{reason}; choose another with --metrics-port"
            ) from None

    async def stop(self) -> None:
        await self._http.stop()
        if self._probe is not None:
            self._probe.stop()

    # -- routes ----------------------------------------------------------------------------------

    async def metrics(self) -> Response:
        disk = await self._look_at_disk()
        families = [
            *await collect_groups(self._broker.groups),
            *collect_requests(self.dispatcher),
            *self._connections(),
            *collect_logs(self._broker),
            *_disk(disk),
            *collect_process(),
        ]
        return Response(HTTPStatus.OK, await render(families), CONTENT_TYPE)

    async def health(self) -> Response:
        """That it is answered at all says that the process is alive."""
        disk = await self._look_at_disk()
        return _verdict([disk.problem] if disk.problem else [])

    async def readiness(self) -> Response:
        return _verdict(list(self._unready()))

    def _unready(self) -> Iterator[str]:
        groups = self._broker.groups
        if groups.is_stopped:
            yield "the node is stopping"
        elif self._listener is None or not self._listener.is_listening:
            yield "the listener is not open"
        states = groups.partition_states()
        if states.loading:
            yield f"loading {_named(states.loading)}"
        if states.failed:
            yield f"not served: {_named(states.failed)}; the log says why"

    # -- numbers ---------------------------------------------------------------------------------

    async def _look_at_disk(self) -> DiskStatus:
        return _GOOD_DISK if self._probe is None else await self._probe.look()

    def _connections(self) -> Iterator[Family]:
        listener = self._listener
        if listener is None:
            return
        prefix = "kafka_server_socket_server_metrics_connection"
        open_count, accepted = listener.connection_count, listener.accepted_count
        yield gauge(f"{prefix}_count", "Open connections.", open_count)
        yield counter(f"{prefix}_creation_total", "Connections accepted.", accepted)
        yield counter(f"{prefix}_close_total", "Connections closed.", accepted - open_count)
        yield counter(
            "drumbeat_connections_refused_total",
            "Connections closed at once because of max.connections or max.connections.per.ip.",
            listener.refused_count,
        )


def _disk(disk: DiskStatus) -> Iterator[Family]:
    yield gauge(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "Data directories that cannot be used.",
        int(disk.problem is not None),
    )
    if disk.total_bytes:
        yield gauge(
            "drumbeat_disk_free_bytes", "Space left for the data directory.", disk.free_bytes
        )
        yield gauge("drumbeat_disk_total_bytes", "Size of its file system.", disk.total_bytes)


def _verdict(reasons: list[str]) -> Response:
    if not reasons:
        return Response(HTTPStatus.OK, _json({"status": "ok"}), JSON)
    document = {"status": "unavailable", "reasons": reasons}
    return Response(HTTPStatus.SERVICE_UNAVAILABLE, _json(document), JSON)


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document) + "\n"


def _named(partitions: list[int]) -> str:
    names = ", ".join(f"{CONSUMER_OFFSETS}-{index}" for index in partitions[:NAMES_MAX])
    more = len(partitions) - NAMES_MAX
    return f"{names} and {more} more" if more > 0 else names
