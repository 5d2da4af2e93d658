"""Requests are counted exactly, timed now and then, and answered as if nobody looked."""

import asyncio
import struct

import pytest

from drumbeat.protocol.apis import api_versions, heartbeat, join_group
from drumbeat.protocol.apis.api_versions import ApiVersionsResponse
from drumbeat.protocol.apis.heartbeat import HeartbeatRequest, HeartbeatResponse
from drumbeat.protocol.apis.join_group import JoinGroupResponse
from drumbeat.protocol.errors import ProtocolError
from drumbeat.runtime.dispatch import Answer, Dispatcher
from drumbeat.runtime.metrics.requests import TIMED_ONE_IN, UNSUPPORTED, MeasuredDispatcher
from drumbeat.runtime.requests import Deferred
from drumbeat.runtime.tasks import Tasks, answer_of
from support.groups import join_request
from support.wire import request_frame

HOST = "/127.0.0.1"
BEAT = request_frame(heartbeat.API, 4, HeartbeatRequest("g", 1, "m"))[4:]
JOIN = request_frame(join_group.API, 5, join_request())[4:]


class Handlers:
    """One API that answers at once, one that lets wait."""

    def __init__(self) -> None:
        self.parked: list[Deferred] = []
        self.table = {
            heartbeat.API.key: lambda *_: HeartbeatResponse(),
            join_group.API.key: self._park,
            api_versions.API.key: lambda *_: ApiVersionsResponse(),
        }

    def _park(self, *_request: object) -> Deferred:
        self.parked.append(Deferred(mutes=True))
        return self.parked[-1]


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture
def dispatcher(handlers) -> MeasuredDispatcher:
    return MeasuredDispatcher(None, handlers.table, Tasks())


def test_answers_are_those_of_a_plain_dispatcher(dispatcher, handlers):
    plain = Dispatcher(None, handlers.table, Tasks())
    for _ in range(2 * TIMED_ONE_IN):
        assert dispatcher.dispatch(BEAT, HOST) == plain.dispatch(BEAT, HOST)


def test_every_request_and_every_byte_is_counted(dispatcher):
    answers = [dispatcher.dispatch(BEAT, HOST) for _ in range(200)]
    stats = dispatcher.stats[heartbeat.API.key, 4]
    assert stats.requests == 200
    assert stats.request_bytes == 200 * len(BEAT)
    header_bytes = 4 + 4 + 1  # length, correlation id, no tags
    assert stats.response_bytes == sum(map(len, answers)) - 200 * header_bytes


def test_of_a_frequent_api_the_first_is_timed_and_then_one_in_many(dispatcher):
    for _ in range(3 * TIMED_ONE_IN):
        dispatcher.dispatch(BEAT, HOST)
    assert dispatcher.durations[heartbeat.API.key].count == 1 + 3


def test_a_parked_request_is_timed_until_its_answer(dispatcher, handlers):
    answers = [dispatcher.dispatch(JOIN, HOST) for _ in range(3)]
    durations = dispatcher.durations[join_group.API.key]
    assert durations.count == 0
    assert all(isinstance(answer, Answer) and answer.deferred.mutes for answer in answers)
    told: list[tuple] = []
    for answer in answers:
        answer.deferred.when_settled(lambda *outcome: told.append(outcome))
    first, second, third = handlers.parked
    response, problem = JoinGroupResponse(), RuntimeError("no")
    first.resolve(response)
    second.fail(problem)
    assert told == [(response, None), (None, problem)]
    assert durations.count == 2
    gone: list[bool] = []
    third.on_abandoned = lambda: gone.append(True)
    answers[2].deferred.abandon()
    assert gone == [True]


def test_clients_cannot_make_up_versions_to_be_counted_under(dispatcher):
    """A newer client's ApiVersions is answered whatever its version; nothing else is."""
    for version in range(100, 200):
        frame = struct.pack(">hhih", api_versions.API.key, version, 1, -1)
        dispatcher.dispatch(frame, HOST)
        with pytest.raises(ProtocolError):
            dispatcher.dispatch(struct.pack(">hhih", heartbeat.API.key, version, 1, -1), HOST)
        with pytest.raises(ProtocolError):
            dispatcher.dispatch(struct.pack(">hhih", 1000 + version, 0, 1, -1), HOST)
    assert set(dispatcher.stats) == {(api_versions.API.key, UNSUPPORTED)}
    assert dispatcher.stats[api_versions.API.key, UNSUPPORTED].requests == 100


def test_a_handler_that_is_replaced_goes_on_counting(dispatcher):
    dispatcher.dispatch(BEAT, HOST)
    dispatcher.replace_handler(heartbeat.API.key, lambda *_: HeartbeatResponse(error_code=27))
    answer = dispatcher.dispatch(BEAT, HOST)
    assert struct.unpack(">h", answer[-3:-1]) == (27,)
    stats = dispatcher.stats[heartbeat.API.key, 4]
    assert stats.requests == 2
    assert stats.response_bytes == 2 * (len(answer) - 9)


def test_a_coroutine_handler_is_timed_too(handlers):
    async def slowly(*_request: object) -> HeartbeatResponse:
        await asyncio.sleep(0)
        return HeartbeatResponse()

    async def main() -> int:
        table = {**handlers.table, heartbeat.API.key: slowly}
        dispatcher = MeasuredDispatcher(None, table, Tasks())
        await answer_of(dispatcher.dispatch(BEAT, HOST).deferred)
        return dispatcher.durations[heartbeat.API.key].count

    assert asyncio.run(main()) == 1
