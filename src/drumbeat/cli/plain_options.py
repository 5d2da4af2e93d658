"""The options of `drumbeat up`, and how they are read when there is nothing to discuss.

`up.py` declares them for people: help, completion, what is wrong with a value. Here the same are
read without Typer; whatever is not plain and right is left to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

PORT_MAX: Final = 65_535


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class UpOptions(NamedTuple):
    port: int | None = None
    data: str | None = None
    memory: bool = False
    config: str | None = None
    settings: tuple[str, ...] = ()
    metrics_port: int | None = None
    log_level: LogLevel | None = None
    log_format: LogFormat | None = None


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= PORT_MAX):
        raise ValueError(text)
    return int(text)


# option -> its field, and how its value is read; ValueError: not by us
_WITH_VALUE: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "--port": ("port", _port),
    "--data": ("data", str),
    "--config": ("config", str),
    "--metrics-port": ("metrics_port", _port),
    "--log-level": ("log_level", LogLevel),
    "--log-format": ("log_format", LogFormat),
}


def plain_options(arguments: Sequence[str]) -> UpOptions | None:
    """None: let Typer look at them."""
    given: dict[str, Any] = {}
    settings: list[str] = []
    rest = iter(arguments)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name == "--memory" and not has_value:
            given["memory"] = True
            continue
        if name != "--set" and name not in _WITH_VALUE:
            return None
        if not has_value:
            value = next(rest, "-")
            if value.startswith("-"):  # forgotten, or a value that only looks like an option
                return None
        if name == "--set":
            settings.append(value)
            continue
        field, read = _WITH_VALUE[name]
        try:
            given[field] = read(value)
        except ValueError:
            return None
    return UpOptions(settings=tuple(settings), **given)
