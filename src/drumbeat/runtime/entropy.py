"""The only drawer of ids. Everything else receives them."""

import base64
import os
import uuid


def new_member_uuid() -> str:
    return str(uuid.UUID(bytes=os.urandom(16), version=4))


def new_topic_id() -> bytes:
    """16 random bytes whose text form is safe to pass on a command line (no leading dash)."""
    while True:
        topic_id = uuid.UUID(bytes=os.urandom(16), version=4).bytes
        if not uuid_text(topic_id).startswith("-"):
            return topic_id


def new_cluster_id() -> str:
    return uuid_text(new_topic_id())


def uuid_text(raw: bytes) -> str:
    """Kafka's text form of a UUID: 22 characters of URL-safe base64."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def uuid_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
