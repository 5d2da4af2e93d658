"""The only drawer of ids. Everything else receives them."""

import base64
import os
from typing import Final

_DRAWN_AT_ONCE: Final = 256  # ids of members, so that not each of them takes a call of the kernel
_UUID_CHARS: Final = 32
_VARIANTS: Final = "89ab" * 4  # of RFC 9562, by what was drawn for the first character

_drawn: list[str] = []


def new_member_uuid() -> str:
    """Version 4. Every new member draws one, so not by the class of the `uuid` module."""
    try:
        text = _drawn.pop()
    except IndexError:  # not asked before: another thread's node may draw in between
        text = os.urandom(_UUID_CHARS // 2 * _DRAWN_AT_ONCE).hex()
        starts = range(_UUID_CHARS, len(text), _UUID_CHARS)
        _drawn.extend([text[start : start + _UUID_CHARS] for start in starts])
        text = text[:_UUID_CHARS]
    variant = _VARIANTS[int(text[16], 16)]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


os.register_at_fork(after_in_child=_drawn.clear)  # or two processes would draw the same


def new_topic_id() -> bytes:
    """16 random bytes whose text form is safe to pass on a command line (no leading dash)."""
    while True:
        topic_id = _random_uuid()
        if not uuid_text(topic_id).startswith("-"):
            return topic_id


def _random_uuid() -> bytes:
    """RFC 9562, version 4."""
    drawn = bytearray(os.urandom(16))
    drawn[6] = drawn[6] & 0x0F | 0x40
    drawn[8] = drawn[8] & 0x3F | 0x80
    return bytes(drawn)


def new_cluster_id() -> str:
    return uuid_text(new_topic_id())


def uuid_text(raw: bytes) -> str:
    """Kafka's text form of a UUID: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
