"""An event loop on a thread of its own. Whoever calls from another thread waits for the result."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

PAUSE_TIMEOUT_S = 10.0


class LoopThread:
    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._resumed: threading.Event | None = None  # while it is paused
        # A daemon: a test that forgets to stop its cluster must be able to end.
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the loop and what is left on it."""
        self.resume()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have it run on the loop."""
        if self._resumed is not None:
            work.close()
            raise RuntimeError("the cluster is paused and answers nobody; resume() it first")
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this would wait for itself: it was called on the cluster's thread")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it on the loop and return its result; Ctrl-C while waiting cancels it."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    # -- as if the process were stopped ----------------------------------------------------------

    def pause(self) -> None:
        if self._resumed is not None:
            return
        stopped, resumed = threading.Event(), threading.Event()

        def stand_still() -> None:
            stopped.set()
            resumed.wait()

        self._loop.call_soon_threadsafe(stand_still)
        if not stopped.wait(PAUSE_TIMEOUT_S):
            raise TimeoutError(f"the cluster is still busy after {PAUSE_TIMEOUT_S:g} s")
        self._resumed = resumed

    def resume(self) -> None:
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None
