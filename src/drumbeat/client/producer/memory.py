"""The producer's buffer_memory: who may append, and who has to wait for others to be sent."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from drumbeat.client.errors import RequestTimedOut
from drumbeat.client.producer.accumulator import Accumulator


class BufferMemory:
    """First come, first served. While someone waits, nothing lingers."""

    def __init__(self, accumulator: Accumulator, limit_bytes: int, max_block_ms: int) -> None:
        self._accumulator = accumulator
        self._limit_bytes = limit_bytes
        self._max_block_ms = max_block_ms
        self.waiters: deque[asyncio.Future[None]] = deque()

    @property
    def available_bytes(self) -> int:
        return self._limit_bytes - self._accumulator.used_bytes

    async def wait_for(self, size: int, is_over: Callable[[], bool]) -> None:
        """Until `size` bytes are free and it is our turn, or there is nothing to wait for."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self.waiters.append(waiter)
        self._accumulator.waiters += 1
        try:
            async with asyncio.timeout(self._max_block_ms / 1000):
                while not is_over() and not (
                    self.waiters[0] is waiter and size <= self.available_bytes
                ):
                    await waiter
                    waiter = self.waiters[0] = loop.create_future()  # only the first is woken
        except TimeoutError:
            raise RequestTimedOut(
                f"buffer_memory={self._limit_bytes} was full for max_block_ms="
                f"{self._max_block_ms}: records come faster than the brokers take them"
            ) from None
        finally:
            self._accumulator.waiters -= 1
            self.waiters.remove(waiter)
            self.released()

    def released(self) -> None:
        """Some bytes are free again, or the next one is to look."""
        if self.waiters and not self.waiters[0].done():
            self.waiters[0].set_result(None)
