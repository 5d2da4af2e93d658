"""The consumer's metrics, by the groups and names they have in Kafka."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.membership.machine import Membership
from drumbeat.client.sampled import Sampled
from drumbeat.client.values import ConsumerRecord
from drumbeat.protocol.apis.fetch import FetchResponse

FETCH_GROUP: Final = "consumer-fetch-manager-metrics"
COORDINATOR_GROUP: Final = "consumer-coordinator-metrics"
CONSUMER_GROUP: Final = "consumer-metrics"

_SENSORS: Final = (
    "fetch-latency",
    "fetch-size",
    "fetch-throttle-time",
    "records-consumed",
    "bytes-consumed",
    "records-lag",
    "records-lead",
    "commit",
    "join",
    "sync",
    "heartbeat",
    "poll-idle-ratio",
    "time-between-poll",
)
NEVER: Final = -1.0

Metrics = dict[str, dict[str, float]]


class ConsumerMetrics:
    def __init__(self) -> None:
        self._began_ms = now_ms = monotonic_ms()
        self._sensors = {name: Sampled(now_ms) for name in _SENSORS}
        self._last_poll_ms: int | None = None
        self._poll_began_ms = 0

    # -- what happens ----------------------------------------------------------------------------

    def record(self, name: str, value: float, now_ms: int) -> None:
        self._sensors[name].record(value, now_ms)

    def poll_began(self, now_ms: int) -> None:
        if self._last_poll_ms is not None:
            self.record("time-between-poll", now_ms - self._last_poll_ms, now_ms)
        self._last_poll_ms = self._poll_began_ms = now_ms

    def poll_ended(self, now_ms: int) -> None:
        """Idle is the time spent in poll(), as Kafka counts it."""
        self.record("poll-idle-ratio", now_ms - self._poll_began_ms, now_ms)

    def fetched(self, response: FetchResponse, took_ms: int, now_ms: int) -> None:
        size = sum(len(p.records or b"") for t in response.responses for p in t.partitions)
        self.record("fetch-latency", took_ms, now_ms)
        self.record("fetch-size", size, now_ms)
        self.record("fetch-throttle-time", response.throttle_time_ms, now_ms)

    def consumed(
        self, state: PartitionState, records: list[ConsumerRecord], is_read_committed: bool
    ) -> None:
        now_ms = monotonic_ms()
        self.record("records-consumed", len(records), now_ms)
        lag, lead = state.lag(is_read_committed=is_read_committed), state.lead()
        if lag is not None:
            # The position has not moved yet.
            self.record("records-lag", max(0, lag - len(records)), now_ms)
        if lead is not None:
            self.record("records-lead", lead, now_ms)

    # -- how it is read --------------------------------------------------------------------------

    def snapshot(
        self,
        states: Iterable[PartitionState],
        membership: Membership | None,
        *,
        is_read_committed: bool,
    ) -> Metrics:
        now_ms = monotonic_ms()
        assigned = list(states)
        groups = {
            CONSUMER_GROUP: self._consumer(now_ms),
            FETCH_GROUP: self._fetching(now_ms),
        }
        if membership is not None:
            groups[COORDINATOR_GROUP] = self._coordination(membership, len(assigned), now_ms)
        for state in assigned:
            groups[f"{FETCH_GROUP}.{state.tp.topic}.{state.tp.partition}"] = {
                "records-lag": _or_nan(state.lag(is_read_committed=is_read_committed)),
                "records-lead": _or_nan(state.lead()),
                "preferred-read-replica": _or_nan(state.preferred_replica, NEVER),
            }
        return groups

    def _consumer(self, now_ms: int) -> dict[str, float]:
        between, idle = self._sensors["time-between-poll"], self._sensors["poll-idle-ratio"]
        last = self._last_poll_ms
        share = idle.all_time / max(1, now_ms - self._began_ms)
        return {
            "last-poll-seconds-ago": NEVER if last is None else (now_ms - last) // 1000,
            "time-between-poll-avg": between.average(now_ms),
            "time-between-poll-max": between.maximum(now_ms),
            "poll-idle-ratio-avg": min(1.0, share),
        }

    def _fetching(self, now_ms: int) -> dict[str, float]:
        sensors = self._sensors
        latency, size = sensors["fetch-latency"], sensors["fetch-size"]
        throttle, lag, lead = (
            sensors["fetch-throttle-time"],
            sensors["records-lag"],
            sensors["records-lead"],
        )
        records, consumed = sensors["records-consumed"], sensors["bytes-consumed"]
        return {
            "fetch-latency-avg": latency.average(now_ms),
            "fetch-latency-max": latency.maximum(now_ms),
            "fetch-rate": latency.frequency(now_ms),
            "fetch-total": latency.count,
            "fetch-size-avg": size.average(now_ms),
            "fetch-size-max": size.maximum(now_ms),
            "fetch-throttle-time-avg": throttle.average(now_ms),
            "fetch-throttle-time-max": throttle.maximum(now_ms),
            "records-consumed-rate": records.rate(now_ms),
            "records-consumed-total": records.all_time,
            "records-per-request-avg": records.all_time / max(1, latency.count),
            "bytes-consumed-rate": consumed.rate(now_ms),
            "bytes-consumed-total": consumed.all_time,
            "records-lag-max": lag.maximum(now_ms),
            "records-lead-min": lead.minimum(now_ms),
        }

    def _coordination(self, membership: Membership, count: int, now_ms: int) -> dict[str, float]:
        stats = membership.rebalance_stats
        ended_ms, heartbeat_ms = stats.ended_ms, membership.last_heartbeat_ms
        return {
            **self._requests("commit", "commit-latency", now_ms),
            **self._requests("join", "join-time", now_ms),
            **self._requests("sync", "sync-time", now_ms),
            **self._requests("heartbeat", "heartbeat-response-time", now_ms),
            "assigned-partitions": count,
            "last-heartbeat-seconds-ago": _seconds_since(heartbeat_ms, now_ms),
            "rebalance-total": stats.rebalances,
            "failed-rebalance-total": stats.failed_rebalances,
            "rebalance-rate-per-hour": self._per_hour(stats.rebalances, now_ms),
            "failed-rebalance-rate-per-hour": self._per_hour(stats.failed_rebalances, now_ms),
            "rebalance-latency-total": stats.rebalance_total_ms,
            "rebalance-latency-avg": stats.rebalance_total_ms / max(1, stats.rebalances),
            "rebalance-latency-max": stats.rebalance_max_ms,
            "last-rebalance-seconds-ago": _seconds_since(ended_ms, now_ms),
        }

    def _requests(self, name: str, latency: str, now_ms: int) -> dict[str, float]:
        sensor = self._sensors[name]
        return {
            f"{name}-rate": sensor.frequency(now_ms),
            f"{name}-total": sensor.count,
            f"{latency}-avg": sensor.average(now_ms),
            f"{latency}-max": sensor.maximum(now_ms),
        }

    def _per_hour(self, amount: int, now_ms: int) -> float:
        return amount * 3_600_000 / max(3_600_000, now_ms - self._began_ms)


def _seconds_since(then_ms: int, now_ms: int) -> float:
    return NEVER if then_ms < 0 else (now_ms - then_ms) // 1000


def _or_nan(value: int | None, otherwise: float = float("nan")) -> float:
    return otherwise if value is None else value
