"""Whom to ask: one request per broker for many things, asked again where things have moved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from drumbeat.client.clock import monotonic_ms
from drumbeat.client.config.admin import AdminConfig
from drumbeat.client.entropy import draw
from drumbeat.client.errors import IllegalStateError, KafkaError
from drumbeat.client.net.backoff import Backoff
from drumbeat.client.net.cluster import Cluster
from drumbeat.client.values import TopicPartition
from drumbeat.protocol.errors import ErrorCode

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")

# For what one node knows or was told wrong; a topic that does not exist is not among them, because
# waiting a minute to learn of a typing error helps nobody.
_RETRIED: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)
# A topic that was just created may be unknown to some brokers for a moment.
_UNKNOWN_TOPIC_RETRIES: Final = 3

Answers: TypeAlias = Mapping[K, R | KafkaError]


class Route(NamedTuple, Generic[K]):
    """Who answers for a thing, and what to do when they say that it has moved."""

    locate: Callable[[K], Awaitable[int]]
    moved: Callable[[K], object]
    retries_unknown_topics: bool = False


class Router:
    """What the admin's families share: the cluster, and `ask`."""

    def __init__(self, config: AdminConfig) -> None:
        self._config = config
        self._backoff = Backoff(config.retry_backoff_ms, config.retry_backoff_max_ms)
        self._started: Cluster | None = None

    @property
    def _cluster(self) -> Cluster:
        if self._started is None:
            raise IllegalStateError("the admin is not started, or closed: use `async with`")
        return self._started

    async def _ask(
        self,
        things: Iterable[K],
        route: Route[K],
        request: Callable[[int, list[K]], Awaitable[Answers[K, R]]],
    ) -> dict[K, R | KafkaError]:
        """An answer or an error for each thing, in the order they were given."""
        order = list(dict.fromkeys(things))
        answers: dict[K, R | KafkaError] = {}
        pending, failures = order, 0
        deadline_ms = monotonic_ms() + self._config.default_api_timeout_ms
        while pending:
            answers.update(await self._ask_once(pending, route, request))
            failures += 1
            delay_ms = self._backoff.delay_ms(failures, draw())
            if failures > self._config.retries or monotonic_ms() + delay_ms >= deadline_ms:
                break
            pending = [
                thing for thing in pending if _is_worth_retrying(answers[thing], route, failures)
            ]
            for thing in pending:
                route.moved(thing)
            if pending:
                await asyncio.sleep(delay_ms / 1000)
        return {thing: answers[thing] for thing in order}

    async def _ask_once(
        self,
        things: list[K],
        route: Route[K],
        request: Callable[[int, list[K]], Awaitable[Answers[K, R]]],
    ) -> dict[K, R | KafkaError]:
        places = await asyncio.gather(*(_or_error(route.locate(thing)) for thing in things))
        answers: dict[K, R | KafkaError] = {}
        by_node: dict[int, list[K]] = {}
        for thing, place in zip(things, places, strict=True):
            if isinstance(place, KafkaError):
                answers[thing] = place
            else:
                by_node.setdefault(place, []).append(thing)
        responses = await asyncio.gather(
            *(_or_error(request(node_id, asked)) for node_id, asked in by_node.items())
        )
        for asked, response in zip(by_node.values(), responses, strict=True):
            for thing in asked:
                answers[thing] = (
                    response if isinstance(response, KafkaError) else _given(response, thing)
                )
        return answers

    # -- routes ----------------------------------------------------------------------------------

    @property
    def _any_broker(self) -> Route[Any]:
        async def locate(_thing: object) -> int:
            return self._cluster.least_loaded()

        return Route(locate, lambda _thing: None)

    @property
    def _controller(self) -> Route[Any]:
        async def locate(_thing: object) -> int:
            return await self._cluster.controller()

        return Route(locate, lambda _thing: self._cluster.request_refresh())

    @property
    def _leaders(self) -> Route[TopicPartition]:
        async def locate(tp: TopicPartition) -> int:
            cluster = self._cluster
            cluster.watch_also((tp.topic,))
            node_id = cluster.metadata.leader(tp)
            if node_id is None:
                node_id = (await cluster.refresh()).leader(tp)
            if node_id is None:
                raise cluster.problem_of(tp)
            return node_id

        return Route(locate, lambda _tp: self._cluster.request_refresh(), True)

    @property
    def _coordinators(self) -> Route[str]:
        return Route(self._cluster.coordinator, self._cluster.forget_coordinator)

    async def _broker_ids(self) -> list[int]:
        return sorted((await self._cluster.refresh()).brokers)

    @property
    def _brokers(self) -> Route[int]:
        async def locate(broker_id: int) -> int:
            return broker_id

        return Route(locate, lambda _broker_id: None)


def _is_worth_retrying(answer: object, route: Route[Any], failures: int) -> bool:
    if not isinstance(answer, KafkaError):
        return False
    if answer.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return route.retries_unknown_topics and failures <= _UNKNOWN_TOPIC_RETRIES
    return answer.code in _RETRIED


async def _or_error(work: Awaitable[R]) -> R | KafkaError:
    try:
        return await work
    except KafkaError as problem:
        return problem


def _given(response: Answers[K, R], thing: K) -> R | KafkaError:
    if thing in response:
        return response[thing]
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{thing}: the response left it out")
