"""kafka-python forgets an answer to JoinGroup that comes between two polls, until it is asked.

Against any broker. The member would stay without partitions for good.
"""

import time
from typing import Any

JOIN_PATIENCE_S = 1.5


class JoinReminder:
    def __init__(self, consumer: Any) -> None:
        self._coordinator = consumer._coordinator
        self._joined_at_s = time.monotonic()

    def remind(self) -> None:
        """Before every poll."""
        if not self._coordinator.rejoining:
            self._joined_at_s = time.monotonic()
        elif time.monotonic() - self._joined_at_s > JOIN_PATIENCE_S:
            self._coordinator.request_rejoin()
            self._joined_at_s = time.monotonic()
