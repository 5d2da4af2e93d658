"""Where coroutines and answers that come later meet.

Background tasks are held so that none is lost, and cancelled together.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from drumbeat.runtime.requests import Deferred


async def answer_of(deferred: Deferred) -> Any:
    """The response that it will settle with, for a coroutine that was given one."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def settle(response: Any, problem: Exception | None) -> None:
        if future.cancelled():
            return
        if problem is None:
            future.set_result(response)
        else:
            future.set_exception(problem)

    deferred.when_settled(settle)
    return await future


class Tasks:
    """Background tasks, held so that none is lost, and cancelled together."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def defer(self, coroutine: Coroutine[Any, Any, Any]) -> Deferred:
        """The answer that `coroutine` will return."""
        deferred = Deferred(mutes=True)

        async def settle() -> None:
            try:
                response = await coroutine
            except Exception as problem:  # noqa: BLE001 - the connection logs it and closes
                deferred.fail(problem)
            else:
                deferred.resolve(response)

        self.spawn(settle())
        return deferred

    async def cancel(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
