"""Configuration keys: what each one takes, and dataclasses that are built from them.

A key is a dataclass field whose metadata holds a `Kind`: how a value is read and what is allowed.
Names are Kafka's in snake case. Numbers and booleans may be given as text, as they are in
`.properties` files.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

from drumbeat.client.errors import ConfigError

C = TypeVar("C", bound="Config")

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1

_BOOLEANS = {"true": True, "false": False}


class Kind(NamedTuple):
    """`read` returns the value to keep or raises ValueError or TypeError.

    `allowed` completes "takes ..." in the message.
    """

    allowed: str
    read: Callable[[Any], Any]


def integer(default: int, *, minimum: int = 0, maximum: int = INT32_MAX) -> Any:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError(value)
        if not minimum <= (number := int(value)) <= maximum:
            raise ValueError(value)
        return number

    return _key(default, Kind(f"an integer from {minimum} to {maximum}", read))


def flag(default: bool) -> Any:
    def read(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in _BOOLEANS:
            return _BOOLEANS[value.lower()]
        raise ValueError(value)

    return _key(default, Kind("true or false", read))


def text(default: str) -> Any:
    return _key(default, Kind("text", _text))


def optional_text() -> Any:
    """None, or text that is not empty."""

    def read(value: Any) -> str | None:
        if value is None or _text(value):
            return value  # type: ignore[no-any-return]
        raise ValueError(value)

    return _key(None, Kind("text that is not empty", read))


def choice(default: str, *allowed: str) -> Any:
    def read(value: Any) -> str:
        if isinstance(value, str) and value.lower() in allowed:
            return value.lower()
        raise ValueError(value)

    return _key(default, Kind(f"one of {', '.join(allowed)}", read))


def function(arguments: str) -> Any:
    """None, or something callable; `arguments` says how it is called."""

    def read(value: Any) -> Callable[..., Any] | None:
        if value is None or callable(value):
            return value  # type: ignore[no-any-return]
        raise ValueError(value)

    return _key(None, Kind(f"a function {arguments}", read))


def names(default: tuple[str, ...], what: str) -> Any:
    """One or several, as a sequence or as text with commas; elements need not be text."""

    def read(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        elements = tuple(value) if isinstance(value, Iterable) else (value,)
        if not elements:
            raise ValueError(value)
        return elements

    return _key(default, Kind(what, read))


def special(default: Any, allowed: str, read: Callable[[Any], Any]) -> Any:
    return _key(default, Kind(allowed, read))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A frozen set of options. `X.of(...)` is the way to make one."""

    @classmethod
    def of(cls: type[C], options: Mapping[str, Any] | None = None, /, **named: Any) -> C:
        """The configuration with these options; in `options` Kafka's dotted names do too."""
        given = {key.replace(".", "_"): value for key, value in (options or {}).items()} | named
        keys = {field.name: field.metadata["kind"] for field in dataclasses.fields(cls)}
        for name in given:
            if name not in keys:
                raise ConfigError(_unknown(cls, name, keys))
        config = cls(**{name: _read(name, keys[name], value) for name, value in given.items()})
        config.check(given.keys())
        return config

    def check(self, given: Iterable[str]) -> None:
        """Raise ConfigError for keys that do not go together; `given` names the explicit ones."""


def _key(default: Any, kind: Kind) -> Any:
    return dataclasses.field(default=default, metadata={"kind": kind})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _read(name: str, kind: Kind, value: Any) -> Any:
    try:
        return kind.read(value)
    except (ValueError, TypeError) as problem:
        detail = str(problem) if isinstance(problem, ConfigError) else f"takes {kind.allowed}"
        raise ConfigError(f"{name}={value!r}: {name} {detail}") from None


def _unknown(cls: type[Config], name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(known))}"
    return f"{cls.__name__} has no key {name!r}: {hint}"
