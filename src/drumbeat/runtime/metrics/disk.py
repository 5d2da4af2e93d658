"""A disk whose syncs are timed: they are what a commit waits for."""

import threading
from time import perf_counter

from drumbeat.log.files import Disk
from drumbeat.runtime.metrics.histogram import Histogram


class MeasuredDisk(Disk):
    """Worker threads sync side by side, and only a lock lets them share a histogram."""

    def __init__(self) -> None:
        self.sync_times = Histogram()
        self._lock = threading.Lock()

    def sync(self, fd: int) -> None:
        began = perf_counter()
        super().sync(fd)
        took = perf_counter() - began
        with self._lock:
            self.sync_times.observe(took)
