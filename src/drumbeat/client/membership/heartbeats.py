"""The clocks of a joined member: its next heartbeat, its session, and the watchdog over poll()."""

from __future__ import annotations

from drumbeat.client.membership.values import MembershipConfig
from drumbeat.client.membership.waits import Waits


class HeartbeatClock:
    def __init__(self, config: MembershipConfig, waits: Waits) -> None:
        self._config = config
        self._waits = waits
        self._failures = 0
        self.beat_at_ms = 0
        self.session_ends_ms = 0
        self.poll_by_ms = 0
        self.last_sent_ms = -1

    def start(self, now_ms: int) -> None:
        """JoinGroup was answered: the coordinator counts from now, and so do we."""
        self._failures = 0
        self.beat_at_ms = now_ms + self._config.heartbeat_interval_ms
        self.session_ends_ms = now_ms + self._config.session_timeout_ms
        self.poll_by_ms = now_ms + self._config.max_poll_interval_ms

    def polled(self, now_ms: int) -> None:
        self.poll_by_ms = now_ms + self._config.max_poll_interval_ms

    def sent(self, now_ms: int) -> None:
        self.last_sent_ms = now_ms
        self.beat_at_ms = now_ms + self._config.heartbeat_interval_ms

    def succeeded(self, now_ms: int) -> None:
        self._failures = 0
        self.session_ends_ms = now_ms + self._config.session_timeout_ms

    def failed(self, now_ms: int) -> None:
        """The session runs on, so do not wait for a whole interval."""
        self._failures += 1
        self.beat_at_ms = now_ms + self._waits.after(self._failures)

    def coordinator_found(self, now_ms: int) -> None:
        """It has had no chance yet to answer a heartbeat."""
        self.session_ends_ms = now_ms + self._config.session_timeout_ms

    @property
    def next_ms(self) -> int:
        return min(self.beat_at_ms, self.session_ends_ms, self.poll_by_ms)
