"""The system's clock, and how far a test has moved it ahead."""

from drumbeat.runtime.clock import SystemClock


class MovableClock:
    """Moves what is written into records and what sessions are measured with.

    How long something took, and with it how long a connection has been idle, stays as it is: the
    clients of a test have not been silent for a week because it asked for one.
    """

    def __init__(self) -> None:
        self._system = SystemClock()
        self._ahead_ms = 0

    def now_ms(self) -> int:
        return self._system.now_ms() + self._ahead_ms

    def steady_ms(self) -> int:
        return self._system.steady_ms() + self._ahead_ms

    def monotonic_ms(self) -> int:
        return self._system.monotonic_ms()

    def move_to(self, steady_ms: int) -> None:
        """Ahead, never back."""
        self._ahead_ms += max(0, steady_ms - self.steady_ms())
