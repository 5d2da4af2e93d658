"""The thread that waits for the journal's syncs, so that the event loop does not have to.

Not a pool: every time a thread comes back from the system it has to wait until the loop lets go of
the interpreter, and both pay for that. This one comes back once per sync, to say that it is done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Job = Callable[[], None]


class SyncThread:
    """Runs jobs one after the other. They must not raise."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._worker: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        if self._worker is None:
            # A daemon, or a process whose store was never closed could not end.
            self._worker = threading.Thread(
                target=_run, args=(self._jobs,), name="log-sync", daemon=True
            )
            self._worker.start()
        self._jobs.put(job)

    def stop(self) -> None:
        """Return when everything submitted is done."""
        if self._worker is not None:
            self._jobs.put(None)
            self._worker.join()
            self._worker = None


def _run(jobs: SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job()
        del job  # or the last one would be held until the next comes
