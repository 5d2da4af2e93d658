"""An event loop on a thread of its own, for the clients that are called from plain code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from drumbeat.client.errors import IllegalStateError

T = TypeVar("T")


class LoopThread:
    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        loop = self._loop = asyncio.new_event_loop()
        # A daemon: a script that forgets to close its client must be able to end.
        self._thread = threading.Thread(
            target=loop.run_forever, name=f"drumbeat-{self._name}", daemon=True
        )
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def stop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def call_soon(self, function: Callable[[], object]) -> None:
        """Have `function` called on the loop."""
        self._running().call_soon_threadsafe(function)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop and return its result; Ctrl-C while waiting cancels it."""
        try:
            loop = self._running()
            self._check_thread()
        except BaseException:
            work.close()  # never to be awaited
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise IllegalStateError(f"the {self._name} is not started, or closed: use `with`")
        return self._loop

    def _check_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise IllegalStateError(
                f"a callback of the {self._name} runs on its thread and must not wait for it"
            )
