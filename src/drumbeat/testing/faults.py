"""Faults that a test asks for by name, and what each does to the requests it meets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import metadata, produce
from drumbeat.protocol.errors import ErrorCode, ProtocolError
from drumbeat.runtime.requests import NO_RESPONSE, Deferred, Request
from drumbeat.testing.error_answers import error_answer
from drumbeat.testing.watchers import Call, Target, Watcher

# -> response | Deferred | NO_RESPONSE; a ProtocolError closes the connection
Strike: TypeAlias = Callable[[Call], Any]


class Fault(Watcher):
    """A fault that was asked for; `hits` says how often it has struck."""

    def __init__(self, api: Api, strike: Strike, target: Target, n: int | None) -> None:
        if n is not None and n < 1:
            raise ValueError(f"n={n}: at least 1, or None for every request until it is cancelled")
        super().__init__(api, target)
        self._n = n
        self.strike = strike

    @property
    def is_spent(self) -> bool:
        return self._n is not None and self.hits >= self._n


# -- what can go wrong ----------------------------------------------------------------------------


def failing(error_code: ErrorCode) -> Strike:
    """The request is not handled; the answer is the error."""

    def strike(call: Call) -> Any:
        if call.api is produce.API and call.body.acks == 0:
            # There is no answer to put it in; a broker closes the connection instead.
            raise ProtocolError(f"{call}: {error_code.name}, as the test asked for")
        if call.api is metadata.API:
            return _metadata_error(call, error_code)
        return error_answer(call.api, call.request.api_version, call.body, error_code)

    return strike


def _metadata_error(call: Call, error_code: ErrorCode) -> Any:
    """Topics fail, but the brokers are told: without them a client would have nobody to ask."""
    asked = call.body.topics
    if asked is None or (not asked and call.request.api_version == 0):
        asked = tuple(
            metadata.MetadataRequestTopic(name=topic.name) for topic in call.broker.topics
        )
    version = call.request.api_version
    said = error_answer(call.api, version, call.body._replace(topics=asked), error_code)
    request = call.request
    newest = call.api.versions[-1]
    bare = call._replace(
        request=Request(request.api_key, newest, request.client_id, request.client_host),
        body=metadata.MetadataRequest(topics=()),
    ).handle()
    return bare._replace(topics=said.topics, error_code=said.error_code)


def dropping(*, processed: bool, silent: bool) -> Strike:
    """No answer: the connection is closed, or says nothing more if `silent`."""

    def strike(call: Call) -> Any:
        result = call.handle() if processed else None
        dropped = Deferred(mutes=True)
        if not silent:
            problem = ProtocolError(f"{call}: dropped, as the test asked for")
            _when_settled(result, lambda _response, _problem: dropped.fail(problem))
        return dropped

    return strike


def delaying(delay_s: float) -> Strike:
    """The request is handled at once and answered late."""

    def strike(call: Call) -> Any:
        result = call.handle()
        if result is NO_RESPONSE:
            return result
        late = Deferred(mutes=True)
        if isinstance(result, Deferred):
            late.on_abandoned = result.abandon
        _when_settled(result, lambda response, problem: _settle_later(late, response, problem))
        return late

    def _settle_later(late: Deferred, response: Any, problem: Exception | None) -> None:
        if problem is not None:
            late.fail(problem)
        else:
            asyncio.get_running_loop().call_later(delay_s, late.resolve, response)

    return strike


def _when_settled(result: Any, tell: Callable[[Any, Exception | None], None]) -> None:
    if isinstance(result, Deferred):
        result.when_settled(tell)
    else:
        tell(result, None)
