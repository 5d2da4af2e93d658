"""Kafka's names as a test writes them: looked up, or refused with the nearest ones that exist."""

from collections.abc import Iterable
from difflib import get_close_matches

from drumbeat.protocol.api import Api
from drumbeat.protocol.apis import APIS
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.handlers import HANDLERS

NEAREST_MAX = 3


def api_named(name: str) -> Api:
    """The API of that name; ValueError if there is none, or if no node answers it."""
    by_name = {api.name: api for api in APIS.values()}
    served = [APIS[key].name for key in HANDLERS]
    if name not in by_name:
        raise ValueError(unknown("API", name, served))
    api = by_name[name]
    if api.key not in HANDLERS:
        raise ValueError(f"{name} is not served by Drumbeat, so no client will send it")
    return api


def error_named(name: str | ErrorCode) -> ErrorCode:
    """The error code of that name; ValueError if there is none, or if it is none."""
    names = [code.name for code in ErrorCode if code is not ErrorCode.NONE]
    text = name.name if isinstance(name, ErrorCode) else name
    if text not in names:
        raise ValueError(unknown("error", text, names))
    return ErrorCode[text]


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """ "unknown API 'HeartBeat'; did you mean 'Heartbeat'?"."""
    names = sorted(map(str, known))
    # Letter case is the commonest slip, and says nothing about what was meant.
    folded = {each.casefold(): each for each in names}
    nearest = [folded[match] for match in get_close_matches(name.casefold(), folded, n=NEAREST_MAX)]
    if nearest:
        return f"unknown {what} {name!r}; did you mean {' or '.join(map(repr, nearest))}?"
    listed = ", ".join(names) or "none"
    return f"unknown {what} {name!r}; there are: {listed}"
