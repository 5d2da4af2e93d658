"""Answers that a live Apache Kafka 4.3.1 gave, and a scene that asks the same questions again.

`tests/golden/answers.jsonl` names fields as the protocol does, gives bytes as hex, and calls ids
that the broker drew `<uuid-1>`, `<uuid-2>`... A scene learns what each of them stands for here.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from drumbeat.protocol.apis import APIS
from drumbeat.protocol.schema import Type, fields_of
from support.coordinator import Call, Coordinator

GOLDEN = Path(__file__).parent.parent / "golden"
BY_NAME = {api.name: api for api in APIS.values()}

# Fields that the recording client sent without mentioning them.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "JoinGroup": {
        "SessionTimeoutMs": 10_000,
        "RebalanceTimeoutMs": 10_000,
        "ProtocolType": "consumer",
    },
    "SyncGroup": {"ProtocolType": "consumer", "ProtocolName": "range"},
}
_NOT_RECORDED = {"ThrottleTimeMs"}
_UUID = re.compile(r"<uuid-\d+>")
_RUN = re.compile(r"<(\d+) x (.)>")


@cache
def answers() -> list[dict[str, Any]]:
    lines = (GOLDEN / "answers.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


class Scene:
    """A run of golden rows against one coordinator."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.uuids: dict[str, str] = {}

    def know(self, name: str, member_id: str) -> None:
        """`name` is an id as the rows write it, such as "A-<uuid-2>"."""
        prefix, placeholder = name.split("<")
        self.uuids[f"<{placeholder}"] = member_id.removeprefix(prefix)

    def send(self, index: int, client_id: str = "cl", **changes: Any) -> Call:
        row = answers()[index]
        api = BY_NAME[row["api"]]
        values = {**_DEFAULTS.get(api.name, {}), **row["request"], **changes}
        if row["version"] < 5:
            values = {k: v for k, v in values.items() if k in row["request"] or api.key != 14}
        request = _message(api.request, self.resolved(values))
        return self.coordinator.send(request, row["version"], client_id)

    def check(self, index: int, client_id: str = "cl", **changes: Any) -> Call:
        """Send what Kafka was sent, and expect what Kafka answered."""
        call = self.send(index, client_id, **changes)
        if answers()[index]["response"] == {"_parked": True}:
            assert call.is_parked, f"row {index} is answered: {call.answer}"
        else:
            self.check_answer(index, call)
        return call

    def check_answer(self, index: int, call: Call) -> None:
        """Expect the row's answer to a request that was sent before."""
        expected = answers()[index]["response"]
        self._match(f"row {index}", expected, _plain(call.response, call.version))

    def resolved(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
        if not isinstance(value, str):
            return value
        text = _RUN.sub(lambda run: run[2] * int(run[1]), value)
        return _UUID.sub(lambda uuid: self.uuids[uuid[0]], text)

    def _match(self, where: str, expected: Any, actual: Any) -> None:
        if isinstance(expected, dict):
            assert expected.keys() == actual.keys(), where
            for key, value in expected.items():
                self._match(f"{where}.{key}", value, actual[key])
        elif isinstance(expected, list):
            self._match_list(where, expected, actual)
        elif isinstance(expected, str) and self._learns(expected, actual):
            pass
        else:
            assert actual == self.resolved(expected), where

    def _match_list(self, where: str, expected: list[Any], actual: list[Any]) -> None:
        """Members and results come in the order of a hash map: they are compared as sets."""
        assert len(expected) == len(actual), f"{where}: {actual}"
        key = _ORDER_KEYS.get(where.rsplit(".", 1)[-1])
        if key and len(expected) > 1:
            expected = sorted(self.resolved(expected), key=lambda item: item[key])
            actual = sorted(actual, key=lambda item: item[key])
        for number, (left, right) in enumerate(zip(expected, actual, strict=True)):
            self._match(f"{where}[{number}]", left, right)

    def _learns(self, expected: str, actual: str) -> bool:
        """An id that the broker has just drawn is known from here on."""
        found = _UUID.search(expected)
        if found is None or found[0] in self.uuids:
            return False
        prefix = self.resolved(expected[: found.start()])
        assert actual.startswith(prefix)
        self.uuids[found[0]] = actual.removeprefix(prefix)
        return True


_ORDER_KEYS = {"Members": "MemberId", "Results": "GroupId"}


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _message(message: type[Any], values: dict[str, Any]) -> Any:
    fields = {_camel(field.name): field for field in fields_of(message)}
    assert values.keys() <= fields.keys(), values.keys() - fields.keys()
    return message(**{fields[k].name: _typed(fields[k].type, v) for k, v in values.items()})


def _typed(kind: Type, value: Any) -> Any:
    if value is None:
        return None
    if kind.name == "array":
        return tuple(_typed(kind.element, item) for item in value)
    if kind.name == "struct":
        return _message(kind.struct, value)
    return bytes.fromhex(value) if kind.name in ("bytes", "uuid") else value


def _plain(message: Any, version: int) -> dict[str, Any]:
    return {
        _camel(field.name): _plain_value(getattr(message, field.name), version)
        for field in fields_of(type(message))
        if field.is_in(version) and _camel(field.name) not in _NOT_RECORDED
    }


def _plain_value(value: Any, version: int) -> Any:
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return _plain(value, version)
        return [_plain_value(item, version) for item in value]
    return value.hex() if isinstance(value, bytes) else value
