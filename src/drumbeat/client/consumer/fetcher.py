"""Fetches ahead and keeps what arrives until it is polled: one request per node at a time.

While the application works through what it was given, the next fetch is on its way: a partition is
asked for again as soon as its last buffered response is being read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.consumer import ConsumerConfig
from drumbeat.client.consumer.fetch_errors import FetchErrors
from drumbeat.client.consumer.fetch_requests import FETCH, FetchPlan, Wanted
from drumbeat.client.consumer.handout import Handout
from drumbeat.client.consumer.metrics import ConsumerMetrics
from drumbeat.client.consumer.partition_state import PartitionState
from drumbeat.client.consumer.record_source import Reading, RecordSource
from drumbeat.client.consumer.subscription_state import SubscriptionState
from drumbeat.client.errors import DrumbeatError, KafkaError
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.values import ConsumerRecord, TopicPartition
from drumbeat.protocol.apis.fetch import FetchResponse, PartitionData
from drumbeat.protocol.errors import ErrorCode

log = logging.getLogger(__name__)

SOURCES_MAX = 2  # responses of one partition in the buffer: one being read, one to follow


class Fetcher:
    def __init__(
        self,
        config: ConsumerConfig,
        cluster: Cluster,
        subscriptions: SubscriptionState,
        metrics: ConsumerMetrics,
        wake: Callable[[], None],
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._subscriptions = subscriptions
        self._metrics = metrics
        self._wake = wake
        self._reading = Reading.of(config)
        self._errors = FetchErrors(config, cluster, subscriptions)
        self._requests: dict[int, asyncio.Future[Any]] = {}
        self._buffered: dict[PartitionState, deque[RecordSource]] = {}
        self._problems: deque[Exception] = deque()

    # -- asking ----------------------------------------------------------------------------------

    def send_fetches(self, now_ms: int) -> None:
        """A request to every node that has something for us and no request of ours yet."""
        by_node: dict[int, list[Wanted]] = {}
        for state in self._fetchable(now_ms):
            node_id = self._node_for(state, now_ms)
            if node_id is not None and node_id not in self._requests:
                by_node.setdefault(node_id, []).append(
                    Wanted(state, self._next_offset(state), state.version)
                )
        for node_id, wanted in by_node.items():
            self._fetch(node_id, FetchPlan(self._config, self._cluster.metadata, wanted))

    def _fetchable(self, now_ms: int) -> Iterator[PartitionState]:
        budget = self._config.fetch_max_bytes - sum(
            source.size for sources in self._buffered.values() for source in sources
        )
        for state in self._subscriptions.partitions.values():
            if state.is_fetching or not state.is_deliverable or state.retry_at_ms > now_ms:
                continue
            sources = self._buffered.get(state)
            # Reading ahead of what is buffered is for those that are being read.
            if sources and (len(sources) >= SOURCES_MAX or budget <= 0 or not sources[0].is_begun):
                continue
            yield state

    def next_retry_ms(self, now_ms: int) -> int | None:
        """When a partition that was backed off may be asked for again."""
        states = self._subscriptions.partitions.values()
        return min((s.retry_at_ms for s in states if s.retry_at_ms > now_ms), default=None)

    def _next_offset(self, state: PartitionState) -> int:
        sources = self._buffered.get(state)
        assert state.position is not None
        return sources[-1].end_offset if sources else state.position

    def _node_for(self, state: PartitionState, now_ms: int) -> int | None:
        metadata = self._cluster.metadata
        if state.preferred_replica is not None:
            if now_ms < state.preferred_until_ms and state.preferred_replica in metadata.brokers:
                return state.preferred_replica
            state.preferred_replica = None
        leader = metadata.leader(state.tp)
        if leader is None:
            self._cluster.watch_also((state.tp.topic,))
            self._cluster.request_refresh()
        return leader

    def _fetch(self, node_id: int, plan: FetchPlan) -> None:
        try:
            request = self._cluster.send_now(node_id, FETCH, plan.request, versions=plan.versions)
        except KafkaError as problem:
            self._fetch_failed(plan, problem)
            return
        for want in plan.wanted:
            want.state.is_fetching = True
        self._requests[node_id] = request
        request.add_done_callback(partial(self._answered, node_id, plan, monotonic_ms()))

    def _answered(
        self, node_id: int, plan: FetchPlan, began_ms: int, request: asyncio.Future[Any]
    ) -> None:
        for want in plan.wanted:
            want.state.is_fetching = False
        self._requests.pop(node_id, None)
        if request.cancelled():
            return
        try:
            response = request.result()
            now_ms = monotonic_ms()
            self._metrics.fetched(response, now_ms - began_ms, now_ms)
            self._receive(plan, response, now_ms)
        except KafkaError as problem:
            self._fetch_failed(plan, problem)
        except Exception as problem:  # noqa: BLE001 - a bug of ours; raised from poll()
            self._problems.append(problem)
        self._wake()

    def _fetch_failed(self, plan: FetchPlan, problem: KafkaError) -> None:
        log.info("fetch failed: %s", problem)
        if not problem.retriable:
            self._problems.append(problem)
        for want in plan.wanted:
            self._errors.back_off(want.state)
            want.state.preferred_replica = None
        self._cluster.request_refresh()

    # -- answers ---------------------------------------------------------------------------------

    def _receive(self, plan: FetchPlan, response: FetchResponse, now_ms: int) -> None:
        if response.error_code != ErrorCode.NONE:
            raise KafkaError(response.error_code)
        for want, data in plan.answers(response):
            is_current = self._subscriptions.is_current(want.state, want.version)
            if is_current and self._next_offset_is(want):
                self._take_in(want, data, now_ms)

    def _next_offset_is(self, want: Wanted) -> bool:
        return want.state.position is not None and self._next_offset(want.state) == want.offset

    def _take_in(self, want: Wanted, data: PartitionData, now_ms: int) -> None:
        state = want.state
        if data.error_code != ErrorCode.NONE:
            problem = self._errors.handle(want, data)
            if problem is not None:
                self._problems.append(problem)
            return
        self._errors.succeeded(state)
        state.high_watermark = data.high_watermark
        state.last_stable_offset = data.last_stable_offset
        state.log_start_offset = data.log_start_offset
        if data.preferred_read_replica >= 0:
            state.preferred_replica = data.preferred_read_replica
            state.preferred_until_ms = now_ms + self._config.metadata_max_age_ms
        if data.records:
            source = RecordSource(state, want.offset, data, self._reading)
            self._buffered.setdefault(state, deque()).append(source)

    # -- handing out -----------------------------------------------------------------------------

    def collect(self, limit: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to `limit` records, with the positions moved behind them."""
        collected: dict[TopicPartition, list[ConsumerRecord]] = {}
        while limit > 0:
            try:
                handout = self._next(limit)
            except DrumbeatError:
                if collected:
                    break  # what was read before is not to be lost; the error comes again
                raise
            if handout is None:
                break
            handout.take_all()
            limit -= len(handout.records)
            collected.setdefault(handout.state.tp, []).extend(handout.records)
        if not collected:
            self._raise_problem()
        return collected

    def hand_out(self, limit: int) -> Handout | None:
        """Up to `limit` records of one partition, if there are any; positions do not move yet."""
        handout = self._next(limit)
        if handout is None:
            self._raise_problem()
        return handout

    def _raise_problem(self) -> None:
        if self._problems:
            raise self._problems.popleft()

    def _next(self, limit: int) -> Handout | None:
        for state in list(self._buffered):
            if not self._is_readable(state):
                continue
            while sources := self._buffered.get(state):
                source = sources[0]
                if source.is_exhausted or source.next_offset != state.position:
                    self._drop(state, source)
                    continue
                records = source.take(limit)
                if records:
                    self._metrics.consumed(state, records, self._reading.is_read_committed)
                    return Handout(source, records)
                state.advance(source.next_offset, source.leader_epoch)
        return None

    def _is_readable(self, state: PartitionState) -> bool:
        is_assigned = self._subscriptions.partitions.get(state.tp) is state
        if not is_assigned or state.position is None:
            del self._buffered[state]
            return False
        return state.is_deliverable

    def _drop(self, state: PartitionState, source: RecordSource) -> None:
        """Done with this response, or somebody sought elsewhere; then others have their turn."""
        sources = self._buffered.pop(state)
        if source.next_offset != state.position:
            return
        sources.popleft()
        self._metrics.record("bytes-consumed", source.size, monotonic_ms())
        if sources:
            self._buffered[state] = sources

    async def close(self) -> None:
        requests = list(self._requests.values())
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        self._buffered.clear()
