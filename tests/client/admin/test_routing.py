"""One request per node, again where things have moved, and no longer than it makes sense."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from drumbeat.client.admin.results import checked
from drumbeat.client.admin.routing import Route, Router
from drumbeat.client.config import AdminConfig
from drumbeat.client.errors import KafkaError, NodeDisconnected, error_for
from drumbeat.protocol.errors import ErrorCode

OK = "ok"


class Nodes:
    """Nodes that answer as they are told, one answer per thing and time it is asked for."""

    def __init__(self, answers: Mapping[str, Sequence[Any]]) -> None:
        self._answers = {thing: list(given) for thing, given in answers.items()}
        self.requests: list[tuple[int, list[str]]] = []
        self.moved: list[str] = []

    async def locate(self, thing: str) -> int:
        if thing == "nowhere":
            raise error_for(ErrorCode.INVALID_GROUP_ID)
        return 1 if thing < "m" else 2

    async def request(self, node_id: int, things: list[str]) -> dict[str, Any]:
        self.requests.append((node_id, things))
        given = {thing: self._answers[thing].pop(0) for thing in things if thing in self._answers}
        if any(isinstance(answer, NodeDisconnected) for answer in given.values()):
            raise NodeDisconnected("gone")
        return {t: error_for(a) if isinstance(a, ErrorCode) else a for t, a in given.items()}

    def ask(self, things: Sequence[str], *, retries_unknown: bool = False, **options: Any) -> Any:
        router = Router(AdminConfig.of(retry_backoff_ms=1, **options))
        route = Route(self.locate, self.moved.append, retries_unknown)
        return asyncio.run(router._ask(things, route, self.request))


def test_one_request_per_node_and_answers_in_order():
    nodes = Nodes({"a": [OK], "z": [OK], "b": [OK]})
    assert nodes.ask(["z", "a", "b", "a"]) == {"z": OK, "a": OK, "b": OK}
    assert nodes.requests == [(2, ["z"]), (1, ["a", "b"])]


def test_only_what_moved_is_asked_again():
    moved = ErrorCode.NOT_COORDINATOR
    nodes = Nodes({"a": [moved, moved, OK], "b": [OK]})
    assert nodes.ask(["a", "b"]) == {"a": OK, "b": OK}
    assert nodes.requests == [(1, ["a", "b"]), (1, ["a"]), (1, ["a"])]
    assert nodes.moved == ["a", "a"]


def test_a_lost_connection_concerns_all_it_was_asked_for():
    nodes = Nodes({"a": [NodeDisconnected("x"), OK], "b": [OK, OK], "z": [OK]})
    assert nodes.ask(["a", "b", "z"]) == {"a": OK, "b": OK, "z": OK}
    assert nodes.requests == [(1, ["a", "b"]), (2, ["z"]), (1, ["a", "b"])]


UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
ENDS = [
    # what is answered, options, how often it is asked, the error in the end
    ([ErrorCode.TOPIC_ALREADY_EXISTS], {}, 1, ErrorCode.TOPIC_ALREADY_EXISTS),
    ([UNKNOWN], {}, 1, UNKNOWN),
    ([UNKNOWN] * 9, {"retries_unknown": True}, 4, UNKNOWN),
    ([ErrorCode.NOT_CONTROLLER] * 9, {"retries": 2}, 3, ErrorCode.NOT_CONTROLLER),
    ([ErrorCode.NOT_CONTROLLER], {"default_api_timeout_ms": 0}, 1, ErrorCode.NOT_CONTROLLER),
]


@pytest.mark.parametrize(("given", "options", "times", "code"), ENDS)
def test_when_it_gives_up(given: list[ErrorCode], options: dict[str, Any], times: int, code):
    nodes = Nodes({"a": given})
    error = nodes.ask(["a"], **options)["a"]
    assert isinstance(error, KafkaError)
    assert error.code is code
    assert len(nodes.requests) == times


def test_what_has_no_place_and_what_is_left_out():
    nodes = Nodes({"a": [OK]})
    answers = nodes.ask(["nowhere", "a", "b"])
    assert answers["nowhere"].code is ErrorCode.INVALID_GROUP_ID
    assert answers["a"] == OK
    assert "b: the response left it out" in str(answers["b"])


def test_nothing_asked_nothing_sent():
    nodes = Nodes({})
    assert checked(nodes.ask([])) == {}
    assert nodes.requests == []
