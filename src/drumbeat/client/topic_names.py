"""Names that a topic can have: anything else is refused before a broker is asked."""

from __future__ import annotations

import re
from typing import Final

from drumbeat.client.errors import InvalidTopicError

_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def checked_topic(topic: object) -> str:
    """The name, or InvalidTopicError."""
    if not isinstance(topic, str):
        raise InvalidTopicError(f"{topic!r} is {type(topic).__name__}: a topic's name is str")
    if not _TOPIC_NAME.fullmatch(topic) or topic in (".", ".."):
        raise InvalidTopicError(
            f"{topic!r} is not the name of a topic: use at most 249 of the characters "
            "a-z A-Z 0-9 . _ -"
        )
    return topic
