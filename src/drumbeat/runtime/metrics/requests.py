"""Requests, counted and timed on their way through the dispatcher.

A node without metrics has a plain Dispatcher and pays nothing. With metrics every request is
counted; reading the clock twice would cost as much again, so of the APIs that a running consumer
keeps calling only one request in 64 is timed, and every request of all others.
"""

import struct
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from typing import Any, Final

from drumbeat.protocol.apis import APIS, ApiKey
from drumbeat.protocol.pieces import Pieces
from drumbeat.runtime.dispatch import Answer, Dispatcher, Endpoint, Handler
from drumbeat.runtime.metrics.exposition import Family, Sample, histogram_samples
from drumbeat.runtime.metrics.histogram import Histogram
from drumbeat.runtime.requests import Deferred
from drumbeat.runtime.tasks import Tasks

TIMED_ONE_IN: Final = 64
FREQUENT: Final = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.HEARTBEAT,
    }
)
UNSUPPORTED: Final = -1  # stands for all versions of ApiVersions that are answered in v0

_KEY_AND_VERSION = struct.Struct(">hh")  # what a request begins with


class VersionStats:
    """Of one version of one API."""

    __slots__ = ("durations", "request_bytes", "requests", "response_bytes", "timed_one_in")

    def __init__(self, durations: Histogram, timed_one_in: int) -> None:
        self.requests = 0
        self.request_bytes = 0
        self.response_bytes = 0
        self.durations = durations  # shared by all versions of the API
        self.timed_one_in = timed_one_in


class MeasuredDispatcher(Dispatcher):
    def __init__(self, broker: object, handlers: Mapping[int, Handler], tasks: Tasks) -> None:
        super().__init__(broker, handlers, tasks)
        self.stats: dict[tuple[int, int], VersionStats] = {}
        self.durations: dict[int, Histogram] = {}
        self._by_start: dict[bytes, VersionStats] = {}  # by the request's first four bytes

    def dispatch(self, frame: bytes, client_host: str) -> bytes | Pieces | Answer | None:
        stats = self._by_start.get(frame[:4])
        if stats is None:
            return self._dispatch_timed(frame, client_host)
        stats.requests = requests = stats.requests + 1
        stats.request_bytes += len(frame)
        if requests % stats.timed_one_in:
            return super().dispatch(frame, client_host)
        return self._dispatch_timed(frame, client_host, stats)

    def _dispatch_timed(
        self, frame: bytes, client_host: str, stats: VersionStats | None = None
    ) -> bytes | Pieces | Answer | None:
        began = perf_counter()
        result = super().dispatch(frame, client_host)
        if stats is None:
            stats = self._count_first(frame)
        if isinstance(result, Answer):
            result.deferred = _timed(result.deferred, stats.durations, began)
            return result
        stats.durations.observe(perf_counter() - began)
        return result

    def _count_first(self, frame: bytes) -> VersionStats:
        """Only what is served gets a place of its own: which version to name is the client's."""
        api_key, api_version = _KEY_AND_VERSION.unpack_from(frame)
        if (api_key, api_version) in self._endpoints:
            stats = self._by_start[frame[:4]] = self._stats_of(api_key, api_version)
        else:
            stats = self._stats_of(api_key, UNSUPPORTED)
        stats.requests += 1
        stats.request_bytes += len(frame)
        return stats

    def _make_endpoint(self, api_key: int, api_version: int) -> Endpoint:
        endpoint = super()._make_endpoint(api_key, api_version)
        is_kept = (api_key, api_version) in self._endpoints
        stats = self._stats_of(api_key, api_version if is_kept else UNSUPPORTED)
        endpoint.encode = _counting(endpoint.encode, stats)
        return endpoint

    def _stats_of(self, api_key: int, api_version: int) -> VersionStats:
        stats = self.stats.get((api_key, api_version))
        if stats is None:
            durations = self.durations.setdefault(api_key, Histogram())
            stats = VersionStats(durations, TIMED_ONE_IN if api_key in FREQUENT else 1)
            self.stats[api_key, api_version] = stats
        return stats


def _timed(deferred: Deferred, durations: Histogram, began: float) -> Deferred:
    """An answer that passes on what `deferred` brings, and notes how long that took."""
    timed = Deferred(mutes=deferred.mutes)
    timed.on_abandoned = deferred.abandon

    def settle(response: Any, problem: Exception | None) -> None:
        durations.observe(perf_counter() - began)
        if problem is None:
            timed.resolve(response)
        else:
            timed.fail(problem)

    deferred.when_settled(settle)
    return timed


def _counting(encode: Callable[[Any], Any], stats: VersionStats) -> Callable[[Any], Any]:
    def encode_and_count(response: Any) -> Any:
        body = encode(response)
        stats.response_bytes += len(body)
        return body

    return encode_and_count


def collect_requests(dispatcher: MeasuredDispatcher) -> Iterator[Family]:
    stats = sorted(dispatcher.stats.items())
    yield Family(
        "kafka_network_requestmetrics_requests_total",
        "counter",
        "Requests received, by API and version.",
        [Sample(_version_labels(*of), s.requests) for of, s in stats],
    )
    yield Family(
        "drumbeat_request_bytes_total",
        "counter",
        "Bytes of requests received, by API and version.",
        [Sample(_version_labels(*of), s.request_bytes) for of, s in stats],
    )
    yield Family(
        "drumbeat_response_bytes_total",
        "counter",
        "Bytes of responses made, by API and version.",
        [Sample(_version_labels(*of), s.response_bytes) for of, s in stats],
    )
    yield Family(
        "drumbeat_request_duration_seconds",
        "histogram",
        f"From a request's arrival to its answer; of frequent APIs one request in {TIMED_ONE_IN}.",
        [
            sample
            for api_key, durations in sorted(dispatcher.durations.items())
            for sample in histogram_samples({"request": _name(api_key)}, durations)
        ],
    )


def _version_labels(api_key: int, api_version: int) -> dict[str, object]:
    version = "unsupported" if api_version == UNSUPPORTED else api_version
    return {"request": _name(api_key), "version": version}


def _name(api_key: int) -> str:
    return APIS[api_key].name
