"""What an application is told about its partitions, while it is inside poll() or close().

Methods may be plain functions or coroutine functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from drumbeat.client.values import TopicPartition

Partitions = Collection[TopicPartition]


class RebalanceListener:
    """Override what is of interest. The partitions are those gained or given up, not all."""

    def on_partitions_assigned(self, partitions: Partitions) -> Awaitable[None] | None:
        """They are ours, and nothing of them has been read; the place to seek()."""

    def on_partitions_revoked(self, partitions: Partitions) -> Awaitable[None] | None:
        """They are still ours; the last chance to commit()."""

    def on_partitions_lost(self, partitions: Partitions) -> Awaitable[None] | None:
        """They are others' already: committing would fail. As in Kafka, revoked by default."""
        return self.on_partitions_revoked(partitions)


async def tell(method: Callable[..., Any], *arguments: Any) -> None:
    """Call a function of the application, and wait if there is something to wait for."""
    result = method(*arguments)
    if inspect.isawaitable(result):
        await result
