"""Which topic names Kafka allows, and what to say of the others."""

import re
from collections.abc import Iterable

NAME_LENGTH_MAX = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def problem_with(name: str) -> str | None:
    """What is wrong with a topic's name, if anything."""
    if not name:
        return "the topic name is empty"
    if name in (".", ".."):
        return f"the topic name may not be {name!r}"
    if len(name) > NAME_LENGTH_MAX:
        return f"the topic name has {len(name)} characters; {NAME_LENGTH_MAX} are allowed"
    if _LEGAL.fullmatch(name) is None:
        return f"the topic name {name!r} has characters other than a-z, A-Z, 0-9, '.', '_' and '-'"
    return None


def collision(name: str, others: Iterable[str]) -> str | None:
    """A name that differs only in '.' and '_': the two would share their metrics' names."""
    if "." not in name and "_" not in name:
        return None
    wanted = name.replace(".", "_")
    return next((other for other in others if other.replace(".", "_") == wanted), None)
