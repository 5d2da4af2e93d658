"""Between the event loop of a SyncConsumer and the thread of the application that uses it.

The application's thread waits for a call on the loop, and meanwhile does what the loop asks of it.
Ctrl-C may come between any two steps of that thread, and nothing may get lost by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import Enum, auto
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from drumbeat.client.errors import IllegalStateError

T = TypeVar("T")


class Mail(Enum):
    """From the loop to the thread that waits for it."""

    WORK = auto()
    DONE = auto()


Inbox = SimpleQueue[Mail]


class Call(Generic[T]):
    """One coroutine on the loop, for a thread that waits for it.

    That thread must not hold the task: when it is freed there, CPython runs a weak reference's
    callback, in which a Ctrl-C is lost.
    """

    def __init__(self, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._function = function
        self._task: asyncio.Task[T] | None = None
        self._results: list[T] = []
        self._problem: BaseException | None = None
        self.inbox: Inbox = SimpleQueue()

    def begin(self) -> None:
        self._task = asyncio.create_task(self._function())
        self._task.add_done_callback(self._finish)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _finish(self, task: asyncio.Task[T]) -> None:
        self._task = None
        if task.cancelled():
            self._problem = asyncio.CancelledError()
        elif (problem := task.exception()) is not None:
            self._problem = problem
        else:
            self._results.append(task.result())
        self.inbox.put(Mail.DONE)

    def result(self) -> T:
        problem, self._problem = self._problem, None
        if problem is not None:
            try:
                raise problem
            finally:
                del problem  # or it would hold the frame that holds it
        return self._results[0]


class Work:
    """A function of the application, to be called in its thread while that waits for the loop.

    Ctrl-C may come between any two steps. What has not begun, or is over and the loop does not
    know, is found by the next call from the application's thread: close(), at the latest.
    """

    def __init__(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._function = function
        self._arguments = arguments
        self._problem: Exception | None = None
        self.is_begun = False
        self.is_over = False
        self.settled = asyncio.get_running_loop().create_future()

    def do(self) -> None:
        try:
            self.is_begun = True
            self._function(*self._arguments)
        except Exception as problem:  # noqa: BLE001 - raised from the poll() that called it
            self._problem = problem
        except BaseException:
            self._problem = IllegalStateError("the application was interrupted")
            raise
        finally:
            self.is_over = True

    def settle(self) -> None:
        """On the loop, once or more often."""
        if self.settled.done():
            return
        if self._problem is not None:
            self.settled.set_exception(self._problem)
        else:
            self.settled.set_result(None)
