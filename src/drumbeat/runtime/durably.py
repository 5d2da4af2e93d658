"""Small durable writes beside the logs: topics, configs, producer ids. A full disk has one name."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class StorageFailed(Exception):  # noqa: N818 - what happened
    """The disk did not take it, so it did not happen; handlers answer KAFKA_STORAGE_ERROR."""


async def durably(write: Callable[..., T], *arguments: object) -> T:
    """Call `write`, which blocks until durable, in a thread."""
    try:
        return await asyncio.to_thread(write, *arguments)
    except OSError as error:
        raise StorageFailed(f"nothing was changed: {error}") from error
