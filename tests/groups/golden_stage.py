"""Answers of a live Apache Kafka, asked for again through a socket, scene by scene.

A scene is a function that plays some rows of tests/golden/answers.jsonl in their order: rows are
sent as they stand, and what they leave out (how the group got into the state that their
precondition names) is said in between. `@scene` says which rows a function plays; the same
function may play the same questions at several versions.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from groups.wire_clients import WireClients
from groups.wire_coordinator import WireCall, WireCoordinator
from support.data_topics import Topic
from support.golden import Scene, answers

STATES = ("CompletingRebalance", "Stable", "PreparingRebalance", "Empty")
_NAME = re.compile(r"(([\w./-]*)-<uuid-\d+>)")
_WHOLE_ROW = re.compile(r"row (\d+)")
_TOPIC_ID = re.compile(r"<topic-id:(\w+)>")


class Played(NamedTuple):
    """A function, and the rows that it plays."""

    rows: tuple[int, ...]
    play: Callable[..., None]
    settings: dict[str, str]  # of a broker of its own; none means that the common one will do
    options: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.play.__name__}-{self.rows[0]}"


class Script:
    """The scenes of one module."""

    def __init__(self) -> None:
        self.scenes: list[Played] = []

    def scene(
        self, *rows: int | range, settings: dict[str, str] | None = None, **options: Any
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        numbers = tuple(n for part in rows for n in (part if isinstance(part, range) else (part,)))

        def register(play: Callable[..., None]) -> Callable[..., None]:
            self.scenes.append(Played(numbers, play, settings or {}, options))
            return play

        return register


class Stage(Scene):
    """Plays rows in their order; `topics` are those that the rows mean by name or id."""

    def __init__(
        self, coordinator: WireCoordinator, rows: Iterable[int], topics: dict[str, Topic]
    ) -> None:
        super().__init__(coordinator)
        self.rows = list(rows)
        self.topics = topics
        self.state = ""
        self._left = list(self.rows)
        self._names = _names_in(self.rows)

    # -- rows ------------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        return self._left[0]

    @property
    def row(self) -> dict[str, Any]:
        """The one that comes next."""
        return answers()[self.number]

    @property
    def has_more(self) -> bool:
        return bool(self._left)

    def next(self, count: int = 1, **changes: Any) -> WireCall:
        """Play the next rows; the last one's call."""
        for _ in range(count):
            call = self.check(self._left.pop(0), **changes)
        return call

    def rest(self) -> None:
        self.next(len(self._left))

    def answered(self, call: WireCall) -> None:
        """The next row is the answer to a request that was sent before."""
        self.check_answer(self._left.pop(0), call)

    def expect(self, **observed: Any) -> None:
        """The next row is a summary, which must say what was observed here."""
        number = self._left.pop(0)
        told = {key.lstrip("_"): value for key, value in answers()[number]["response"].items()}
        assert observed == told, f"row {number} tells {told}, observed was {observed}"

    def check(self, index: int, client_id: str | None = None, **changes: Any) -> WireCall:
        return super().check(index, client_id or _client_id(answers()[index]), **changes)

    def resolved(self, value: Any) -> Any:
        if isinstance(value, str):
            value = _TOPIC_ID.sub(lambda name: self.topics[name[1]].topic_id.hex(), value)
            if value == "<port>":
                return int(self.coordinator.bootstrap_servers.rsplit(":", 1)[1])
        return super().resolved(value)

    def _match(self, where: str, expected: Any, actual: Any) -> None:
        found = _WHOLE_ROW.fullmatch(where)
        if found and _is_unordered(answers()[int(found[1])]):
            expected, actual = _in_order(self.resolved(expected)), _in_order(actual)
        if isinstance(expected, dict) and expected.get("ErrorCode"):
            # Texts that explain an error are each broker's own.
            expected = {**expected, "ErrorMessage": actual.get("ErrorMessage")}
            actual = {"ErrorMessage": None, **actual}
        super()._match(where, expected, actual)

    # -- what rows leave out ---------------------------------------------------------------------

    @property
    def clients(self) -> WireClients:
        """Of the group that the next row is about."""
        return WireClients(self.coordinator, _group_id(self.row))

    def name(self, prefix: str) -> str:
        """What the rows call the next member of this prefix that nobody has met yet."""
        return next(name for name in self._names[prefix] if _uuid(name) not in self.uuids)

    def id_of(self, prefix: str) -> str:
        """Of the member of this prefix that was met last."""
        known = [name for name in self._names[prefix] if _uuid(name) in self.uuids]
        return self.resolved(known[-1])

    def meet(self, member_id: str) -> str:
        """The rows mean this member by its name from here on."""
        self.know(self.name(member_id[:-37]), member_id)  # a uuid and its hyphen
        return member_id

    def enter(self, prefix: str, **fields: Any) -> WireCall:
        """A new dynamic member."""
        call = self.clients.enter(prefix, **fields)
        self.meet(call.answer.member_id if call.answer else self.clients.member_id_of(prefix))
        return call

    def hand_out(self, prefix: str, **fields: Any) -> str:
        """An id that stays pending."""
        return self.meet(self.clients.join("", 9, prefix, **fields).response.member_id)

    # -- states by the name that a precondition begins with ------------------------------------

    def walk(self, leader: str, follower: str) -> None:
        """Play all rows, each in the state that its precondition begins with."""
        while self.has_more:
            wanted = next((s for s in STATES if self.row["precondition"].startswith(s)), self.state)
            while self.state != wanted:
                self._advance(leader, follower)
            self.next()

    def _advance(self, leader: str, follower: str) -> None:
        clients = self.clients
        self.state = STATES[STATES.index(self.state) + 1] if self.state else STATES[0]
        if self.state == "CompletingRebalance":
            for member_id in clients.completing(leader, follower):
                self.meet(member_id)
        elif self.state == "Stable":
            generation_id = clients.live.generation_id
            clients.sync(self.id_of(leader), generation_id)
            clients.sync(self.id_of(follower), generation_id)
        elif self.state == "PreparingRebalance":
            clients.join(self.id_of(leader))
        else:
            clients.leave(self.id_of(follower))
            clients.leave(self.id_of(leader))


def play(
    played: Played, coordinator: WireCoordinator, topics: dict[str, Topic], **tools: Any
) -> None:
    stage = Stage(coordinator, played.rows, topics)
    played.play(stage, **played.options, **tools)
    assert not stage.has_more, f"row {stage.row} was not played"


def _is_unordered(row: dict[str, Any]) -> bool:
    """Whether the broker lists what it has, which is in the order of its hash maps."""
    is_all_topics = row["api"] == "OffsetFetch" and "'Topics': None" in str(row["request"])
    return is_all_topics or row["api"] == "ListGroups"


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(item) for key, item in value.items()}
    return sorted(map(_in_order, value), key=str) if isinstance(value, list) else value


def _group_id(row: dict[str, Any]) -> str:
    request = row["request"]
    if "GroupId" in request:
        return str(request["GroupId"])
    named = request.get("Groups") or request.get("GroupsNames")
    return str(named[0]["GroupId"] if isinstance(named[0], dict) else named[0])


def _client_id(row: dict[str, Any]) -> str:
    """Ids begin with what the client calls itself."""
    for ids in (row["request"], row["response"]):
        if found := _NAME.fullmatch(str(ids.get("MemberId", ""))):
            return found[2]
    return "cl"


def _uuid(name: str) -> str:
    return name[name.index("<uuid") :]


def _names_in(rows: Iterable[int]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for number in rows:
        row = answers()[number]
        for name, prefix in _NAME.findall(f"{row['request']} {row['response']}"):
            known = names.setdefault(prefix, [])
            if name not in known:
                known.append(name)
    return names
