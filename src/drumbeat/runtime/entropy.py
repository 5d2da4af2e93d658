"""The only drawer of ids. Everything else receives them."""

import base64
import os


def new_member_uuid() -> str:
    text = _random_uuid().hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_topic_id() -> bytes:
    """16 random bytes whose text form is safe to pass on a command line (no leading dash)."""
    while True:
        topic_id = _random_uuid()
        if not uuid_text(topic_id).startswith("-"):
            return topic_id


def _random_uuid() -> bytes:
    """RFC 9562, version 4, without the class of the `uuid` module: every JoinGroup draws one."""
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
