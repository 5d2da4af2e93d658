"""What to do about a partition that a Fetch response has an error for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.fetch_requests import Wanted
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.consumer.subscription_state import SubscriptionState
from drumbeat.client.entropy import draw
from drumbeat.client.errors import KafkaError, OffsetOutOfRangeError, error_for
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.net.cluster import Cluster
from drumbeat.protocol.apis.fetch import PartitionData
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

# The leader has moved, or is about to: ask who leads, and fetch again.
_METADATA_IS_OLD: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
# The broker's trouble, or one that knows less than we do: fetch again.
_PASSES: Final = frozenset({ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR})

Handler = Callable[[Wanted, PartitionData], KafkaError | None]


class FetchErrors:
    def __init__(
        self, config: ConsumerConfig, cluster: Cluster, subscriptions: SubscriptionState
    ) -> None:
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._failures: dict[PartitionState, int] = {}
        self._handlers: Mapping[int, Handler] = {
            **dict.fromkeys(_METADATA_IS_OLD, self._refresh),
            **dict.fromkeys(_PASSES, self._wait),
            ErrorCode.OFFSET_OUT_OF_RANGE: self._out_of_range,
        }

    def handle(self, want: Wanted, data: PartitionData) -> KafkaError | None:
        """Arrange for the next attempt; the error, if the application has to know."""
        log.info("fetch of %s at %d: %s", want.state.tp, want.offset, error_for(data.error_code))
        self.back_off(want.state)
        return self._handlers.get(data.error_code, self._raise)(want, data)

    def back_off(self, state: PartitionState) -> None:
        failures = self._failures[state] = self._failures.get(state, 0) + 1
        state.retry_at_ms = monotonic_ms() + self._backoff.delay_ms(failures, draw())

    def succeeded(self, state: PartitionState) -> None:
        self._failures.pop(state, None)
        state.retry_at_ms = 0

    def _refresh(self, want: Wanted, _data: PartitionData) -> None:
        want.state.preferred_replica = None
        self._cluster.request_refresh()

    def _wait(self, _want: Wanted, _data: PartitionData) -> None:
        """The backoff is all it takes."""

    def _out_of_range(self, want: Wanted, _data: PartitionData) -> KafkaError | None:
        state = want.state
        if state.preferred_replica is not None:
            state.preferred_replica = None  # a follower may lack what the leader has
            return None
        if want.offset != state.position:
            return None  # it read ahead; the position is asked for in its turn
        reset = self._subscriptions.default_reset
        if reset is None:
            return OffsetOutOfRangeError(
                f"{state.tp}: there is nothing at offset {want.offset} (any more), and "
                "auto_offset_reset is none: seek() to an offset between beginning_offsets() and "
                "end_offsets()"
            )
        state.request_reset(reset)
        self.succeeded(state)
        return None

    def _raise(self, want: Wanted, data: PartitionData) -> KafkaError:
        text = error_for(data.error_code).message
        return error_for(data.error_code, f"{want.state.tp} at offset {want.offset}: {text}")
